"""Devices of arrays: ``cpu``, ``cuda:0``, …

>>> from tnp.core.devices import Device, DeviceType
>>> Device("cuda:1").index, Device("cpu").devicetype is DeviceType.CPU
(1, True)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import ClassVar, Final

__all__ = ["Device", "DeviceType", "cpu", "current", "device_context", "to_device"]


class DeviceType(Enum):
    """A kind of device; each kind is numbered from 0."""

    CPU = "cpu"
    CUDA = "cuda"
    META = "meta"


class Device:
    """One device. ``Device("cuda")`` is ``cuda:0``; equal devices are the same object.

    Raises ``ValueError`` for a name that is not ``cpu``, ``meta`` or ``cuda[:index]``.
    """

    __slots__ = ("devicetype", "index")
    _known: ClassVar[dict[tuple[DeviceType, int], Device]] = {}
    devicetype: DeviceType
    index: int

    def __new__(cls, name: str) -> Device:
        kind, _, index = name.partition(":")
        try:
            key = DeviceType(kind), int(index or 0)
        except ValueError:
            raise ValueError(f"no such device: {name!r}; devices are 'cpu', 'meta' and 'cuda:<index>'") from None
        known = cls._known.get(key)
        if known is None:
            known = super().__new__(cls)
            known.devicetype, known.index = key
            known = cls._known.setdefault(key, known)
        return known

    def __str__(self) -> str:
        if self.devicetype is DeviceType.CUDA:
            return f"cuda:{self.index}"
        return str(self.devicetype.value)

    def __repr__(self) -> str:
        return f'devices.Device("{self}")'

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Device, (str(self),)


cpu: Final = Device("cpu")


def to_device(device: Device | str) -> Device:
    """``device`` itself, or the device of that name."""
    return device if isinstance(device, Device) else Device(device)


class _Current(threading.local):
    device: Device = cpu


_current = _Current()


def current() -> Device:
    """Where arrays are made for which nobody names a device."""
    return _current.device


@contextmanager
def device_context(device: Device) -> Iterator[None]:
    """Inside, what an operation makes of no array (a constant, a range) is on ``device``: where its operands are.

    >>> from tnp.core import devices
    >>> with devices.device_context(devices.Device("cuda:1")):
    ...     print(devices.current())
    cuda:1
    """
    before = _current.device
    _current.device = device
    try:
        yield
    finally:
        _current.device = before

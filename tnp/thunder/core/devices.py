"""``thunder.core.devices``: :mod:`tnp.core.devices`."""

from tnp.core.devices import Device, DeviceType, cpu, to_device

__all__ = ["Device", "DeviceType", "cpu", "to_device"]

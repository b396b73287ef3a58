"""The settings of tnp as attributes: ``tnp.config``, and the switch ``tnp.debug_nans``."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from tnp.compile.switches import switches
from tnp.runtime import environment, logs

__all__ = ["Config", "Temporarily", "config", "debug_nans"]

T = TypeVar("T")
#: the columns of the table that a configuration prints as
WIDTH = 100


class _Setting(Generic[T]):
    """An attribute of :class:`Config`: the value of an environment variable of the table."""

    def __init__(
        self, variable: str, takes_effect: Callable[[T], Any] | None = None, *, is_fixed: bool = False,
        value: Callable[[], T] | None = None,
    ) -> None:  # fmt: skip
        self.variable = environment.VARIABLES[variable]
        #: called with a value that is assigned
        self.takes_effect = takes_effect
        self.is_fixed = is_fixed
        self.value = value
        self.__doc__ = f"{self.variable.meaning} (``{variable}``; by default {self.variable.default or 'none'})."

    @overload
    def __get__(self, instance: None, owner: type) -> _Setting[T]: ...

    @overload
    def __get__(self, instance: Config, owner: type) -> T: ...

    def __get__(self, instance: Config | None, owner: type) -> Any:
        if instance is None:
            return self
        return self.value() if self.value is not None else self.read()

    def read(self) -> T:
        raise NotImplementedError

    def as_text(self, value: T) -> str:
        raise NotImplementedError

    def __set__(self, instance: Config, value: T) -> None:
        name = self.variable.name
        if self.is_fixed:
            raise AttributeError(
                f"{self.variable.attribute} is read once, before the first compilation; set {name} in the environment"
            )
        text = self.as_text(value)
        if self.takes_effect is not None:
            self.takes_effect(value)
        environment.overrides[name] = text


class _Switch(_Setting[bool]):
    def read(self) -> bool:
        return environment.is_on(self.variable.name)

    def as_text(self, value: bool) -> str:
        if type(value) is not bool:
            raise TypeError(f"{self.variable.attribute} is a bool, not {value!r}")
        return str(int(value))


class _Count(_Setting[int]):
    def read(self) -> int:
        return environment.number(self.variable.name)

    def as_text(self, value: int) -> str:
        if type(value) is not int or value < 0:
            raise ValueError(f"{self.variable.attribute} is a count, not {value!r}")
        return str(value)


class _Text(_Setting[str]):
    def read(self) -> str:
        name = self.variable.name
        return environment.text(name)

    def as_text(self, value: str) -> str:
        return os.fspath(value)


def _threads() -> int:
    from tnp.runtime import threads

    return threads.get_num_threads()


def _set_threads(n: int) -> None:
    from tnp.runtime import threads

    threads.set_num_threads(n)


def _cache_folder() -> str:
    from tnp.runtime import disk_cache

    return str(disk_cache.configured_folder())


class Config:
    """The settings of tnp, one attribute for each environment variable. There is one object, ``tnp.config``; it prints as a table.

    An assignment counts from then on, for the whole process: its threads, too. What is read once cannot be assigned and raises
    ``AttributeError``. :meth:`set` assigns for a ``with`` block.

    >>> import tnp
    >>> tnp.config.recompile_limit
    64
    >>> with tnp.config.set(recompile_limit=8, disable_cache=True):
    ...     tnp.config.recompile_limit
    8
    >>> tnp.config.recompile_limit
    64
    """

    __slots__ = ()

    disable = _Switch("TNP_DISABLE", lambda on: switches.turn(disabled=on))
    debug_nans = _Switch("TNP_DEBUG_NANS", lambda on: switches.turn(nans=on))
    full_traceback = _Switch("TNP_FULL_TRACEBACK")
    log = _Text("TNP_LOG", logs.turn_on_only)
    num_threads = _Count("TNP_NUM_THREADS", _set_threads, value=_threads)
    recompile_limit = _Count("TNP_RECOMPILE_LIMIT")
    try_eager = _Switch("TNP_TRY_EAGER")
    disable_cache = _Switch("TNP_DISABLE_CACHE")
    cache_dir = _Text("TNP_CACHE_DIR", value=_cache_folder)
    cache_size = _Count("TNP_CACHE_SIZE")
    pool_mb = _Text("TNP_POOL_MB", is_fixed=True)
    cpu = _Text("TNP_CPU", is_fixed=True)
    triton_tune = _Switch("TNP_TRITON_TUNE")
    check = _Switch("TNP_CHECK")
    dump = _Text("TNP_DUMP")
    dump_dir = _Text("TNP_DUMP_DIR")

    def set(self, **values: Any) -> Temporarily:
        """Assigns attributes at once. As a context manager, it assigns their former values when the block ends.

        Raises ``AttributeError`` for a name that is no setting, or that cannot be assigned; then nothing is assigned.
        """
        return Temporarily(values)

    if not TYPE_CHECKING:  # to type checkers it would say that there may be other attributes

        def __setattr__(self, name: str, value: Any) -> None:
            if not isinstance(getattr(Config, name, None), _Setting):
                raise AttributeError(f"tnp.config has no setting {name}; there are {', '.join(_settings())}")
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        rows = [("setting", "value", "from", "meaning")]
        for name, setting in _settings().items():
            variable = setting.variable
            is_set = (
                "set"
                if variable.name in environment.overrides
                else ""
                if environment.text(variable.name)
                else "default"
            )
            shown = getattr(self, name)
            rows.append(
                (name, "" if shown == "" else str(shown), is_set or variable.name, variable.meaning.replace("`", ""))
            )
        return _table(rows)

    __repr__ = __str__


class Temporarily:
    """Settings that were assigned, and that get their former values at the end of a ``with`` block. Made by :meth:`Config.set`."""

    def __init__(self, values: dict[str, Any]) -> None:
        known = _settings()
        for name in values:
            if name not in known:
                raise AttributeError(f"tnp.config has no setting {name}; there are {', '.join(known)}")
        self._overrides = {known[n].variable.name: environment.overrides.get(known[n].variable.name) for n in values}
        self._before = {n: getattr(config, n) for n in values}
        done: list[str] = []
        try:
            for name, value in values.items():
                setattr(config, name, value)
                done.append(name)
        except BaseException:
            self._restore(done)
            raise

    def _restore(self, names: Any) -> None:
        for name in names:
            setting = _settings()[name]
            if setting.takes_effect is not None:
                setting.takes_effect(self._before[name])
            former = self._overrides[setting.variable.name]
            if former is None:
                environment.overrides.pop(setting.variable.name, None)
            else:
                environment.overrides[setting.variable.name] = former

    def __enter__(self) -> Config:
        return config

    def __exit__(self, *error: object) -> None:
        self._restore(self._before)


def _settings() -> dict[str, _Setting[Any]]:
    return {name: x for name, x in vars(Config).items() if isinstance(x, _Setting)}


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    widths[1] = min(widths[1], 24)
    indent = sum(widths) + 6
    lines = []
    for name, value, origin, meaning in rows:
        value = value if len(value) <= widths[1] else f"…{value[1 - widths[1] :]}"
        first, *others = textwrap.wrap(meaning, WIDTH - indent) or [""]
        lines.append(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin:<{widths[2]}}  {first}".rstrip())
        lines += [" " * indent + line for line in others]
    return "\n".join(lines)


config = Config()


def debug_nans(on: bool = True) -> Temporarily:
    """Looks for the operation that makes the first NaN or infinity: such an operation, of finite values, raises
    ``FloatingPointError``, which names the operation and the user's line.

    ``tnp.debug_nans()`` turns it on at once, ``tnp.debug_nans(on=False)`` off; a ``with`` block turns it back at its end. It is for all
    jitted functions and their derivatives, and the same as ``tnp.config.debug_nans`` and ``TNP_DEBUG_NANS=1``. While it is on, functions
    run by programs of their own, in which each operation runs by itself and is checked. What Python runs is not checked.

    >>> import numpy as np, tnp
    >>> entropy = tnp.jit(lambda p: -(p * np.log(p)).sum())
    >>> with np.errstate(divide="ignore"), tnp.debug_nans():
    ...     entropy(np.array([0.5, 0.5, 0.0]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FloatingPointError: np.log makes -inf, in element (2,), of finite values at ...
    """
    return Temporarily({"debug_nans": on})

"""Variables that may be unbound at run time.

``if x[i] > best: at = i``, in a loop or not, and ``at`` is read later. Such a variable holds a value and a flag. Each
read is a hook (:mod:`tnp.capture.control_flow.definite_assignment`), which returns the value; the program raises
Python's error there if the flag is false.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.capture import active
from tnp.capture.speculation.regions import UNBOUND
from tnp.capture.tracing.optional_values import TracedOptional
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core import prims
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number

__all__ = ["UNBOUND", "TracedMaybe", "if_bound", "nothing_like", "split"]


class TracedMaybe:
    """A variable that is bound to ``value`` where ``flag``, a traced bool."""

    __slots__ = ("flag", "value")

    def __init__(self, value: Any, flag: TracedNumber) -> None:
        self.value = value
        self.flag = flag

    def read(self, name: str, is_free: bool) -> Any:
        """The value, which the program checks to be there."""
        active.current().call(prims.check_bound, (self.flag, name, is_free), {})
        return self.value

    def _unhooked(self, *_: Any) -> Any:
        raise NeedsEager("it reads a variable that may be unbound where tnp does not see it")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._unhooked()


#: what Python looks up on the class of an operand
_SPECIAL = (
    "bool iter next len getitem setitem delitem contains call str repr format bytes hash index int float complex abs neg pos invert round trunc floor ceil "
    "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rmatmul rlshift "
    "rrshift rand ror rxor eq ne lt le gt ge array enter exit reversed length_hint copy deepcopy reduce_ex".split()
)
for _name in _SPECIAL:
    setattr(TracedMaybe, f"__{_name}__", TracedMaybe._unhooked)


def if_bound(read: Callable[[], Any]) -> Any:
    """What ``read`` reads, a variable; :data:`UNBOUND` if it is unbound."""
    try:
        return read()
    except NameError:
        return UNBOUND


def split(x: Any, nothing: Any = UNBOUND) -> tuple[Any, Any]:
    """What a variable is bound to, and whether it is: a bool or a proxy of one. It is :data:`UNBOUND` if that is ``nothing``, which is
    ``None`` for variables that are ``None`` or something else."""
    if type(x) is TracedMaybe or type(x) is TracedOptional:
        return x.value, x.flag.proxy
    return (UNBOUND, False) if x is nothing else (x, True)


def nothing_like(p: Any) -> Any:
    """A value that can stand where ``p``, a proxy or a number, is of no account; ``None`` if there is none."""
    if not isinstance(p, Proxy):
        return type(p)() if is_number(p) else None
    if isinstance(p, NumberProxy):
        return p.python_type()
    assert isinstance(p, TensorProxy)
    return p.lang.library.nothing_like(p)

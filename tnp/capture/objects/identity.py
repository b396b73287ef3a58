"""``is``, ``id``, ``hash``, ``type`` and ``isinstance`` of stand-ins: evaluated for the real object."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.numpy.flat import TracedFlat
from tnp.capture.libraries.numpy.list_of_rows import is_maybe_in_list
from tnp.capture.objects.cell_arrays import is_cell_array
from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.growing_list import GrowingList
from tnp.capture.objects.interpolant import Interpolant
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.objects.shadows import is_copy, is_shadow, real_object
from tnp.capture.objects.twins import class_attribute, class_of
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.optional_values import TracedOptional, is_none, there
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject
from tnp.core.errors import NeedsEager

__all__ = ["id_", "is_", "is_not", "isinstance_", "type_"]

#: kinds of values that are the same object wherever they are equal
_SINGLETONS = (type(None), type(...), type(NotImplemented), bool, np.bool)


def is_(a: Any, b: Any) -> Any:
    """``a is b``."""
    if a is b or active.running() is None:
        return a is b
    if isinstance(a, ListStandIn):
        a.check_told_apart(b)
    if type(a) is TracedOptional or type(b) is TracedOptional:
        return _is_optional(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        description = active.current().choices.variable_of(a, b)
        if description is not None:
            raise ReadsVarying(description)
    if a is None or b is None:  # no other stand-in stands for it
        return False
    if type(a) not in _STAND_INS and type(b) not in _STAND_INS and not (_may_stand_in(a) or _may_stand_in(b)):
        return False
    first, second = _known(a, b), _known(b, a)
    if type(first) is type(second) is TracedArray:
        for listed in filter(None, (first.storage.listed, second.storage.listed)):
            raise ReadsVarying(listed)
        if is_maybe_in_list(first, second):
            raise NeedsEager("it asks whether an array is the last of a list that a loop has made")
    if type(first) is type(second) is TracedArray and active.current().choices.may_be_one(first, second):
        raise NeedsEager("it asks whether two arrays are one, which its branches or loops decide")
    (x, x_from), (y, y_from) = _behind(first), _behind(second)
    same = x is y
    if x_from is None and y_from is None:
        return same
    prologue = active.current().inputs.prologue
    x_text, y_text = (
        s.expression if s is not None else prologue.constant(v) if not _is_of_the_trace(v) else None
        for v, s in ((x, x_from), (y, y_from))
    )
    if x_text is not None and y_text is not None and x_text != y_text:
        relation = "is" if same else "is not"
        prologue.guard(f"{x_text} {relation} {y_text}", f"{_words(x, x_from)} {relation} {_words(y, y_from)}")
    return same


def _is_optional(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return is_none(b if a is None else a)
    x, y = (v.decided() if type(v) is TracedOptional else v for v in (a, b))
    return is_(x, y)


def is_not(a: Any, b: Any) -> Any:
    """``a is not b``."""
    if active.running() is not None and (a is None or b is None) and TracedOptional in (type(a), type(b)):
        return there(b if a is None else a)
    return not is_(a, b)


class _Id(int):
    """The id of a stand-in. It cannot be a result, because the real object has another id."""


def id_(x: Any) -> int:
    """``id(x)``: of an object that the program made. Another one's may differ at the next call."""
    _, source = _behind(x)
    if source is not None or type(x) in (TracedNumber, TracedEither):
        raise NeedsEager(f"it asks for the id of {source.description if source is not None else 'a number'}")
    return _Id(id(x))


def type_(x: Any, *rest: Any) -> Any:
    """``type(x)``, the class that the user knows."""
    if rest:
        return type(x, *rest)
    if type(x) is TracedOptional:
        x = x.decided()
    if type(x) is TracedEither:
        x = x.settled()
    if isinstance(x, (GrowingList, ListStandIn)):
        return list
    if type(x) in _STAND_INS or type(x) is Interpolant or is_cell_array(x):
        return x.__class__
    return class_of(x)


def isinstance_(x: Any, kinds: Any) -> bool:
    """``isinstance(x, kinds)``."""
    if type(x) is TracedOptional:
        x = x.decided()
    for kind in kinds if type(kinds) is tuple else (kinds,):
        check = class_attribute(type(kind), "__instancecheck__")
        if is_followed(check):
            raise NeedsEager(f"{kind.__name__} decides what is an instance of it")
    if type(x) in _HANDLES or is_cell_array(x):  # classes that look for methods would find those of traced values
        return any(_is_instance_of_class(x, kind) for kind in (kinds if type(kinds) is tuple else (kinds,)))
    if type(x) is not TracedEither:
        return isinstance(x, kinds)
    scalar, python_type = x.kinds
    answers = isinstance(scalar.type(1), kinds), isinstance(python_type(1), kinds)
    return isinstance(x.settled(), kinds) if answers[0] != answers[1] else answers[0]


def _is_instance_of_class(x: Any, kind: Any) -> bool:
    return issubclass(x.__class__, kind) if type(kind) is abc.ABCMeta else isinstance(x, kind)


_HANDLES = frozenset((TracedArray, TracedNumber, TracedObject, TracedFlat, Foreign))
_STAND_INS = _HANDLES | {TracedEither}


def _may_stand_in(x: Any) -> bool:
    kind = type(x)
    return kind in (list, dict, set) or is_shadow(x) or kind not in _PLAIN


#: kinds of values that are nobody's stand-in
_PLAIN = frozenset((int, float, complex, str, bytes, bool, type(None), type, tuple))


def _known(x: Any, other: Any) -> Any:
    """``x``, as what it is in this call if its identity with ``other`` depends on that."""
    if type(x) is TracedEither:
        x = x.settled()
    if type(x) is TracedNumber and (isinstance(other, int) or type(other) is TracedNumber):
        return x._known()
    if type(x) is TracedArray and x.scalar and x._element_type.kind == "b" and isinstance(other, np.bool):
        return np.bool(bool(x))
    return x


def _is_of_the_trace(x: Any) -> bool:
    """Whether a value is made while tracing, so that no input is the same object."""
    if type(x) in _STAND_INS:
        return True
    return not isinstance(x, (*_SINGLETONS, type, str, int)) and not callable(x)


def _behind(x: Any) -> tuple[Any, Source | None]:
    """The object that ``x`` stands for, and where it comes from; ``x`` itself where it stands for none."""
    kind = type(x)
    if kind is Foreign:
        return real_value(x), source_of(x)
    inputs = active.current().inputs
    if kind is TracedArray:
        return inputs.real_array(x)
    if kind is TracedObject:
        return x, Source(inputs.expressions[x.proxy.name], x.proxy.name) if x.proxy.name in inputs.expressions else None
    if is_shadow(x):
        if is_copy(x):
            return x, None
        real, source, _ = real_object(x)
        return real, source
    if kind in (list, dict, set) or kind not in _PLAIN:
        return inputs.real_container(x)
    return x, None


def _words(x: Any, source: Source | None) -> str:
    return source.description if source is not None else repr(x)

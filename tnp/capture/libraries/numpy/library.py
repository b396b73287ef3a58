"""What tracing asks of NumPy: see :class:`~tnp.capture.libraries.base.Library`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.libraries.base import library_of_value, register
from tnp.capture.libraries.numpy import array_classes, cell_arrays, lifting, out
from tnp.capture.libraries.numpy.arguments import MANY, check_where, count_of_plain, in_places, with_dtype_for_signature
from tnp.capture.libraries.numpy.array_attributes import ARRAY_ATTRIBUTES, ARRAY_METHODS, ARRAY_SETTERS
from tnp.capture.libraries.numpy.eigenvalues import BY_VALUES
from tnp.capture.libraries.numpy.flags import flags_of
from tnp.capture.libraries.numpy.flat import TracedFlat
from tnp.capture.libraries.numpy.interpolants import is_made, made
from tnp.capture.libraries.numpy.joined_rows import joined_rows
from tnp.capture.libraries.numpy.lengths import with_lengths
from tnp.capture.libraries.numpy.list_of_rows import array_of_rows
from tnp.capture.libraries.numpy.opaque_calls import check_may_start_over
from tnp.capture.libraries.numpy.operations import as_array, copy_of, range_as_array, scalar_of
from tnp.capture.libraries.numpy.operators import Operators
from tnp.capture.libraries.numpy.sources import call_undefined
from tnp.capture.libraries.numpy.subscripts import Subscripts, check_mask
from tnp.capture.objects.array_classes import is_array_class
from tnp.capture.objects.row_list import ListStandIn, NumberList, RowList
from tnp.capture.tracing.growing import array_of, holds_growing
from tnp.capture.tracing.predicates import PLAIN, is_negative_power, is_traced
from tnp.capture.tracing.python_numbers import rounded
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, hash_of_number
from tnp.capture.tracing.warning_filters import is_ignored
from tnp.core import languages, sizes, symbols
from tnp.core.array_kinds import USER_KIND
from tnp.core.errors import AmbiguousView, CountsReferences, NeedsEager
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import OpTags, Symbol
from tnp.core.views import VIEWS, Returns
from tnp.lang import numpy as lnp
from tnp.lang import scipy
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.numpy.registry import NumpyFunction, Out, by_id
from tnp.runtime.python_calls import EffectOfSome, Slot, caller_at, user_frame

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["NUMPY", "NumpyLibrary"]

#: how a symbol that is none of NumPy's functions takes ``out=``
_BY_KEYWORD = Out()
#: functions that take a sequence of arrays; a list that a loop made counts as one
_JOINING = (np.concatenate, np.vstack, np.stack, np.hstack, np.dstack, np.column_stack)
_OF_DTYPES = frozenset((np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray))
_OF_SEQUENCES = frozenset(
    (*_JOINING, np.block, np.select, np.choose, np.piecewise, np.einsum, np.linalg.multi_dot, np.ix_)
)  # fmt: skip


def _resize(a: TracedArray) -> Callable[..., NoReturn]:
    """``a.resize``, which counts who refers to the array unless it is told not to. To an argument the caller does, too."""

    def resize(*shape: Any, refcheck: Any = True) -> NoReturn:
        reason = NeedsEager if refcheck is False or a.storage.origin is None else CountsReferences
        raise reason("ndarray.resize is not compiled")

    return resize


class NumpyLibrary(Operators, Subscripts):
    """NumPy, whose terms are those of all operations that are no other library's.

    It has many methods: those of :class:`~tnp.capture.libraries.base.Library`, which the tracer calls.
    """

    functions = by_id
    followed = lnp.DATA_WARNINGS
    of_lengths = frozenset(f.id for f in (lnp.append, lnp.concatenate, lnp.diff, lnp.ediff1d, lnp.getitem, lnp.hstack))
    slicing = lnp.getitem
    gives_arguments = True
    repeats_writably = True

    # Functions

    def symbol_of(self, function: Any) -> Symbol | None:
        """The symbol of one of NumPy's functions or ufuncs, or of SciPy's; ``None`` if the languages lack it."""
        return lnp.symbol_of(function) or scipy.symbol_of(function)

    def is_part(self, x: Any) -> bool:
        """Whether ``x`` is one of SciPy's functions that are objects of a class of their own, or an object with methods that are operations."""
        return scipy.is_part(x) or scipy.is_frozen(x)

    def unfrozen(self, function: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
        """Of a method of one of SciPy's distributions with parameters: the distribution's own, and the parameters."""
        return scipy.unfrozen(function)

    def methods_of(self, kind: type) -> Any:
        """The methods of a class of SciPy's that are operations (:class:`~tnp.lang.scipy.registry.Method`), by name."""
        return scipy.methods_of(kind)

    def derived_of(self, kind: type) -> frozenset[str]:
        """The members of a class of SciPy's that give an object made of the state alone, by name."""
        return scipy.derived_of(kind)

    def makes_arrays(self, symbol: Symbol) -> bool:
        """Whether a function makes arrays of no arrays."""
        return by_id[symbol.id].factory

    def is_ufunc(self, info: NumpyFunction | None) -> bool:
        return info is not None and isinstance(info.function, np.ufunc)

    def has_out(self, info: NumpyFunction | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if "out" in kwargs:
            return True
        position = None if info is None else info.out.position
        return position is not None and len(args) > position

    def call_with_out(self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        info = by_id.get(symbol.id)
        if info is None and not out.may_take_out(symbol):
            raise NeedsEager(f"it passes out= to {symbol.name}, which takes none")
        takes = _BY_KEYWORD if info is None else info.out
        (args, kwargs), arrays = out.without_out(takes, args, kwargs)
        if arrays is None:
            return tracer.call(symbol, args, kwargs)
        if OpTags.POWER in symbol.tags and is_negative_power(args):
            raise NeedsEager(
                "it raises integers in place to a power that may be negative, which NumPy refuses half way"
            )
        if tracer.raising:
            raise NeedsEager("it computes in place under np.errstate(…='raise'), where NumPy writes before it raises")
        return out.call_with_out(tracer, symbol, takes, args, kwargs, arrays)

    def opaque_call(self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if symbol.id.startswith(("scipy_call.", "scipy_method.")):
            raise NeedsEager(f"scipy.{symbol.id.partition('.')[2]} of such arguments is not compiled")
        if symbol.id.startswith("scipy."):
            return tracer.call(scipy.call_of(symbol), args, kwargs)
        function = operator.attrgetter(symbol.id.removeprefix("numpy."))(np)
        return call_undefined(tracer, function, args, kwargs)

    def may_settle_sizes(self, info: NumpyFunction | None) -> bool:
        # What is a view of an array would not be one of it with another shape.
        return info is not None and info.returns not in VIEWS and info.returns != "update"

    def before_update(self, symbol: Symbol, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        if symbol.id == "ufunc.at" and active.current().raising:
            raise NeedsEager("it computes in place under np.errstate(…='raise'), where NumPy writes before it raises")
        if symbol.id == "numpy.copyto":
            where = kwargs.get("where", args[3] if len(args) > 3 else True)
            check_mask(args[0], where)

    def after(self, tracer: Tracer, symbol: Symbol, args: list[Any], kwargs: dict[str, Any], result: Any) -> None:
        if USER_KIND.of(tracer.trace) != "numpy":
            return
        warned = lnp.DATA_WARNINGS[symbol.id]
        if tracer.regions and warned in lnp.OF_SIZES and "where" not in kwargs:
            return  # a warning of a size that only the program knows: a loop would not be native code with it
        found = warned(result, *args, **kwargs)
        if found is not None:
            message, count = found
            if is_ignored(RuntimeWarning, message):
                return
            tracer.before_effect(may_raise=True)
            effect = EffectOfSome(lnp.warn_times, (Slot(0, "scalar"), message), {}, caller_at(user_frame()))
            lnp.data_warning(effect, None, count)

    def describe(
        self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any], seen: dict[str, TracedArray],
        made: Any,
    ) -> None:  # fmt: skip
        """Notes that what a function made of an array of a subclass may be of that class, too. Copies of parts and results of ufuncs are not."""
        subclassed = tracer.inputs.subclassed
        if not subclassed:
            return
        info = by_id.get(symbol.id)
        if info is None or symbol.id == lnp.getitem.id or self.is_ufunc(info):
            return
        if not any(h.storage in subclassed for h in seen.values()):
            return
        for x in made if isinstance(made, (tuple, list)) else (made,):
            if type(x) is TracedArray and not x.scalar:
                subclassed.add(x.storage)

    def call(self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs:
            args, kwargs = in_places(self.symbol_of(function), args, kwargs)
        own = cell_arrays.called(function, args, kwargs)
        if own is NotImplemented:
            own = array_classes.called(self, tracer, function, args, kwargs)
        if own is not NotImplemented:
            return own
        if any(type(a) is TracedFlat and not a.base.contiguous_ for a in args) and self._may_give_argument(function):
            raise NeedsEager(f"it passes .flat of an array that may not be contiguous to {function.__name__}")
        if any(map(holds_growing, args)):
            found = tracer.appended(function, args, kwargs)
            if found is not NotImplemented:
                return found
            args = tuple(map(array_of, args))
        if any(isinstance(a, ListStandIn) for a in args):
            if type(args[0]) is RowList:
                return args[0].given_to(function, partial(self.call, tracer), args[1:], kwargs)
            if function in _JOINING or (function in _OF_SEQUENCES and len(args) == 1 and not kwargs):
                return args[0].joined(function, args[1:], kwargs)
            typed = function in _OF_DTYPES and (len(args) > 1 or kwargs.get("dtype") is not None)
            args = tuple(a.as_array(typed=typed) if isinstance(a, ListStandIn) else a for a in args)
        if function in _JOINING and args and type(args[0]) is list:
            rows = array_of_rows(args[0])
            if rows is not None and (made := joined_rows(function, rows, args[1:], kwargs)) is not None:
                return made
        args, kwargs = self._own(tracer, self._with_rows(tracer, function, args)), self._own(tracer, kwargs)
        like = kwargs.get("like")
        if like is not None and not (isinstance(like, np.ndarray) and not isinstance(like, np.generic)):
            raise NeedsEager("like= is not an array")
        if isinstance(function, np.ufunc):
            kwargs = with_dtype_for_signature(function, kwargs)
            check_where(function, args, kwargs)
        symbol = self.symbol_of(function)
        if symbol is None or not lnp.defines(symbol, function, args, kwargs):
            if symbol is not None and symbol.id.startswith("scipy."):
                return self.opaque_call(tracer, symbol, args, kwargs)
            return call_undefined(tracer, function, args, kwargs)
        if symbol.id in BY_VALUES:
            found = BY_VALUES[symbol.id](*args, **kwargs)
            if found is not NotImplemented:
                return found
        if OpTags.LATE_GUARD in symbol.tags:
            check_may_start_over(tracer, symbol, f"scipy.{symbol.id.partition('.')[2]}")
        if symbol.id.startswith("scipy"):
            args = tuple(range_as_array(x, None) if type(x) is TracedRange else x for x in args)
            kwargs = {k: range_as_array(x, None) if type(x) is TracedRange else x for k, x in kwargs.items()}
        if (
            OpTags.TAKES_LISTS in symbol.tags
            and 0 < len(args) < 3
            and type(args[0]) is TracedRange
            and not kwargs.keys() - {"dtype"}
        ):
            args = range_as_array(args[0], kwargs.get("dtype", args[1] if len(args) > 1 else None)), *args[1:]
        if OpTags.TAKES_LISTS in symbol.tags and args and count_of_plain(args[0]) >= MANY and not is_traced(kwargs):
            known = function(*args, **kwargs)
            if known.dtype.kind in "biufc":
                return copy_of(tracer.inputs.constant_array(known), order="K")
        if OpTags.FACTORY in symbol.tags and is_traced((args, tuple(kwargs.values()))):
            counted = with_lengths(tracer, function, args, kwargs)
            if type(counted) is TracedArray:
                return counted
            args, kwargs = counted
        return tracer.call(symbol, args, kwargs)

    def _may_give_argument(self, function: Any) -> bool:
        symbol = self.symbol_of(function)
        return symbol is None or by_id[symbol.id].returns in VIEWS

    def ufunc(self, tracer: Tracer, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = tuple(x.as_array() if isinstance(x, ListStandIn) else x for x in inputs)
        inputs, kwargs = self._own(tracer, self._with_rows(tracer, ufunc, inputs)), self._own(tracer, kwargs)
        if method == "__call__":
            kwargs = with_dtype_for_signature(ufunc, kwargs)
            check_where(ufunc, inputs, kwargs)
            symbol = self.symbol_of(ufunc)
            if symbol is None:
                return call_undefined(tracer, ufunc, inputs, kwargs)
            return tracer.call(symbol, inputs, kwargs)
        symbol = lnp.ufunc_methods.get(method)
        if symbol is None:
            raise NeedsEager(f"the ufunc method {method} is not compiled")
        if method == "at":
            return tracer.call(symbol, (inputs[0], ufunc, *inputs[1:]), kwargs)
        return tracer.call(symbol, (ufunc, *inputs), kwargs)

    def _with_rows(self, tracer: Tracer, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with an array in place of each list that a loop made."""
        if list not in map(type, args) or function in _OF_SEQUENCES:
            return args
        found = [array_of_rows(x) if type(x) is list else None for x in args]
        copies = (None if x is None else tracer.call(lnp.copy, (x,), {}) for x in found)
        return tuple(a if x is None else x for a, x in zip(args, copies))

    def _own(self, tracer: Tracer, x: Any) -> Any:
        """Arguments of a function of NumPy: arrays of other libraries as NumPy's, on the same memory."""
        kind = type(x)
        if kind is TracedArray:
            return x.library.as_numpy(tracer, x)
        if kind is TracedFlat or kind is NumberList:
            return x.as_array()
        if kind is tuple:
            return tuple([self._own(tracer, y) for y in x])
        if kind is list:
            return [self._own(tracer, y) for y in x]
        if kind is dict:
            return {k: self._own(tracer, y) for k, y in x.items()}
        library = None if kind in PLAIN else library_of_value(x)
        if library is None or library.is_constant(x):
            return x
        return self._own(tracer, tracer.inputs.constant_of_library(x))

    def capture(self, tracer: Tracer) -> AbstractContextManager[Any]:
        return np.errstate(all="ignore")  # what tracing itself computes is none of the program's

    def constructed(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Constructs an object of a NumPy class; ``NotImplemented`` for other classes, and if all arguments are known."""
        if is_made(cls):
            return made(cls, args, kwargs)
        if not issubclass(cls, (np.generic, np.dtype, np.ndarray)):
            return NotImplemented
        traced = is_traced((args, tuple(kwargs.values())))
        if is_array_class(cls):
            return NotImplemented
        if issubclass(cls, (np.dtype, np.ndarray)):
            if traced:
                raise NeedsEager(f"it makes a {cls.__name__} of an array")
            return NotImplemented
        is_number = issubclass(cls, (np.number, np.bool))
        if traced and (kwargs or len(args) > 1 or not is_number):
            raise NeedsEager(f"it makes a {cls.__name__} in a way that is not compiled")
        if not is_number or kwargs or not (is_traced(args) or not args):
            return NotImplemented
        if any(type(a) is TracedArray and a.library is not self and a.shape_ for a in args):
            raise NeedsEager(f"it makes a {cls.__name__} of a tensor")
        if len(args) == 1 and type(args[0]) is TracedArray and args[0].shape_:
            return as_array(args[0], cls)
        return scalar_of(cls, *args)

    # Values

    def lift(self, inputs: Inputs, value: Any, source: Source) -> Any:
        if type(value) is np.ndarray:
            return lifting.lift_array(inputs, value, source)
        if isinstance(value, np.memmap):
            return lifting.lift_memmap(inputs, value, source)
        return lifting.lift_scalar(inputs, value, source)

    def is_constant(self, value: Any) -> bool:
        return isinstance(value, np.dtype)

    def nothing_like(self, p: TensorProxy) -> TensorProxy | None:
        if p.lang is not lnp.language or symbols.extents(p.shape) is None:
            return None
        shape = tuple(TracedNumber(n) if isinstance(n, NumberProxy) else n for n in p.shape)
        made = active.current().call(lnp.zeros, (shape,), {"dtype": to_numpy_dtype(p.dtype)})
        found = scalar_of(made.dtype.type, made) if p.scalar else made
        return found.__tnp_value__()

    # Arrays

    def array_class(self, a: TracedArray) -> type:
        if a.scalar:
            return np.dtype(a._element_type.name).type
        tracer = active.running()
        if tracer is not None and tracer.inputs.subclassed and a.storage in tracer.inputs.subclassed:
            return np.memmap
        return np.ndarray

    def shape(self, a: TracedArray) -> Any:
        return tuple(TracedNumber(d) if isinstance(d, NumberProxy) else d for d in a.shape_)

    def dtype(self, a: TracedArray) -> Any:
        return to_numpy_dtype(a._element_type)

    def size(self, a: TracedArray) -> Any:
        n = sizes.product(a.shape_)
        return TracedNumber(n) if isinstance(n, NumberProxy) else n

    def attribute(self, tracer: Tracer, a: TracedArray, name: str) -> Any:
        numpys: type = a.dtype.type if a.scalar else np.ndarray
        if not hasattr(numpys, name):
            if a.storage in tracer.inputs.subclassed:
                raise NeedsEager(f"it reads {name} of a memmap")
            raise AttributeError(f"'{numpys.__module__}.{numpys.__name__}' object has no attribute {name!r}")
        prop = lnp.language.properties.get(name)
        if prop is not None:
            seen: dict[str, TracedArray] = {}
            value = tracer.value(a, seen)
            start = len(tracer.trace.statements)
            with languages.language_context(lnp.language):
                result = prop(value)
            kind: Returns = "view" if name in ("T", "mT") else "view or read-only" if name == "imag" else "argument"
            return tracer.handle(result, seen, start, kind)
        if name in ARRAY_ATTRIBUTES:
            return ARRAY_ATTRIBUTES[name](tracer, a)
        special = ARRAY_METHODS.get(name)
        if special is not None:
            return lambda *args, **kwargs: special(tracer, a, *args, **kwargs)
        if name == "flags" and (flags := flags_of(a)) is not None:
            return flags
        symbol = lnp.language.methods.get(name)
        if symbol is None:
            if name == "resize":
                return _resize(a)
            if name in ("__array_interface__", "__array_struct__"):
                raise NeedsEager("a function that is not traced makes an array of what it is given")
            of_layout = name == "base" or (name == "flags" and a.storage.origin is None and a.ndim > 1)
            reason = AmbiguousView if of_layout else NeedsEager
            raise reason(f"{numpys.__name__}.{name} is not compiled")
        return lambda *args, **kwargs: tracer.call(symbol, (a, *args), kwargs)

    def set_attribute(self, tracer: Tracer, a: TracedArray, name: str, value: Any) -> None:
        setter = ARRAY_SETTERS.get(name)
        if setter is None or (name == "shape" and tracer.regions):
            raise NeedsEager(f"it sets the attribute {name!r} of an array")
        setter(tracer, a, value)

    def rounded(self, tracer: Tracer, a: TracedArray, digits: Any) -> Any:
        if not a.scalar or a._element_type.kind in "bc":
            name = a.dtype.type.__name__ if a.scalar else "ndarray"
            raise TypeError(f"type numpy.{name} doesn't define __round__ method")
        if digits is None:
            return rounded(a)
        return tracer.call(lnp.round, (a, digits), {})

    def as_numpy(self, tracer: Tracer, a: TracedArray) -> TracedArray:
        return a

    # Values of arrays

    def element(self, a: TracedArray, value: Any) -> Any:
        return a.dtype.type(value)

    def known_scalar(self, a: TracedArray, what: str) -> Any:
        if a.shape_:
            raise a._needs_value(what)
        value = a.dtype.type(a._asked(what))
        return value if a.scalar else np.asarray(value)

    def is_single(self, a: TracedArray) -> bool:
        # What NumPy makes of others depends on its version.
        return not a.shape_

    def check_truth(self, a: TracedArray) -> None:
        n = sizes.product(a.shape_)
        if type(n) is int and n != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )

    def check_number(self, python_type: type, a: TracedArray) -> None:
        python_type(np.ones(tuple(map(operator.index, a.shape_)), a.dtype))

    def hash_of(self, a: TracedArray) -> int:
        if a.scalar:
            return hash_of_number(a.known_scalar("hash()"))
        raise TypeError("unhashable type: 'numpy.ndarray'")


NUMPY = NumpyLibrary(lnp.language)
register(NUMPY)
#: what is computed in the core's own terms is an array of NumPy's to a program
languages.core.library = NUMPY

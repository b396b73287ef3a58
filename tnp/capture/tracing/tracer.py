"""The tracer: records operations on traced values.

:meth:`Tracer.call` handles every operation. It replaces traced values by their proxies, calls the language's symbol,
which records itself, and wraps the resulting proxies as traced values. A result that is a view shares the memory of its
argument.
"""

from __future__ import annotations

import operator
import types
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.guards.lifting import Inputs
from tnp.capture.libraries.base import library_of_function, library_of_value
from tnp.capture.libraries.numpy.arguments import MANY, check_plain, check_where, count_of_plain
from tnp.capture.libraries.numpy.array_attributes import ARRAY_ATTRIBUTES, ARRAY_METHODS, ARRAY_SETTERS
from tnp.capture.libraries.numpy.dtype_queries import ANSWERS
from tnp.capture.libraries.numpy.out import call_with_out, without_out
from tnp.capture.objects.choices import Choices
from tnp.capture.objects.foreign import Foreign, refuse
from tnp.capture.objects.shadows import holds_others
from tnp.capture.rewrite.rewriter import RUNTIME
from tnp.capture.speculation.value_specialization import Answers, Asking
from tnp.capture.tracing import operators, scalar_kind, subscripts
from tnp.capture.tracing.handles import is_traced
from tnp.capture.tracing.output_aliasing import another_handle, fresh_handle, repeated, sealed, view_handle
from tnp.capture.tracing.refusals import PLAIN, is_by_zero, is_list_of_scalars, is_negative_power, may_fail_by_size
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber, TracedObject
from tnp.core import languages, prims, sizes
from tnp.core.array_kinds import USER_KIND
from tnp.core.errors import NeedsConcreteSize, NeedsEager, NeedsOpaque, NeedsValue, TraceError
from tnp.core.proxies import ASK, NumberProxy, ObjectProxy, Proxy, TensorProxy
from tnp.core.symbol import OpTags, Symbol, flat_proxies, map_proxies
from tnp.core.trace import Trace
from tnp.core.views import Step
from tnp.lang import numpy as lnp
from tnp.lang.numpy import opaque
from tnp.lang.numpy.effects import Effect, Slot, caller_at, user_frame
from tnp.lang.numpy.registry import VIEWS, Out, Returns, by_id, symbol_of

if TYPE_CHECKING:
    from tnp.capture.speculation.regions import Region

__all__ = [
    "Tracer",
]

#: bytes that an allocation may have of which it is taken for granted that it succeeds
_MOST_BYTES = 2**30
#: how a symbol that is none of NumPy's functions takes ``out=``
_BY_KEYWORD = Out()


class Tracer:
    """One trace being recorded: its inputs, and the semantics of operations on its traced values.

    It has many methods: one for each use of a traced value in a program, called by traced values and hooks.
    """

    def __init__(self, trace: Trace, inputs: Inputs, *, strict: bool = False, answers: Answers | None = None) -> None:
        self.trace = trace
        #: the values that Python has to know
        self.asking = Asking(self, answers)
        ASK.put(trace, lambda number: self.asking.value(number, "Python"))
        #: how many functions are being differentiated: a value guard's result would be a constant to them
        self.differentiating = 0
        self.inputs = inputs
        self.strict = strict
        inputs.tracer = self
        #: by runtime and name, values of global and closure names that stand for themselves and are guarded
        self.loaded: dict[tuple[Any, str], Any] = {}
        #: how many ``try`` blocks the program is in
        self.catching = 0
        #: whether an error at run time may come between assignments of attributes, which are made last, so that the program may not do anything else that cannot be done twice
        self.may_lose_stores = False
        #: how many ``np.errstate`` it is in under which operations raise
        self.raising = 0
        self.must_run_eagerly: NeedsEager | None = None
        #: loops and branches being traced, the innermost last
        self.regions: list[Region] = []
        #: of bodies that do not roll, why
        self.unrollable: dict[CodeType, str] = {}
        #: whether a loop has rolled, and how many iterations those that did have in all, as far as that is known
        self.rolled = False
        self.rolled_iterations = 0
        #: how often what is being traced is run by the loops around it
        self.repeats = 1
        self.warned_of_unrolling = False
        #: times that a name was read that is not bound yet, on trial
        self.unbound_reads = 0
        #: the hooks by which code that is no function's calls others
        self.runtime: Any = None
        #: the library's function whose symbol is called: several functions may share one
        self.calling: Any = None
        #: which values require gradients, and where those are off, as the library has it; ``None`` without one
        self.gradients: Any = None
        #: whether a library's functions did nothing but cast and compute when tracing began
        self.began_ordinary = True
        #: what the library casts arguments of its functions to
        self.casts: Any = None
        #: where in their memory arrays of a library begin that are arguments, by name
        self.offsets: dict[str, int] = {}
        #: the state of the library's random generator when tracing began
        self.generator_state: Any = None
        #: whether libraries are told that a compiler is at work
        self.says_compiling = False
        #: how floating-point errors were reported when tracing began
        self.settings: Any = np.geterr()
        #: the arrays that are returned, by ``id``, and the proxy of each
        self.output_objects: dict[int, tuple[TracedArray, Proxy]] = {}
        #: the arrays that branches chose
        self.choices = Choices()
        #: pairs of which the first is a reshape of the second, a view or a copy as its memory is when the program runs
        self.reshaped: list[tuple[Storage, Storage]] = []
        #: whether loops may roll; where not, they run as Python runs them
        self.rolls = True

    def modes(self) -> Any:
        """What the program has turned on and off in a library at this point; ``None`` without one."""
        return None if self.gradients is None else self.gradients.modes()

    def put_back_modes(self, modes: Any) -> None:
        """Turns on and off what was when :meth:`modes` gave ``modes``."""
        self.gradients.put_back_modes(modes)

    # Values in and out

    def value(self, x: Any, seen: dict[str, TracedArray]) -> Any:
        """``x`` with traced values replaced by the proxies of their values; ``seen`` collects the traced arrays."""
        kind = type(x)
        if kind is TracedArray:
            proxy = x.__tnp_value__()
            seen[proxy.name] = x
            return proxy
        if kind in (int, float, str, bool, type(None)):
            return x
        if kind is TracedNumber or kind is TracedObject:
            return x.proxy
        if kind is tuple:
            return tuple([self.value(y, seen) for y in x])
        if kind is list:
            return [self.value(y, seen) for y in x]
        if kind is dict:
            return {k: self.value(y, seen) for k, y in x.items()}
        if kind is slice:
            return slice(self.value(x.start, seen), self.value(x.stop, seen), self.value(x.step, seen))
        if isinstance(x, np.ndarray):
            return self.value(self.inputs.constant_array(x), seen)
        if kind is TracedEither:
            return self.value(x.settled(), seen)
        if kind not in PLAIN and library_of_value(x) is not None:
            lifted = self.inputs.constant_of_library(x)
            return x if lifted is x else self.value(lifted, seen)
        if kind is Foreign:
            refuse(x, "computes with")
        if isinstance(x, Proxy):
            raise NeedsEager("a proxy of the compiler reached the program")
        return x

    def handle(
        self,
        result: Any,
        seen: dict[str, TracedArray],
        start: int,
        returns: Returns = "array",
        row_major: bool = True,
    ) -> Any:
        """``result`` with proxies replaced by traced values; ``start`` is where in the trace the operation began.

        ``returns`` and ``row_major`` are as in the registry.
        """
        if isinstance(result, TensorProxy):
            known = seen.get(result.name)
            if known is not None and known._seen == known.storage.version:
                return another_handle(known) if returns in _OTHER_OBJECTS else known
            if returns in VIEWS:
                found = view_handle(result, seen, self.trace.statements[start:], returns)
                if found is not None:
                    if self.gradients is not None:
                        self.gradients.viewed(found, self.trace.statements[start:])
                    return found
            made = fresh_handle(result, seen, row_major)
            if returns == "argument" and not made.scalar:
                return repeated(made, self.trace.statements[start:])
            return sealed(made) if returns == "view or read-only" else made
        if isinstance(result, NumberProxy):
            return TracedNumber(result)
        if isinstance(result, ObjectProxy):
            return TracedObject(result, opaque.dummy(result))
        if isinstance(result, (tuple, list)):
            items = [self.handle(x, seen, start, returns, row_major) for x in result]
            return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
        if isinstance(result, dict):
            return {k: self.handle(x, seen, start, returns, row_major) for k, x in result.items()}
        return result

    # Operations

    def call(self, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records ``symbol`` on traced values and returns traced values of its results."""
        if self.gradients is not None:
            self.gradients.sync()
        library = None if symbol.language is None else symbol.language.library
        info = by_id.get(symbol.id) if library is None else library.info(symbol)
        kinds = set(map(type, args))
        if TracedEither in kinds or (kwargs and TracedEither in map(type, kwargs.values())):
            args, kwargs = scalar_kind.as_operands(
                info is not None and isinstance(info.function, np.ufunc), args, kwargs
            )
        out = _BY_KEYWORD if info is None or library is not None else info.out
        if "out" in kwargs or (out.position is not None and len(args) > out.position):
            (args, kwargs), arrays = without_out(out, args, kwargs)
            if arrays is not None:
                if OpTags.POWER in symbol.tags and is_negative_power(args):
                    raise NeedsEager(
                        "it raises integers in place to a power that may be negative, which NumPy refuses half way"
                    )
                return call_with_out(self, symbol, out, args, kwargs, arrays)
        tags = symbol.tags
        may_raise = OpTags.MAY_RAISE in tags or self.raising > 0 or may_fail_by_size(symbol, args)
        if OpTags.POWER in tags:
            may_raise = may_raise or is_negative_power(args)
        elif OpTags.REFUSES_ZERO in tags:
            may_raise = may_raise or is_by_zero(args)
        if may_raise or OpTags.EFFECT in tags or (OpTags.TAKES_LISTS in tags and is_list_of_scalars(args)):
            self.before_effect(may_raise=may_raise or OpTags.EFFECT not in tags)
        seen: dict[str, TracedArray] = {}
        proxies = [self.value(a, seen) for a in args]
        keywords = {k: self.value(a, seen) for k, a in kwargs.items()} if kwargs else kwargs
        start = len(self.trace.statements)
        try:
            result = symbol(*proxies, **keywords)
        except NeedsOpaque:
            if library is not None:
                return library.opaque_call(self, symbol, args, kwargs)
            return self.opaque_call(operator.attrgetter(symbol.id.removeprefix("numpy."))(np), args, kwargs)
        except NeedsValue as needed:
            result = self._call_with_values(symbol, proxies, keywords, seen, needed)
        except NeedsConcreteSize as needed:
            # What is a view of an array would not be one of it with another shape.
            views = info is None or library is not None or info.returns in VIEWS or info.returns == "update"
            if views:
                raise
            result = self._call_with_sizes(symbol, proxies, keywords, seen, needed)
        if info is not None and info.returns == "update":
            is_fixed = type(args[0]) is TracedArray and not args[0].storage.writable
            if is_fixed and OpTags.MAY_TAKE_READ_ONLY in tags:
                raise NeedsEager(f"{symbol.name} may take a read-only array, which NumPy does not always refuse")
            self.store_updated(args[0], result)
            return None
        warned = lnp.DATA_WARNINGS.get(symbol.id)
        if warned is not None and USER_KIND.of(self.trace) == "numpy" and not self._is_silent(warned, kwargs):
            self.warn_of_data(warned(result, *proxies, **keywords))
        if info is None:
            made = self.handle(result, seen, start, "view" if OpTags.VIEW in symbol.tags else "array", False)
            if library is not None:
                library.lay_out(self, symbol, args, kwargs, made)
            return made
        if self.catching and info.returns not in VIEWS:
            self._check_memory(result)
        in_columns = any(type(x) is str and x in ("F", "f") for x in (*args, *kwargs.values()))
        made = self.handle(result, seen, start, info.returns, False if in_columns else info.row_major)
        if library is not None:
            library.lay_out(self, symbol, args, kwargs, made)
        elif self.inputs.subclassed and not isinstance(info.function, np.ufunc):
            self._note_subclass(made, seen)
        return made

    def _is_silent(self, warned: Any, kwargs: dict[str, Any]) -> bool:
        """Whether a warning of a size that only the program knows is left out: in a loop, which would not be native code with it."""
        return bool(self.regions) and warned in lnp.OF_SIZES and "where" not in kwargs

    def _note_subclass(self, made: Any, seen: dict[str, TracedArray]) -> None:
        """Notes that what a function made of an array of a subclass may be of that class, too: ufuncs' results are not."""
        if any(h.storage in self.inputs.subclassed for h in seen.values()):
            for x in made if isinstance(made, (tuple, list)) else (made,):
                if type(x) is TracedArray and not x.scalar:
                    self.inputs.subclassed.add(x.storage)

    def _check_memory(self, result: Any) -> None:
        """Refuses what may be too large to be had, where the program catches that."""
        if (
            type(result) is TensorProxy
            and sizes.is_known(result.shape)
            and result.numel * result.dtype.itemsize > _MOST_BYTES
        ):
            raise NeedsEager("it catches errors of an operation that needs much memory")

    def _call_with_values(
        self, symbol: Symbol, args: list[Any], kwargs: dict[str, Any], seen: dict[str, TracedArray], needed: NeedsValue
    ) -> Any:
        """``symbol`` called with integer scalars among its arguments as numbers, since it needs to know one of them: those that are
        inputs, and then those that the program computes, one by one."""
        known = {name: scalar for name, h in seen.items() if (scalar := self._known_value(h)) is not None}
        asked = [h for n, h in seen.items() if n not in known and not h.shape_ and h._element_type.kind in "iu"]
        if needed.array is not None:
            known[needed.array.name] = self._known_elements(needed, needed.array, flat_proxies((args, kwargs)), seen)
        if not known and not asked:
            raise needed
        while True:
            try:
                values = map_proxies(lambda p: known.get(p.name, p), (args, kwargs))
                return symbol(*values[0], **values[1])
            except NeedsValue as another:
                array = another.array
                if array is not None and array.name not in known:
                    known[array.name] = self._known_elements(another, array, flat_proxies((args, kwargs)), seen)
                    continue
                if not asked:
                    raise
                a = asked.pop(0)
                value = a._asked(f"{symbol.name}()")
            known[a.__tnp_value__().name] = value if a.library is not None else a.dtype.type(value)

    def _known_elements(
        self, needed: NeedsValue, array: TensorProxy, operands: list[Any], seen: dict[str, TracedArray]
    ) -> Any:
        """The elements of a short array that an operation needs to know, where it is one of its operands, and once: a tuple, or
        a tuple of tuples."""
        a = seen.get(array.name)
        known = sizes.is_known(array.shape) and 0 < array.ndim <= 2 and array.numel <= _MOST_KNOWN
        if a is None or not known or sum(p is array for p in operands) != 1:
            raise needed
        if array.ndim == 1:
            return tuple(int(a[i]) for i in range(array.shape[0]))
        return tuple(tuple(int(a[i, j]) for j in range(array.shape[1])) for i in range(array.shape[0]))

    def _call_with_sizes(
        self, symbol: Symbol, args: list[Any], kwargs: dict[str, Any], seen: dict[str, TracedArray], needed: NeedsEager
    ) -> Any:
        """``symbol`` called with arrays of the sizes that they have in this call, since it needs to know one of them."""
        sized = {}
        for name, a in seen.items():
            if not sizes.is_known(a.shape_):
                shape = tuple(
                    self.asking.value(n, f"{symbol.name}()") if isinstance(n, NumberProxy) else n for n in a.shape_
                )
                with languages.language_context(lnp.language):
                    sized[name] = prims.reshape(a.__tnp_value__(), shape)
        if not sized:
            raise needed
        args, kwargs = map_proxies(lambda p: sized.get(p.name, p), (args, kwargs))
        return symbol(*args, **kwargs)

    def _known_value(self, a: TracedArray) -> Any:
        """A real NumPy scalar that is an argument, as itself; ``None`` for any other array."""
        if not a.scalar or a._element_type.kind not in "iuf":
            return None
        known = self.known_scalar(a)
        return None if known is None else a.dtype.type(known)

    def warn_of_data(self, warned: tuple[str, TensorProxy] | None) -> None:
        """Has the program give a warning, from the user's line, as often as it finds out."""
        if warned is not None:
            message, count = warned
            self.before_effect(may_raise=True)
            effect = Effect(lnp.warn_times, (Slot(0, "scalar"), message), {}, caller_at(user_frame()))
            lnp.data_warning(effect, None, count)

    def operate(self, method: str, *args: Any) -> Any:
        """A Python operator on traced values, numbers and arrays."""
        return operators.operate(self, method, *args)

    def is_operand(self, x: Any) -> bool:
        """Whether NumPy's operators take ``x`` for an array."""
        return operators.is_operand(x)

    def in_place(self, method: str, target: TracedArray, other: Any) -> Any:
        """``target += other`` and its like."""
        return operators.in_place(self, method, target, other)

    def getitem(self, a: TracedArray, key: Any) -> Any:
        """``a[key]``."""
        return subscripts.getitem(self, a, key)

    def setitem(self, a: TracedArray, key: Any, value: Any) -> None:
        """``a[key] = value``."""
        subscripts.setitem(self, a, key, value)

    def store(self, target: TracedArray, value: Any, key: Step | None = None, *, by_element: bool = True) -> None:
        """``target[...] = value``, with assignment's conversion to the target's dtype."""
        subscripts.store(self, target, value, key, by_element=by_element)

    def store_updated(self, target: Any, value: TensorProxy) -> None:
        """Takes ``value`` for what an array holds from now on."""
        subscripts.store_updated(target, value)

    def flush_if_dynamic(self, key: Any) -> None:
        """Writes what is pending if a store may fail at run time because of an index; those in lists are not looked at before."""
        if is_traced(key) or type(key) is list or (type(key) is tuple and any(type(k) is list for k in key)):
            self.before_raising()

    def before_effect(self, *, may_raise: bool) -> None:
        """Called before an operation that acts on the outside, or that may raise when the program runs."""
        if may_raise:
            self.before_raising()
        else:
            self.flush()

    def before_raising(self) -> None:
        """Called before an operation that may raise when the program runs."""
        if self.catching:
            raise NeedsEager("it catches errors of an operation that may raise when the program runs")
        self.flush()
        self.may_lose_stores = self.may_lose_stores or any(map(holds_others, self.inputs.shadows))

    def flush(self) -> None:
        """Makes pending writes to the caller's memory visible, before an operation that may raise at run time."""
        for storage in self.inputs.storages:
            if storage.dirty and storage.value.name != storage.source:
                assert storage.origin is not None
                stored = prims.copy_(storage.value, storage.origin)
                storage.set_value(stored)
                storage.source = stored.name

    def attribute(self, a: TracedArray, name: str) -> Any:
        """``a.name``: an attribute or a bound method of the language."""
        if a.library is not None:
            return a.library.attribute(self, a, name)
        prop = lnp.language.properties.get(name)
        if prop is not None:
            seen: dict[str, TracedArray] = {}
            value = self.value(a, seen)
            start = len(self.trace.statements)
            with languages.language_context(lnp.language):
                result = prop(value)
            kind: Returns = "view" if name in ("T", "mT") else "view or read-only" if name == "imag" else "argument"
            return self.handle(result, seen, start, kind)
        if name in ARRAY_ATTRIBUTES:
            return ARRAY_ATTRIBUTES[name](self, a)
        if a.storage in self.inputs.subclassed and not hasattr(np.ndarray, name):
            raise NeedsEager(f"it reads {name} of a memmap")
        special = ARRAY_METHODS.get(name)
        if special is not None:
            return lambda *args, **kwargs: special(self, a, *args, **kwargs)
        symbol = lnp.language.methods.get(name)
        numpys: type = a.dtype.type if a.scalar else np.ndarray
        if not hasattr(numpys, name):
            raise AttributeError(f"'{numpys.__module__}.{numpys.__name__}' object has no attribute {name!r}")
        if symbol is None:
            raise NeedsEager(f"{numpys.__name__}.{name} is not compiled")
        return lambda *args, **kwargs: self.call(symbol, (a, *args), kwargs)

    def set_array_attribute(self, a: TracedArray, name: str, value: Any) -> None:
        """``a.name = value``."""
        if a.library is not None:
            a.library.set_attribute(self, a, name, value)
            return
        setter = ARRAY_SETTERS.get(name)
        if setter is None or (name == "shape" and self.regions):
            raise NeedsEager(f"it sets the attribute {name!r} of an array")
        setter(self, a, value)

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``__array_ufunc__``: a call or a method of a ufunc."""
        inputs, kwargs = self._of_numpy(inputs), self._of_numpy(kwargs)
        if method == "__call__":
            check_where(ufunc, inputs, kwargs)
            symbol = symbol_of(ufunc)
            if symbol is None:
                return self.opaque_call(ufunc, inputs, kwargs)
            return self.call(symbol, inputs, kwargs)
        symbol = lnp.ufunc_methods.get(method)
        if symbol is None:
            raise NeedsEager(f"the ufunc method {method} is not compiled")
        if method == "at":
            return self.call(symbol, (inputs[0], ufunc, *inputs[1:]), kwargs)
        return self.call(symbol, (ufunc, *inputs), kwargs)

    def numpy_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``__array_function__``: any other function of NumPy."""
        args, kwargs = self._of_numpy(args), self._of_numpy(kwargs)
        like = kwargs.get("like")
        if like is not None and not (isinstance(like, np.ndarray) and not isinstance(like, np.generic)):
            raise NeedsEager("like= is not an array")
        if isinstance(function, np.ufunc):
            check_where(function, args, kwargs)
        symbol = symbol_of(function)
        if symbol is None or not lnp.defines(symbol, function, args, kwargs):
            return self.opaque_call(function, args, kwargs)
        if OpTags.TAKES_LISTS in symbol.tags and args and count_of_plain(args[0]) >= MANY and not is_traced(kwargs):
            known = function(*args, **kwargs)
            if known.dtype.kind in "biufc":
                return self.call(lnp.copy, (self.inputs.constant_array(known),), {"order": "K"})
        return self.call(symbol, args, kwargs)

    def _of_numpy(self, x: Any) -> Any:
        """Arguments of a function of NumPy: arrays of other libraries as NumPy's, on the same memory."""
        kind = type(x)
        if kind is TracedArray:
            return x if x.library is None else x.library.as_numpy(self, x)
        if kind is tuple:
            return tuple([self._of_numpy(y) for y in x])
        if kind is list:
            return [self._of_numpy(y) for y in x]
        if kind is dict:
            return {k: self._of_numpy(y) for k, y in x.items()}
        library = None if kind in PLAIN else library_of_value(x)
        if library is None or library.is_constant(x):
            return x
        return self._of_numpy(self.inputs.constant_of_library(x))

    def library_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of another library than NumPy."""
        library = library_of_function(function)
        assert library is not None
        return library.call(self, function, args, kwargs)

    def opaque_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A NumPy function that the language lacks: evaluated from metadata, or an opaque call."""
        answer = ANSWERS.get(function)
        if answer is not None:
            return answer(*args, **kwargs)
        name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}"
        if self.strict:
            raise TraceError(f"{name} would run as an opaque call, which strict=True refuses")
        if any(_is_of_trace(a) for a in (*args, *kwargs.values())):
            raise NeedsEager(f"it hands {name}, which is not compiled, a function that computes with traced values")
        check_plain(function, name, (*args, *kwargs.values()))
        if self.regions and OpTags.LATE_GUARD in opaque.symbol_for(function).tags:
            raise NeedsEager(f"it calls {name}, which is not compiled, in a loop or a branch")
        if any(s.dirty for s in self.inputs.storages) or any(
            b.has_tag_inside(OpTags.EFFECT) for b in self.trace.bound_symbols
        ):
            # The call may have to start over, which is only right while nothing has happened.
            raise NeedsEager(
                f"it calls {name}, which is not compiled, after it wrote to an argument or drew random numbers"
            )
        return self.call(opaque.symbol_for(function), args, kwargs)

    def known_scalar(self, a: TracedArray) -> Any:
        """The value of a NumPy scalar that is an argument (the trace then depends on it), else ``None``."""
        return self.inputs.known_scalar(a)

    def array_handle(self, x: Any) -> TracedArray:
        """``x`` as a traced array."""
        if type(x) is TracedArray:
            return x
        if isinstance(x, np.ndarray):
            return self.inputs.constant_array(x)
        made: TracedArray = self.call(lnp.asarray, (x,), {})
        return made

    def object_method(self, obj: TracedObject, name: str) -> Any:
        """A method of a random generator, called at run time at its place in the program."""
        if library_of_value(obj.example) is not None:
            raise NeedsEager(f"it asks a random generator for .{name}")
        kind = type(obj.example)
        if not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        if not callable(getattr(kind, name)) or name.startswith("__"):
            raise NeedsEager(f"it reads {name} of a random generator")

        def method(*args: Any, **kwargs: Any) -> Any:
            return self.call(opaque.method_symbol(obj.example, name), (obj, *args), kwargs)

        method.__name__ = method.__qualname__ = name
        return method

    def known(self, x: Any) -> Any:
        """``x`` with numbers that are known made plain; the trace then depends on them."""
        if type(x) is TracedNumber:
            return x._known()
        if type(x) is slice:
            return slice(self.known(x.start), self.known(x.stop), self.known(x.step))
        if isinstance(x, (tuple, list)) and is_traced(x):
            return type(x)(self.known(y) for y in x)
        return x

    def known_values(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments with numbers that are known made plain."""
        return {k: self.known(v) for k, v in keywords.items()}


#: elements of an array that decides a shape
_MOST_KNOWN = 16
#: the ``returns`` of functions that even where there is nothing to do give another object than the argument
_OTHER_OBJECTS = frozenset(VIEWS) - {"argument", "argument if contiguous"}


_EMPTY = types.CellType()


def _is_of_trace(x: Any) -> bool:
    """Whether ``x`` is a function that means something only while the trace is made: one with hooks, or that has traced values."""
    if isinstance(x, (list, tuple)):
        return any(map(_is_of_trace, x))
    if type(x) is types.MethodType:
        return is_traced(x.__self__) or _is_of_trace(x.__func__)
    if type(x) is not types.FunctionType:
        return False
    return RUNTIME in x.__code__.co_freevars or any(
        is_traced(c.cell_contents) for c in x.__closure__ or () if c != _EMPTY
    )

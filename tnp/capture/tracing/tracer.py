"""The tracer: records operations on traced values.

:meth:`Tracer.call` handles every operation. It replaces traced values by their proxies, calls the language's symbol,
which records itself, and wraps the resulting proxies as traced values. A result that is a view shares the memory of its
argument.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.control_flow import growing_arrays, made_lists
from tnp.capture.guards.lifting import Inputs
from tnp.capture.libraries.base import Library, library_of_function, library_of_value
from tnp.capture.libraries.numpy.generators import example_of, method_of
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.operations import as_array, fresh
from tnp.capture.objects.array_classes import is_array_of_class
from tnp.capture.objects.cell_arrays import is_cell_array
from tnp.capture.objects.choices import Choices
from tnp.capture.objects.foreign import Foreign, refuse
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.objects.shadows import holds_others
from tnp.capture.objects.twins import class_of
from tnp.capture.speculation.found_lengths import FoundLengths
from tnp.capture.speculation.lengths_of_slices import know_integers_beside_symbols
from tnp.capture.speculation.size_arrays import SizeArrays
from tnp.capture.speculation.value_specialization import GuardEvaluator, Specializer
from tnp.capture.tracing import operators, scalar_kind, stores
from tnp.capture.tracing.growing import GrowingArray, array_of
from tnp.capture.tracing.known_operands import called_knowing, other_operands
from tnp.capture.tracing.optional_values import Facts, TracedOptional, settled
from tnp.capture.tracing.outer_names import AssignedName, assigned_names
from tnp.capture.tracing.output_aliasing import another_handle, fresh_handle, repeated, sealed, view_handle
from tnp.capture.tracing.predicates import (
    PLAIN,
    is_by_zero,
    is_list_of_scalars,
    is_negative_power,
    is_traced,
    may_fail_by_size,
    surely_fits,
)
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import (
    TracedArray,
    TracedNumber,
    TracedObject,
    TracedSize,
    is_fitting_mask,
)
from tnp.core import dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import ASK, NumberProxy, ObjectProxy, Proxy, TensorProxy
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol, OpTags, Symbol
from tnp.core.trace import Trace
from tnp.core.tuples import with_items
from tnp.core.views import VIEWS, Returns, Step

if TYPE_CHECKING:
    from tnp.capture.libraries.numpy.errstate import Settings
    from tnp.capture.speculation.regions import ListUse, Region

__all__ = [
    "Tracer",
]

#: bytes that an allocation may have of which it is taken for granted that it succeeds
_MOST_BYTES = 2**30


class Tracer:
    """One trace being recorded: its inputs, and the semantics of operations on its traced values.

    It has many methods: one for each use of a traced value in a program, called by traced values and hooks.
    """

    #: what calls of ``np.seterr`` have set and the program has not restored yet, the last one last
    set_errors: list[Settings]

    def __init__(
        self, trace: Trace, inputs: Inputs, *, strict: bool = False, evaluator: GuardEvaluator | None = None
    ) -> None:
        self.trace = trace
        #: which of its bools are known at the present place, and the variables that loops bind to arrays with more rows each time
        self.facts, self.growing = Facts(), dict[str, int]()
        #: the values that Python has to know
        self.specializer = Specializer(self, evaluator)
        self.found_lengths, self.size_arrays = FoundLengths(self), SizeArrays(self)
        ASK.put(trace, lambda number: self.specializer.value(number, "Python"))
        trace.before_value_guard = lambda number: know_integers_beside_symbols(number, self)
        #: how many functions are being differentiated: a value guard's result would be a constant to them
        self.differentiating = 0
        self.inputs, self.strict, inputs.tracer = inputs, strict, self
        #: by runtime and name, values of global and closure names that stand for themselves and are guarded
        self.loaded: dict[tuple[Any, str], Any] = {}
        #: the global and closure names that the program assigns, by where they are
        self.outer_names: dict[tuple[int, str], AssignedName] = {}
        #: how many ``try`` blocks the program is in, and whether it was in one
        self.catching, self.has_caught = 0, False
        #: whether an error at run time may come between assignments of attributes, which are made last, so that the program may not do anything else that cannot be done twice
        #: and whether that is refused where it happens
        self.may_lose_stores, self.loses_no_stores = False, False
        #: how many ``np.errstate`` it is in under which operations raise
        self.raising, self.set_errors = 0, []
        #: statements that call LAPACK's routines under NumPy's own handler of errors; ``None`` without such
        self.lapack_calls: int | None = None
        self.must_run_eagerly: NeedsEager | None = None
        #: loops and branches being traced, the innermost last
        self.regions: list[Region] = []
        #: the codes of the functions that are being called, those called in regions alone
        self.calls_in_regions: list[CodeType] = []
        #: arrays whose present value was looked up, as a value of its own, and elements of arrays that are numbers
        self.looked_up: list[TracedArray | TracedNumber] = []
        #: of bodies that do not roll, why
        self.unrollable: dict[CodeType, tuple[str, NeedsEager | None]] = {}
        #: whether a loop has rolled, and how many iterations those that did have in all, as far as that is known
        self.rolled, self.rolled_iterations = False, 0
        #: how often what is being traced is run by the loops around it
        self.repeats, self.warned_of_unrolling = 1, False
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
        #: the contexts that catch warnings, and the warnings that the program ignores in them
        self.catching_warnings: list[Any] = []
        self.ignored: tuple[Any, ...] = ()
        #: the arrays that are returned, by ``id``, and the proxy of each
        self.output_objects: dict[int, tuple[TracedArray, Proxy]] = {}
        #: the arrays whose rows are lists that it returns
        self.output_lists: list[TracedArray] = []
        #: the arrays that branches chose
        self.choices = Choices()
        #: pairs of which the first is a reshape of the second, a view or a copy as its memory is when the program runs
        self.reshaped: list[tuple[int, int]] = []
        #: whether loops may roll; where not, they run as Python runs them
        self.rolls = True
        #: in how many loops it is that Python runs
        self.python_loops = 0
        #: by ``id``, the lists that the program has made, where it did, and what tells whether items of a kind can be counted
        self.lists: dict[int, tuple[list[Any], str, Callable[[Any], bool]]] = {}
        #: what appends to lists of which the program counts the items
        self.list_uses: list[ListUse] = []

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
        if kind is tuple or kind is TracedSize:
            return tuple([self.value(y, seen) for y in x])
        if kind is list:
            return [self.value(y, seen) for y in x]
        if kind is dict:
            return {k: self.value(y, seen) for k, y in x.items()}
        if kind is slice:
            return slice(self.value(x.start, seen), self.value(x.stop, seen), self.value(x.step, seen))
        if is_cell_array(x):
            raise NeedsEager(f"it computes with {x.words}")
        if is_array_of_class(x):
            raise NeedsEager(f"it computes with a {class_of(x).__name__}")
        if isinstance(x, np.ndarray):
            return self.value(self.inputs.constant_array(x), seen)
        if kind is TracedEither or kind is TracedOptional:
            return self.value(x.settled(), seen)
        if kind is GrowingArray:
            return self.value(x.array(), seen)
        if isinstance(x, ListStandIn):
            return self.value(x.as_array(), seen)
        if kind not in PLAIN and library_of_value(x) is not None:
            lifted = self.inputs.constant_of_library(x)
            return x if lifted is x else self.value(lifted, seen)
        if kind is Foreign:
            refuse(x, "computes with")
        if isinstance(x, tuple) and hasattr(kind, "_fields"):
            return self.value(tuple(x), seen)
        if isinstance(x, Proxy):
            raise NeedsEager("a proxy of the compiler reached the program")
        return x

    def handle(
        self,
        result: Any,
        seen: dict[str, TracedArray],
        start: int,
        returns: Returns = "array",
        row_major: bool | str = True,
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
            return TracedObject(result, example_of(result))
        if isinstance(result, (tuple, list)):
            return with_items(result, [self.handle(x, seen, start, returns, row_major) for x in result])
        if isinstance(result, dict):
            return {k: self.handle(x, seen, start, returns, row_major) for k, x in result.items()}
        return result

    # Operations

    def call(self, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records ``symbol`` on traced values and returns traced values of its results."""
        if symbol is prims.item and (number := self.size_arrays.number(args[0].__tnp_value__())) is not None:
            return number
        if self.gradients is not None:
            self.gradients.sync()
        library: Library = NUMPY if symbol.language is None else symbol.language.library
        info = library.functions.get(symbol.id)
        kinds = set(map(type, args))
        if TracedOptional in kinds or GrowingArray in kinds:
            args = tuple(array_of(settled(a)) for a in args)
            kinds = set(map(type, args))
        if TracedEither in kinds or (kwargs and TracedEither in map(type, kwargs.values())):
            ufunc = info.function if info is not None and library.is_ufunc(info) else None
            args, kwargs = scalar_kind.as_operands(ufunc, args, kwargs, symbol.id)
        if args and type(args[0]) in (list, tuple) and symbol.id in scalar_kind.OF_LISTS:
            args = scalar_kind.as_items(args[0]), *args[1:]
        if library.has_out(info, args, kwargs):
            return library.call_with_out(self, symbol, args, kwargs)
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
        start = len(self.trace.statements) - self.found_lengths.inserted
        needed = None
        try:
            result = symbol(*proxies, **keywords)
        except NeedsEager as reason:
            needed = reason
        if needed is not None:  # outside of the handler: errors that come now are the program's
            given = other_operands(self, symbol, needed, args, kwargs, library.may_settle_sizes(info))
            if given is not None:
                return self.call(symbol, *given)
            if isinstance(needed, NeedsOpaque):
                return library.opaque_call(self, symbol, args, kwargs)
            result = called_knowing(self, symbol, proxies, keywords, seen, needed, library.may_settle_sizes(info))
        start += self.found_lengths.inserted
        if symbol.id in library.of_lengths and self.found_lengths.would_tell(result, seen, start):
            return self.call(symbol, args, kwargs)
        if may_raise and self.regions and any(map(_may_warn, self.trace.statements[start:])):
            self.may_lose_stores = True  # of what SciPy warns, it computes itself
        if TracedNumber in kinds or list in kinds or kwargs:
            if self.catching and any(_may_refuse(b, (int, float, complex)) for b in self.trace.statements[start:]):
                self.expects_no_error()
            if not may_raise and self.undoes_early(start):
                self.raising += 1
                try:
                    return self.call(symbol, args, kwargs)
                finally:
                    self.raising -= 1
        if info is not None and info.returns == "update":
            is_fixed = type(args[0]) is TracedArray and not args[0].storage.writable
            if is_fixed and OpTags.MAY_TAKE_READ_ONLY in tags:
                raise NeedsEager(f"{symbol.name} may take a read-only array, which NumPy does not always refuse")
            library.before_update(symbol, args, kwargs)
            self.store_updated(args[0], result)
            return None
        if symbol.id in library.followed:
            library.after(self, symbol, proxies, keywords, result)
        if info is None:
            made = self.handle(result, seen, start, "view" if OpTags.VIEW in symbol.tags else "array", False)
        else:
            if self.catching and info.returns not in VIEWS:
                self._check_memory(result)
            in_columns = (str in kinds or kwargs) and any(
                x in ("F", "f") for x in (*args, *kwargs.values()) if type(x) is str
            )
            made = self.handle(result, seen, start, info.returns, False if in_columns else info.row_major)
        library.describe(self, symbol, args, kwargs, seen, made)
        return made

    def _check_memory(self, result: Any) -> None:
        """Refuses what may be too large to be had, where the program catches that."""
        if (
            type(result) is TensorProxy
            and sizes.is_known(result.shape)
            and result.numel * result.dtype.itemsize > _MOST_BYTES
        ):
            raise NeedsEager("it catches errors of an operation that needs much memory")

    def operate(self, method: str, *args: Any) -> Any:
        """A Python operator on traced values, numbers and arrays."""
        return operators.operate(self, method, *args)

    def is_operand(self, x: Any) -> bool:
        """Whether NumPy's operators take ``x`` for an array."""
        return operators.is_operand(x)

    def in_place(self, method: str, target: TracedArray, other: Any) -> Any:
        """``target += other`` and its like."""
        return operators.in_place(self, method, target, other)

    def store(self, target: TracedArray, value: Any, key: Step | None = None, *, by_element: bool = True) -> None:
        """``target[...] = value``, with assignment's conversion to the target's dtype."""
        stores.store(self, target, value, key, by_element=by_element)

    def store_updated(self, target: Any, value: TensorProxy) -> None:
        """Takes ``value`` for what an array holds from now on."""
        stores.store_updated(target, value)

    def flush_if_dynamic(self, a: TracedArray, key: Any) -> None:
        """Writes what is pending if a subscript of ``a`` may fail at run time because of an index; those in lists are not looked at
        before."""
        if is_fitting_mask(a, key):
            return
        parts = key if type(key) is tuple else (key,)
        if surely_fits(a.shape_, parts):
            return
        if is_traced(key) or any(type(k) is list for k in parts):
            self.before_raising()
        elif any(type(k) is int for k in parts) and any(symbols.value_of(n) is None for n in a.shape_):
            self.before_raising()  # of an array whose length is known at run time only

    def before_effect(self, *, may_raise: bool) -> None:
        """Called before an operation that acts on the outside, or that may raise when the program runs."""
        if may_raise:
            self.before_raising()
        else:
            self.flush()

    def before_raising(self) -> None:
        """Called before an operation that may raise when the program runs."""
        if self.catching:
            self.expects_no_error()
        if not self.trace.writes_last:
            self.flush()
        if not self.may_lose_stores and self._has_stores():
            if self.loses_no_stores:
                raise NeedsEager("it may raise after an attribute or an item was assigned")
            self.may_lose_stores = True

    def may_start_over(self) -> bool:
        """Whether the call may run eagerly from its beginning where the program is not for its values."""
        return not self.differentiating and self.may_expect_no_error()

    def may_raise_while_differentiated(self) -> bool:
        """Whether the function that is differentiated runs eagerly where the program comes to a branch that raises."""
        return self.differentiating > 0 and (self.inputs.prologue.calls_function or self.may_expect_no_error())

    def may_expect_no_error(self) -> bool:
        """Whether the call may run again eagerly after an error that eager does not raise."""
        return self.inputs.prologue.may_catch and not self.loses_no_stores

    def expects_no_error(self) -> None:
        """Goes on with an operation that may raise when the program runs, in the body of a ``try`` or where eager does not. If it does, the
        call runs eagerly, so the program may do nothing before that cannot be done twice."""
        if not self.may_expect_no_error():
            raise NeedsEager("it catches errors of an operation that may raise when the program runs")
        self.trace.catches = self.may_lose_stores = True

    def repeated(self, items: list[Any], times: Any) -> Any:
        """``items * times``; ``NotImplemented`` where the program needs to know how often."""
        return made_lists.repeated(self, items, times)

    def list_of_numbers(self, a: TracedArray, listed: Callable[[], Any]) -> Any:
        """``a.tolist()``, of an array with dimensions; ``listed()`` gives it where the items are known one by one."""
        return made_lists.list_of(a, listed, numbers=True)

    def counts_items_of(self, items: list[Any]) -> None:
        """Has a list that the program made count its items, if it can."""
        made_lists.count(items)

    def appended(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What ``function`` makes of arrays, one of which a loop appends to; ``NotImplemented`` if it does not append."""
        return growing_arrays.appended(function, args, kwargs)

    def assigns(self, owner: Any, name: str) -> None:
        """Called before an attribute of an object gets another value."""
        for region in self.regions:
            region.assigns(owner, name)

    def undoes_early(self, start: int) -> bool:
        """Removes the statements from ``start`` on if one may refuse a number while stores are pending, which eager has made by then.
        Returns whether it did: the caller stores, and records the statements again."""
        kinds = (float, complex) if self.regions else (int, float, complex)
        if self.trace.writes_last or not any(_may_refuse(b, kinds) for b in self.trace.statements[start:]):
            return False
        written = any(s.written and s.dirty and s.value.name != s.source for s in self.inputs.storages)
        # What may be lost is known already where an operation among them may raise: stores before it are statements, too.
        is_behind = written or (not self.may_lose_stores and self._has_stores())
        if is_behind:
            del self.trace.statements[start:]
        return is_behind

    def _has_stores(self) -> bool:
        """Whether the program has assigned attributes, items or names of the outside, which is done at its end."""
        stored = any(map(holds_others, self.inputs.shadows)) or any(c.changed() for c in self.inputs.containers)
        return stored or any(assigned_names(self))

    def flush(self) -> None:
        """Makes pending writes to the caller's memory visible, before an operation that may raise at run time."""
        for storage in self.inputs.storages:
            if storage.written and storage.dirty and storage.value.name != storage.source:
                assert storage.origin is not None
                stored = prims.copy_(storage.value, storage.origin)
                storage.set_value(stored)
                storage.source = stored.name

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``__array_ufunc__`` of what is no array: a call or a method of a ufunc."""
        return NUMPY.ufunc(self, ufunc, method, inputs, kwargs)

    def numpy_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``__array_function__``: any other function of NumPy."""
        return NUMPY.call(self, function, args, kwargs)

    def library_function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of another library than NumPy."""
        library = library_of_function(function)
        assert library is not None
        return library.call(self, function, args, kwargs)

    def known_scalar(self, a: TracedArray) -> Any:
        """The value of a NumPy scalar that is an argument (the trace then depends on it), else ``None``."""
        return self.inputs.known_scalar(a)

    def constant_result(self, x: Any) -> Any:
        """``x``, what NumPy has computed of values that are known, as what each call makes anew."""
        return fresh(x)

    def array_handle(self, x: Any) -> TracedArray:
        """``x`` as a traced array."""
        if type(x) is TracedArray:
            return x
        if isinstance(x, np.ndarray):
            return self.inputs.constant_array(x)
        return as_array(x)

    def object_method(self, obj: TracedObject, name: str) -> Any:
        """A method of a random generator, called at run time at its place in the program."""
        if library_of_value(obj.example) is not None:
            raise NeedsEager(f"it asks a random generator for .{name}")
        return method_of(obj, name)

    def known(self, x: Any) -> Any:
        """``x`` with numbers that are known made plain; the trace then depends on them."""
        if type(x) is TracedNumber:
            return x._known()
        if type(x) is slice:
            return slice(self.known(x.start), self.known(x.stop), self.known(x.step))
        if type(x) is TracedSize:
            return x.known()
        if isinstance(x, (tuple, list)) and is_traced(x):
            return with_items(x, (self.known(y) for y in x))
        return x

    def known_values(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments with numbers that are known made plain."""
        return {k: self.known(v) for k, v in keywords.items()}


#: the ``returns`` of functions that even where there is nothing to do give another object than the argument
_OTHER_OBJECTS = frozenset(VIEWS) - {"argument", "argument if contiguous"}


def _may_warn(b: BoundSymbol) -> bool:
    """Whether an operation may raise a warning, in a loop that is compiled: the call runs eagerly then."""
    requires = (part for part in with_parts(b) if part.sym is prims.require)
    return any(issubclass(part.args[2], Warning) for part in requires)


def _may_refuse(b: BoundSymbol, kinds: tuple[type, ...]) -> bool:
    """Whether a part of an operation converts a Python number of one of ``kinds`` to a dtype of integers, which may not hold it."""
    if b.subsymbols:
        return any(_may_refuse(part, kinds) for part in b.subsymbols)
    if b.operation is prims.convert_element_type:
        numbers, dtype = b.args[:1], b.args[1]
    elif OpTags.ELEMENTWISE in b.sym.tags and isinstance(b.output, TensorProxy):
        numbers, dtype = b.args, b.output.dtype  # of a comparison bool, which refuses none
    else:
        return False
    refused = [p.python_type for p in numbers if isinstance(p, NumberProxy) and p.python_type in kinds]
    return dtype.kind in "iu" and any(kind is not int or dtype is not dtypes.int64 for kind in refused)

"""Lifting: values that a program reads become inputs of its trace.

Arrays and NumPy scalars become traced arrays, numbers traced numbers, and containers become containers of those. Every
other comparable value becomes a guarded constant. Each lifting adds the guards under which the trace is valid.
"""

from __future__ import annotations

import enum
import functools
import itertools
import reprlib
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.contract import is_compiled_function, row_of
from tnp.capture.guards.class_guards import guard_class
from tnp.capture.guards.fresh_functions import FreshFunctions
from tnp.capture.guards.lifted_container import MAY_CHANGE, PLAIN_KEYS, LiftedContainer, same_keys
from tnp.capture.guards.memory import ArrayInput, guard_memory
from tnp.capture.guards.prologue import Extent, Prologue, Source, equality, identifier_of, written_number
from tnp.capture.guards.varying_values import OwnsResult
from tnp.capture.libraries.base import library_of_value
from tnp.capture.libraries.numpy.lifting import is_compiled_array, lift_array, lift_long_list
from tnp.capture.objects.foreign import Foreign, refuse
from tnp.capture.objects.growing_list import GrowingList
from tnp.capture.objects.immutable_values import is_dated, same_dated
from tnp.capture.objects.named_tuples import lifted_named_tuple
from tnp.capture.objects.readers import reader_of
from tnp.capture.objects.shadows import release, shadow
from tnp.capture.objects.tables import is_table
from tnp.capture.objects.uneven_lists import is_uneven
from tnp.capture.rewrite.code_origin import is_followed_of_python
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber, TracedObject
from tnp.core import pytree, symbols
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, ObjectProxy, Proxy, TensorProxy
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol
from tnp.core.trace import Trace
from tnp.core.views import Path

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["Inputs"]

#: callables that are made of others, and the attributes that say of which
_CALLABLE_PARTS = {types.MethodType: ("__func__", "__self__"), functools.partial: ("func", "args", "keywords")}


class Inputs:
    """The inputs of one trace: traced values by identity, storages, and the prologue that fetches them.

    It has many methods: one for each kind of value that the capture contract names, whose rows are the functions that call them.
    """

    tracer: Tracer

    def __init__(self, trace: Trace, prologue: Prologue) -> None:
        self.trace = trace
        self.prologue: Prologue = prologue
        self.storages: list[Storage] = []
        self._constant_numbers = False
        #: whether results have NumPy's memory order, which those who get them may see
        self.keeps_layout = False
        #: the expression that fetches each input proxy
        self.expressions: dict[str, str] = {}
        self.proxies: list[Proxy] = []
        #: symbolic sizes, which become inputs if the program computes with them
        self.sizes: list[NumberProxy] = []
        #: by the name of a symbol: the description of its array, and its dimension; or of an integer, and ``None``
        self.dimensions: dict[str, tuple[str, int | None]] = {}
        #: containers made for the program, with what they were made of: a program that changes one runs eagerly
        self.containers: list[LiftedContainer] = []
        #: objects that the program gets as they are, since it is valid for these very ones only
        self.same: dict[int, Any] = {}
        self.functions: FreshFunctions = FreshFunctions(self)
        #: of a default: it, and what the program got in its place
        self._defaults: dict[int, tuple[Any, Any]] = {}
        #: lists, dicts and objects that the program made, and that its results hold
        self.returned: dict[int, Any] = {}
        #: of those that stand in several places, the names that they have in the program
        self.shared: dict[int, str] = {}
        #: by ``id``, the objects whose output is being made, and whether each contains itself
        self.building: dict[int, bool] = {}
        #: objects that the program has made
        self.made: dict[int, Any] = {}
        #: the function that is jitted
        self._outermost: types.FunctionType | None = None
        #: classes that the program has made, which are its own to change; and classes that are guarded already
        self.own_classes: set[type] = set()
        self._classes: set[type] = set()
        #: of the name of a value: the array that is the object that the program has for it
        self.array_objects: dict[str, TracedArray] = {}
        #: the arrays that say to be of a class of their own, by ``id``
        self.classes: dict[int, type] = {}
        #: arrays that the program tells from others by their identity, in a dict or a set
        self.told_apart: list[TracedArray] = []
        #: memory of which arrays are of a subclass of ndarray, or may be
        self.subclassed: set[Storage] = set()
        #: whether arguments require gradients, while computing them is off
        self.trace_has_gradients = False
        #: whether there are guards on what a library's functions depend on beside their arguments
        self.guarded_state = False
        #: stand-ins for objects of the user's classes, and copies that the program made of those
        self.shadows: list[Any] = []
        self.copies: list[Any] = []
        #: the results of functions with a cache, by the function's ``id`` and the arguments' text
        self.cached_calls: dict[tuple[int, str], Any] = {}
        self._by_identity: dict[int, tuple[Any, Any, str]] = {}
        #: NumPy scalars and tuples, and what stands for them, by the expressions that fetch them
        self.scalars: dict[str, tuple[Any, Any]] = {}
        #: lists of arrays that the program reads as rows of one array, with the expressions that fetch them
        self.lists: dict[str, tuple[list[Any], str]] = {}
        #: the numbers that come from globals and closure variables, by name
        self.settings: set[str] = set()
        #: by the name of its value, an array: its memory, its storage, and the expression of the memory
        self._arrays: dict[str, ArrayInput] = {}
        self._scalars: dict[str, Any] = {}
        self.captured: list[Storage] = []
        #: by ``id``, the arrays that libraries have made of constants while tracing, and where
        self.results: dict[int, tuple[Any, str]] = {}

    def name_of(self, source: Source) -> str:
        return self.trace.add_name(identifier_of(source.description))

    def _add(self, proxy: Proxy, source: Source) -> None:
        self.proxies.append(proxy)
        self.expressions[proxy.name] = source.expression

    def lift(self, value: Any, source: Source) -> Any:
        """What the program gets in place of ``value``, as the capture contract says. Raises :class:`NeedsEager` for arrays of kinds
        that are not compiled."""
        return row_of(value).lift(self, value, source)

    def lift_bool(self, value: bool, source: Source) -> bool:
        self.prologue.guard(f"{source.expression} is {value}", f"{source.description} is {value}")
        return value

    def lift_jitted_module(self, value: Any, source: Source) -> Any:
        condition = f"type({source.expression}) is {self.prologue.constant(type(value), 'type')}"
        self.prologue.guard(condition, f"{source.description} is a jitted module")
        inside = Source(f"{source.expression}.__tnp_function__", source.description)
        return self.lift(value.__tnp_function__, inside)

    def lift_slice(self, value: slice, source: Source) -> slice:
        parts = [self.lift(getattr(value, p), source.attribute(p)) for p in ("start", "stop", "step")]
        self.prologue.guard(f"type({source.expression}) is slice", f"{source.description} is a slice")
        return slice(*parts)

    def lift_of_library(self, value: Any, source: Source) -> Any:
        library = library_of_value(value)
        assert library is not None
        return library.lift(self, value, source)

    def lift_foreign(self, value: Any, source: Source) -> Any:
        """A value that the program may pass on, and not use."""
        known = self.known_object(value, source)
        if known is None:
            self.guard_type(value, source)
            known = Foreign(value, source, reader_of(value, source, self))
            self._by_identity[id(value)] = (value, known, source.expression)
        return known

    def guard_type(self, value: Any, source: Source) -> None:
        """The trace holds only where what ``source`` fetches is of the type of ``value``."""
        kind = self.prologue.constant(type(value), "type")
        self.prologue.guard(f"type({source.expression}) is {kind}", f"{source.description} is {_a(type(value))}")

    def known_object(self, value: Any, source: Source) -> Any:
        """What the program has in place of an object that is an input already, guarded as the same object; ``None`` for others."""
        known = self._by_identity.get(id(value))
        if known is None:
            return None
        if known[2] != source.expression:
            self.prologue.guard(f"{source.expression} is {known[2]}", f"{source.description} is {known[2]}")
        return known[1]

    def lift_default(self, value: Any, source: Source) -> Any:
        """What a function takes by default, the same one at each of its calls in the program."""
        known = self._defaults.get(id(value))
        if known is None:
            known = self._defaults[id(value)] = (value, self.lift(value, source))
        return known[1]

    def guard_equal(self, value: Any, source: Source) -> Any:
        """The trace holds only where what ``source`` fetches is of this type and equal, or the same builtin dtype. Gives ``value``."""
        e = source.expression
        name = repr(value) if type(value) in (str, bytes) or value is None else self.prologue.constant(value)
        is_single = value is None or value is ... or isinstance(value, enum.Enum)
        if is_single or (isinstance(value, np.dtype) and value is np.dtype(value.type)):
            self.prologue.guard(f"{e} is {name}", f"{source.description} is {value}")
        else:
            kind = self.prologue.constant(type(value), "type")
            same = f"{e} == {name}" if not is_dated(value) else f"{self.prologue.constant(same_dated)}({e}, {name})"
            self.prologue.guard(f"type({e}) is {kind} and {same}", f"{source.description} == {value!r}")
        return value

    def guard_identity(self, value: Any, source: Source) -> Any:
        """The trace holds only where what ``source`` fetches is this very object. Gives ``value``."""
        name = self.prologue.constant(value)
        if source.expression != name:
            self.prologue.guard(f"{source.expression} is {name}", source.is_(value))
        self.same[id(value)] = value
        return value

    def lift_callable(self, value: Any, source: Source) -> Any:
        """A bound method or a partial, which is the same as another one if what it is made of is."""
        source = self.prologue.let(source)
        self.guard_type(value, source)
        parts = [self.lift(getattr(value, p), source.attribute(p)) for p in _CALLABLE_PARTS[type(value)]]
        if type(value) is types.MethodType:
            if is_compiled_function(value.__func__):  # it reads the memory of the very object
                return getattr(parts[1], value.__func__.__name__)
            return types.MethodType(*parts)
        function, arguments, keywords = parts
        return functools.partial(function, *arguments, **keywords)

    @contextmanager
    def numbers_as(self, *, constant: bool) -> Iterator[None]:
        """While numbers that are lifted are constants, which are guarded, or inputs."""
        before, self._constant_numbers = self._constant_numbers, constant
        try:
            yield
        finally:
            self._constant_numbers = before

    def lift_number(self, value: Any, source: Source) -> Any:
        kind = type(value)
        self.prologue.guard(f"type({source.expression}) is {kind.__name__}", f"{source.description} is {_a(kind)}")
        # What no float holds raises errors, in operations whose results nobody reads, too.
        varying = self.prologue.varying
        is_constant = self._constant_numbers and source.description not in varying.assigned
        is_constant |= kind is int and value.bit_length() > 1023
        varies = not is_constant and kind is int and varying.varies(source.description, value)
        if is_constant or (not varies and varying.is_known(source.description)):
            self.prologue.guard(equality(source.expression, value), f"{source.description} == {value!r}")
            return value
        proxy = NumberProxy(self.name_of(source), kind, value)
        if varies:
            self.prologue.relations.adopt(proxy, source.expression, None)
        if kind is int:
            self.dimensions[proxy.name] = source.description, None
        self._add(proxy, source)
        if source.description.startswith(("global ", "closure variable ")):
            self.settings.add(proxy.name)
        return TracedNumber(proxy)

    def size(self, source: Source, dim: int, value: int) -> NumberProxy:
        """The symbolic size of dimension ``dim`` of the array that ``source`` fetches."""
        text = f"{source.expression}.shape[{dim}]"
        made = self.prologue.relations.adopt(NumberProxy(self.trace.make_name("n"), int, value), text)
        self.expressions[made.name] = text
        self.sizes.append(made)
        self.dimensions[made.name] = source.description, dim
        return made

    def with_sizes(self, bsyms: Iterable[BoundSymbol], *, all_roots: bool = False) -> list[Proxy]:
        """The inputs, and the symbolic sizes that operations take and that the prologue computes. ``all_roots`` adds every
        symbol."""
        if not self.prologue.relations.symbols:
            return self.proxies
        defined = {p.name for p in self.proxies}
        found: dict[str, Proxy] = {}
        for b in itertools.chain.from_iterable(map(with_parts, bsyms)):
            for p in b.flat_inputs:
                if symbols.is_symbol(p) and p.name not in defined and not symbols.is_found(p):
                    found[p.name] = p
            for p in b.flat_outputs:
                if p.name not in found:
                    defined.add(p.name)
        roots = self.prologue.relations.symbols if all_roots else ()
        given = {p.name for p in self.proxies}
        found.update((n.name, n) for n in roots if n.name not in given)
        for name, p in found.items():
            assert isinstance(p, NumberProxy)
            self.expressions[name] = p.text
        return [*self.proxies, *found.values()]

    def known_array(self, value: Any, source: Source) -> TracedArray | None:
        """The traced array of an array that is an input already, guarded as the same object."""
        known = self._by_identity.get(id(value))
        if known is None:
            return None
        handle: TracedArray = known[1]
        expression = known[2]
        if expression != source.expression:
            self.prologue.guard(
                f"{source.expression} is {expression}", f"{source.description} is the same array as {expression}"
            )
        return handle

    def add_array(
        self, value: Any, source: Source, proxy: TensorProxy, strides: Any, memory: np.ndarray[Any, Any] | Extent, expression: str,
        *, is_row_major: bool, writable: bool, apart: Any = None,
    ) -> TracedArray:  # fmt: skip
        """The traced array of an array that becomes an input; ``expression`` fetches its ``memory``, as an ndarray if it can be one. ``apart``
        is as in :class:`ArrayInput`."""
        self._add(proxy, source)
        if is_row_major:
            self.trace.row_major.add(proxy.name)
        storage = Storage(proxy, origin=proxy, writable=writable)
        storage.source = proxy.name
        storage.serial = -1  # it was there before the program, wherever the program comes upon it
        self.storages.append(storage)
        handle = TracedArray(storage, Path(), proxy, strides)
        self._by_identity[id(value)] = (value, handle, source.expression)
        self._arrays[proxy.name] = ArrayInput(memory, storage, expression, source.expression, apart)
        return handle

    def is_also(self, value: Any, handle: Any, source: Source) -> None:
        """``value``, which ``source`` fetches, is what ``handle`` stands for in the program."""
        self._by_identity[id(value)] = (value, handle, source.expression)

    def add_scalar(self, value: np.generic, source: Source, proxy: TensorProxy) -> TracedArray:
        """The handle of a scalar that becomes an input."""
        self._add(proxy, source)
        handle = TracedArray(Storage(proxy, writable=False), Path(), proxy, ())
        self._scalars[proxy.name] = (value, source)
        self.trace.scalar_values[proxy.name] = lambda: self.known_scalar(handle)
        return handle

    def known_scalar(self, a: TracedArray) -> Any:
        """The value of a NumPy scalar that is an input, which becomes a guard; ``None`` for any other array."""
        found = self._scalars.get(a._proxy.name)
        if found is None or a.path:
            return None
        value, source = found
        self.prologue.guard(f"{source.expression} == {value.item()!r}", f"{source.description} == {value.item()!r}")
        return value.item()

    def guard_function(self, f: types.FunctionType) -> None:
        """The trace holds only while a function that it called has the code that it has (reloaders exchange that in place)."""
        if self._outermost is None:  # the function that is jitted, whose code ``jit`` was given
            self._outermost = f
        elif f is not self._outermost and not self.functions.is_fresh(f) and not is_followed_of_python(f):
            name, code = self.prologue.constant(f, "function"), self.prologue.constant(f.__code__, "code")
            self.prologue.guard(f"{name}.__code__ is {code}", f"{f.__qualname__} has the same code")

    def guard_class(self, kind: type, *, data: bool = False, bases: tuple[type, ...] = ()) -> None:
        """The trace holds only while a class has the methods that it has (:func:`~tnp.capture.guards.class_guards.guard_class`)."""
        guard_class(self.prologue, kind, self._classes, self.own_classes, data=data, bases=bases)

    def lift_object(self, value: Any, source: Source) -> TracedObject:
        """An object that the program passes along: a random generator."""
        kind = self.prologue.constant(type(value), "type")
        self.prologue.guard(f"type({source.expression}) is {kind}", f"{source.description} is {_a(type(value))}")
        proxy = ObjectProxy(self.name_of(source), type(value))
        self._add(proxy, source)
        return TracedObject(proxy, value)

    def lift_container(self, value: Any, source: Source) -> Any:
        fetched, is_tuple = source.expression, isinstance(value, tuple)
        known = self.scalars.get(fetched) if is_tuple else (value, self.known_object(value, source))
        if known is not None and known[0] is value and known[1] is not None:
            return known[1]
        e = (source := self.prologue.let(source)).expression
        kind = self.prologue.constant(type(value), "type") if hasattr(value, "_fields") else type(value).__name__
        if isinstance(value, dict):
            varying = self.prologue.varying
            asked = (varying.has_many_keys, varying.is_read_by_key, varying.is_large)
            is_late = type(value) is dict and any(ask(source.description, value) for ask in asked)
            return self.lift_foreign(value, source) if is_late else self._lift_dict(value, source)
        if type(value) is list:
            late: Any = lift_long_list(self, value, source)
            if late is None and self.prologue.may_leave and is_uneven(value):
                return self.lift_foreign(value, source)
            if late is None and self.prologue.varying.grows(source.description, len(value)):
                self.prologue.guard(f"type({e}) is list", f"{source.description} is a list")
                late = GrowingList(source.description)
            if late is not None:
                self._by_identity[id(value)] = (value, late, e)
                self.containers.append(LiftedContainer(late, [], source, list, value, type(late) is GrowingList))
                return late
        if self.prologue.may_leave and is_table(value, source.description, self.prologue.varying):
            return self.lift_foreign(value, source)
        self.prologue.guard(
            f"type({e}) is {kind} and len({e}) == {len(value)}",
            f"{source.description} is a {type(value).__name__} of {len(value)}",
        )
        made: Any = []
        if not is_tuple:  # it may hold itself
            self._by_identity[id(value)] = (value, made, e)
        with self._forgotten_if_it_fails(value):
            made += [self.lift(v, source.item(i)) for i, v in enumerate(value)]
        if is_tuple:
            made = lifted_named_tuple(value, made) if hasattr(value, "_fields") else tuple(made)
            self.scalars[fetched] = value, made
        self.containers.append(LiftedContainer(made, list(made), source, type(value), value, type(value) is list))
        return made

    @contextmanager
    def _forgotten_if_it_fails(self, value: Any) -> Iterator[None]:
        """Around lifting the items of a container, which may be given up on trial, and tried again."""
        try:
            yield
        except BaseException:
            self._by_identity.pop(id(value), None)
            raise

    def _lift_dict(self, value: dict[Any, Any], source: Source) -> dict[Any, Any]:
        e, keys = source.expression, self.prologue.constant(list(value), "keys")
        same = f"list({e}) == {keys}"
        if not all(type(k) in PLAIN_KEYS for k in value):
            same = f"{self.prologue.constant(same_keys)}({e}, {keys})"
        self.guard_type(value, source)
        self.prologue.guard(same, f"{source.description} has the keys {reprlib.repr(list(value))}")
        made: dict[Any, Any] = type(value)()
        self._by_identity[id(value)] = (value, made, e)
        with self._forgotten_if_it_fails(value):
            for k, v in value.items():
                key = self._key(k)
                of_key = Source(key, f"a key of {source.description}")
                lifted = k if type(k) in PLAIN_KEYS else self._lift_key(k, of_key)
                made[lifted] = self.lift(v, Source(f"{e}[{key}]", f"{source.description}[{k!r}]"))
        self.containers.append(LiftedContainer(made, [*made, *made.values()], source, type(value), value, True))
        return made

    def _lift_key(self, key: Any, source: Source) -> Any:
        """A key of a dict: guarded already, and what the program has in its place where it comes upon it elsewhere."""
        library = library_of_value(key)
        is_array = library is not None and not library.is_constant(key)
        return self.lift(key, source) if is_array or row_of(key).what.startswith("objects of") else key

    def watch(self, made: dict[Any, Any], source: Source, real: Any = None) -> None:
        """Sees to it that a program that changes a dict made for it runs eagerly."""
        self.containers.append(LiftedContainer(made, [*made, *made.values()], source, dict, real))

    def lift_node(self, value: Any, source: Source) -> Any:
        """A container that optree takes apart."""
        known = self.known_object(value, source)
        if known is not None:
            return known
        children, metadata, unflatten = pytree.flatten(value)
        kind = self.prologue.constant(type(value), "type")
        self.prologue.guard(f"type({source.expression}) is {kind}", f"{source.description} is {_a(type(value))}")
        flatten = self.prologue.constant(pytree.flatten, "flatten")
        parts = self.prologue.let(Source(f"{flatten}({source.expression})", source.description))
        expected = self.prologue.constant(metadata, "metadata")
        self.prologue.guard(
            f"len({parts.expression}[0]) == {len(children)} and {parts.expression}[1] == {expected}",
            f"{source.description} holds {len(children)} values, as {metadata!r}",
        )
        items = [
            self.lift(c, Source(f"{parts.expression}[0][{i}]", f"{source.description}[{i}]"))
            for i, c in enumerate(children)
        ]
        made = unflatten(metadata, items)
        self._by_identity[id(value)] = (value, made, source.expression)
        contents = [*made, *made.values()] if isinstance(made, dict) else items
        self.containers.append(LiftedContainer(made, contents, source, type(value), value, type(value) in MAY_CHANGE))
        return made

    def _key(self, key: Any) -> str:
        return repr(key) if type(key) in (str, int, bytes) else self.prologue.constant(key, "key")

    def lift_instance(self, value: Any, source: Source, *, bases: tuple[type, ...] = (), **shadowing: Any) -> Any:
        """An object as a stand-in that reads attributes when the program does; ``shadowing`` is for :func:`shadow`."""
        known = self.known_object(value, source)
        if known is not None:
            return known
        kind = self.prologue.constant(type(value), "type")
        self.prologue.guard(f"type({source.expression}) is {kind}", f"{source.description} is {_a(type(value))}")
        self.guard_class(type(value), bases=bases)
        made = shadow(value, source, self, **shadowing)
        self._by_identity[id(value)] = (value, made, source.expression)
        self.shadows.append(made)
        return made

    def object_proxy(self, source: Source, kind: type) -> ObjectProxy:
        """An input for an object that the program writes attributes of."""
        for p in self.proxies:
            if self.expressions[p.name] == source.expression and isinstance(p, ObjectProxy):
                return p
        proxy = ObjectProxy(self.name_of(source), kind)
        self._add(proxy, source)
        return proxy

    def constant_array(self, value: Any) -> TracedArray:
        """An array that the program got hold of by a way that tnp did not see: an input that is always this object."""
        kind: Any = type(value)
        if kind is Foreign:  # which says that it is an ndarray
            refuse(value, "uses")
        name = self.prologue.constant(value, "array")
        if not is_compiled_array(value) or kind is not np.ndarray:
            raise NeedsEager(f"it makes a {kind.__name__} of {value.dtype}")
        known = id(value) in self._by_identity
        handle = lift_array(self, value, Source(name, "captured array"))
        if not known:
            self.captured.append(handle.storage)
        return handle

    def constant_of_library(self, value: Any) -> Any:
        """A value of another array library that the program got hold of by a way that tnp did not see."""
        library = library_of_value(value)
        assert library is not None
        if library.is_constant(value):
            return value
        known = id(value) in self._by_identity
        lifted = library.lift(self, value, Source(self.prologue.constant(value, "value"), "captured value"))
        if not known and type(lifted) is TracedArray:
            self.captured.append(lifted.storage)
        return lifted

    def check_result(self, x: Any) -> None:
        """Raises :class:`OwnsResult` for an array that a library has made while tracing, a view of one, or the storage of that."""
        if type(x) is Storage:
            handles = (value for value, h, _ in self._by_identity.values() if type(h) is TracedArray and h.storage is x)
            x = next(handles, None)
        while isinstance(x, np.ndarray):
            if id(x) in self.results:
                raise OwnsResult(self.results[id(x)][1])
            x = x.base

    def value_of(self, a: TracedArray) -> Any:
        """The very array that a handle stands for, if that is an input."""
        return next((value for value, handle, _ in self._by_identity.values() if handle is a), None)

    def real_array(self, a: TracedArray) -> tuple[Any, Source | None]:
        """The array that a handle stands for and where it comes from, if that is an input; else the handle."""
        for value, handle, expression in self._by_identity.values():
            if handle is a:
                return value, Source(expression, a._proxy.name)
        return a, None

    def real_container(self, made: Any) -> tuple[Any, Source | None]:
        """The container that one was made for and where it comes from, if that is an input; else the one that was made."""
        for container in self.containers:
            if container.made is made and container.real is not None:
                return container.real, container.source
        return made, None

    def memory_of(self, name: str) -> tuple[Any, str]:
        """The caller's array that is the input ``name``, and the expression that fetches it."""
        found = self._arrays[name]
        return found.memory, found.expression

    def arrays(self) -> Iterable[TracedArray]:
        """The arrays among the inputs."""
        return [handle for _, handle, _ in self._by_identity.values() if type(handle) is TracedArray]

    def finish(self, used: set[str]) -> None:
        """Adds the guards that depend on what the program turned out to do: writable and non-overlapping memory."""
        for storage in self.captured:
            if storage.dirty:  # it may be one that each call makes anew
                self.check_result(storage)
                raise NeedsEager("it writes to an array that was not made by a function that tnp traces")
        self.functions.finish(self.same.values())
        self._guard_identities()
        guard_memory(self, self._arrays, used)

    def _guard_identities(self) -> None:
        """Guards that the arrays are different objects, if the program compares any of them by identity."""
        known = [e for _, h, e in self._by_identity.values() if type(h) is TracedArray]
        if self.told_apart and len(known) > 1:
            ids = ", ".join(f"id({e})" for e in known)
            self.prologue.guard(f"len({{{ids}}}) == {len(known)}", f"{', '.join(known)} are different objects")

    def release(self) -> None:
        """Lets go of the caller's arrays and objects, which parts of the trace that refer to one another would keep alive."""
        held: tuple[Any, ...] = (self._by_identity, self.scalars, self.lists, self._arrays, self.same, self.made)
        for kept in (*held, self.functions, self._defaults, self.told_apart):
            kept.clear()
        while self.containers:
            self.containers.pop().release()
        for made in (*self.shadows, *self.copies):
            release(made)

    def number_guard(self, expression: str, description: str, number: NumberProxy) -> None:
        """The trace holds only where ``expression``, over the prologue's names, has the number's present value."""
        value = number.value
        text = f"{description} == {written_number(value)}, which the program's shape depends on"
        self.prologue.guard(equality(expression, value), text)


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'aeiou' else 'a'} {kind.__name__}"

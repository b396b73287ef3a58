"""What a program returns and stores in the caller's objects: traced values become proxies of the trace, stand-ins the real objects, and
what the program has made the text that makes it anew at each call."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.contract import CONSTANT_TYPES
from tnp.capture.control_flow.iterables import TracedRange
from tnp.capture.control_flow.maybe_unbound import UNBOUND, TracedMaybe
from tnp.capture.guards.lifted_container import LiftedContainer
from tnp.capture.guards.lifting import Inputs
from tnp.capture.guards.prologue import Source, disjoint
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.libraries.base import library_of_value
from tnp.capture.libraries.numpy.list_of_rows import Rows, array_of_rows
from tnp.capture.objects.array_classes import elements, is_array_of_class
from tnp.capture.objects.attribute_dicts import AttributeDict
from tnp.capture.objects.cell_arrays import CellArray, is_cell_array
from tnp.capture.objects.constructs import Again, Called, Construct, Shared, attributes_of, is_made_of_attributes
from tnp.capture.objects.copies import attributes_of_copy
from tnp.capture.objects.foreign import Foreign, real_value, source_of
from tnp.capture.objects.immutable_values import is_immutable
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.objects.shadows import is_copy, is_plain_object, is_shadow, stored_attributes
from tnp.capture.objects.twins import class_of, is_twin
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.rewrite.rewriter import has_hooks
from tnp.capture.speculation.trials import CONSTANTS
from tnp.capture.tracing.growing import GrowingArray
from tnp.capture.tracing.optional_values import TracedOptional, optional_output
from tnp.capture.tracing.output_aliasing import check_repeats_nothing, is_frozen, is_sealed, view_of_all
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject, TracedSize
from tnp.core import prims, pytree, sizes, symbols
from tnp.core.errors import NeedsEager
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.tuples import of_items
from tnp.runtime.arrays_of_classes import array_of_class
from tnp.runtime.cells import array_of_objects, array_of_texts, view_of

__all__ = ["change_containers", "note_shared", "output_of", "result_of"]


def _array_output(x: TracedArray, inputs: Inputs) -> Proxy:
    """The value of an array, as an object of its own if another array that looks at the same elements is one too."""
    known = active.current().output_objects
    if id(x) not in known:
        known[id(x)] = x, _own_object(x, inputs)
    return known[id(x)][1]


def _own_object(x: TracedArray, inputs: Inputs) -> Proxy:
    x.library.fix_layout(x)
    value = x.__tnp_value__()
    if is_frozen(x) and inputs.array_objects.setdefault(value.name, x) is x:
        active.current().trace.frozen.add(value.name)
        return value
    if is_sealed(x):
        # As an object of its own: another array of these elements may be writable.
        value = view_of_all(value)
        active.current().trace.read_only.add(value.name)
        return value
    if x.storage in inputs.subclassed and not x.scalar:
        raise NeedsEager("it returns a memmap, or a view of one")
    if x.storage.listed and not x.scalar:
        raise ReadsVarying(x.storage.listed)
    if x.storage in inputs.captured and not x.scalar:
        inputs.check_result(x.storage)
        raise NeedsEager("it returns a view of an array that was not made by a function that tnp traces")
    if inputs.keeps_layout and len(value.shape) > 1 and x.strides_ is None:
        _keep_layout(value)
    if x.storage.has_list and not x.scalar:  # an array of its own
        own: Proxy = prims.clone(value)
        return own
    is_view = x.storage.owner not in (None, id(x)) and value.name == x.storage.value.name
    if value.scalar or (not is_view and inputs.array_objects.setdefault(value.name, x) is x):
        return value
    return view_of_all(value)


def _keep_layout(value: TensorProxy) -> None:
    """Has a part that is not in C order compiled for the sizes that it has: programs for any size make all results in C order, and the
    part behind may see the difference, for a reshape is a view or not."""
    if all(symbols.value_of(n) is not None for n in value.shape):
        sizes.concrete(value.shape, "a part")


#: kinds of values that are returned as they are: NumPy's functions among them, which a class may keep (``self.inv = np.linalg.inv``)
_UNCHANGING = (*CONSTANT_TYPES, type, types.ModuleType, np.ufunc, type(np.linalg.inv))


def change_containers(inputs: Inputs) -> None:
    """Records the changes that the program makes to the caller's lists and dicts, as effects at its end."""
    for container in inputs.containers:
        change = container.change() if container.may_change else None
        if change is not None:
            adds, items = change
            if container.kind is np.ndarray:
                _change_array(inputs, container, items)
                continue
            effect = prims.add_items if adds else prims.set_items
            effect(inputs.object_proxy(container.source, container.kind), _items(items))
            x = container.source.expression
            others = (c for c in inputs.containers if c.kind is container.kind and c.real is not container.real)
            for y in (other.source.expression for other in others):
                inputs.prologue.guard(f"{x} is not {y}", f"{x} is not {y}")
        elif container.changed():
            raise NeedsEager(f"it changes a {container.kind.__name__} that was passed to it")


def _change_array(inputs: Inputs, container: LiftedContainer, items: dict[tuple[int, ...], Any]) -> None:
    """Records that an array of objects of the caller's holds other elements at some indices."""
    x, prologue = container.source.expression, inputs.prologue
    prologue.guard(f"{x}.flags.writeable", f"{container.source.description} may be written to")
    for other in inputs.containers:
        if other.kind is np.ndarray and other is not container:
            y = other.source.expression
            if not disjoint(container.real, other.real):
                raise NeedsEager(
                    f"{container.source.description}, which it writes, may overlap {other.source.description}"
                )
            prologue.guard(f"disjoint({x}, {y})", f"{x} and {y} do not overlap in memory")
    prims.set_items(
        inputs.object_proxy(container.source, container.kind), {at: output_of(v) for at, v in items.items()}
    )


def _items(x: Any) -> Any:
    """Items of a list or of a dict of the caller's."""
    if isinstance(x, list):
        return _list_output(x)
    keys = {k: _key(k) for k in x}
    if not all(type(k) in CONSTANTS and k == k for k in keys.values()):  # a NaN is found as the object that it is
        raise NeedsEager("it changes a dict whose keys are objects")
    return {keys[k]: output_of(v) for k, v in x.items()}


def _list_output(x: list[Any]) -> Any:
    """The items of a list. Those that a loop has made are made at once: copies of the rows of an array."""
    rows = array_of_rows(x)
    if rows is None:
        return [output_of(y) for y in x]
    if rows.ndim > 1:
        active.current().output_lists.append(rows)
    return Rows(rows.__tnp_value__(), type(x[0]) is TracedNumber)


def _key(x: Any) -> Any:
    """A key of a dict: hashing it has specialized the trace on its value."""
    if type(x) is tuple:
        return tuple(map(_key, x))
    if type(x) is TracedNumber:
        return x.proxy.known()
    if type(x) is TracedEither:
        return _key(x.settled())
    if is_shadow(x) or class_of(x) is Foreign:
        raise NeedsEager("it returns a dict whose keys are objects that its caller has")
    if is_twin(type(x)) or (id(x) in active.current().inputs.made and not is_immutable(x)):
        raise NeedsEager("it returns a dict whose keys are objects that it makes")
    return x.known_scalar() if type(x) is TracedArray else x


def result_of(x: Any) -> Any:
    """What the function returns, as :func:`output_of`; an error says which of several results it is about."""
    try:
        return output_of(x)
    except NeedsEager as error:
        error.result = next((i for i, y in enumerate(x) if _is_no_output(y)), -1) if type(x) is tuple else -1
        raise


def _is_no_output(x: Any) -> bool:
    try:
        output_of(x)
    except NeedsEager:
        return True
    return False


def output_of(x: Any) -> Any:
    """A result with traced values replaced by proxies, stand-ins by the real objects, new objects by their constructors."""
    if type(x) in (TracedRange, TracedSize):
        x = x.known()
    kind = class_of(x)
    inputs = active.current().inputs
    if kind is Foreign:
        return inputs.object_proxy(source_of(x), type(real_value(x)))
    if kind is TracedArray:
        check_repeats_nothing(x)
        return _array_output(x, inputs)
    if kind in (TracedNumber, TracedObject):
        return x.proxy
    if x is UNBOUND:  # of a span
        return inputs.object_proxy(Source(inputs.prologue.constant(x, "unbound"), "an unbound variable"), kind)
    if kind is TracedMaybe:
        raise NeedsEager("whether a variable is bound is known only when the program runs")
    if kind is GrowingArray:
        return output_of(x.copied())
    if kind is TracedOptional:
        return optional_output(x, output_of)
    if kind is TracedEither:
        return x.output()
    if kind in (int, float, complex, bool) or isinstance(x, _UNCHANGING) or id(x) in inputs.same or is_immutable(x):
        return x
    if _is_library_function(x):
        return x
    if kind is slice:
        return slice(output_of(x.start), output_of(x.stop), output_of(x.step))
    for container in inputs.containers:
        if container.made is x:  # what was passed in comes back as itself
            return inputs.object_proxy(container.source, container.kind)
    if type(x) is AttributeDict:
        return inputs.object_proxy(x.source, dict)
    if kind is tuple or (isinstance(x, tuple) and hasattr(x, "_fields")):
        if getattr(x, "__dict__", None):
            raise NeedsEager(f"it returns a {kind.__name__} with attributes besides its items")
        return of_items(kind, [output_of(y) for y in x])
    if is_shadow(x) and not is_copy(x):
        source, real_kind, _ = stored_attributes(x)
        return inputs.object_proxy(source, real_kind)
    if isinstance(x, np.generic):
        return x
    if is_cell_array(x) and x.seen_by is None and not x.ndim:
        raise NeedsEager("it returns an array of objects or strings without dimensions")
    library = library_of_value(x)
    if library is not None and library.is_constant(x):
        return x
    is_own_kind = is_cell_array(x) or is_array_of_class(x)
    if (not is_own_kind and isinstance(x, np.ndarray)) or (library is not None and not isinstance(x, tuple)):
        inputs.check_result(x)
        raise NeedsEager("it returns an array that was not made by a function that tnp traces")
    name = inputs.shared.get(id(x))
    if id(x) in inputs.returned:
        if name is None:
            raise NeedsEager(f"it returns one {kind.__name__} in two places")
        if id(x) in inputs.building:
            inputs.building[id(x)] = True
        return Again(name)
    inputs.returned[id(x)] = x
    if name is None:
        return _made_anew(x, kind, inputs)
    inputs.building[id(x)] = False
    made = _made_anew(x, kind, inputs)
    holds_itself = inputs.building.pop(id(x))
    if holds_itself and not (type(made) in (list, dict) or isinstance(made, Construct)):
        raise NeedsEager(f"it returns a {kind.__name__} that holds itself")
    return Shared(name, made, holds_itself)


def _made_anew(x: Any, kind: Any, inputs: Inputs) -> Any:
    """What the program has made, as what makes it at each call."""
    if isinstance(x, ListStandIn):
        return x.as_result(output_of)
    if kind is list:
        return _list_output(x)
    if is_cell_array(x):
        return _array_of_cells(x)
    if is_array_of_class(x) and not is_shadow(x):
        return _array_of_class(x, kind)
    if kind is dict:
        return {_key(k): output_of(y) for k, y in x.items()}
    if kind in (set, frozenset):
        return _set_output(x)
    if is_shadow(x):
        return Construct(kind, {k: output_of(v) for k, v in attributes_of_copy(x).items()})
    is_own = id(x) in inputs.made
    is_object = is_plain_object(x) or (isinstance(x, dict) and is_made_of_attributes(x))
    if is_object and (is_own or not callable(x)):
        if not is_own and not _holds_traced(x):  # it may be one that the program got hold of unseen
            raise NeedsEager(f"it returns a new {kind.__name__}")
        attributes = attributes_of(x)
        if not isinstance(x, dict):
            return Construct(kind, {k: output_of(v) for k, v in attributes.items()})
        fields = tuple(k for k, v in attributes.items() if dict.get(x, k, output_of) is v)
        others = {k: output_of(v) for k, v in attributes.items() if k not in fields}
        return Construct(kind, others, {_key(k): output_of(v) for k, v in dict.items(x)}, fields)
    if kind is functools.partial and is_own and not x.__dict__:
        return Called(kind, *map(output_of, (x.func, *x.args)), **{k: output_of(v) for k, v in x.keywords.items()})
    if kind is types.MethodType and is_followed(x.__func__) and not has_hooks(x.__func__):
        return Called(kind, x.__func__, output_of(x.__self__))
    if pytree.is_container(x):
        if isinstance(x, dict) and any(map(is_traced, dict.keys(x))):
            raise NeedsEager(f"it returns a {kind.__name__} whose keys are values of the program")
        if isinstance(x, dict):
            for key in dict.keys(x):
                _key(key)
        if is_followed(getattr(x, "default_factory", None)):
            raise NeedsEager(f"it returns a {kind.__name__} that calls a function of the program")
        children, metadata, unflatten = pytree.flatten(x)
        return pytree.Rebuilt(kind, metadata, unflatten, [output_of(c) for c in children])
    raise NeedsEager(f"it returns a {x.__class__.__name__}")


def _array_of_cells(x: CellArray) -> Called:
    """An array of objects or strings that the program has made, or a view of one."""
    if x.seen_by is not None:
        whole, method, args = x.seen_by
        return Called(view_of, output_of(whole), method, *args)
    items = list(map(output_of, x.items()))
    return (
        Called(array_of_objects, x.shape, items)
        if x.dtype == object
        else Called(array_of_texts, x.shape, items, x.dtype)
    )


def _array_of_class(x: Any, kind: type) -> Called:
    """An array of a user's class that the program has made."""
    try:
        array_of_class(kind, np.empty(0), {})
    except TypeError:
        raise NeedsEager(f"it returns a {kind.__name__}, which nothing but its class makes") from None
    return Called(array_of_class, kind, output_of(elements(x)), {k: output_of(v) for k, v in vars(x).items()})


def _set_output(x: Any) -> Any:
    """A set of constants."""
    items = tuple(map(_key, x))
    if not all(type(y) in CONSTANTS or isinstance(y, _UNCHANGING) or is_immutable(y) for y in items):
        raise NeedsEager("it returns a set of objects")
    return Called(type(x), items)


def _is_library_function(x: Any) -> bool:
    """Whether ``x`` is a function in C that stands in a module."""
    return type(x) is types.BuiltinFunctionType and isinstance(x.__self__, types.ModuleType | None)


def note_shared(roots: Iterable[Any]) -> None:
    """Finds what the program has made that stands in several places of ``roots``, which it returns or stores: it is made once."""
    inputs = active.current().inputs
    lifted = {id(c.made) for c in inputs.containers}
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        x = stack.pop()
        if type(x) in _SINGLE or id(x) in lifted or (is_shadow(x) and not is_copy(x)):
            continue
        if not isinstance(x, tuple):
            if id(x) in seen:
                inputs.shared.setdefault(id(x), f"shared{len(inputs.shared)}")
                continue
            seen.add(id(x))
        stack += _parts(x)


#: kinds of values in which there are no others
_SINGLE = frozenset(
    (
        TracedArray,
        TracedNumber,
        TracedObject,
        TracedEither,
        Foreign,
        AttributeDict,
        int,
        float,
        complex,
        bool,
        str,
        type(None),
    )
)


def _parts(x: Any) -> Iterable[Any]:
    """What a value is made of that the program has made."""
    kind = class_of(x)
    if kind in (list, tuple):
        return () if kind is list and array_of_rows(x) is not None else tuple(x)
    if is_cell_array(x):
        return tuple(x.items()) if x.seen_by is None else (x.seen_by[0],)
    if kind is functools.partial:
        return x.func, *x.args, *x.keywords.values()
    if kind is types.MethodType:
        return (x.__self__,)
    if isinstance(x, dict):
        return *dict.values(x), *attributes_of(x).values()
    if is_shadow(x):
        return attributes_of_copy(x).values()
    if is_plain_object(x):
        return attributes_of(x).values()
    return pytree.flatten(x)[0] if pytree.is_container(x) else ()


def _holds_traced(x: Any) -> bool:
    """Whether a value of the trace is in ``x``, or in what it is made of."""
    if is_traced(x) or is_shadow(x) or is_cell_array(x):
        return True
    if isinstance(x, (list, tuple)):
        return any(map(_holds_traced, x))
    return (isinstance(x, dict) and any(map(_holds_traced, dict.values(x)))) or (
        is_made_of_attributes(x) and any(map(_holds_traced, attributes_of(x).values()))
    )

"""Stand-ins for arrays whose elements are no numbers: arrays of objects, and of texts (:mod:`text_arrays`).

The elements are *cells* of a list, and an array is a NumPy array of positions in that list. So NumPy itself tells which cells an index
or a reshape selects, and whether what it gives is a view. An array that the caller has is looked at when the program does: a guard
on its shape is added when the program asks for that, and its elements become inputs when the program reads one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.lifted_container import LiftedContainer
from tnp.capture.guards.prologue import Source
from tnp.capture.objects.array_classes import elements, is_array_of_class
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = [
    "MOST_CELLS",
    "CellArray",
    "Cells",
    "Given",
    "is_array_of_objects",
    "is_cell_array",
    "is_in_cells",
    "lift_cells",
    "objects_in",
]

#: elements of an array that are looked at one by one
MOST_CELLS = 1000

_OBJECT = np.dtype(object)


def is_array_of_objects(x: Any) -> bool:
    """Whether ``x`` is an array of objects in C order that a program may read element by element."""
    return type(x) is np.ndarray and x.dtype == _OBJECT and is_in_cells(x)


def is_in_cells(x: np.ndarray[Any, Any]) -> bool:
    """Whether an array has a layout, and as many elements, as arrays of cells have."""
    return x.dtype.metadata is None and x.ndim > 0 and x.size <= MOST_CELLS and x.flags.c_contiguous


def is_cell_array(x: Any) -> bool:
    """Whether ``x`` stands for an array of objects or of texts."""
    return issubclass(type(x), CellArray)


class Given:
    """An array of the caller's: where it comes from, and what the program knows of it."""

    def __init__(self, inputs: Inputs, real: np.ndarray[Any, Any], source: Source) -> None:
        self.inputs, self.real, self.source = inputs, real, source
        self.is_described = False
        #: the trial regions in which the elements were read first; they have no record of the elements from before
        self.regions: tuple[Any, ...] = ()

    def describe(self) -> None:
        """The program depends on the dtype and the shape from now on."""
        if self.is_described:
            return
        self.is_described = True
        e, prologue = self.source.expression, self.inputs.prologue
        dtype = prologue.constant(self.real.dtype, "dtype")
        same = f"{e}.dtype == {dtype} and {e}.shape == {self.real.shape} and {e}.flags.c_contiguous"
        what = f"{self.source.description} is an array of {self.real.dtype} of shape {self.real.shape}"
        prologue.guard(f"{same} and {e}.dtype.metadata is None", what)

    def items(self) -> list[Any]:
        """The elements in C order, as inputs."""
        prologue, name = self.inputs.prologue, self.source.description
        if prologue.varying.has_many_contents(name, self.contents()) and prologue.may_leave:
            raise NeedsEager(f"it reads {name}, which holds something else in each call")
        self.describe()
        tracer = active.current()
        self.regions = tuple(tracer.regions)
        return self.lifted()

    def contents(self) -> Any:
        """What distinguishes one program from another: a new value means a new program."""
        return self.real.shape

    def lifted(self) -> list[Any]:
        """The elements, of the kind that the array has."""
        e, description = self.source.expression, self.source.description
        places = [", ".join(map(str, at)) for at in np.ndindex(*self.real.shape)]
        lift = self.inputs.lift
        return [
            lift(x, Source(f"{e}[{at}]", f"{description}[{at}]")) for at, x in zip(places, self.real.ravel().tolist())
        ]


class Cells:
    """The memory of an array of objects: ``held``, or what ``given`` has."""

    def __init__(self, held: list[Any], dtype: np.dtype[Any], given: Given | None = None) -> None:
        self.held = held
        self.dtype = dtype
        self.given = given
        self.is_loaded = given is None
        #: what the caller's array holds when the program begins
        self.before: list[Any] = []

    def load(self) -> list[Any]:
        """The elements."""
        if not self.is_loaded:
            assert self.given is not None
            found = self.given.items()
            self.is_loaded = True
            self.held[:] = found
            self.before[:] = found
        return self.held

    def check_writable(self) -> None:
        """Called before an element gets another value."""
        if self.given is None:
            return
        given, source = self.given, self.given.source
        if not given.real.flags.writeable:
            given.inputs.prologue.guard(
                f"not {source.expression}.flags.writeable", f"{source.description} is read-only"
            )
            raise ValueError("assignment destination is read-only")
        if any(r is other for r in active.current().regions for other in given.regions):
            raise NeedsEager(f"it writes to {source.description}, which it reads first in a loop or a branch")


class CellArray:
    """Stands for an ndarray of objects.

    It has many methods: those that Python calls on an array.
    """

    __slots__ = ("__weakref__", "_places", "cells", "seen_by")
    __array_priority__ = 1000.0
    #: what messages say of it
    kind = "an array of objects"

    def __init__(
        self,
        cells: Cells,
        places: np.ndarray[Any, Any] | None,
        seen_by: tuple[CellArray, str, tuple[Any, ...]] | None = None,
    ) -> None:
        self.cells = cells
        self._places = places
        #: for a view: the array that it views, and the method and arguments that make the view
        self.seen_by = seen_by

    @classmethod
    def holding(cls, items: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any] = _OBJECT) -> Any:
        """A new array of ``items``, in C order."""
        return cls(Cells(items, dtype), np.arange(len(items)).reshape(shape))

    def like(self, items: list[Any], shape: tuple[int, ...]) -> Any:
        """A new array of this dtype."""
        return self.holding(items, shape, self.cells.dtype)

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return np.ndarray

    @property
    def places(self) -> np.ndarray[Any, Any]:
        """The position of each element among the cells."""
        if self._places is None:
            given = self.cells.given
            assert given is not None
            given.describe()
            self._places = np.arange(given.real.size).reshape(given.real.shape)
        return self._places

    def items(self) -> list[Any]:
        """The elements in C order."""
        held = self.cells.load()
        return [held[i] for i in self.places.ravel().tolist()]

    def selected(self, method: str, *args: Any) -> Any:
        """What a method of ndarray gives of known arguments: an element, a view, or a copy."""
        places = getattr(self.places, method)(*args)
        if not isinstance(places, np.ndarray):
            return self.cells.load()[places]
        if np.shares_memory(places, self.places):
            return type(self)(self.cells, places, (self, method, args))
        held = self.cells.load()
        return self.like([held[i] for i in places.ravel().tolist()], places.shape)

    @property
    def words(self) -> str:
        """What messages say of it, with the place where the caller has it."""
        given = self.cells.given
        return self.kind if given is None else f"{given.source.description}, {self.kind}"

    # Attributes and methods

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.places.shape
        return shape

    @property
    def ndim(self) -> int:
        return self.places.ndim

    @property
    def size(self) -> int:
        return self.places.size

    @property
    def dtype(self) -> Any:
        if self.cells.given is not None:
            self.cells.given.describe()
        return self.cells.dtype

    @property
    def T(self) -> Any:
        return self.selected("transpose")

    def reshape(self, *shape: Any) -> Any:
        """``a.reshape(*shape)``."""
        return self.selected("reshape", *active.current().known(shape))

    def transpose(self, *axes: Any) -> Any:
        """``a.transpose(*axes)``."""
        return self.selected("transpose", *active.current().known(axes))

    def ravel(self) -> Any:
        """``a.ravel()``."""
        return self.selected("ravel")

    def flatten(self) -> CellArray:
        """``a.flatten()``."""
        made: CellArray = self.like(self.items(), (self.size,))
        return made

    def copy(self) -> CellArray:
        """``a.copy()``."""
        made: CellArray = self.like(self.items(), self.shape)
        return made

    def tolist(self) -> Any:
        """``a.tolist()``."""
        held = self.cells.load()

        def listed(places: Any) -> Any:
            return [listed(p) for p in places] if type(places) is list else held[places]

        return listed(self.places.tolist())

    def item(self, *at: Any) -> Any:
        """``a.item(*at)``."""
        return self.cells.load()[self.places.item(*active.current().known(at))]

    def fill(self, value: Any) -> None:
        """``a.fill(value)``."""
        self[...] = value

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name):
            raise NeedsEager(f"it reads {name!r} of {self.words}")
        raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    # Elements

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return self.selected("__getitem__", _known_key(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        held = self.cells.load()
        self.cells.check_writable()
        target = self.places[_known_key(key)]
        if not isinstance(target, np.ndarray):
            held[target] = self.as_element(value)
            return
        found = self.spread(value, target.shape)
        for at, x in zip(target.ravel().tolist(), found):
            held[at] = x

    def as_element(self, value: Any) -> Any:
        """The element that results from assigning ``value``."""
        return value

    def spread(self, value: Any, shape: tuple[int, ...]) -> list[Any]:
        """The elements that result from assigning ``value`` to a part of that shape, in C order."""
        return _spread(value, shape)

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.items()[0])
        return bool(self.places)  # raises NumPy's error

    def __copy__(self) -> CellArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> CellArray:
        items = self.items()
        made: CellArray = self.like(items, self.shape)
        memo[id(self)] = made  # it may hold itself
        items[:] = [copy.deepcopy(x, memo) for x in items]
        return made

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return active.current().numpy_function(function, args, kwargs)

    def __repr__(self) -> str:
        if active.running() is not None:
            raise NeedsEager(f"it writes {self.words}")
        return f"<{self.words} of shape {self.shape}>"

    __hash__: Any = None


def _refusing(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NeedsEager(f"it uses {name} of {self.words}")

    method.__name__ = name
    return method


_USES = """
    abs add and complex contains delitem divmod eq float floordiv format ge gt iadd iand ifloordiv ilshift imatmul imod imul index int invert
    ior ipow irshift isub itruediv ixor le lshift lt matmul mod mul ne neg or pos pow radd rand rdivmod reduce reduce_ex rfloordiv rlshift
    rmatmul rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor str sub truediv xor array array_ufunc
""".split()
for _use in _USES:
    setattr(CellArray, f"__{_use}__", _refusing(f"__{_use}__"))


def _known_key(key: Any) -> Any:
    """An index whose numbers the program knows from now on."""
    known = active.current().known(key)
    if not all(map(_is_plain_index, known if type(known) is tuple else (known,))):
        raise NeedsEager("it takes an element of an array of objects or texts by a value of the program")
    return known


def _is_plain_index(x: Any) -> bool:
    if type(x) is list:
        return all(map(_is_plain_index, x))
    if type(x) is slice:
        return all(y is None or type(y) is int or isinstance(y, np.integer) for y in (x.start, x.stop, x.step))
    return x is None or x is ... or type(x) in (int, bool) or isinstance(x, np.integer)


def _spread(value: Any, shape: tuple[int, ...]) -> list[Any]:
    """What NumPy stores where ``value`` is assigned to elements of that shape, in C order."""
    if type(value) is CellArray:
        items, places = value.items(), np.arange(value.size).reshape(value.shape)
        while places.ndim > len(shape) and places.shape[0] == 1:
            places = places[0]
        try:
            return [items[i] for i in np.broadcast_to(places, shape).ravel().tolist()]
        except ValueError:
            raise NeedsEager("it assigns an array of objects that does not fit") from None
    found = objects_in(value, lambda x: _assigned(x, shape))
    if found is None:
        raise NeedsEager("it assigns to an array of objects what NumPy looks into")
    return found.items()


def _assigned(x: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    made = np.empty(shape, dtype=object)
    try:
        made[...] = x
    except ValueError:
        raise NeedsEager("it assigns to an array of objects what does not fit") from None
    return made


class _Mark:
    """Stands for an object that is not a sequence."""


def objects_in(x: Any, make: Callable[[Any], Any]) -> CellArray | None:
    """The array of objects that ``make`` makes of ``x``, values of the program in nested lists; ``None`` if ``make`` gives another array, or
    looks into what is in the lists. ``make`` is called with other objects of the same kinds and shapes."""
    marks: dict[int, tuple[Any, Any]] = {}

    def marked(y: Any) -> Any:
        if type(y) in (list, tuple):
            return type(y)(map(marked, y))
        mark = _mark_of(y)
        marks[id(mark)] = (mark, y)
        return mark

    made = make(marked(x))
    if type(made) is not np.ndarray or made.dtype != _OBJECT or not made.ndim or made.size > MOST_CELLS:
        return None
    found = made.ravel().tolist()
    if any(id(y) not in marks for y in found):
        return None
    own: CellArray = CellArray.holding([marks[id(y)][1] for y in found], made.shape)
    return own


def _mark_of(x: Any) -> Any:
    """An object that NumPy treats as it does ``x``. Raises :class:`NeedsEager` where it may look into ``x``."""
    kind = type(x)
    if issubclass(kind, CellArray):
        return np.empty(x.shape, dtype=object)
    x = elements(x) if is_array_of_class(x) else x
    if getattr(x, "shape_", None) is not None:
        if math.prod(x.shape_ if all(type(n) is int for n in x.shape_) else active.current().known(x.shape)) > 1 << 24:
            raise NeedsEager("it puts a large array into an array of objects")
        return x.dtype.type(0) if x.scalar else np.empty(active.current().known(tuple(x.shape)), x.dtype)
    looked_into = ("__len__", "__getitem__", "__array__", "__array_interface__", "__array_struct__", "__buffer__")
    if kind not in (str, dict, set, frozenset, TracedNumber) and any(hasattr(kind, name) for name in looked_into):
        raise NeedsEager(f"it puts a {kind.__name__} into an array of objects")
    return _Mark()


def lift_cells(
    inputs: Inputs, value: np.ndarray[Any, Any], source: Source, kinds: tuple[Any, Any] = (CellArray, Given)
) -> Any:
    """Lifts an array of objects; ``kinds`` are the classes of its stand-in and of its reader."""
    known = inputs.known_object(value, source)
    if known is not None:
        return known
    inputs.guard_type(value, source)
    of_array, of_given = kinds
    made = of_array(Cells([], value.dtype, of_given(inputs, value, source)), None)
    inputs.is_also(value, made, source)
    inputs.containers.append(LiftedContainer(made, made.cells.before, source, np.ndarray, value, True))
    return made

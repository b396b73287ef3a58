"""Stand-ins for arrays of strings. What they hold is known while a program is traced, so NumPy computes with that."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active
from tnp.capture.objects.cell_arrays import MOST_CELLS, CellArray, Given, is_in_cells, lift_cells
from tnp.capture.objects.foreign import Foreign, refuse
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source

__all__ = ["TextArray", "as_cells", "is_array_of_texts", "lift_texts", "texts_in"]


def is_array_of_texts(x: Any) -> bool:
    """Whether ``x`` is an array of strings or bytes on whose elements a program may depend."""
    return type(x) is np.ndarray and x.dtype.kind in "US" and x.dtype.isnative and is_in_cells(x)


class GivenTexts(Given):
    """An array of strings of the caller's."""

    def contents(self) -> Any:
        """All strings, on which a program specializes."""
        return self.real.shape, *self.real.ravel().tolist()

    def lifted(self) -> list[Any]:
        """The elements, on which the program depends from now on."""
        e, prologue = self.source.expression, self.inputs.prologue
        expected = prologue.constant(self.real.tolist(), "texts")
        prologue.guard(f"{e}.tolist() == {expected}", f"{self.source.description} holds the same strings")
        return list(self.real.ravel())


class TextArray(CellArray):
    """Stands for an ndarray of strings or bytes."""

    __slots__ = ()
    kind = "an array of strings"

    def real(self) -> np.ndarray[Any, Any]:
        """An equal array."""
        made = np.array(self.items(), dtype=self.cells.dtype).reshape(self.shape)
        made.flags.writeable = False
        return made

    def as_element(self, value: Any) -> Any:
        """The element that results from assigning ``value``, which NumPy truncates to the length of the dtype."""
        return self.spread(value, ())[0]

    def spread(self, value: Any, shape: tuple[int, ...]) -> list[Any]:
        """The elements that result from assigning ``value`` to a part of that shape, in C order."""
        known = texts_in(value)
        made = np.empty(shape, dtype=self.cells.dtype)
        try:
            made[...] = known
        except ValueError:
            raise NeedsEager("it assigns to an array of strings what does not fit") from None
        return list(made.ravel())

    def tolist(self) -> Any:
        """``a.tolist()``."""
        return self.real().tolist()

    def item(self, *at: Any) -> Any:
        """``a.item(*at)``."""
        return self.real().item(*active.current().known(at))

    def astype(self, dtype: Any) -> Any:
        """``a.astype(dtype)``."""
        return active.current().constant_result(self.real().astype(dtype))

    def argsort(self) -> Any:
        """``a.argsort()``."""
        return active.current().constant_result(self.real().argsort())

    def __contains__(self, x: Any) -> bool:
        return bool((self.real() == texts_in(x)).any())


def _comparing(compare: Callable[[Any, Any], Any]) -> Callable[[TextArray, Any], Any]:
    def method(self: TextArray, other: Any) -> Any:
        return active.current().constant_result(compare(self.real(), texts_in(other)))

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TextArray, f"__{_name}__", _comparing(getattr(operator, _name)))


def texts_in(x: Any) -> Any:
    """``x``, strings in an array or in nested lists, as NumPy takes it. Raises :class:`NeedsEager` for anything else."""
    if type(x) is TextArray:
        return x.real()
    if type(x) in (list, tuple):
        return type(x)(map(texts_in, x))
    if type(x) is Foreign:
        refuse(x, "puts into an array of strings")
    if type(x) not in (str, bytes, np.str_, np.bytes_):
        raise NeedsEager(f"it uses a {type(x).__name__} with an array of strings")
    return x


def as_cells(x: np.ndarray[Any, Any]) -> CellArray:
    """The array of objects or strings ``x``, which NumPy has made of constants, as one that the program has made."""
    if not x.ndim or x.size > MOST_CELLS:
        raise NeedsEager("it makes an array of objects or strings, of many or without dimensions")
    kind = CellArray if x.dtype == np.dtype(object) else TextArray
    made: CellArray = kind.holding(list(x.ravel()), x.shape, x.dtype)
    return made


def lift_texts(inputs: Inputs, value: np.ndarray[Any, Any], source: Source) -> Any:
    """An array of strings as an input."""
    return lift_cells(inputs, value, source, (TextArray, GivenTexts))

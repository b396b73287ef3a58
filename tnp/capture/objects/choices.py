"""The object that a branch chose: ``y = a if c else b`` is ``a`` or ``b``, depending on ``c`` at run time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from tnp.capture.tracing.output_aliasing import may_share
from tnp.capture.tracing.traced_values import Storage, TracedArray
from tnp.core.errors import AmbiguousView, NeedsEager

__all__ = ["Choices"]


class Choices:
    """The arrays of one trace that branches chose, and among which."""

    def __init__(self) -> None:
        #: by ``id``, the array and those that it may be
        self._found: dict[int, tuple[TracedArray, list[TracedArray]]] = {}
        self._by_position: set[int] = set()
        #: memory that two variables may be bound to, behind a loop that may leave them so
        self._joint: list[tuple[Storage, Storage]] = []
        #: the serials of storages that may be the same memory as others, other than as a branch or a loop chose
        self.unclear: set[int] = set()
        #: by ``id``, tuples that loops and branches put together, and which variable's parts they have
        self.tuples: dict[int, tuple[tuple[object, ...], str]] = {}

    def refusal(self, storage: Storage) -> NeedsEager:
        """What a write raises where another array may share the memory. Where a branch or a loop chose between the two, Python can do it:
        what is compiled before gives the very array."""
        if all(s.serial not in self.unclear for s in may_share(storage)):
            return NeedsEager("it writes to an array that may be another one, too, as a branch or a loop chose")
        return AmbiguousView(
            "it writes to an array that may or may not share memory with the result of a reshape; "
            "use .copy() to make them separate"
        )

    def variable_of(self, *tuples: tuple[object, ...]) -> str | None:
        """Of which variable the parts are that make one of some tuples, which may be another one of the program for that reason."""
        return next((self.tuples[id(x)][1] for x in tuples if id(x) in self.tuples), None)

    def add_joint(self, a: Storage, b: Storage) -> None:
        """Notes that two arrays with such memory may be one."""
        self._joint.append((a, b))

    def _may_be_joint(self, x: TracedArray, y: TracedArray) -> bool:
        """Whether two variables may be bound to one array after a loop, and these arrays are in its memory."""
        if x.storage is y.storage or not any(x.storage is s for pair in self._joint for s in pair):
            return False
        return y.storage in may_share(x.storage)

    def add(self, chosen: TracedArray, candidates: Sequence[object], *, by_position: bool = False) -> None:
        """Notes that an array is one of ``candidates``; other objects among them are ignored. An array chosen ``by_position`` is a view,
        which each read makes anew."""
        arrays = [c for x in candidates if type(x) is TracedArray and not x.scalar for c in self.candidates(x)]
        self._found[id(chosen)] = chosen, list({id(c): c for c in arrays}.values())
        if by_position:
            self._by_position.add(id(chosen))

    def chosen(self) -> list[TracedArray]:
        """The arrays that branches chose as the objects that they are."""
        return [chosen for chosen, _ in self._found.values() if id(chosen) not in self._by_position]

    def candidates(self, x: TracedArray) -> list[TracedArray]:
        """The arrays that ``x`` may be: itself, unless a branch chose it."""
        return self._found[id(x)][1] if id(x) in self._found else [x]

    def may_be_one(self, x: TracedArray, y: TracedArray) -> bool:
        """Whether two arrays may be the same object at run time, which a branch or the end of a loop decides."""
        if self._may_be_joint(x, y):
            return True
        if x is y or not (id(x) in self._found or id(y) in self._found):
            return False
        others = {id(c) for c in self.candidates(y)}
        return any(id(c) in others for c in self.candidates(x))

    def is_unclear(self, returned: Iterable[TracedArray], arguments: Iterable[TracedArray]) -> bool:
        """Whether the program might give one object for two results, or two for one.

        A branch gives an array of the program's, or of the caller's, as the object that it is. Views are made anew where they are read.
        """
        returned = list(returned)
        if self._joint and any(itertools.starmap(self._may_be_joint, itertools.combinations(returned, 2))):
            return True
        if not self._found:
            return False
        own = {id(a) for a in arguments}
        for x, y in itertools.combinations(returned, 2):
            if id(x) not in self._found and id(y) not in self._found:
                continue
            for a, b in itertools.product(self.candidates(x), self.candidates(y)):
                if a.storage is not b.storage:
                    continue
                is_object = id(a) in own or (
                    a.storage.origin is None and not a.path and a.storage.owner in (None, id(a))
                )
                if (a is not b and a.path == b.path) or (a is b and not is_object) or (a is b and self._viewed(a)):
                    return True
        return False

    def _viewed(self, x: TracedArray) -> bool:
        """Whether a branch had another array to choose that is a view of all of ``x``."""
        return any(
            c is not x and c.storage is x.storage and c.path == x.path
            for _, found in self._found.values()
            for c in found
        )

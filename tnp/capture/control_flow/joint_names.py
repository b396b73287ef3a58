"""Variables of a loop that an iteration leaves bound to one array: ``before = now``, and ``now`` is read behind the loop.

What a loop carries is values. So one of the variables gets a copy, and tracing takes the two for arrays that may be the same memory: at
the beginning of an iteration, and behind a loop that may be left early or have no iteration. What would have to know raises
:class:`NeedsEager`. Behind other loops the two are one array again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tnp.capture import active
from tnp.capture.control_flow.carried_views import CarriedViews
from tnp.capture.control_flow.iterables import Iterations
from tnp.capture.control_flow.maybe_unbound import split
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.speculation.regions import Region, Variables
from tnp.capture.speculation.trials import is_same_array
from tnp.capture.tracing.output_aliasing import mark_shared, may_share
from tnp.capture.tracing.traced_values import Storage, TracedArray
from tnp.core.proxies import NumberProxy

__all__ = ["JointNames"]


class JointNames:
    """The variables that get a copy, each with the other that is bound to its array."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}
        #: those that an iteration surely leaves so
        self._same: set[str] = set()
        #: the memory of the arrays with which an iteration begins
        self._begins: list[Storage] = []
        self._views = CarriedViews()

    def __len__(self) -> int:
        return len(self._others) + len(self._views)

    def find(self, arrays: Mapping[str, TracedArray]) -> bool:
        """Whether some of the arrays that variables are bound to may be one. Those that may get a copy are noted."""
        seen: dict[int, str] = {}
        found = False
        for name, array in arrays.items():
            storages = [id(s) for s in may_share(array.storage)]
            other = next((seen[i] for i in storages if i in seen), None)
            if other is not None:
                found = True
                # Arrays from before the iteration may be the caller's, whose identity a copy would lose.
                is_new = self._is_new(array) or self._is_new(arrays[other])
                if is_new and array.library is NUMPY and arrays[other].library is NUMPY:
                    self._others.setdefault(name, other)
            seen.update(dict.fromkeys(storages, name if other is None else other))
        return found

    def _is_new(self, array: TracedArray) -> bool:
        """Whether the iteration made an array: it is none of those with which it began, and no branch chose among these."""
        return not any(s is x for s in (array.storage, *array.storage.maybe_shared) for x in self._begins)

    def begin(self, entries: Mapping[str, Any], index: NumberProxy) -> None:
        """Notes the arrays that variables are bound to when an iteration begins, at that position."""
        self._views.begin(entries, index)
        self._begins = [x.storage for v in entries.values() if type(x := split(v)[0]) is TracedArray]
        self.mark(entries)

    def mark(self, arrays: Any) -> None:
        """Says of the variables that their arrays, of ``arrays`` by name, may be the same memory."""
        for name, other in self._others.items():
            one, two = (split(arrays[n])[0] if n in arrays else None for n in (name, other))
            if type(one) is type(two) is TracedArray:
                mark_shared(one.storage, two.storage)
                active.current().choices.add_joint(one.storage, two.storage)

    def settle(self, variables: Variables, iterations: Iterations | None) -> None:
        """Binds the variables as a loop leaves them. It ends with a whole iteration if there are ``iterations``."""
        is_certain = iterations is not None
        if iterations is not None:
            self._views.settle(variables, iterations)
        for name in self._same if is_certain else ():
            variables[name] = variables[self._others[name]]
        if not is_certain or len(self._same) < len(self._others):
            self.mark(variables)

    def copy(
        self,
        variables: Variables,
        entries: Mapping[str, Any],
        region: Region,
        loose: Collection[str],
        *,
        is_certain: bool,
    ) -> dict[str, Any]:
        """Binds each variable to a copy. Returns the arrays that they were bound to, except views of arrays from outside the loop.
        ``is_certain``: the loop ends with a whole iteration."""
        if is_certain:
            self._views.copy(variables, entries, region, loose)
        before = {n: v for n in self._others if type(v := variables[n]) is TracedArray and not v.scalar}
        now = {n: variables[other] for n, other in self._others.items()}
        self._same = {n for n, v in before.items() if type(now[n]) is TracedArray and is_same_array(v, now[n])}
        for name, value in before.items():
            variables[name] = value.copy()
        return before

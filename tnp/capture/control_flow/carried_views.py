"""Variables of a loop that an iteration leaves bound to a view of an array from outside: ``before = x[k]``.

What a loop carries is values. So such a variable gets a copy, and tracing takes it for an array that may be in the memory
of ``x``: a write to either raises :class:`NeedsEager` in the loop. Behind the loop the variable is a view again, at the last position. So
the loop must end with a whole iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tnp.capture.control_flow.iterables import Iterations
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.speculation.regions import Region, Variables
from tnp.capture.speculation.trials import Failure
from tnp.capture.tracing.output_aliasing import mark_shared
from tnp.capture.tracing.strides import same_layout
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import intervals, languages
from tnp.core.proxies import NumberProxy
from tnp.core.symbol import flat_proxies
from tnp.core.views import Path, Step

__all__ = ["CarriedViews"]


class CarriedViews:
    """The variables that get a copy, each with the memory that its array is in."""

    def __init__(self) -> None:
        self._memory: dict[str, Storage] = {}
        #: what each is bound to at the end of an iteration
        self._ends: dict[str, TracedArray] = {}
        self._index: NumberProxy | None = None
        #: the memory of the arrays with which an iteration begins
        self._begins: list[Storage] = []

    def __len__(self) -> int:
        return len(self._memory)

    def begin(self, entries: Mapping[str, Any], index: NumberProxy) -> None:
        """Says of the arrays that variables are bound to when an iteration begins whose memory they may be in."""
        self._index, self._begins = index, []
        for name, storage in self._memory.items():
            if type(entries.get(name)) is TracedArray:
                mark_shared(entries[name].storage, storage)
                self._begins.append(entries[name].storage)

    def copy(self, variables: Variables, entries: Mapping[str, Any], region: Region, loose: Collection[str]) -> None:
        """Binds each variable to a copy. Raises :class:`Failure` if there is another than was known."""
        ends = {n: v for n in entries if type(v := variables[n]) is TracedArray and _is_outer(v, region)}
        objects = [id(v) for v in ends.values()]
        known = len(self)
        self._ends = {}
        for name, value in ends.items():
            entry = entries[name]
            fits = type(entry) is TracedArray and not entry.scalar and (name in loose or same_layout(entry, value))
            if not fits or objects.count(id(value)) > 1 or self._behind(value.path, 0) is None:
                continue
            if self._memory.setdefault(name, value.storage) is value.storage:
                self._ends[name] = value
                variables[name] = value.copy()
        if len(self) > known:
            raise Failure(f"{' and '.join(self._ends)} may be in memory from before the loop")

    def settle(self, variables: Variables, iterations: Iterations) -> None:
        """Binds the variables as a loop with such iterations leaves them."""
        for storage in self._memory.values():  # the loop's own arrays are no more
            storage.chosen_with[:] = [s for s in storage.chosen_with if all(s is not x for x in self._begins)]
        for name, value in self._ends.items():
            if not value.path:
                variables[name] = value
                continue
            if iterations.is_of_one_length:
                last: Any = iterations.indices()[-1]
            else:
                last = iterations.start + (iterations.count() - 1) * iterations.step
            path = self._behind(value.path, last)
            assert path is not None
            with languages.language_context(value._proxy.lang):
                proxy = path(value.storage.value)
            variables[name] = TracedArray(value.storage, path, proxy, value._strides)

    def _behind(self, path: Path, last: Any) -> Path | None:
        """The path of a view, at a last position; ``None`` if it depends on more than the position."""
        known: dict[str, Any] = {}
        for p in flat_proxies([(s.args, s.kwargs) for s in path.steps]):
            if self._index is None or not isinstance(p, NumberProxy) or p.python_type is not int:
                return None
            form = intervals.linear(p)
            if set(form.terms) != {self._index.name}:
                return None
            ((_, factor),) = form.terms.values()
            number = form.constant + (last if factor == 1 else factor * last)
            known[p.name] = number.proxy if type(number) is TracedNumber else number
        return Path(Step(s.symbol, *_with(known, (s.args, s.kwargs))) for s in path.steps)


def _with(known: dict[str, Any], x: Any) -> Any:
    """``x`` with what is known in place of numbers of the loop."""
    if isinstance(x, NumberProxy):
        return known[x.name]
    if isinstance(x, slice):
        return slice(*(_with(known, part) for part in (x.start, x.stop, x.step)))
    if type(x) in (tuple, list):
        return type(x)(_with(known, part) for part in x)
    return {key: _with(known, part) for key, part in x.items()} if type(x) is dict else x


def _is_outer(x: TracedArray, region: Region) -> bool:
    """Whether an array is one from before a loop, or a part of one, which the loop does not write."""
    storage = x.storage
    is_before = storage.serial < region.serial and id(storage) not in region.carried
    return is_before and type(storage) is Storage and not storage.listed and not x.scalar and x.library is NUMPY

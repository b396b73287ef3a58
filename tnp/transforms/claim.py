"""Claiming: the first executor that supports an operation claims it; otherwise the operation is decomposed.

An executor claims an operation whole, or by supporting all of its parts. The order of the list decides, not the size of
what an executor claims. Checkers and execution transforms are extension code; if they read a number's value, the
program is guarded by this value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from tnp.core import languages, prims
from tnp.core.context import state
from tnp.core.elementwise_table import by_name
from tnp.core.errors import ExtensionError, NeedsEager, NeedsValue, NoExecutorError
from tnp.core.metadata import Metadata
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import bodies_of, is_control_flow, map_bodies
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, map_proxies
from tnp.core.trace import Trace, tracing
from tnp.runtime import logs
from tnp.transforms.bridge import kind_for_user
from tnp.transforms.dce import common_subexpressions, may_raise, unread
from tnp.transforms.subtraces import through

__all__ = [
    "REFUSALS",
    "Fusable",
    "FusedSymbol",
    "Update",
    "blame_extension",
    "claim",
    "fuses",
    "is_view",
    "opaque_function_of",
]


#: reasons why executors do not support an operation: executor, operation, reason, where
REFUSALS: Metadata[list[tuple[str, str, str, Any]]] = Metadata(list)


class Fusable(BoundSymbol):
    """A bound symbol that a fusing executor claims as part of a region."""

    __slots__ = ("fuser",)

    fuser: Any

    def remade(self, *fields: Any) -> BoundSymbol:
        made = Fusable(*fields)
        made.fuser = self.fuser
        return made


class FusedSymbol(Symbol):
    """A compiled region as an operation. ``updates``: which of its outputs are in the memory of which inputs."""

    updates: Mapping[int, int] = MappingProxyType({})
    #: tells in lines of text what was compiled
    describe: Callable[[], list[str]]


class Update(BoundSymbol):
    """A claimed update: ``sym`` changes its first argument's memory, and the output is that memory afterwards."""

    __slots__ = ()


def claim(trace: Trace, executors: Sequence[Any], outer: Trace | None = None) -> Trace:
    """The trace in operations of executors only. ``outer`` is the program around the body ``trace``, if it is a body.

    Raises :class:`NoExecutorError`, naming the operation, its inputs and the executors that do not support it, if no
    executor runs one, and :class:`ExtensionError` for checkers and transforms that raise.
    """
    new = Trace.like(trace)
    shown = _views_shown(trace)
    dead = unread(trace)
    claims = _Claims(executors, new, trace if outer is None else outer)
    strict: list[bool] = []
    for bsym in trace.bound_symbols:
        asked = _of_kind(executors, shown[id(bsym)]) if id(bsym) in shown and is_view(bsym) else executors
        if OpTags.ENTERS_ERRSTATE in bsym.sym.tags:
            strict.append(any(x not in ("ignore", "warn") for x in bsym.kwargs.values()))
        elif OpTags.EXITS_ERRSTATE in bsym.sym.tags:
            strict.pop()
        elif any(strict):  # compiled code reports no floating-point errors
            asked = [e for e in asked if not e.is_fusing]
        is_dead = bool(bsym.flat_outputs) and dead.issuperset(p.name for p in bsym.flat_outputs)
        if is_dead and may_raise(bsym) and not is_control_flow(bsym):
            # A region computes what is read.
            asked = [e for e in asked if not e.is_fusing or decomposes(e, bsym)]
        claims.take(_as_far_as_read(bsym, dead, asked), asked)
    if claims.renamed:
        new.output = map_proxies(lambda p: claims.renamed.get(p.name, p), new.output)
    return common_subexpressions(new) if claims.decomposed else new


def _as_far_as_read(bsym: BoundSymbol, dead: set[str], executors: Sequence[Any]) -> BoundSymbol:
    """An operation without the parts that only unread results need, if an executor fuses it then: ``x`` of ``lstsq``'s four results."""
    needed = {p.name for p in bsym.flat_outputs if p.name not in dead}
    fusers = [e for e in executors if e.is_fusing]
    is_read_in_part = 0 < len(needed) < len(bsym.flat_outputs)
    if not bsym.subsymbols or not is_read_in_part or any(fuses(e, bsym) for e in fusers):
        return bsym
    kept = []
    for part in reversed(bsym.subsymbols):
        if may_raise(part) or any(p.name in needed for p in part.flat_outputs):
            kept.append(part)
            needed.update(p.name for p in part.flat_inputs)
    output = map_proxies(lambda p: None if p.name in dead else p, bsym.output)
    fewer = bsym.remade(bsym.sym, bsym.args, bsym.kwargs, output, tuple(reversed(kept)), bsym.location)
    return fewer if any(fuses(e, fewer) for e in fusers) else bsym


def _views_shown(trace: Trace) -> dict[int, str]:
    """The views that the user gets, or that those look at, by ``id``, and the kind of array that they are to the user.

    They are taken by the library of their language, which looks at the very memory that it looks at in eager: another
    library may have to copy, as torch does to reverse an order.
    """
    shown: dict[int, str] = {}
    names: set[str] = set()
    for bsym in reversed(trace.bound_symbols):
        if bsym.operation is prims.python_return or OpTags.ASSIGNS in bsym.operation.tags:
            names.update(p.name for p in bsym.flat_inputs if isinstance(p, TensorProxy))
        elif OpTags.VIEW in bsym.sym.tags and any(p.name in names for p in bsym.flat_outputs):
            arrays = [p for p in bsym.flat_outputs if isinstance(p, TensorProxy)]
            shown[id(bsym)] = kind_for_user(arrays[0], trace)
            names.update(p.name for p in bsym.flat_inputs)
    return shown


def _of_kind(executors: Sequence[Any], kind: str) -> list[Any]:
    return [e for e in executors if e.array_kind in (None, kind) and not e.is_fusing]


def is_view(bsym: BoundSymbol) -> bool:
    """Whether all that a symbol does is to look at its argument's memory."""
    if bsym.sym.is_prim:
        return OpTags.VIEW in bsym.sym.tags
    # A store to all of an array, turned round, is made of nothing but views of the value.
    return bool(bsym.subsymbols) and OpTags.UPDATE not in bsym.sym.tags and all(map(is_view, bsym.subsymbols))


def _tell(bsym: BoundSymbol, executor: Any, unsupported: Sequence[str] = ()) -> None:
    """Logs which executor claimed an operation."""
    if logs.on(logs.claims):
        by = f"claimed by {executor.name}" if executor is not None else "decomposed"
        others = f"; not supported by {', '.join(unsupported)}" if unsupported else ""
        logs.claims.debug("%s: %s%s", bsym.sym.qualified_name, by, others)


class _Unsupported:
    """The executors that do not support an operation: their names, for messages, and the reasons of those that gave one. Those of fusers count only if
    the operation is not decomposed: they are asked about its parts again."""

    def __init__(self, bsym: BoundSymbol) -> None:
        self.bsym = bsym
        self.names: list[str] = []
        self.reasons: list[tuple[str, str, str, Any]] = []
        self.of_fusers: list[tuple[str, str, str, Any]] = []

    def add(self, executor: Any, answer: Any) -> None:
        reason = getattr(answer, "reason", None)
        self.names.append(executor.name if reason is None else f"{executor.name} ({reason})")
        if reason is not None:
            kept = self.of_fusers if executor.is_fusing else self.reasons
            kept.append((executor.name, self.bsym.sym.qualified_name, reason, self.bsym.location))


class _Claims:
    """One claiming: ``new`` grows by claimed operations. ``renamed`` are results that turned out to be other values, by name."""

    def __init__(self, executors: Sequence[Any], new: Trace, outer: Trace) -> None:
        self.executors = executors
        self.new = new
        self.outer = outer
        self.renamed: dict[str, Any] = {}
        #: whether an operation was decomposed to fuse its parts, which other operations may share
        self.decomposed = False
        #: ids of the operations whose execution transforms are running, the outermost first
        self.running: list[Any] = []
        #: where checkers record what they ask of numbers
        self.scratch: Trace | None = None

    def take(self, bsym: BoundSymbol, executors: Sequence[Any], whole: BoundSymbol | None = None) -> None:
        """Claims ``bsym``, maybe a part of the program's operation ``whole``."""
        if self.renamed:
            bsym = bsym.substitute(self.renamed)
        whole = bsym if whole is None else whole
        if OpTags.PROGRAM in bsym.sym.tags or bsym.sym.executor is not None:
            self.new.bound_symbols.append(bsym)
            return
        if is_control_flow(bsym):
            self._take_control_flow(bsym, executors)
            return
        unsupported = _Unsupported(bsym)
        for executor in executors:
            if executor.is_fusing:
                answer = fuses(executor, bsym)
                if answer:
                    self._claimed(bsym, executor, unsupported)
                    self.new.bound_symbols.append(_fusable(bsym, executor))
                    return
                if decomposes(executor, bsym):
                    self.decomposed = True
                    break
                unsupported.add(executor, answer)
                continue
            found = self._implementation(executor, bsym)
            if found is None:
                if self._runs_parts(executor, bsym):
                    break
                continue
            answer = self._accepts(executor, found, bsym)
            if not answer:
                unsupported.add(executor, answer)
                continue
            if found.decomposes:
                break
            if found.execution_transform is not None:
                self._claimed(bsym, executor, unsupported)
                self._transform(bsym, executor, found.execution_transform, executors)
                return
            if found.op is None and found.in_place is None:
                continue
            self._claimed(bsym, executor, unsupported)
            self.new.bound_symbols.append(_claimed(bsym, found))
            return
        if bsym.subsymbols:
            _tell(bsym, None, unsupported.names)
            REFUSALS.of(self.new).extend(unsupported.reasons)
            for sub in bsym.subsymbols:
                if sub.location is None:
                    sub.location = bsym.location
                self.take(sub, executors, whole)
            return
        inputs = {p.name for p in bsym.flat_inputs}
        if all(p.name in inputs for p in bsym.flat_outputs) and bsym.flat_outputs:
            return
        raise NoExecutorError(_message(bsym, whole, executors, unsupported.names))

    def _claimed(self, bsym: BoundSymbol, executor: Any, unsupported: _Unsupported) -> None:
        """Logs which executor claimed an operation, and keeps the reasons of the others."""
        _tell(bsym, executor, unsupported.names)
        REFUSALS.of(self.new).extend(unsupported.reasons + unsupported.of_fusers)

    def _take_control_flow(self, bsym: BoundSymbol, executors: Sequence[Any]) -> None:
        for executor in executors:
            if executor.is_fusing and fuses(executor, bsym):
                _tell(bsym, executor)
                self.new.bound_symbols.append(_fusable(bsym, executor))
                return
        if not bodies_of(bsym):
            for sub in bsym.subsymbols:
                self.take(sub, executors)
            return
        # No executor takes it whole: what is in it is claimed as any program is.
        inside = lambda body: through(lambda t: claim(t, executors, self.outer), body, self.new)  # noqa: E731
        self.new.bound_symbols.append(map_bodies(inside, bsym))

    def _implementation(self, executor: Any, bsym: BoundSymbol) -> Any:
        """How an executor runs an operation. What is known to compute what a function of its values' language does counts as that
        function, too: prims, of which gradients are made, and opaque calls."""
        found = executor.implementation_of(bsym.sym)
        key = None if found is not None else _function_of(bsym)
        if key is None or key in self.running:
            return found
        spoken = executor.implementations.get(key)
        return None if spoken is None or spoken.decomposes else spoken

    def _accepts(self, executor: Any, implementation: Any, bsym: BoundSymbol) -> Any:
        if implementation.checker is None:
            return True
        if self.scratch is None:
            self.scratch = self._scratch()
        before, state.trace = state.trace, self.scratch
        try:
            answer = implementation.checker(*bsym.args, **bsym.kwargs)
            return True if answer else answer if hasattr(answer, "reason") else False
        except (Exception, NeedsEager) as error:
            _blame(f"the checker of the executor {executor.name}", bsym, error)
        finally:
            state.trace = before
            if self.scratch.bound_symbols:  # it computed with numbers
                self._keep_numbers(self.scratch)
                self.scratch = None

    def _runs_parts(self, executor: Any, bsym: BoundSymbol) -> bool:
        """Whether an executor supports all subsymbols of an operation."""
        return bool(bsym.subsymbols) and all(self._runs(executor, sub) for sub in bsym.subsymbols)

    def _runs(self, executor: Any, bsym: BoundSymbol) -> bool:
        found = executor.implementation_of(bsym.sym)
        if found is None:
            return self._runs_parts(executor, bsym)
        runs = found.op or found.execution_transform or found.in_place
        return bool(runs) and not found.decomposes and bool(self._accepts(executor, found, bsym))

    def _scratch(self) -> Trace:
        scratch = Trace.like(self.new)
        scratch.value_guards = self.outer.value_guards
        return scratch

    def _keep_numbers(self, scratch: Trace) -> None:
        """Takes the names that a checker or a transform made, and how it computed numbers that the program now depends on."""
        self.new.take_names(scratch)
        if self.outer.value_guards:
            self.outer.asked_numbers += [b for b in scratch.bound_symbols if by_name.get(b.sym.name) is not None]

    def _transform(self, bsym: BoundSymbol, executor: Any, transform: Any, executors: Sequence[Any]) -> None:
        """Runs an execution transform; what it records is claimed in its turn, and its results take the old names.

        A result that the transform did not make (an argument, a number) or returns twice stands for the old one from here on.
        """
        what = f"the execution transform of the executor {executor.name}"
        key = bsym.sym.id if executor.implementation_of(bsym.sym) is not None else _function_of(bsym)
        scratch = self._scratch()
        language = next((p.lang for p in bsym.flat_outputs if isinstance(p, TensorProxy)), languages.current())
        try:
            with tracing(scratch), languages.language_context(language):
                result = transform(*bsym.args, **bsym.kwargs)
        except (Exception, NeedsValue) as error:
            _blame(what, bsym, error)
        self._keep_numbers(scratch)
        self.scratch = None  # it does not know the names made here
        recorded = scratch.bound_symbols
        _check_results(what, bsym, result)
        names: dict[str, Any] = {}
        recorded_names = {p.name for b in recorded for p in b.flat_outputs}
        recorded_names -= {p.name for p in bsym.flat_inputs}
        for made, old in zip(_flat(result), _flat(bsym.output)):
            if not isinstance(old, Proxy) or (isinstance(made, Proxy) and made.name == old.name):
                continue
            if isinstance(made, Proxy) and made.name in recorded_names and made.name not in names:
                names[made.name] = old
            else:
                self.renamed[old.name] = names.get(made.name, made) if isinstance(made, Proxy) else made
        recorded = [b.substitute(names) for b in recorded]
        if recorded and not recorded[-1].subsymbols:
            recorded[-1] = recorded[-1].replace(subsymbols=bsym.subsymbols)
        self.running.append(key)
        for made in recorded:
            made.location = bsym.location
            if made.sym.id in self.running:
                raise NoExecutorError(
                    f"the execution transform of {bsym.sym.qualified_name} calls the operation itself"
                )
            self.take(made, executors)
        self.running.pop()


def fuses(fuser: Any, bsym: BoundSymbol) -> Any:
    """Whether a fusing executor supports an operation; if not, a refusal, which is false and may have a reason.

    Raises :class:`ExtensionError` where an extension's raises.
    """
    try:
        answer = fuser.can_fuse(bsym)
        return answer if answer or getattr(answer, "reason", None) is not None else False
    except Exception as error:
        blame_extension(fuser, "can_fuse", bsym, error)


def decomposes(fuser: Any, bsym: BoundSymbol) -> bool:
    """Whether a fusing executor wants an operation decomposed. Raises :class:`ExtensionError` where an extension's raises."""
    if not bsym.subsymbols:
        return False
    try:
        return bool(fuser.decomposes(bsym))
    except Exception as error:
        blame_extension(fuser, "decomposes", bsym, error)


def blame_extension(executor: Any, method: str, bsym: BoundSymbol, error: Exception) -> NoReturn:
    """Raises :class:`ExtensionError` for what a method of an extension's executor raised; ``error`` itself for one of tnp's own."""
    if type(executor).__module__.startswith("tnp."):
        raise error
    _blame(f"{method} of the executor {executor.name}", bsym, error)


def _fusable(bsym: BoundSymbol, fuser: Any) -> Fusable:
    made = Fusable(bsym.sym, bsym.args, bsym.kwargs, bsym.output, bsym.subsymbols, bsym.location)
    made.fuser = fuser
    return made


def _claimed(bsym: BoundSymbol, implementation: Any) -> BoundSymbol:
    # What runs an effect has that effect: here, and not where it runs something else.
    op = (implementation.op or implementation.in_place).implementing(bsym.sym)
    if implementation.in_place is not None:
        return Update(op, bsym.args, bsym.kwargs, bsym.output, bsym.subsymbols, bsym.location)
    return bsym.replace(sym=op)


#: how the ids of opaque calls of a language's functions begin
_OPAQUE = {"opaque.": "numpy.", "torch_opaque.": "torch."}


def _function_of(bsym: BoundSymbol) -> str | None:
    """The id of the function that an elementwise prim, or an opaque call, is in the language of its values."""
    if not bsym.sym.is_prim:
        return None
    row = by_name.get(bsym.sym.name)
    if row is not None:
        language = next((p.lang.name for p in bsym.flat_outputs if isinstance(p, TensorProxy)), "")
        name = {"numpy": row.numpy, "torch": row.torch}.get(language)
        return f"{language}.{name}" if name else None
    return opaque_function_of(bsym)


def opaque_function_of(bsym: BoundSymbol) -> str | None:
    """The id of the function that an opaque call is one of."""
    for prefix, own in _OPAQUE.items():
        if isinstance(bsym.sym.id, str) and bsym.sym.id.startswith(prefix):
            return own + bsym.sym.id.removeprefix(prefix)
    return None


def _check_results(what: str, bsym: BoundSymbol, result: Any) -> None:
    """Raises :class:`ExtensionError` unless a transform gives results like those of the operation."""
    made, old = _flat(result), _flat(bsym.output)
    if len(made) != len(old):
        raise ExtensionError(f"{what} gives {len(made)} results for the {len(old)} of\n  {bsym}")
    for m, o in zip(made, old):
        if isinstance(m, TensorProxy) and isinstance(o, TensorProxy) and m.type_string() != o.type_string():
            if all(type(d) is int for d in (*m.shape, *o.shape)):
                raise ExtensionError(f'{what} gives a "{m.type_string()}" for {o.name} of\n  {bsym}')


def _blame(what: str, bsym: BoundSymbol, error: BaseException) -> NoReturn:
    where = f"\n  at {bsym.location}" if bsym.location is not None else ""
    if isinstance(error, NeedsEager):
        said = f"reads a value that is known only when the program runs ({error.reason})"
    else:
        said = f"raised {error!r}"
    text = str(bsym).replace("\n", "\n  ")
    raise ExtensionError(f"{what} {said} for\n  {text}{where}") from error


def _flat(x: Any) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, (tuple, list)) else [x]


def _message(bsym: BoundSymbol, whole: BoundSymbol, executors: Sequence[Any], unsupported: list[str]) -> str:
    inputs = ", ".join(f"{p.name}: {p.type_string()}" for p in whole.flat_inputs if isinstance(p, TensorProxy))
    lines = [f"Could not find executor for bound symbol {whole}"]
    lines.append(f"  inputs: {inputs or 'none'}")
    if bsym is not whole:
        lines.append(f"  nobody runs {bsym.sym.qualified_name}, which is part of it")
    lines.append(f"  executors asked: {', '.join(e.name for e in executors)}")
    if unsupported:
        lines.append(f"  not supported by: {', '.join(unsupported)}")
    if whole.location is not None:
        lines.append(f"  at {whole.location}")
    return "\n".join(lines)

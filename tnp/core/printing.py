"""Traces as Python source, and the source as functions.

A table keyed by type says how constants print; languages add their own types (:func:`register_printer`). An object
without a literal gets a name in the program's context.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import linecache
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from tnp.core import check
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.errors import ExtensionError, TraceCheckError
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, print_uses_with
from tnp.core.tuples import is_made_of_items

if TYPE_CHECKING:
    from tnp.core.trace import Trace

__all__ = [
    "add_import",
    "block_lines",
    "bound_symbol_lines",
    "call_string",
    "compile_source",
    "literal",
    "name_of",
    "print_as_block",
    "register_printer",
    "targets",
    "trace_source",
]

_IMPORTS_KEY = "__imports__"
#: the names of a program's values, which its callables may not have
_VALUES_KEY = "__values__"

#: names that programs give to modules and helpers
_MODULES = frozenset(
    ("checked", "checked_results", "cp", "devices", "dtypes", "lnp", "ltorch", "np", "prims", "torch", "views")
)

Literal = Callable[[Any, dict[str, Any]], str]


def add_import(context: dict[str, Any], import_line: str) -> None:
    """Has programs that print in this context begin with ``import_line``."""
    context.setdefault(_IMPORTS_KEY, set()).add(import_line)


def _number(x: Any, context: dict[str, Any]) -> str:
    if type(x) is float and not math.isfinite(x):
        sign = "-" if math.isnan(x) and math.copysign(1.0, x) < 0 else ""
        return f'float("{sign}{x}")'
    # ``repr`` writes a complex number as a sum, which may lose the signs of zeros.
    if type(x) is complex and not (x.real and x.imag and math.isfinite(x.real) and math.isfinite(x.imag)):
        return f"complex({_number(x.real, context)}, {_number(x.imag, context)})"
    return repr(x)


def _plain(x: Any, context: dict[str, Any]) -> str:
    return repr(x)


def _sequence(x: Any, context: dict[str, Any]) -> str:
    inner = ", ".join(literal(y, context) for y in x)
    if hasattr(x, "_fields"):
        kind = name_of(type(x), context)
        return f"{kind}({inner})" if is_made_of_items(type(x)) else f"tuple.__new__({kind}, [{inner}])"
    if isinstance(x, list):
        return f"[{inner}]"
    return f"({inner},)" if len(x) == 1 else f"({inner})"


def _mapping(x: dict[Any, Any], context: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{literal(k, context)}: {literal(v, context)}" for k, v in x.items()) + "}"


def _imported(import_line: str) -> Literal:
    def print_it(x: Any, context: dict[str, Any]) -> str:
        add_import(context, import_line)
        return repr(x)

    return print_it


def _slice(x: slice, context: dict[str, Any]) -> str:
    return f"slice({literal(x.start, context)}, {literal(x.stop, context)}, {literal(x.step, context)})"


_printers: dict[type, Literal] = {
    bool: _plain,
    int: _plain,
    float: _number,
    complex: _number,
    str: _plain,
    bytes: _plain,
    type(None): _plain,
    type(...): lambda x, context: "...",
    slice: _slice,
    tuple: _sequence,
    list: _sequence,
    dict: _mapping,
    DType: _imported("from tnp.core import dtypes"),
    Device: _imported("from tnp.core import devices"),
}

#: kinds whose subclasses print in a way of their own (``IntEnum``)
_EXACT = frozenset((bool, int, float, complex, str, bytes))


def register_printer(kind: type, printer: Literal, import_line: str | None = None) -> None:
    """Sets how constants of ``kind`` (and its subclasses without a printer of their own) print.

    ``import_line`` is added to programs that print one.
    """

    def with_import(x: Any, context: dict[str, Any]) -> str:
        if import_line is not None:
            add_import(context, import_line)
        return printer(x, context)

    _printers[kind] = with_import


def literal(x: Any, context: dict[str, Any]) -> str:
    """``x`` as a Python expression; names that it uses are put into ``context``."""
    if isinstance(x, Proxy):
        return x.name
    for kind in type(x).__mro__:
        printer = _printers.get(kind)
        if printer is not None and (kind is type(x) or kind not in _EXACT):
            return printer(x, context)
    if hasattr(x, "__tnp_literal__"):
        return str(x.__tnp_literal__(context))
    return name_of(x, context)


def name_of(x: Any, context: dict[str, Any]) -> str:
    """A name in ``context`` for an object that has no literal."""
    base = getattr(x, "__name__", type(x).__name__)
    base = base if base.isidentifier() else "obj"
    for name in itertools.chain([f"_{base}"], (f"_{base}_{i}" for i in itertools.count(1))):
        if name not in context:
            context[name] = x
            return name
        if context[name] is x:
            return name
    raise AssertionError("unreachable")


def call_string(sym: Symbol, args: Iterable[Any], kwargs: dict[str, Any], context: dict[str, Any]) -> str:
    """``prims.add(t0, 2.0)``, its import or its callable put into ``context``."""
    name = sym.qualified_name
    if sym.namespace is not None:
        add_import(context, sym.namespace.import_line)
    elif sym.fn is not None:
        name = _callable_name(sym, context)
    else:
        context.setdefault(sym.name, sym)
    parts = [literal(a, context) for a in args]
    parts += [f"{k}={literal(v, context)}" for k, v in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def _callable_name(sym: Symbol, context: dict[str, Any]) -> str:
    """The name of an executor's operation, with a number behind it where that is a value's, another operation's or Python's."""
    values = context.get(_VALUES_KEY, ())
    for name in itertools.chain([sym.name], (f"{sym.name}_{i}" for i in itertools.count(1))):
        is_free = name not in values and name not in _MODULES and getattr(builtins, name, sym.fn) is sym.fn
        if is_free and context.setdefault(name, sym.fn) is sym.fn:
            return name
    raise AssertionError("unreachable")


def _value_names(bsyms: Iterable[BoundSymbol]) -> Iterator[str]:
    for b in bsyms:
        for p in b.flat_outputs:
            yield p.name
        for body in b.args if OpTags.CONTROL_FLOW in b.sym.tags else ():
            if hasattr(body, "bound_symbols"):
                yield from (p.name for p in body.args)
                yield from _value_names(body.bound_symbols)


def targets(output: Any) -> str:
    """What stands on the left of an assignment of ``output``; ``_`` for what is no proxy."""
    if isinstance(output, Proxy):
        return output.name
    if isinstance(output, (tuple, list)):
        inner = [targets(x) for x in output]
        return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
    return "_"


Block = Callable[[BoundSymbol, dict[str, Any], bool], list[str]]

#: by symbol id, how operations print that are statements of several lines
_block_printers: dict[Any, Block] = {}


def print_as_block(sym: Symbol) -> Callable[[Block], Block]:
    """Has uses of ``sym`` print as the lines that ``f(bsym, context, comments)`` gives."""

    def decorate(f: Block) -> Block:
        _block_printers[sym.id] = f
        return f

    return decorate


def block_lines(bsyms: Iterable[BoundSymbol], context: dict[str, Any], *, comments: bool = True) -> list[str]:
    """The lines of bound symbols that stand one after the other."""
    return [line for b in bsyms for line in bound_symbol_lines(b, context, comments=comments)]


def bound_symbol_lines(bsym: BoundSymbol, context: dict[str, Any], *, comments: bool = True) -> list[str]:
    """The lines that a bound symbol prints as: a statement, its result's type, its subsymbols as comments."""
    block = _block_printers.get(bsym.sym.id) if OpTags.CONTROL_FLOW in bsym.sym.tags else None
    if block is not None:
        return block(bsym, context, comments)
    if bsym.sym.printer is not None and OpTags.PROGRAM in bsym.sym.tags:
        line = bsym.sym.printer(bsym, context)
        return [line] if comments or not line.startswith("#") else []
    if bsym.sym.printer is not None:
        statement = bsym.sym.printer(bsym, context)
    else:
        statement = call_string(bsym.sym, bsym.args, bsym.kwargs, context)
        if not comments:
            statement = _checked(bsym, statement, context)
        if bsym.flat_outputs:
            statement = f"{targets(bsym.output)} = {statement}"
    if not comments:
        return [statement]
    if isinstance(bsym.output, Proxy):
        statement += f'  # {bsym.output.name}: "{bsym.output.type_string()}"'
    lines = [statement]
    for sub in bsym.subsymbols:
        for line in bound_symbol_lines(sub, {}):
            hash_at = len(line) - len(line.lstrip())
            lines.append(f"  {line[:hash_at]}# {line.lstrip()}" if not line.lstrip().startswith("#") else f"  {line}")
    return lines


print_uses_with(lambda bsym: "\n".join(bound_symbol_lines(bsym, {})))


def _checked(bsym: BoundSymbol, call: str, context: dict[str, Any]) -> str:
    """The call of an extension's operation with what it returns compared to what its meta promised; of tnp's own under ``TNP_CHECK=1``."""
    sym = bsym.sym
    if sym.executor is None or sym.fn is None:
        return call
    module = str(getattr(sym.fn, "__module__", ""))
    is_own = module.startswith("tnp.") or module in ("builtins", "cmath", "math", "_operator")
    if is_own and not check.enabled():
        return call
    if not bsym.flat_outputs and (
        sym.updates is None or bsym.kwargs
    ):  # what is computed into ``out`` may be returned as well
        return call
    arrays = [p for p in bsym.flat_outputs if isinstance(p, TensorProxy)]
    own = "torch" if any(p.lang.name == "torch" for p in arrays) else "numpy"
    error = TraceCheckError if is_own else ExtensionError
    made = check.ResultCheck(sym.name, sym.executor.name, sym.executor.array_kind or own, bsym.output, error)
    return f"{name_of(made, context)}({call})"


def trace_source(
    trace: Trace, context: dict[str, Any], *, comments: bool = True, given: Sequence[str] | None = None
) -> str:
    """The trace as a Python function; ``context`` receives the names that it uses beside its imports.

    With ``given`` it takes a list of values, for these names, instead of its arguments, and empties it: nobody keeps what it deletes.
    """
    context[_VALUES_KEY] = {trace.name, *(p.name for p in trace.args), *_value_names(trace.bound_symbols)}
    body = [f"  {line}" for line in block_lines(trace.bound_symbols, context, comments=comments)]
    if not body or all(line.lstrip().startswith("#") for line in body):
        body.append("  pass")
    del context[_VALUES_KEY]
    imports = sorted(context.pop(_IMPORTS_KEY, ()), key=lambda line: (line.startswith("from"), line))
    header = [] if trace.provenance is None or not comments else [str(trace.provenance)]
    parameters = ", ".join(p.name for p in trace.args)
    if given is not None:
        parameters = "_given"
        taken = [f"  {p.name} = _given[{given.index(p.name)}]" for p in trace.args]
        body = [*taken, "  _given.clear()", *body]
    spacer = [""] if header or imports else []
    return "\n".join([*header, *imports, *spacer, f"def {trace.name}({parameters}):", *body]) + "\n"


_counter = itertools.count()


def compile_source(source: str, name: str, context: dict[str, Any]) -> Callable[..., Any]:
    """The function ``name`` that ``source`` defines. Its lines show in tracebacks and debuggers."""
    scope = dict(context)
    exec(_code_of(source), scope)
    function = scope[name]
    function.__tnp_source__ = source
    return function  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=512)
def _code_of(source: str) -> CodeType:
    """The code of a module, compiled once: functions with parameters of the same names are called in the same way."""
    filename = f"<tnp program {next(_counter)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return compile(source, filename, "exec")

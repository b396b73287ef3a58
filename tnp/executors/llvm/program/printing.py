"""The program IR as text, for ``TNP_DUMP=loops``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm.program.ir import TRUE, Block, Branch, Cell, Instruction, Item, Loop

if TYPE_CHECKING:
    from tnp.executors.llvm.program.lowering import Program

__all__ = ["show"]


def show(p: Program, name: str) -> str:
    """A program. Addresses are sums of a register and of bytes, ``%0 + 8*%i3``; ``cell`` is a variable."""
    lines = [f"program {name}"]
    for title, block in (
        ("sizes", p.sizes.code.block if p.sizes is not None else []), ("arguments", p.head), ("begins only if", p.ahead),
        ("saves", p.copies), ("runs", p.body_block), ("undoes", p.restores),
    ):  # fmt: skip
        if block:
            lines += [f"  {title}:", *_block(block, "    ")]
    return "\n".join(lines)


def _block(block: Block, indent: str) -> Iterator[str]:
    for item in block:
        yield from _item(item, indent)


def _item(item: Item, indent: str) -> Iterator[str]:
    inner = indent + "  "
    if isinstance(item, Instruction):
        if item.op != "nothing":
            yield indent + _instruction(item)
    elif isinstance(item, Loop):
        step = f" by {item.step}" if item.step.known != 1 else ""
        unless = f" if {item.some}" if item.some != TRUE else ""
        threads = " parallel" if item.parallel is not None else ""
        yield f"{indent}for {item.variable} in {item.first}..{item.last}{step}{threads}{unless}"
        yield from _block(item.body, inner)
    elif isinstance(item, Branch):
        yield f"{indent}if {item.condition}"
        yield from _block(item.then, inner)
        if item.otherwise:
            yield f"{indent}else"
            yield from _block(item.otherwise, inner)
    else:
        yield f"{indent}while"
        yield from _block(item.test, inner)
        yield f"{indent}do if {item.goes_on}"
        yield from _block(item.body, inner)


def _instruction(x: Instruction) -> str:
    args = ", ".join(map(repr, x.args))
    made = f"{x.result}: {x.result.dtype.shortname if x.result.dtype else 'ptr'} = " if x.result is not None else ""
    if x.op == "load":
        return f"{made}load {x.args[0]} + {x.args[1]}"
    if x.op == "store":
        return f"store {x.args[2]} to {x.args[0]} + {x.args[1]}"
    if x.op == "check":
        failure = "run eagerly" if x.info is None else f"raise {x.info}"
        return f"check {args} else {failure}"
    return f"{made}{_name(x.op, x.info)} {args}".rstrip()


def _name(op: str, info: Any) -> str:
    """An operation, with what it needs besides its operands."""
    if isinstance(info, Cell):
        return f"{op} {info}"
    if op == "in_place":
        return f"{info[0]} {info[1].shortname}"
    return op if info is None else str(info[0]) if op in ("apply", "combine", "raw") else f"{op} {info}"

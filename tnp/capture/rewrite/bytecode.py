"""What the bytecode of a function tells, where its source cannot be had."""

from __future__ import annotations

import dis
import functools
import types

__all__ = ["compares_objects", "handles_errors", "outside_names"]


@functools.lru_cache(maxsize=1024)
def compares_objects(code: types.CodeType) -> bool:
    """Whether ``code`` tells objects apart by ``is``, other than from ``None``, or by their classes."""
    instructions = list(dis.get_instructions(code))
    for at, instruction in enumerate(instructions):
        if instruction.opname == "IS_OP":
            before = instructions[at - 1]
            if before.argval is not None and before.argval != "__class__":
                return True
    return any(compares_objects(c) for c in code.co_consts if isinstance(c, types.CodeType))


@functools.lru_cache(maxsize=1024)
def handles_errors(code: types.CodeType) -> bool:
    """Whether ``code`` has a ``try`` or a ``with`` statement."""
    if any(i.opname in ("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH") for i in dis.get_instructions(code)):
        return True
    return any(handles_errors(c) for c in code.co_consts if isinstance(c, types.CodeType))


@functools.lru_cache(maxsize=1024)
def outside_names(code: types.CodeType) -> set[tuple[str, str]]:
    """The pairs (opcode, name) in ``code`` that access global and closure names, or read an attribute called ``random``."""
    found = {
        (i.opname, i.argval)
        for i in dis.get_instructions(code)
        if i.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL")
        or (i.opname in ("LOAD_DEREF", "STORE_DEREF", "LOAD_CLOSURE") and i.argval in code.co_freevars)
        or i.opname == "LOAD_NAME"  # in the body of a class
        or (i.opname in ("LOAD_ATTR", "LOAD_METHOD") and i.argval == "random")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= {(op, n) for op, n in outside_names(constant) if n not in code.co_cellvars}
    return found

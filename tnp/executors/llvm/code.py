"""A writer of textual LLVM IR.

IR is written as text, because building instruction objects takes longer than LLVM's parser.
"""

from __future__ import annotations

import operator

__all__ = ["Code", "extreme", "told_apart"]


#: LLVM is told of this many memories each that a memory does not overlap with: of all, that would be a square of their number
TOLD_APART = 64


def told_apart(memory: int, count: int) -> list[int]:
    """The memories that LLVM is told not to overlap with ``memory``. Memories are numbered in order of first use, up to ``count``.

    Of few, these are all others; of many, the first ones (the arguments) and the neighbours.
    """
    if count <= TOLD_APART:
        return [i for i in range(count) if i != memory]
    part = TOLD_APART // 4
    found = {*range(part), *range(max(0, memory - part), min(count, memory + 2 * part))}
    return sorted(found - {memory})


_ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "udiv": operator.floordiv,
}
_COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "ult": operator.lt,
    "uge": operator.ge,
    "sge": operator.ge,
}


def _is_number(x: str) -> bool:
    return not x.startswith("%")


class Code:
    """One function's instructions as they are written, and what their module needs besides.

    >>> code = Code()
    >>> total = code.op("fadd double %a, %b")
    >>> code.line(f"ret double {total}")
    >>> print(code.text())
      %t0 = fadd double %a, %b
      ret double %t0
    """

    def __init__(self, module: Code | None = None, *, fast: bool = False) -> None:
        self.lines: list[str] = []
        #: floating-point operations may be reassociated and assume no NaN
        self.fast = fast if module is None else module.fast
        self.current = "entry"
        self._count = 0
        self._module: dict[str, str] = {} if module is None else module._module
        self._kept: dict[str, None] = {} if module is None else module._kept

    def temp(self, hint: str = "t") -> str:
        """A register that has not been used."""
        self._count += 1
        return f"%{hint}{self._count - 1}"

    def op(self, instruction: str) -> str:
        """Appends ``instruction``; its result's register."""
        result = self.temp()
        self.lines.append(f"  {result} = {instruction}")
        return result

    def arithmetic(self, op: str, a: str, b: str) -> str:
        """``add``, ``sub``, ``mul``, ``udiv`` or ``and`` of two 64-bit integers, registers or numbers."""
        if _is_number(a) and _is_number(b):
            return str(_ARITHMETIC[op](int(a), int(b)))
        if (b == "0" and op in ("add", "sub")) or (b == "1" and op == "mul"):
            return a
        if (a == "0" and op == "add") or (a == "1" and op == "mul"):
            return b
        return self.op(f"{op}{' nsw' if op in ('add', 'sub', 'mul') else ''} i64 {a}, {b}")

    def compare(self, condition: str, a: str, b: str) -> str:
        """Whether ``a == b`` (``"eq"``), ``a != b`` (``"ne"``), ``a < b`` (``"slt"``, ``"ult"``) or ``a >= b`` (``"uge"``, ``"sge"``), of 64-bit
        integers."""
        if _is_number(a) and _is_number(b):
            return "true" if _COMPARISONS[condition](int(a), int(b)) else "false"
        return self.op(f"icmp {condition} i64 {a}, {b}")

    def all(self, *conditions: str) -> str:
        """Whether all of some conditions are true."""
        found = "true"
        for c in conditions:
            if "false" in (found, c):
                found = "false"
            elif c != "true":
                found = c if found == "true" else self.op(f"and i1 {found}, {c}")
        return found

    def choose(self, condition: str, a: str, b: str) -> str:
        """``a`` if the condition is true, else ``b``, which are 64-bit integers."""
        if condition in ("true", "false"):
            return a if condition == "true" else b
        return self.op(f"select i1 {condition}, i64 {a}, i64 {b}")

    def line(self, instruction: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def label(self, hint: str) -> str:
        """The name of a block to come."""
        self._count += 1
        return f"{hint}{self._count - 1}"

    def block(self, label: str) -> None:
        """Starts the block ``label``."""
        self.lines.append(f"{label}:")
        self.current = label

    def require(self, key: str, text: str) -> None:
        """Adds ``text`` (a declaration, a definition, attributes) to the module, once a key."""
        self._module.setdefault(key, text)

    def has(self, key: str) -> bool:
        """Whether that was required."""
        return key in self._module

    def keep(self, function: str) -> None:
        """Keeps a function that only the vectoriser will refer to (``@_ZGVeN8v_sin``) from being dropped."""
        self._kept[function] = None

    def text(self) -> str:
        """The instructions."""
        return "\n".join(self.lines)

    def module_text(self) -> str:
        """What was required, and the list of functions kept."""
        parts = list(self._module.values())
        if self._kept:
            kept = ", ".join(f"ptr {f}" for f in self._kept)
            parts.append(
                f'@llvm.compiler.used = appending global [{len(self._kept)} x ptr] [{kept}], section "llvm.metadata"'
            )
        return "\n".join(parts)


def extreme(code: Code, name: str, a: str, b: str) -> str:
    """``smin``, ``smax`` or ``umin`` of two 64-bit integers, registers or numbers."""
    if _is_number(a) and _is_number(b):
        return min(a, b, key=int) if name.endswith("min") else max(a, b, key=int)
    code.require(f"@llvm.{name}.i64", f"declare i64 @llvm.{name}.i64(i64, i64)")
    return code.op(f"call i64 @llvm.{name}.i64(i64 {a}, i64 {b})")

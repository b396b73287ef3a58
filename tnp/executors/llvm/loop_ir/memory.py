"""The memory that a call of a kernel takes for itself: which temporaries lie in one place, and the code that takes it and gives it back.

Temporaries of one size that are not used at the same time share their place. Small places are on the stack, others come from the pool
of large memory (:mod:`tnp.runtime.allocator`), whose pages need not be made anew at each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tnp.executors.llvm import target
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.loop_ir.dependence import touched
from tnp.executors.llvm.loop_ir.nodes import Buffer, Check, Kernel, Skewed, statements_of
from tnp.runtime import allocator

if TYPE_CHECKING:
    from tnp.executors.llvm.loop_ir.functions import Function

__all__ = ["Place", "allocate", "give_back", "places_of", "take"]


MALLOC = "declare ptr @malloc(i64)\ndeclare void @free(ptr)"
POOL = """\
@tnp_pool = external global i8
declare ptr @tnp_pool_malloc(ptr, i64)
declare void @tnp_pool_free(ptr, ptr, i64)"""


@dataclass
class Place:
    """Memory of ``size`` bytes, an integer or an extent, for the temporaries ``keys``, until the entry ``last`` of a kernel."""

    size: Any
    last: int
    keys: list[Any] = field(default_factory=list)


def places_of(kernel: Kernel, scratches: Iterable[tuple[Any, Any, int, int]]) -> list[Place]:
    """The places for a kernel's temporaries, and for ``scratches``: of each its key, its size, and the first and the last entry that use it."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for i, entry in enumerate(kernel.nests):
        used = {entry.buffer} if isinstance(entry, Check) else set().union(*touched(statements_of(entry)))
        for b in used | ({entry.made} if isinstance(entry, Skewed) else set()):
            first.setdefault(b, i)
            last[b] = i
    wanted = [(first[b], last[b], b.bytes, b) for b in kernel.temporaries if b.role == "temporary" and b in first]
    wanted += [(i, j, size, key) for key, size, i, j in scratches]
    places: list[Place] = []
    for begin, end, size, key in sorted(wanted, key=lambda w: w[0]):
        place = next((p for p in places if p.last < begin and _is_same(p.size, size)), None)
        if place is None:
            place = Place(size, end)
            places.append(place)
        place.last = end
        place.keys.append(key)
    return places


def _is_same(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, int) and isinstance(b, int) else str(a) == str(b)


def take(function: Function, places: Sequence[Place]) -> list[tuple[str, str]]:
    """Writes what takes the places, and puts their addresses in the context; where there is no memory, the kernel refuses. Gives the
    address and the size of what is to be given back."""
    code, taken, left = function.code, list[tuple[str, str]](), target.KERNEL_STACK_BYTES
    for place in sorted(places, key=lambda p: not isinstance(p.size, int)):
        if isinstance(place.size, int) and place.size <= min(target.PLACE_STACK_BYTES, left):
            left -= place.size
            address = code.op(f"alloca [{max(place.size, 1)} x i8], align 64")
        else:
            size = function.size(place.size)
            address = allocate(code, size)
            _refuse_without(code, address, taken)
            taken.append((address, size))
        function.addresses.update(dict.fromkeys(place.keys, address))
        words = [function.module.words[key] for key in place.keys if key in function.module.words]
        word = code.op(f"ptrtoint ptr {address} to i64") if words else ""
        for i in words:
            function.set_word(i, word)
    return taken


def allocate(code: Code, size: str) -> str:
    """The register of the address of new memory, which is null where there is none."""
    if allocator.serves_kernels():
        code.require("pool", POOL)
        return code.op(f"call ptr @tnp_pool_malloc(ptr @tnp_pool, i64 {size})")
    code.require("malloc", MALLOC)
    return code.op(f"call ptr @malloc(i64 {size})")


def _refuse_without(code: Code, address: str, taken: Sequence[tuple[str, str]]) -> None:
    lacking, onward = code.label("lacking"), code.label("onward")
    code.line(f"br i1 {code.op(f'icmp eq ptr {address}, null')}, label %{lacking}, label %{onward}")
    code.block(lacking)
    give_back(code, taken)
    code.line("ret i64 1")
    code.block(onward)


def give_back(code: Code, taken: Iterable[tuple[str, str]]) -> None:
    """Writes what gives memory back."""
    for address, size in taken:
        if code.has("pool"):
            code.line(f"call void @tnp_pool_free(ptr @tnp_pool, ptr {address}, i64 {size})")
        else:
            code.line(f"call void @free(ptr {address})")

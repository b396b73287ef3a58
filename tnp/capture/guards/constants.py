"""Values that never change, and sets: they are compared at each call, but for strings that differ from call to call: a program that
only passes one on holds for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tnp.capture.guards.lifted_container import LiftedContainer, same_set
from tnp.capture.objects.foreign import Foreign

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source

__all__ = ["lift_constant", "lift_set"]


def lift_constant(inputs: Inputs, value: Any, source: Source) -> Any:
    """What the program gets of a value that never changes: the value, which is guarded. A string that varied stands for any other; a
    program that does more than pass it on is traced again, with a guard on its value."""
    if type(value) is not str or not inputs.prologue.varying.is_any_text(source.description, value):
        return inputs.guard_equal(value, source)
    source = inputs.prologue.let(source)
    inputs.guard_type(value, source)
    return Foreign(value, source)


def lift_set(inputs: Inputs, value: Any, source: Source) -> Any:
    """A set of texts and integers: the program gets a copy, and may not change it."""
    prologue = inputs.prologue
    same, expected = prologue.constant(same_set), prologue.constant(frozenset(value), "set")
    condition = f"type({source.expression}) is {type(value).__name__} and {same}({source.expression}, {expected})"
    prologue.guard(condition, f"{source.description} is {value!r}")
    made = type(value)(value)
    if type(value) is set:
        inputs.containers.append(LiftedContainer(made, list(value), source, set, value))
    return made

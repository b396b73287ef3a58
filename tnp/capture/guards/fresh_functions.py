"""Functions that are new objects at each call, such as lambdas: a program is valid for every function with the same code."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tnp.capture.guards.prologue import Source
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.rewrite.code_origin import is_followed

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["FreshFunctions"]


class FreshFunctions:
    """The functions of one trace that are guarded by their code. Their closures are read from the function of each call.

    A program that does more than call such a function is traced again, with a guard on its identity.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        #: by ``id``: a function, what fetches it, and what it is called
        self._found: dict[int, tuple[types.FunctionType, str, str]] = {}

    def lift(self, f: Any, source: Source) -> Any:
        """Guards a function, a class or a module by identity. A traced function is guarded by its code instead once another function with
        that code was seen."""
        inputs = self._inputs
        is_traced = type(f) is types.FunctionType and is_followed(f)
        if not is_traced or f.__dict__ or f.__kwdefaults__ or id(f) in inputs.same:
            return inputs.guard_identity(f, source)
        is_fresh = inputs.prologue.varying.is_fresh(source.description, f)
        if id(f) in self._found:  # in another place, too
            expression = self._found[id(f)][1]
            inputs.prologue.guard(f"{source.expression} is {expression}", f"{source.description} is {expression}")
            return f
        if not is_fresh:
            return inputs.guard_identity(f, source)
        source = inputs.prologue.let(source)
        e, code = source.expression, inputs.prologue.constant(f.__code__, "code")
        names, count = inputs.prologue.constant(f.__globals__, "globals"), len(f.__defaults__ or ())
        inputs.guard_type(f, source)
        inputs.prologue.guard(
            f"({e}.__code__ is {code} or {e}.__code__ == {code}) and {e}.__globals__ is {names} and not {e}.__dict__ and not {e}.__kwdefaults__ "
            f"and len({e}.__defaults__ or ()) == {count}",
            f"{source.description} has the code of {f.__qualname__}",
        )
        for _, other, _ in self._found.values():
            inputs.prologue.guard(f"{e} is not {other}", f"{source.description} is not {other}")
        self._found[id(f)] = f, e, source.description
        return f

    def is_fresh(self, f: Any) -> bool:
        """Whether a function is guarded by its code."""
        return id(f) in self._found

    def name_of(self, f: types.FunctionType) -> str:
        """What fetches a function, over the prologue's names."""
        return self._found[id(f)][1] if id(f) in self._found else self._inputs.prologue.constant(f, "function")

    def check(self, values: Iterable[Any]) -> None:
        """Raises :class:`ReadsVarying` if one of ``values`` is a function that is guarded by its code."""
        for x in values:
            if id(x) in self._found:
                raise ReadsVarying(self._found[id(x)][2])

    def finish(self, same: Iterable[Any]) -> None:
        """Checks that no function in ``same``, which are guarded by identity, has the code of one that is not."""
        codes = {f.__code__ for f in same if type(f) is types.FunctionType}
        self.check(f for f, _, _ in self._found.values() if f.__code__ in codes)

    def clear(self) -> None:
        """Lets go of the functions."""
        self._found.clear()

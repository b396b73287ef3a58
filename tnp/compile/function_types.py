"""The types of compiled and transformed functions, for type checkers and editors: signatures stay as they are.

Nothing is imported from here when a program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from tnp.core.trace import Trace

__all__ = ["JitDecorator", "JitOptions", "JittedFunction", "ModuleLike", "Tracing"]

P = ParamSpec("P")
Rest = ParamSpec("Rest")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
Instance = TypeVar("Instance")


class JittedFunction(Protocol[P, R_co]):
    """A function that :func:`tnp.jit` or a transform has made: it is called as the function, and a method where that is one."""

    __name__: str
    __qualname__: str
    __module__: str

    @property
    def __wrapped__(self) -> Callable[P, R_co]: ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def clear(self) -> None:
        """Forgets all programs: the next call compiles."""

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> JittedFunction[P, R_co]: ...

    @overload
    def __get__(
        self: JittedFunction[Concatenate[Instance, Rest], R], instance: Instance, owner: type | None = None
    ) -> Callable[Rest, R]: ...


class ModuleLike(Protocol):
    """What ``torch.nn.Module`` is, said without PyTorch, which need not be installed."""

    @property
    def state_dict(self) -> Callable[..., Any]: ...

    @property
    def load_state_dict(self) -> Callable[..., Any]: ...

    @property
    def named_parameters(self) -> Callable[..., Any]: ...


Module = TypeVar("Module", bound=ModuleLike)


class JitOptions(TypedDict, total=False):
    """The options of :func:`tnp.jit`."""

    executors: Iterable[Any] | None
    always_executors: Iterable[Any] | None
    device: str | None
    strict: bool
    fastmath: bool
    specialisations: int
    cudagraphs: bool
    dynamic: bool | None


class JitDecorator(Protocol):
    """What ``tnp.jit(strict=True)`` gives: a decorator."""

    @overload
    def __call__(self, function: Module, /) -> Module: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> JittedFunction[P, R]: ...


class Tracing(Protocol):
    """What ``tnp.trace()`` gives: it is called with a function and its arguments."""

    def __call__(self, function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Trace: ...

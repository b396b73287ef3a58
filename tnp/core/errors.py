"""The exceptions and warnings of tnp, with the user's line that they belong to.

Errors of the *program* are eager's (``IndexError``, ``ValueError``, …). The classes here are for programs that *tnp*
cannot compile. Each message names the user's file and line, the operation, the reason, and a workaround.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tnp.core.proxies import TensorProxy

__all__ = [
    "AmbiguousView",
    "BatchError",
    "CountsReferences",
    "EagerFallbackWarning",
    "ExtensionError",
    "GradientError",
    "InternalError",
    "InternalErrorWarning",
    "LateGuardFailed",
    "LosesStores",
    "NeedsConcreteSize",
    "NeedsEager",
    "NeedsElements",
    "NeedsOpaque",
    "NeedsValue",
    "NoDeviceError",
    "NoExecutorError",
    "RaisedWhenAsked",
    "RaisedWhileTracing",
    "TraceCheckError",
    "TraceError",
    "TransformError",
    "UserLocation",
    "user_location",
    "user_stack",
    "user_stack_level",
]


class TraceError(TypeError):
    """tnp cannot compile a function, or, with ``strict=True``, a program would run eagerly. The arguments are unchanged.

    >>> import numpy as np, tnp
    >>> tnp.jit(lambda x: x + x, strict=True)(np.array([None]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tnp.core.errors.TraceError: ... it uses __add__ of argument x, an array of objects ...
    """


class NoDeviceError(RuntimeError):
    """A device is missing or unusable: no driver, a driver that is too old, or no library for it.

    >>> import numpy as np, tnp
    >>> def on_the_gpu_if_there_is_one(f, *args):
    ...     try:
    ...         return tnp.jit(f, device="cuda")(*args)
    ...     except tnp.NoDeviceError:
    ...         return tnp.jit(f)(*args)
    >>> float(on_the_gpu_if_there_is_one(lambda x: x.sum(), np.ones(3)))
    3.0
    """


class TransformError(TraceError):
    """A transform does not support a function; ``location`` is the user's line."""

    def __init__(self, message: str, location: UserLocation | None = None) -> None:
        super().__init__(f"{message} (at {location})" if location is not None else message)
        self.reason = message
        self.location = location


class GradientError(TransformError):
    """A function has no gradient, or none with respect to the given argument.

    >>> import numpy as np, tnp
    >>> tnp.grad(lambda x: x.sum())(np.arange(3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tnp.core.errors.GradientError: tnp.grad differentiates with respect to floating-point values, and argument 0 is an array of int64; ...
    """


class BatchError(TransformError):
    """A function cannot be mapped over a dimension, or not over the given one.

    >>> import numpy as np, tnp
    >>> tnp.vmap(lambda x: x[x > 0])(np.ones((2, 3)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tnp.core.errors.BatchError: ...
    """


class NoExecutorError(RuntimeError):
    """No executor in the list supports an operation; names those that do not.

    >>> import numpy as np, tnp
    >>> tnp.jit(lambda x: np.sin(x), executors=["python"], always_executors=[])(np.ones(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tnp.core.errors.NoExecutorError: Could not find executor for bound symbol ...
    """


class ExtensionError(RuntimeError):
    """Code of an extension (a checker, an execution transform, an installed package) raised, or violates its contract.

    >>> import numpy as np, tnp
    >>> from tnp.extend import OperatorExecutor
    >>> ex = OperatorExecutor("careless")
    >>> ex.register_implementation("numpy.sin", execution_transform=np.sin, checker=lambda a: a.sheep > 1)
    >>> tnp.jit(lambda x: np.sin(x), executors=[ex])(np.ones(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tnp.core.errors.ExtensionError: the checker of the executor careless raised AttributeError(...) for
      t0 = lnp.sin(x)  # t0: "cpu f64[2]"
    ...
    """


class InternalError(RuntimeError):
    """A bug in tnp: a pass, an executor, a generated program or a guard failed, or tracing raised an error that eager does not.

    Raised under ``TNP_CHECK=1``, and if the call has already written something. Otherwise the call runs eagerly, with an
    :class:`InternalErrorWarning`.

    >>> import tnp
    >>> def result_or_none(f, *args):
    ...     try:
    ...         return f(*args)
    ...     except tnp.InternalError as fault:
    ...         print(f"please report: {fault}")
    >>> result_or_none(tnp.jit(lambda x: x + 1), 2)
    3
    """


class TraceCheckError(InternalError):
    """A trace violates an invariant of :mod:`tnp.core.trace_check` after a pass, or an operation's result does not match its meta: a
    bug in tnp or in an extension."""


class EagerFallbackWarning(UserWarning):
    """A call ran eagerly, as without tnp, because something in it could not be compiled; given once per function.

    >>> import warnings
    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: x.tolist())
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     _ = f(np.ones((50, 40)))
    >>> [w.category.__name__ for w in said]
    ['EagerFallbackWarning']
    """


class InternalErrorWarning(EagerFallbackWarning):
    """A call ran eagerly because of a bug in tnp, which should be reported; given once per function.

    >>> import warnings, tnp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", tnp.InternalErrorWarning)  # stop at such a call
    ...     tnp.jit(lambda x: x + 1)(2)
    3
    """


class LateGuardFailed(Exception):
    """An opaque call's results do not match its dry run: the call starts over eagerly. The message names the opaque call; ``place`` is where it
    stands."""

    def __init__(self, reason: str, place: UserLocation | None = None) -> None:
        super().__init__(reason)
        self.reason, self.place = reason, place


class NeedsEager(BaseException):
    """Raised while tracing to run the call eagerly. Not an ``Exception``, so that a program's own ``except Exception`` does not
    catch it.

    ``reason`` is a clause that completes "runs eagerly because …".
    """

    #: whether nothing of the function may be compiled, and not only this statement
    whole = False
    #: whether the statement is in a block that surely raises
    is_raising = False
    #: whether an operation in a loop or a branch needs sizes that are others in each iteration
    is_of_sizes = False

    def __init__(self, reason: str, location: UserLocation | None = None) -> None:
        self.reason = reason
        #: the lines of the program that were being executed, innermost first
        self.stack = location.stack if isinstance(location, StackLocation) else user_stack()
        self.location = location if location is not None else user_location()
        #: where it is about what the function returns: which of several results, or -1
        self.result: int | None = None
        super().__init__(f"{self.location}: {reason}")


class NeedsValue(NeedsEager):
    """Python needs the value of a traced array (``if x > 0:``, ``float(x)``, …).

    ``array`` is the proxy of an array of several elements whose values an operation needs.
    """

    def __init__(self, reason: str, location: UserLocation | None = None, *, array: TensorProxy | None = None) -> None:
        super().__init__(reason, location)
        self.array = array


class RaisedWhenAsked(NeedsEager):
    """The computation of a value guard raised ``error``, which is the program's own. ``may_be_caught``: the program has a ``try``,
    which may catch it."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"it raises {error!r}")
        self.error = error
        self.may_be_caught = False


class RaisedWhileTracing(NeedsEager):
    """Tracing raised ``error``, which eager may not raise, without a bug in tnp: ``reason`` says why."""

    def __init__(self, reason: str, error: Exception) -> None:
        super().__init__(reason)
        self.error = error


class AmbiguousView(NeedsEager):
    """A write to memory that another array may share, which depends on the memory order of arrays; tnp cannot decide it."""

    whole = True


class NotOwned(NeedsEager):
    """Raised where a loop writes to an array that may be others' as well. After an iteration the loop may have made it itself."""


class LosesStores(NeedsEager):
    """An error may come after arrays were written and before attributes or items are assigned."""


class CountsReferences(NeedsEager):
    """The program asks who refers to an object. Compiled parts have references of their own."""

    whole = True


class NeedsConcreteSize(NeedsEager):
    """An operation does not support a size known only at run time."""

    is_of_sizes = True


class NeedsElements(NeedsConcreteSize):
    """An operation supports the ``size``, which is known only at run time, if it is at least ``least``."""

    def __init__(self, message: str, size: Any, least: Any) -> None:
        super().__init__(message)
        self.size, self.least = size, least


class NeedsOpaque(NeedsEager):
    """Raised by the definition of a function for unsupported arguments: the call becomes an opaque call."""


class UserLocation:
    """A line of the user's program: the source line of ``code``'s instruction at ``offset``."""

    __slots__ = ("code", "offset")

    def __init__(self, code: CodeType, offset: int) -> None:
        self.code = code
        self.offset = offset

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def name(self) -> str:
        return self.code.co_name

    @property
    def line(self) -> int:
        """Looked up lazily: every operation has a location, and few are shown."""
        lines = (line for begin, end, line in self.code.co_lines() if begin <= self.offset < end and line is not None)
        return next(lines, self.code.co_firstlineno)

    def __str__(self) -> str:
        return f"{shown_file(self.filename)}:{self.line} in {self.name}"

    @property
    def short(self) -> str:
        """The file's name without its folder, and the line: ``demo.py:4``, ``<cell 3>:2``."""
        return f"{os.path.basename(shown_file(self.filename))}:{self.line}"

    @property
    def place(self) -> tuple[int | None, int | None, int | None, int | None]:
        """Where the instruction's expression begins and ends: lines and columns, as :mod:`ast` counts them."""
        line, end_line, column, end_column = next(itertools.islice(self.code.co_positions(), self.offset // 2, None))
        return line, column, end_line, end_column

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserLocation) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.filename, self.line))


class StackLocation(UserLocation):
    """A line of the user's program, and in ``stack`` all lines that were being executed, innermost first."""

    __slots__ = ("stack",)

    def __init__(self, stack: Sequence[UserLocation]) -> None:
        super().__init__(stack[0].code, stack[0].offset)
        self.stack = stack


def shown_file(filename: str) -> str:
    """The name of a file in messages: of a notebook's cell, which has a file that nobody knows, its number.

    >>> shown_file("demo.py")
    'demo.py'
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    known = getattr(getattr(shell, "compile", None), "_filename_map", {})  # IPython's: by file, the number of the cell
    return f"<cell {known[filename]}>" if filename in known else filename


_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_internal_folders: list[str] = [_OWN_FOLDER]
_is_internal: dict[str, bool] = {}


def hide_frames_of(folder: str) -> None:
    """Treats frames of files under ``folder`` as internal (called by the adapters of array libraries)."""
    _internal_folders.append(folder + os.sep)
    _is_internal.clear()


def is_internal(filename: str) -> bool:
    """Whether a file is tnp's or an array library's."""
    internal = _is_internal.get(filename)
    if internal is None:
        internal = filename.startswith("<tnp") or any(filename.startswith(f) for f in _internal_folders)
        _is_internal[filename] = internal
    return internal


def user_location() -> UserLocation:
    """The innermost line being executed that is neither tnp's nor an array library's."""
    frame: FrameType | None = sys._getframe(1)
    last = frame
    known = _is_internal  # looked at here, as every recorded operation comes by for each frame below the program's
    while frame is not None:
        filename = frame.f_code.co_filename
        if not (known[filename] if filename in known else is_internal(filename)):
            break
        last, frame = frame, frame.f_back
    found = frame if frame is not None else last
    assert found is not None
    return UserLocation(found.f_code, found.f_lasti)


def user_stack() -> tuple[UserLocation, ...]:
    """The lines being executed that are neither tnp's nor an array library's, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    found = []
    while frame is not None:
        if not is_internal(frame.f_code.co_filename):
            found.append(UserLocation(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def user_stack_level() -> int:
    """The stack level at which a warning that the caller gives names the user's line."""
    wanted = user_location()
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename != wanted.filename:
        frame, level = frame.f_back, level + 1
    return level

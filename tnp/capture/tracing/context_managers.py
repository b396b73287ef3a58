"""Context managers that a traced program enters, and that apply to its operations."""

from __future__ import annotations

import inspect
import re
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tnp.capture import active
from tnp.capture.speculation.regions import Retrace
from tnp.core.errors import NeedsEager, is_internal

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["MayCatch", "own_signals"]

_CAPTURE = Path(__file__).parents[1]


class MayCatch:
    """Any other context manager, or a ``try``: it may catch errors of its body, or do something when there are some. A run-time
    error of the body's operations would come after it is left. ``is_read``: what catches an error may look at more than its class."""

    def __init__(self, inner: Any, is_read: bool = True) -> None:
        self.inner = inner
        self.is_read = is_read

    def __enter__(self) -> Any:
        entered = self.inner.__enter__()
        tracer = active.current()
        tracer.catching += 1
        tracer.has_caught = True
        return entered

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        tracer = active.current()
        tracer.catching -= 1
        _note_caught(tracer, error, self.is_read)
        return self.inner.__exit__(kind, error, traceback) and not isinstance(error, own_signals())


def own_signals() -> tuple[type[BaseException], ...]:
    """What is raised while tracing and is no error of the program: handlers of everything leave it alone."""
    return NeedsEager, Retrace


def _note_caught(tracer: Tracer, error: BaseException | None, is_read: bool) -> None:
    """Notes that the program may catch ``error``, which was met while it is traced.

    The program must not go on with what is tnp's alone: a value that tracing needs, or an error of an operation, whose class and
    words may differ from those of eager's. Errors of Python, and of the program itself, are eager's."""
    if isinstance(error, NeedsEager):
        tracer.must_run_eagerly = error  # even if the program swallows it
    elif isinstance(error, Exception) and _may_differ(error, is_read):
        tracer.must_run_eagerly = NeedsEager("it may catch an error of an operation")


#: errors of Python and NumPy whose class tnp's have, and whose words they may lack
_OF_KNOWN_CLASS = {
    TypeError: re.compile(
        r"object does not support item assignment$|is not subscriptable$|object is not iterable$|iteration over a 0-d array$"
        r"|^len\(\) of unsized object$|has no len\(\)$|cannot be interpreted as an integer$|^Cannot interpret .* as a data type$|^cannot unpack non-iterable|^only 0-dimensional arrays can be converted"
    ),
    ValueError: re.compile(
        r"^can only convert an array of size 1 to|^cannot reshape (array of size|\()|^zero-dimensional arrays cannot be concat"
        r"|could not be broadcast together|^all (the )?input array|mismatch in its core dimension|does not have enough dimensions|^matmul: "
    ),
}


#: the hook of subscripts, and what looks keys up in the stead of a dict
_PASSING_ON = frozenset(
    (
        ("operators.py", "item_of"),
        ("attribute_dicts.py", "__getitem__"),
        ("mappings.py", "item"),
        ("foreign.py", "method"),
        ("context_variables.py", "_get"),
        ("context_variables.py", "method"),
        ("environment_variables.py", "item"),
    )
)


#: what calls a query of PyTorch's state
_ASKS_TORCH = ("state_queries.py", "_compared")


def _may_differ(error: Exception, is_read: bool) -> bool:
    """Whether ``error`` may differ from eager's; where it is not read, in its class."""
    known = _OF_KNOWN_CLASS.get(type(error))
    if known is not None and not is_read and known.search(str(error)):
        return False
    return _is_of_an_operation(error)


def _is_of_an_operation(error: Exception) -> bool:
    """Whether ``error`` comes from tnp's functions, and may be told otherwise than eager tells it."""
    if type(error) is NameError and "free variable" in str(error):  # rewriting may make a variable free that is local
        return True
    if "Traced" in str(error):  # the message names a traced value
        return True
    if isinstance(error, AttributeError):
        return False
    own = []  # the functions of tnp that it came through, from where it was raised out to the program
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        code = frame.f_code
        if code.co_filename != inspect.__file__ and not is_internal(code.co_filename):
            break
        file = Path(code.co_filename)
        if file.is_relative_to(_CAPTURE.parent) and file != _CAPTURE / "tracing" / "hooks.py":
            own.append((file.name, code.co_name))
    if own[:1] == [_ASKS_TORCH]:  # which has raised it
        return False
    own = [at for at in own if at not in _PASSING_ON]
    if type(error) is AssertionError:
        return own != [("selection.py", "assert_")]
    subscripts = ("traced_values.py", "__getitem__"), ("traced_values.py", "__setitem__")
    return bool(own) and not (type(error) is IndexError and own[-1] in subscripts)

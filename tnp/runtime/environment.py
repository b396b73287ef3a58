"""The environment variables that tnp reads: one table, and the functions that read them.

No other module reads the environment. :data:`tnp.config` has an attribute for each variable of tnp's own, ``python -m tnp info``
lists them, and docs/environment.md is made of the table.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

__all__ = ["OTHERS", "OWN", "VARIABLES", "Variable", "is_on", "number", "overrides", "temporarily", "text"]


class Variable(NamedTuple):
    """An environment variable: its default as text, what it is for, and the attribute of :data:`tnp.config` that has its value.

    ``is_read_once``: it counts as it is when tnp, or the part of tnp that needs it, is loaded.
    """

    name: str
    default: str
    meaning: str
    attribute: str = ""
    is_read_once: bool = False


#: tnp's own variables. A switch is on for any text but "" and "0".
OWN = (
    Variable("TNP_DISABLE", "0", "jitted functions run eagerly, as Python and the library run them", "disable", True),
    Variable("TNP_DEBUG_NANS", "0", "the first operation that makes a NaN or an infinity of finite values raises `FloatingPointError`", "debug_nans", True),
    Variable("TNP_FULL_TRACEBACK", "0", "tracebacks show the frames of tnp, too", "full_traceback"),
    Variable("TNP_LOG", "", "loggers to turn on: `compile`, `guards`, `claims`, with commas between them, or `all`", "log", True),
    Variable("TNP_NUM_THREADS", "the cores of the process", "the number of threads of compiled code; without it, `OMP_NUM_THREADS` counts", "num_threads", True),
    Variable("TNP_RECOMPILE_LIMIT", "64", "the most programs of a function, for one way of passing arguments", "recompile_limit"),
    Variable("TNP_TRY_EAGER", "1", "short calls are timed eagerly, too, and run in the faster way; 0: all run compiled", "try_eager"),
    Variable("TNP_DISABLE_CACHE", "0", "no compiled code is kept on disk, or read from there", "disable_cache"),
    Variable("TNP_CACHE_DIR", "the platform's folder for caches", "the folder of the disk cache", "cache_dir"),
    Variable("TNP_CACHE_SIZE", "256", "the size of the disk cache in MB", "cache_size"),
    Variable("TNP_POOL_MB", "1/16 of the memory, at most 1024", "the most memory of freed arrays that is kept for new ones, in MB", "pool_mb", True),
    Variable("TNP_CPU", "native", "the processor that code is for: `native`, `x86-64`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4`", "cpu", True),
    Variable("TNP_TRITON_TUNE", "1", "Triton's kernels are timed to choose among their variants; 0: they are chosen by shapes", "triton_tune"),
    Variable("TNP_CHECK", "0", "passes and results are checked, and tnp's own errors raise `InternalError`", "check"),
    Variable("TNP_DUMP", "", "the code of regions to write out: `loops`, `ir`, `opt`, `asm`, with commas between them", "dump"),
    Variable("TNP_DUMP_DIR", "standard error", "the folder that `TNP_DUMP` writes to", "dump_dir"),
)  # fmt: skip

#: variables of others that count for tnp, too
OTHERS = (
    Variable("OMP_NUM_THREADS", "the cores of the process", "the number of threads, without `TNP_NUM_THREADS`", "", True),
    Variable("OMP_WAIT_POLICY", "", "how threads of OpenMP wait; if it is set, tnp does not choose", "", True),
    Variable("GOMP_SPINCOUNT", "", "how long threads of GNU's OpenMP wait awake; if it is set, tnp does not choose", "", True),
    Variable("TRITON_INTERPRET", "0", "Triton's kernels run on the CPU, for tests", "", True),
    Variable("XDG_CACHE_HOME", "~/.cache", "Linux: where the disk cache is"),
    Variable("XDG_STATE_HOME", "~/.local/state", "Linux: where the key is that signs the disk cache"),
    Variable("LOCALAPPDATA", "~/AppData/Local", "Windows: where both are"),
)  # fmt: skip

VARIABLES = {v.name: v for v in (*OWN, *OTHERS)}

#: by name, what was set at run time in the place of the environment's
overrides: dict[str, str] = {}


def text(name: str) -> str:
    """The value of a variable of the table; ``""`` if it is not set.

    >>> text("TNP_DUMP_DIR")
    ''
    """
    assert name in VARIABLES, f"{name} is not in the table"
    found = overrides.get(name)
    return os.environ.get(name, "") if found is None else found


def is_on(name: str) -> bool:
    """Whether a switch is on."""
    return (text(name) or VARIABLES[name].default) not in ("", "0")


def number(name: str) -> int:
    """The value of a variable that is a count; the default, with a warning, if it is none."""
    given = text(name).strip()
    if given.isdecimal():
        return int(given)
    if given:
        warnings.warn(f"{name}={given!r} is no count; {VARIABLES[name].default} is taken", RuntimeWarning, stacklevel=2)
    return int(VARIABLES[name].default)


@contextmanager
def temporarily(name: str, value: str) -> Iterator[None]:
    """Around what reads a variable that is not set from the environment of the process."""
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]

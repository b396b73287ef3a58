"""Lightning Thunder's names, each for an object of tnp.

``import tnp.thunder as thunder`` instead of ``import thunder`` is the only change to a program; after :func:`install`,
none is needed. There is no logic here: docs/thunder.md lists the names and the differences.

>>> import numpy as np
>>> import tnp.thunder as thunder
>>> f = thunder.jit(lambda a, b: a + b * a)
>>> f(np.ones(2), np.ones(2))
array([2., 2.])
>>> thunder.cache_misses(f), thunder.last_traces(f)[0].bound_symbols[2].sym.id
(1, 'numpy.multiply')
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tnp.api import Jitted, cache_info, jit, last_backward_traces, last_prologue_traces, last_traces, trace
from tnp.core.trace import Trace
from tnp.thunder import clang, core, examine, executors, extend, numpy
from tnp.thunder.core import devices, dtypes, prims
from tnp.thunder.core.transforms import grad

__all__ = [
    "CompileStats",
    "cache_hits",
    "cache_misses",
    "clang",
    "compile",
    "compile_stats",
    "core",
    "devices",
    "dtypes",
    "examine",
    "executors",
    "extend",
    "grad",
    "install",
    "jit",
    "last_backward_traces",
    "last_prologue_traces",
    "last_traces",
    "numpy",
    "prims",
    "trace",
]

#: modules that need a package: left out where it is not there
_NEED = {
    "torch": "torch",
    "executors.torchex": "torch",
    "executors.apexex": "xentropy_cuda",
    "executors.apex_entropyex": "xentropy_cuda",
    "executors.triton_crossentropy": "triton",
    "tests.opinfos": "torch",
}


def __getattr__(name: str) -> Any:
    if name in ("torch", "tests"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'thunder' has no attribute {name!r}")


def compile(fn: Callable[..., Any], *, executors_list: Iterable[Any] | None = None) -> Jitted:
    """:func:`tnp.jit` of ``fn`` with the executors ``executors_list`` and no others behind them but for arithmetic on numbers.

    >>> import numpy as np, tnp.thunder
    >>> tnp.thunder.compile(lambda a: a + 1, executors_list=["numpy"])(np.ones(2))
    array([2., 2.])
    """
    behind = None if executors_list is None else ["python"]
    compiled: Any = jit(fn, executors=executors_list, always_executors=behind)
    return compiled  # type: ignore[no-any-return]


class CompileStats(NamedTuple):
    """What :func:`compile_stats` tells of a jitted function: ``cache_hits`` and ``cache_misses``, and ``last_traces``,
    ``last_prologue_traces`` and ``last_backward_traces`` of the last program. An example is at :func:`compile_stats`."""

    cache_hits: int
    cache_misses: int
    last_traces: list[Trace]
    last_prologue_traces: list[str]
    last_backward_traces: list[Trace]


def compile_stats(f: Any) -> CompileStats:
    """How often programs of a jitted function ``f`` were found and made, and the traces of the last one.

    Raises ``RuntimeError`` if it has not been called.

    >>> import numpy as np, tnp.thunder
    >>> f = tnp.thunder.jit(lambda a: a + 1)
    >>> f(np.ones(2))
    array([2., 2.])
    >>> stats = tnp.thunder.compile_stats(f)
    >>> stats.cache_hits, stats.cache_misses, len(stats.last_backward_traces)
    (0, 1, 0)
    """
    return CompileStats(
        cache_hits(f), cache_misses(f), last_traces(f), last_prologue_traces(f), last_backward_traces(f)
    )


def cache_hits(f: Any) -> int:
    """How often a call of a jitted function found a program: ``tnp.cache_info(f).hits``. An example is at :func:`compile_stats`."""
    return cache_info(f).hits


def cache_misses(f: Any) -> int:
    """How often a call of a jitted function had to compile: ``tnp.cache_info(f).misses``. An example is at :func:`compile_stats`."""
    return cache_info(f).misses


def install() -> None:
    """Makes ``import thunder``, and all its modules that are here, mean this package.

    Raises ``RuntimeError`` if the real package has been imported. Modules whose package (torch, triton, …) is not there are left out.

    >>> import tnp.thunder
    >>> tnp.thunder.install()
    >>> import thunder
    >>> thunder.jit is tnp.jit
    True
    """
    present = sys.modules.get("thunder")
    if present is not None and present is not sys.modules[__name__]:
        where = getattr(present, "__file__", None)
        raise RuntimeError(
            f"the package thunder is imported already (from {where}); call tnp.thunder.install() before anything imports it"
        )
    sys.modules["thunder"] = sys.modules[__name__]
    for found in pkgutil.walk_packages(__path__, f"{__name__}."):
        path = found.name.removeprefix(f"{__name__}.")
        if path not in _NEED or _is_here(_NEED[path]):
            sys.modules[f"thunder.{path}"] = importlib.import_module(found.name)


def _is_here(package: str) -> bool:
    return package in sys.modules or importlib.util.find_spec(package) is not None

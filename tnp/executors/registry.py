"""The executors there are, those used by default, and those that always stand behind."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Iterable
from typing import Any

from tnp.executors.base import Executor

__all__ = [
    "add_default_executor",
    "deregister_executor",
    "get_all_executors",
    "get_always_executors",
    "get_default_executors",
    "get_executor",
    "register_executor",
    "remove_default_executor",
    "resolve",
    "set_default_executors",
]

_lock = threading.Lock()
_executors: dict[str, Executor] = {}
#: what ``jit`` uses where it is given none; ``None``: tnp's own choice
_default: list[Executor] | None = None

#: executors of tnp itself, by the module that registers them on import and the package that it needs
_BUILT_IN = {
    "python": ("tnp.executors.python", None),
    "numpy": ("tnp.executors.numpy", None),
    "numpy_prims": ("tnp.executors.numpy", None),
    "llvm": ("tnp.executors.llvm", "llvmlite"),
    "llvm_everything": ("tnp.executors.llvm", "llvmlite"),
    "torch": ("tnp.executors.torch", "torch"),
    "torch_functions": ("tnp.executors.torch.functions", "torch"),
    "torch_prims": ("tnp.executors.torch.functions", "torch"),
    "triton": ("tnp.executors.triton", "triton"),
    "triton_everything": ("tnp.executors.triton", "triton"),
}

#: of a language other than NumPy's, the executor that runs its functions as the library's own
_RUNS_LANGUAGE = {"torch": "torch_functions"}


def register_executor(executor: Executor) -> Executor:
    """Makes an executor known by its name, replacing one of that name."""
    with _lock:
        _executors[executor.name] = executor
    return executor


def deregister_executor(name_or_executor: str | Executor) -> None:
    """Forgets an executor, also as a default. Unknown names are ignored."""
    name = name_or_executor if isinstance(name_or_executor, str) else name_or_executor.name
    defaults = get_default_executors()
    with _lock:
        _executors.pop(name, None)
        _set_default(e for e in defaults if e.name != name)


def get_executor(name: str) -> Executor | None:
    """The executor of that name, imported if it is tnp's own; ``None`` if there is none."""
    if name not in _executors and name in _BUILT_IN:
        module, package = _BUILT_IN[name]
        if package is None or importlib.util.find_spec(package) is not None:
            importlib.import_module(module)
    return _executors.get(name)


def get_all_executors() -> tuple[Executor, ...]:
    """Every executor known, tnp's own that can be imported here among them."""
    for name in _BUILT_IN:
        get_executor(name)
    return tuple(_executors.values())


def get_default_executors() -> tuple[Executor, ...]:
    """The executors that ``jit`` uses where it is given none: llvm, if nobody has set others."""
    if _default is None:
        llvm = get_executor("llvm")
        _set_default((llvm,) if llvm is not None else ())
    return tuple(_default or ())


def _set_default(executors: Iterable[Executor]) -> None:
    global _default
    _default = list(executors)


def get_always_executors(languages: Iterable[str] = ()) -> tuple[Executor, ...]:
    """The executors behind all others, for programs with values of these languages: whatever they refuse, nobody runs."""
    own = [_RUNS_LANGUAGE[name] for name in languages if name in _RUNS_LANGUAGE]
    found = [get_executor(name) for name in ("python", *own, "numpy")]
    return tuple(e for e in found if e is not None)


def set_default_executors(executors: Iterable[Any]) -> None:
    """Sets what ``jit`` uses where it is given none: executors or their names, in order of priority."""
    found = resolve(executors)
    with _lock:
        _set_default(found)


def add_default_executor(executor: Any) -> None:
    """Puts an executor before the other defaults."""
    (found,) = resolve([executor])
    defaults = get_default_executors()
    with _lock:
        _set_default([found, *(e for e in defaults if e is not found)])


def remove_default_executor(executor: Any) -> None:
    """Takes an executor out of the defaults."""
    (found,) = resolve([executor])
    defaults = get_default_executors()
    with _lock:
        _set_default(e for e in defaults if e is not found)


def resolve(executors: Iterable[Any]) -> list[Executor]:
    """Executors for what a user named. Raises ``ValueError``, listing those known, for a name that is none."""
    found = []
    for e in executors:
        made = e if isinstance(e, Executor) else get_executor(e)
        if made is None:
            known = ", ".join(sorted({*_executors, *_BUILT_IN}))
            raise ValueError(f"there is no executor {e!r} here; known are {known}")
        found.append(made)
    return found

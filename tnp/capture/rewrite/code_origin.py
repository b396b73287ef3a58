"""The origin of a function, a class or a module: the user, an installed package, a library that tnp supports, or tnp."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

__all__ = [
    "CACHED",
    "is_followed",
    "is_followed_class",
    "is_followed_module",
    "is_followed_of_python",
    "is_library_class",
    "is_library_module",
    "is_numpys",
    "is_of_array_library",
    "is_of_named_tuples",
    "is_own_file",
    "is_user_function",
]

#: the class of functions with a cache
CACHED = type(functools.lru_cache(int))

_LIBRARY_FOLDERS = tuple(
    os.path.realpath(sysconfig.get_paths()[key]) + os.sep for key in ("stdlib", "purelib", "platlib")
)
#: folders in which installed packages are
_INSTALLED = frozenset(("site-packages", "dist-packages"))
_OWN_FOLDER = str(Path(os.path.realpath(__file__)).parents[2]) + os.sep
#: its functions call operations as a user's would
_TESTING_FOLDER = os.path.join(_OWN_FOLDER, "testing") + os.sep


@functools.cache
def _is_library_file(filename: str) -> bool:
    if filename.startswith("<frozen "):
        return True
    path = os.path.realpath(filename)
    if path.startswith(_TESTING_FOLDER):  # also if tnp is installed
        return False
    if not _INSTALLED.isdisjoint(path.split(os.sep)):  # of another environment that is on the path, too
        return True
    return path.startswith((*_LIBRARY_FOLDERS, _OWN_FOLDER))


def is_own_file(filename: str) -> bool:
    """Whether a file is tnp's, and not one of its tests."""
    return filename.startswith(_OWN_FOLDER) and not filename.startswith(_TESTING_FOLDER)


def is_numpys(f: types.FunctionType) -> bool:
    """Whether a Python function is NumPy's own: it stays what it is, and so does what it reads of its module."""
    return str(f.__globals__.get("__name__")).partition(".")[0] == "numpy" and _is_library_file(f.__code__.co_filename)


def is_of_array_library(frame: types.FrameType) -> bool:
    """Whether a frame is of a library whose functions are called as they are, be it one in C that tells its lines."""
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return package in _NOT_FOLLOWED and package != "tnp"


def is_user_function(f: Any) -> bool:
    """Whether ``f`` is a Python function that is neither a library's nor tnp's."""
    return type(f) is types.FunctionType and not (_is_library_file(f.__code__.co_filename) or is_of_named_tuples(f))


def is_of_named_tuples(f: types.FunctionType) -> bool:
    """Whether ``namedtuple`` wrote a function: the ``__new__`` of one of its classes."""
    return f.__code__.co_name == "<lambda>" and f.__globals__.get("__name__", "").startswith("namedtuple_")


#: installed packages whose functions are operations, or are called as they are; those of others are followed as the user's are
_NOT_FOLLOWED = frozenset(
    ("numpy", "torch", "scipy", "tnp", "cupy", "jax", "llvmlite", "numba", "optree", "triton", "pandas", "pytest", "_pytest", "typing_extensions.py")
)  # fmt: skip


@functools.cache
def _is_followed_file(filename: str) -> bool:
    parts = os.path.realpath(filename).split(os.sep)
    at = max((i for i, part in enumerate(parts) if part in _INSTALLED), default=None)
    return at is not None and at + 1 < len(parts) and parts[at + 1] not in _NOT_FOLLOWED


#: functions of Python's own, by their module's file in the folder of the standard library, that are followed as the user's are: they
#: call methods of the objects that they are given
_FOLLOWED_OF_PYTHON = {
    "collections/__init__.py": ("ChainMap", "UserDict", "UserList"),
    "dataclasses.py": (
        "fields", "asdict", "_asdict_inner", "astuple", "_astuple_inner", "replace", "_replace", "is_dataclass", "_is_dataclass_instance",
    ),
}  # fmt: skip


@functools.cache
def _followed_of_python(filename: str) -> tuple[str, ...]:
    """What is followed of a file of Python's: names of functions and of classes."""
    path = os.path.realpath(filename)
    inside = path.removeprefix(_LIBRARY_FOLDERS[0]) if path.startswith(_LIBRARY_FOLDERS[0]) else ""
    return _FOLLOWED_OF_PYTHON.get(inside.replace(os.sep, "/"), ())


def is_followed_of_python(f: Any) -> bool:
    """Whether ``f`` is a function of Python's own that is followed."""
    if type(f) is not types.FunctionType:
        return False
    names = _followed_of_python(f.__code__.co_filename)
    return bool(names) and f.__code__.co_qualname.partition(".")[0] in names


def is_followed(f: Any) -> bool:
    """Whether ``f`` is a Python function that is traced: the user's, one of an installed package that is no array library, or one of
    Python's own that calls the user's."""
    if is_user_function(f):
        return True
    return type(f) is types.FunctionType and (_is_followed_file(f.__code__.co_filename) or is_followed_of_python(f))


def is_library_class(kind: type) -> bool:
    """Whether a class is a library's, whose code gets no hooks and cannot do with numbers that stand for others."""
    filename = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return filename is not None and _is_library_file(filename)


def is_followed_class(kind: type) -> bool:
    """Whether the methods of a class are traced: one of the user's, or of an installed package that is no array library."""
    module = sys.modules.get(kind.__module__)
    return module is not None and is_followed_module(module)


def is_library_module(module: types.ModuleType) -> bool:
    """Whether a module is Python's, an installed package's or tnp's, and not the user's."""
    filename = vars(module).get("__file__")
    if isinstance(filename, str):
        return _is_library_file(filename)
    return getattr(vars(module).get("__spec__"), "origin", None) in ("built-in", "frozen")


def is_followed_module(module: types.ModuleType) -> bool:
    """Whether a module's functions are traced: the user's, and those of installed packages that are no array libraries."""
    filename = vars(module).get("__file__")
    return not is_library_module(module) or (isinstance(filename, str) and _is_followed_file(filename))

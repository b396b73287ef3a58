"""The registry of executors, and the lists of default and always executors.

Executors come from three sources: tnp's own, imported at first use; packages, which name theirs under the entry point
group :data:`GROUP`, also loaded at first use; and :func:`register_executor`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from tnp.core.context import registrations
from tnp.core.errors import ExtensionError, NoDeviceError
from tnp.executors.base import Executor, OperatorExecutor
from tnp.executors.options import canonical, plain_name, split
from tnp.runtime import locks, signals
from tnp.runtime.gc_tuning import relaxed_gc

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "add_always_executor",
    "add_default_executor",
    "add_operator_executor",
    "availability",
    "by_name",
    "deregister_executor",
    "executors_of_device",
    "get_all_executors",
    "get_always_executors",
    "get_default_executors",
    "get_device_executors",
    "get_executor",
    "is_registered",
    "known_names",
    "meaning",
    "packages",
    "register_executor",
    "remove_always_executor",
    "remove_default_executor",
    "resolve",
    "set_always_executors",
    "set_default_executors",
]

#: the entry point group in which packages name their executors
GROUP = "tnp.executors"


class _Own(NamedTuple):
    """One of tnp's own executors: the module that registers it on import, the package that it needs, and the language whose
    functions it runs as the library's own (it is left out of programs that have no values of it)."""

    module: str
    needs: str | None = None
    language: str | None = None

    def is_installed(self) -> bool:
        """Whether its package is there, if it needs one; the package may still fail to be imported."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None


_OWN: Mapping[str, _Own] = {
    "python": _Own("tnp.executors.python"),
    "numpy": _Own("tnp.executors.numpy"),
    "llvm": _Own("tnp.executors.llvm", "llvmlite"),
    "torch": _Own("tnp.executors.torch", "torch"),
    "torch_functions": _Own("tnp.executors.torch.functions", "torch", "torch"),
    "torch_compile": _Own("tnp.executors.torch.compiled", "torch"),
    "onednn": _Own("tnp.executors.onednn", "torch", "torch"),
    "apex": _Own("tnp.executors.apex", "xentropy_cuda"),
    "cudnn": _Own("tnp.executors.cudnn", "cudnn"),
    "sdpa": _Own("tnp.executors.sdpa", "torch", "torch"),
    "transformer_engine": _Own("tnp.executors.transformer_engine", "transformer_engine"),
    "nvfuser": _Own("tnp.executors.nvfuser", "nvfuser_direct"),
    "cupy": _Own("tnp.executors.cupy", "cupy"),
    "triton": _Own("tnp.executors.triton", "triton"),
    "triton_cross_entropy": _Own("tnp.executors.triton_cross_entropy", "triton"),
}

_lock = locks.lock()
_executors: dict[str, Executor] = {}
#: what ``jit`` uses where it is given none, and what stands behind all others; tnp's own by name, as they may not be imported yet
_default: list[str | Executor] = ["llvm"]
_always: list[str | Executor] = ["python", "onednn", "sdpa", "torch_functions", "numpy"]
#: kind of device → what is used besides the defaults where a program has arrays on such a device, as far as it can run here
_of_device: dict[str, list[str | Executor]] = {"cuda": ["triton_cross_entropy", "triton"]}


def register_executor(executor: Executor, *, replace: bool = False) -> Executor:
    """Registers an executor by its name, so that ``tnp.jit(executors=["its name"])`` finds it, and returns it.

    Its variants are found by its name, and are not registered themselves.

    Raises ``ValueError`` if another executor has the name, unless ``replace`` is true, if one of tnp's own has it, or
    if the name has options in brackets, and ``TypeError`` for an object that is not an executor.

    >>> from tnp.extend import OperatorExecutor, deregister_executor, get_executor, register_executor
    >>> ex = register_executor(OperatorExecutor("mine"))
    >>> get_executor("mine") is ex
    True
    >>> deregister_executor(ex)
    """
    if not isinstance(executor, Executor):
        raise TypeError(f"register_executor takes an executor, not {type(executor).__name__} {executor!r}")
    if split(executor.name)[1]:
        raise ValueError(
            f"{executor.name!r} names options: register the executor without them, which has variants by name"
        )
    with _lock:
        before = _executors.get(executor.name)
        own = _OWN.get(executor.name)
        if own is not None and own.module not in sys.modules:  # tnp's own are registered by their modules
            raise ValueError(f"{executor.name!r} is the name of one of tnp's own executors")
        if before is not None and before is not executor and (not replace or own is not None):
            raise ValueError(
                f"there is an executor {executor.name!r} already; deregister_executor({executor.name!r}) first, or pass replace=True"
            )
        _executors[executor.name] = executor
    if before is not executor:
        _lists_changed(f"the executor {executor.name} was registered")
    return executor


def deregister_executor(name_or_executor: str | Executor) -> None:
    """Removes an executor (``name_or_executor``) from the registry, and from the default and always executors. Unknown
    names are ignored; tnp's own cannot be removed.

    Functions that use it by default compile without it at their next call; functions that named it raise
    ``ValueError``. Functions that were given the executor object keep it. Raises ``ValueError`` for one of tnp's own.
    An example is at :func:`register_executor`.
    """
    name = _name(name_or_executor)
    if plain_name(name) in _OWN:
        raise ValueError(
            f"{name!r} is one of tnp's own executors; remove_default_executor takes it out of the defaults"
        )
    with _lock:
        for listed in (_default, _always):
            listed[:] = [e for e in listed if name not in (_name(e), plain_name(_name(e)))]
        _executors.pop(name, None)
    _lists_changed(f"the executor {name} was deregistered")


def get_executor(name: str) -> Executor | None:
    """The executor of that name, imported or loaded from its package; ``None`` if there is none. Options in brackets
    after the name, in any order, name a variant (:meth:`Executor.with_options`).

    Raises :class:`~tnp.ExtensionError` if an installed package's executor, or the package that one of tnp's own needs,
    cannot be loaded, and ``ValueError`` for options that the executor does not have.

    >>> import tnp
    >>> tnp.extend.get_executor("numpy"), tnp.extend.get_executor("abacus"), tnp.extend.get_executor("llvm[everything]")
    (<executor numpy>, None, <executor llvm[everything]>)
    """
    found = _executors.get(name)
    if found is not None:
        return found
    plain, options = split(name)
    if options:
        without = get_executor(plain)
        return None if without is None else without.with_options(*options)
    own = _OWN.get(name)
    if own is not None:
        if own.is_installed():
            try:
                with locks.importing, relaxed_gc():
                    importlib.import_module(own.module)
            except (ImportError, OSError) as error:  # the package is there, but what it is linked with is not
                if own.needs is None or signals.of_handler(error) is not None:
                    raise
                raise ExtensionError(
                    f"the executor {name!r} cannot be loaded: its package {own.needs} raised {error!r}"
                ) from error
        return _executors.get(name)
    entries = _installed().get(name)
    return None if entries is None else _load(*entries)


def _installed() -> dict[str, list[EntryPoint]]:
    """The entry points of installed packages, by name: of each one, unless packages disagree. Looked up each time: packages are
    installed while Python runs, too."""
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        same_name = found.setdefault(entry.name, [])
        if all(other.value != entry.value for other in same_name):
            same_name.append(entry)
    return found


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "a package"


def _load(entry: EntryPoint, *others: EntryPoint) -> Executor:
    """The executor that an entry point names: an executor, a function that makes it, or a module that registers it."""
    if others:
        packages = " and ".join(f"{_package(e)} ({e.value})" for e in (entry, *others))
        raise ExtensionError(f"two packages have an executor {entry.name!r}: {packages}; uninstall one")
    where = f"the executor {entry.name!r} of {_package(entry)} ({entry.value})"
    try:
        found = entry.load()
        if not isinstance(found, (Executor, ModuleType)) and callable(found):
            found = found()
    except (Exception, SystemExit) as error:  # whatever the package raises, the user has to know whose it is
        raise ExtensionError(f"{where} cannot be loaded: {error!r}") from error
    if isinstance(found, ModuleType):
        found = _executors.get(entry.name)
    if not isinstance(found, Executor) or found.name != entry.name:
        raise ExtensionError(f"{where} is not an executor of that name, but {found!r}")
    with _lock:
        return _executors.setdefault(entry.name, found)


def get_all_executors() -> tuple[Executor, ...]:
    """All known executors: tnp's own that can be imported here, those of installed packages, which are loaded, and
    registered ones.

    Warns of packages whose executor cannot be loaded, with the reason; the others are returned.

    >>> import tnp
    >>> {"numpy", "python"} <= {e.name for e in tnp.extend.get_all_executors()}
    True
    """
    for name in (*_OWN, *_installed()):
        try:
            get_executor(name)
        except ExtensionError as error:
            warnings.warn(str(error), stacklevel=2)
    return tuple(_executors.values())


def executors_of_device(device: str) -> tuple[str, ...] | None:
    """The executors that run NumPy programs on a device, by name, in order of priority; ``None`` stands for the defaults.

    ``device`` is ``"cpu"`` or ``"cuda"``, the current CUDA device of CuPy. Raises ``ValueError`` for others, and
    :class:`~tnp.NoDeviceError` where the package for it is not installed.

    >>> executors_of_device("cpu") is None
    True
    """
    if device == "cpu":
        return None
    if device != "cuda":
        raise ValueError(f"device= is 'cpu' or 'cuda' (CuPy's current device), not {device!r}")
    if importlib.util.find_spec("cupy") is None:
        raise NoDeviceError("device='cuda' needs CuPy, which is not installed: pip install 'tnp[cupy]'")
    fusing = all(importlib.util.find_spec(name) is not None for name in ("triton", "torch"))
    return ("triton[cupy]", "cupy") if fusing else ("cupy",)


def is_registered(executor: Executor) -> bool:
    """Whether the executor, or the one that it is a variant of, is found by its name."""
    plain = executor.plain
    return _executors.get(plain.name) is plain and plain.with_options(*executor.chosen_options) is executor


def by_name(name: str) -> Executor:
    """The executor of that name. Raises ``ValueError``, listing those known, if there is none.

    >>> by_name("numpy[prims]")
    <executor numpy[prims]>
    """
    (found,) = resolve([name])
    return found


def known_names() -> list[str]:
    """The names that :func:`get_executor` knows, without options, whether what they stand for can be imported here or not."""
    return sorted({*_executors, *_OWN, *_installed()})


def availability() -> dict[str, str]:
    """Every executor by name, and why it is not there or can run nothing on this machine (``""`` for one that can)."""
    found = {}
    for name in known_names():
        try:
            own = _OWN.get(name)
            if own is not None and not own.is_installed():  # its module may be imported all the same
                found[name] = f"the package {own.needs} is not installed"
                continue
            executor = get_executor(name)
            found[name] = "" if executor is None else _unavailable(executor) or ""
        except ExtensionError as error:
            found[name] = str(error)
    return found


def _unavailable(executor: Executor) -> str | None:
    try:
        return executor.unavailable()
    except Exception as error:  # of an extension, which the list of all must not fail for
        return f"its availability check raised {error!r}"


def packages() -> dict[str, str]:
    """The installed packages that have executors, with their versions, by the executor's name."""
    found = {}
    for name, entries in _installed().items():
        if name in _OWN:
            continue
        dists = [e.dist for e in entries if e.dist is not None]
        found[name] = ", ".join(f"{dist.name} {dist.version}" for dist in dists)
    return found


# Those used by default, and always


def get_default_executors() -> tuple[Executor, ...]:
    """The executors that ``jit`` uses without the argument ``executors``: llvm, unless others were set.

    >>> import tnp
    >>> tnp.get_default_executors()
    (<executor llvm>,)
    """
    return _found(_default)


def get_device_executors(kinds: Iterable[str]) -> tuple[Executor, ...]:
    """What ``jit`` uses behind the defaults for programs with arrays on devices of these kinds, where it is given no executors: those
    that can run here.

    >>> get_device_executors(["cpu", "meta"])
    ()
    """
    found = _found(e for kind in kinds for e in _of_device.get(kind, ()))
    return tuple(e for e in found if e.unavailable() is None)


def get_always_executors(languages: Iterable[str] | None = None) -> tuple[Executor, ...]:
    """The executors after all others: an operation that they do not support is an error.

    With ``languages``, without those for values of languages that are not among these: torch's, where there are no tensors.

    >>> import tnp
    >>> tnp.extend.get_always_executors(["numpy"])
    (<executor python>, <executor numpy>)
    """
    return _found(e for e in _always if languages is None or _language(e) in (None, *languages))


def _name(e: str | Executor) -> str:
    return canonical(e) if isinstance(e, str) else e.name


def _own(e: str | Executor) -> _Own | None:
    """The row of one of tnp's own executors, or of a variant of it."""
    return _OWN.get(plain_name(_name(e)))


def _language(e: str | Executor) -> str | None:
    own = _own(e)
    return None if own is None else own.language


def _found(listed: Iterable[str | Executor]) -> tuple[Executor, ...]:
    found = [e if isinstance(e, Executor) else get_executor(e) for e in listed]
    return tuple(e for e in found if e is not None)


def set_default_executors(executors: Iterable[Executor | str]) -> None:
    """Sets the executors that ``jit`` uses by default: executors or their names, in order of priority.

    Functions compiled with the earlier defaults compile again at their next call. Raises ``ValueError`` for unknown
    names.

    >>> import tnp
    >>> tnp.set_default_executors(["numpy"])
    >>> tnp.get_default_executors()
    (<executor numpy>,)
    >>> tnp.set_default_executors(["llvm"])
    """
    _set(_default, resolve(executors))


def add_default_executor(executor: Executor | str) -> None:
    """Puts an executor before the other defaults. Raises ``ValueError`` for an unknown name.

    >>> import tnp
    >>> tnp.extend.add_default_executor("numpy")
    >>> tnp.get_default_executors()
    (<executor numpy>, <executor llvm>)
    >>> tnp.extend.remove_default_executor("numpy")
    """
    _set(_default, [*resolve([executor]), *_without(_default, executor)])


def remove_default_executor(executor: Executor | str) -> None:
    """Removes an executor from the defaults. Raises ``ValueError`` for an unknown name. An example is at
    :func:`add_default_executor`.
    """
    _set(_default, _without(_default, executor))


def set_always_executors(executors: Iterable[Executor | str]) -> None:
    """Sets the always ``executors``, by object or name, in order of priority. Raises ``ValueError`` for unknown names.

    Without ``python`` no executor runs arithmetic on numbers; without ``numpy`` and ``torch_functions`` none runs
    operations that only the libraries have.

    >>> from tnp.extend import get_always_executors, set_always_executors
    >>> before = get_always_executors()
    >>> set_always_executors(["python", "numpy[prims]"])
    >>> get_always_executors()
    (<executor python>, <executor numpy[prims]>)
    >>> set_always_executors(before)
    """
    _set(_always, resolve(executors))


def add_always_executor(executor: Executor | str) -> None:
    """Puts an executor before the other always executors. Raises ``ValueError`` for an unknown name. An example is at
    :func:`add_default_executor`, which has the same arguments.
    """
    _set(_always, [*resolve([executor]), *_without(_always, executor)])


def remove_always_executor(executor: Executor | str) -> None:
    """Removes an executor from the always executors. Raises ``ValueError`` for an unknown name. An example is at
    :func:`add_default_executor`.
    """
    _set(_always, _without(_always, executor))


def _without(listed: Iterable[str | Executor], executor: Executor | str) -> list[str | Executor]:
    if isinstance(executor, str) and _name(executor) not in map(_name, listed):
        resolve([executor])  # raises if there is none
    return [e for e in listed if _name(e) != _name(executor)]


def _set(listed: list[str | Executor], to: Sequence[str | Executor]) -> None:
    with _lock:
        listed[:] = to
    _lists_changed("the lists of executors were changed")


def meaning(executors: Iterable[Any] | None, always: Iterable[Any] | None) -> tuple[Any, ...]:
    """What two lists stand for at the moment (``None``: the default ones), to be compared: by name those of tnp's own, which this does
    not import, and ``None`` for names that are nobody's now."""
    lists = (_default if executors is None else executors, _always if always is None else always)
    return tuple(tuple(_name(e) if _own(e) is not None else _now(e) for e in listed) for listed in lists)


def _now(e: str | Executor) -> Executor | None:
    if isinstance(e, Executor):
        return e
    plain, options = split(e)
    found = _executors.get(plain)
    return found.with_options(*options) if found is not None and found.options.keys() >= set(options) else None


def _lists_changed(what: str) -> None:
    registrations.note(what, lambda f: f.has_other_lists())


def resolve(executors: Iterable[Any]) -> list[Executor]:
    """Executors for what a user named. Raises ``ValueError``, listing those known, for a name that is none, or has options that there are
    not, and ``TypeError`` for what is neither an executor nor a name."""
    if isinstance(executors, (str, Executor)):
        raise TypeError(f"executors takes a list of executors or their names, not {executors!r}")
    found = []
    for e in executors:
        if not isinstance(e, (str, Executor)):
            raise TypeError(f"an executor, or its name, was expected, not {type(e).__name__} {e!r}")
        made = e if isinstance(e, Executor) else get_executor(e)
        if made is None:
            own = _own(e)
            why = "" if own is None else f" (it needs the package {own.needs})"
            raise ValueError(f"there is no executor {e!r} here{why}; known are {', '.join(known_names())}")
        found.append(made)
    return found


def add_operator_executor(
    name: str,
    op_map: Mapping[Any, tuple[str, Callable[..., bool], Callable[..., Any]]],
    *,
    add_to_default_executors: bool = True,
) -> OperatorExecutor:
    """Makes and registers an executor out of a table: the operations that it runs, by id.

    Args:
        name: the executor's name.
        op_map: id of an operation (``PrimIDs.ADD``, ``"torch.nn.functional.cross_entropy"``) → the name that programs print, the
            checker, and the implementation. Checker and implementation take the operation's arguments; the checker sees
            proxies and says whether the implementation, which gets arrays, takes them.
        add_to_default_executors: put it before the default executors.

    Raises ``ValueError`` for a name that is taken, for ids of no operation, and for entries that are no such triples.

    >>> import numpy as np, tnp
    >>> from tnp.extend import PrimIDs, add_operator_executor, deregister_executor
    >>> table = {PrimIDs.ADD: ("my_add", lambda a, b: a.ndim == 1, np.add)}
    >>> ex = add_operator_executor("adder", table, add_to_default_executors=False)
    >>> f = tnp.jit(lambda x: x + x, executors=["adder"])
    >>> f(np.ones(2))
    array([2., 2.])
    >>> [b.sym.name for b in tnp.last_traces(f)[-1].body]
    ['my_add']
    >>> deregister_executor("adder")
    """
    executor = OperatorExecutor(name)
    for key, entry in op_map.items():
        if not (isinstance(entry, tuple) and len(entry) == 3):
            raise ValueError(f"op_map[{key!r}] must be (name, checker, implementation), not {entry!r}")
        op_name, checker, function = entry
        op = executor.register_operator(op_name, meta=_claimed_only, fn=function)
        executor.register_implementation(key, op, checker=checker)
    register_executor(executor)
    if add_to_default_executors:
        add_default_executor(executor)
    return executor


def _claimed_only(*args: Any, **kwargs: Any) -> Any:
    raise TypeError("this operation stands for others in a compiled program; it cannot be called")

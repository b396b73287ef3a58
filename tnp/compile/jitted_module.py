"""Jitted modules: a ``torch.nn.Module`` whose calls run a compiled program, and which otherwise behaves as the module."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from tnp.capture.guards.prologue import MISS
from tnp.capture.libraries.base import left_alone
from tnp.compile.cache_entry import CallSignature
from tnp.compile.compiled_function import Jitted
from tnp.compile.tracebacks import hide_own_frames
from tnp.core.printing import compile_source

__all__ = ["JittedModule", "ModulePrograms"]


def _module_of(x: Any) -> Any:
    """The module that a jitted module is made of; anything else itself."""
    return x.__tnp_function__ if getattr(type(x), "__tnp_module__", False) else x


class _Doc:
    """The docstring of the class, and of the module that an instance is made of."""

    def __init__(self, text: Any) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.text if instance is None else instance.__tnp_function__.__doc__


class _Forward:
    """``forward`` of the module that an instance is made of; of the class, that of the modules which it is for."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: Any) -> Any:
        return _on_module(self.function) if instance is None else instance.__getattr__("forward")


class JittedModule:
    """A module compiled by tnp. Made by :func:`tnp.jit`.

    Calling it calls the module through a program of which parameters and buffers are inputs, so that they may change.
    Attributes are the module's, to read and to set, whatever their names: ``state_dict()``, ``parameters()``, ``train()``, ``to(…)``,
    submodules. Methods that return the module return this. To ``isinstance`` it is of the module's class, so it may be a part of another
    module, whose parameters are then its own, too. It is copied and pickled with its module, without the programs.

    Where parameters or arguments require gradients, results have a ``grad_fn``: a program that goes back is compiled when gradients
    are first computed, and any optimizer of torch's trains the module.

    >>> import torch, tnp
    >>> model = tnp.jit(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).sum().backward()
    >>> model.bias.grad
    tensor([3.])
    >>> sorted(model.state_dict())
    ['bias', 'weight']
    """

    #: the module, and what has its programs: all that is no attribute of the module
    __slots__ = ("__tnp_function__", "__tnp_programs__", "__weakref__")
    #: capture treats a jitted module as its module
    __tnp_module__ = True
    __tnp_function__: Any
    __tnp_programs__: ModulePrograms

    def __new__(cls, module: Any, **options: Any) -> JittedModule:
        kind: Any = type(module)
        made: JittedModule = object.__new__(_class_for(kind))
        return made

    def __init__(self, module: Any, **options: Any) -> None:
        object.__setattr__(self, "__tnp_function__", module)
        object.__setattr__(self, "__tnp_programs__", ModulePrograms(module, **options))

    @left_alone
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.__tnp_programs__(*args, **kwargs)
        except Exception as raised:
            hide_own_frames(raised)
            raise

    def __getattr__(self, name: str) -> Any:
        if name in ("__tnp_function__", "__tnp_programs__"):  # it is being unpickled or copied
            raise AttributeError(name)
        module = self.__tnp_function__
        found = getattr(module, name)
        if type(found) is not types.MethodType or found.__self__ is not module:
            return found
        return types.MethodType(_on_module(found.__func__), self)

    __class__: Any = property(lambda self: type(self.__tnp_function__))
    __dict__: Any = property(lambda self: self.__tnp_function__.__dict__)
    __doc__: Any = _Doc(__doc__)

    def __eq__(self, other: Any) -> bool:
        """Whether it is the same module, jitted or not: libraries keep what they know of a module under it."""
        return _module_of(other) is self.__tnp_function__

    def __hash__(self) -> int:
        return hash(self.__tnp_function__)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__tnp_function__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__tnp_function__, name)

    def __dir__(self) -> list[str]:
        return dir(self.__tnp_function__)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self  # a module that is an attribute of a class is no method

    def __copy__(self) -> JittedModule:
        return JittedModule(copy.copy(self.__tnp_function__), **self.__tnp_programs__.options)

    def __deepcopy__(self, memo: dict[int, Any]) -> JittedModule:
        return JittedModule(copy.deepcopy(self.__tnp_function__, memo), **self.__tnp_programs__.options)

    def __reduce__(self) -> Any:
        return functools.partial(JittedModule, **self.__tnp_programs__.options), (self.__tnp_function__,)

    def __repr__(self) -> str:
        return f"<tnp.jit of {self.__tnp_function__!r}>"


@functools.lru_cache(1_000)
def _on_module(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a module's as one of a jitted module, which stands for the module in the tree that it walks."""
    is_of_tree = function.__name__ in ("modules", "named_modules")

    @functools.wraps(function)
    def method(self: JittedModule, *args: Any, **kwargs: Any) -> Any:
        module: Any = self.__tnp_function__
        result = function(self if is_of_tree else module, *args, **kwargs)
        return self if result is module else result

    return method


class ModulePrograms(Jitted):
    """The programs of a module: what a jitted function has, which a jitted module keeps apart from the module's attributes."""

    def __init__(self, module: Any, **options: Any) -> None:
        #: by how many arguments are passed by position, and the names of those that are not: hooks see the difference
        self._forms: dict[Any, CallSignature] = {}
        super().__init__(module, **options)
        self.__name__ = self.__qualname__ = type(module).__name__

    def _make_dispatcher(self) -> None:
        """There is none: what a module is called with goes to its hooks as it is."""

    @left_alone
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            form, args = self._formed(args, kwargs)
        else:
            form = self._forms.get(len(args)) or self._formed(args, kwargs)[0]
        try:
            for run in form.runs:
                result = run(*args)
                if result is not MISS:
                    self.dispatch.hits += 1
                    return result
            return self._call_slowly(form, args)
        except Exception as raised:
            error = raised
        try:
            return self._after_error(form, args, error)
        except Exception as raised:
            hide_own_frames(raised)
            raise

    def forms(self) -> list[CallSignature]:
        return list(self._forms.values())

    def _formed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallSignature, tuple[Any, ...]]:
        key = (len(args), *kwargs) if kwargs else len(args)
        form = self._forms.get(key)
        if form is None:
            module: Any = self.__tnp_function__
            form = self._forms[key] = _form(_signature(module.forward), len(args), list(kwargs))
        return form, (*args, *kwargs.values())


#: methods that Python looks up in classes, and containers of modules have
_OF_CONTAINERS = (
    "__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__reversed__", "__add__", "__iadd__",
)  # fmt: skip


@functools.cache
def _class_for(kind: type) -> type[JittedModule]:
    """The class of jitted modules of a ``kind``: one with its ``forward`` and the methods of containers that this has."""
    methods: dict[str, Any] = {name: _forwarded(name) for name in _OF_CONTAINERS if hasattr(kind, name)}
    forward = inspect.getattr_static(kind, "forward", None)
    if isinstance(forward, types.FunctionType):
        methods["forward"] = _Forward(forward)
    return type("JittedModule", (JittedModule,), {"__slots__": (), "__doc__": vars(JittedModule)["__doc__"], **methods})


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: JittedModule, *args: Any) -> Any:
        module: Any = self.__tnp_function__
        result = getattr(module, name)(*args)
        return self if result is module else result

    return method


def _signature(forward: Any) -> inspect.Signature:
    """The signature of ``forward``; of one that is no Python it says nothing."""
    try:
        return inspect.signature(forward)
    except ValueError:
        return inspect.Signature()


def _form(signature: inspect.Signature, positional: int, keywords: list[str]) -> CallSignature:
    """The form of calls with so many arguments by position and these by name, under the names that ``forward`` has for them."""
    plain = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    wanted = [*plain[:positional], *(f"args{i}" for i in range(len(plain), positional)), *keywords]
    names: list[str] = []
    for i, name in enumerate(wanted):
        names.append(name if name.isidentifier() and not iskeyword(name) and name not in names else f"argument{i}")
    passed = [f"values[{i}]" for i in range(positional)]
    passed.append(f"**{{{', '.join(f'{k!r}: values[{positional + i}]' for i, k in enumerate(keywords))}}}")
    return CallSignature(
        names, compile_source(f"def apply(_f, values):\n  return _f({', '.join(passed)})\n", "apply", {})
    )

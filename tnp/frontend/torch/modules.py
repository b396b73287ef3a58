"""Modules in a program: stand-ins that read parameters, buffers and submodules as inputs of the trace.

What a program reads of a module is guarded or fetched at each call, what it does not read is neither. A module is called
as :class:`torch.nn.Module` calls it: pre-hooks, ``forward``, hooks. The ``forward`` of a user's module is rewritten as any
function of the user's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as torch_module

from tnp.core.errors import NeedsEager
from tnp.frontend import state
from tnp.frontend.objects import real_object
from tnp.frontend.rewriter import is_user_function
from tnp.frontend.sources import Source

if TYPE_CHECKING:
    from tnp.frontend.inputs import Inputs

__all__ = ["lift_module"]

#: where a module keeps attributes that are no attributes of the object
_PARTS = ("_parameters", "_buffers", "_modules")
_BACKWARD_HOOKS = ("_backward_hooks", "_backward_pre_hooks")


def lift_module(inputs: Inputs, module: torch.nn.Module, source: Source) -> Any:
    """The stand-in for a module."""
    if isinstance(module, (torch.jit.ScriptModule, torch.nn.parallel.DistributedDataParallel)):
        raise NeedsEager(f"{source.description} is a {type(module).__name__}")
    methods = _METHODS
    if isinstance(module, torch.nn.RNNBase):  # it keeps a list of its parameters, and checks that by weak references
        what = source.description
        _run_eagerly_if(
            module._weights_have_changed(), inputs, f"{source.expression}._weights_have_changed()",
            f"{what} has other weights than in its list", f"{what} has its weights in one list",
        )  # fmt: skip
        methods = {**_METHODS, "_weights_have_changed": lambda self: False}
    by_library = not is_user_function(type(module).forward)
    bases = (torch.nn.Module,)
    return inputs.lift_instance(module, source, bases=bases, parts=_PARTS, methods=methods, constant_numbers=by_library)


def _run_eagerly_if(holds: bool, inputs: Inputs, condition: str, reason: str, otherwise: str) -> None:
    """Guards whether ``condition`` holds, and raises :class:`NeedsEager` if it does."""
    inputs.prologue.guard(condition if holds else f"not {condition}", reason if holds else otherwise)
    if holds:
        raise NeedsEager(reason)


def has_global_hooks() -> bool:
    """Whether hooks are registered for all modules."""
    m = torch_module
    return bool(
        m._global_forward_pre_hooks
        or m._global_forward_hooks
        or m._global_backward_hooks
        or m._global_backward_pre_hooks
    )


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``module(*args, **kwargs)``."""
    real, source, inputs = real_object(self)
    prologue, e = inputs.prologue, source.expression
    _run_eagerly_if(
        has_global_hooks(), inputs, f"{prologue.constant(has_global_hooks, 'has_global_hooks')}()",
        "hooks are registered for all modules", "no hooks are registered for all modules",
    )  # fmt: skip
    for name in _BACKWARD_HOOKS:
        there, absent = f"{source.description} has {name}", f"{source.description} has no {name}"
        _run_eagerly_if(bool(real.__dict__.get(name)), inputs, f"{e}.{name}", there, absent)
    for hook, with_names in _hooks(self, "_forward_pre_hooks"):
        changed = _run(hook, self, args, kwargs) if with_names else _run(hook, self, args)
        if changed is not None and with_names:
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                )
            args, kwargs = changed
        elif changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    result = _run(self.forward, *args, **kwargs)
    for hook, with_names in _hooks(self, "_forward_hooks", "_forward_hooks_always_called"):
        changed = _run(hook, self, args, kwargs, result) if with_names else _run(hook, self, args, result)
        if changed is not None:
            result = changed
    return result


def _hooks(module: Any, name: str, *flags: str) -> list[tuple[Any, bool]]:
    """The hooks of one kind, in order, and whether they take what is passed by name."""
    real, source, inputs = real_object(module)
    e = source.expression
    hooks = list(real.__dict__[name].items())
    keys = inputs.prologue.constant([key for key, _ in hooks], "keys") if hooks else "[]"
    condition = f"list({e}.{name}) == {keys}" if hooks else f"not {e}.{name}"
    inputs.prologue.guard(condition, f"{source.description} has {len(hooks)} {name}")
    for flag in flags if hooks else ():
        if real.__dict__.get(flag):
            raise NeedsEager(f"{source.description} has {flag}")
    # A hook keeps its key, and what was said when it was registered.
    with_names = real.__dict__.get(f"{name}_with_kwargs", {})
    return [
        (inputs.lift(hook, Source(f"{e}.{name}[{key!r}]", f"{source.description}.{name}[{key!r}]")), key in with_names)
        for key, hook in hooks
    ]


def _run(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of a module, traced."""
    return state.current().runtime.call(function, *args, **kwargs)


def _missing(self: Any, name: str) -> Any:
    raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")


_METHODS = {"__call__": _call, "__tnp_call__": _call, "__getattr__": _missing}

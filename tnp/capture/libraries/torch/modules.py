"""Modules in a program: stand-ins that read parameters, buffers and submodules as inputs of the trace.

Only the parts of a module that a program reads are guarded or fetched. A call follows :class:`torch.nn.Module`:
pre-hooks, ``forward``, hooks. The ``forward`` of a user's module is rewritten like any user function.
"""

from __future__ import annotations

import functools
import types
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch.nn.modules import module as torch_module
from torch.nn.modules import transformer

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.capture.objects.shadows import guard_code, is_stand_in, real_object
from tnp.capture.rewrite.code_origin import is_followed, is_user_function
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["chained", "forward_of", "lift_module"]

#: where a module keeps attributes that are no attributes of the object
_PARTS = ("_parameters", "_buffers", "_modules")
#: modules that run what is no Python, or call others in a way of their own
_REFUSED = (torch.jit.ScriptModule, torch.nn.parallel.DistributedDataParallel)
_BACKWARD_HOOKS = ("_backward_hooks", "_backward_pre_hooks")


def lift_module(inputs: Inputs, module: torch.nn.Module, source: Source) -> Any:
    """The stand-in for a module."""
    kind = type(module)
    reason = _refusal(kind)
    if reason is not None:
        inputs.prologue.guard(f"type({source.expression}) is {inputs.prologue.constant(kind, 'type')}", reason)
        raise NeedsEager(f"{source.description} {reason}")
    methods: dict[str, Any] = _METHODS
    if kind.__getattr__ is not torch.nn.Module.__getattr__:
        methods = {**_METHODS, "__getattr__": _looked_up}
    if isinstance(module, torch.nn.RNNBase):  # it keeps a list of its parameters, and checks that by weak references
        what = source.description
        _run_eagerly_if(
            module._weights_have_changed(), inputs, f"{source.expression}._weights_have_changed()",
            f"{what} has other weights than in its list", f"{what} has its weights in one list",
        )  # fmt: skip
        methods = {**methods, "_weights_have_changed": lambda self: False}
    if kind.forward is torch.nn.TransformerEncoder.forward:
        methods = {**methods, "forward": _encoded}
    if _has_own_call(kind):
        methods = {**methods, "__call__": _called_by_class, "__tnp_call__": _called_by_class, "_call_impl": _call}
    moves = {name: move for name, move in _MOVES.items() if getattr(kind, name) is getattr(torch.nn.Module, name)}
    methods = {**methods, **moves}
    by_library = not is_user_function(kind.forward)
    bases = (torch.nn.Module,)
    return inputs.lift_instance(module, source, bases=bases, parts=_PARTS, methods=methods, constant_numbers=by_library)


def forward_of(module: torch.nn.Module) -> types.MethodType | None:
    """``forward`` of a module whose calls do nothing else: it has no hooks, is not compiled by torch, and nobody traces it."""
    own = vars(module)
    if has_global_hooks() or any(own.get(name) for name in (*_BACKWARD_HOOKS, "_forward_hooks", "_forward_pre_hooks")):
        return None
    if own.get("_compiled_call_impl") is not None or "forward" in own or _refusal(type(module)) is not None:
        return None
    if _has_own_call(type(module)):
        return None
    forward = getattr(type(module), "forward", None)
    if type(forward) is not types.FunctionType or torch._C._get_tracing_state() is not None:
        return None
    return types.MethodType(forward, module)


def chained(tracer: Tracer, modules: tuple[Any, ...]) -> torch.nn.Sequential:
    """``torch.nn.Sequential(*modules)`` that the program makes of modules that it was given, for its own use."""
    inputs = tracer.inputs
    if not all(type(m) is torch.nn.Sequential or (isinstance(m, torch.nn.Module) and is_stand_in(m)) for m in modules):
        raise NeedsEager("it makes a Sequential of what is no module")
    _check_no_global_hooks(inputs)
    inputs.guard_class(torch.nn.Sequential)
    made = torch.nn.Sequential(*modules)
    inputs.made[id(made)] = made
    return made


def _refusal(kind: type) -> str | None:
    """Why modules of a class are not traced; ``None`` for those that are."""
    if issubclass(kind, _REFUSED) or any(
        str(c.__module__).partition(".distributed")[0] == "torch" for c in kind.__mro__
    ):
        return f"is a {kind.__name__}"
    call = kind.__call__  # classes that torch.fx makes have one of their own
    if _has_own_call(kind) and not is_followed(call):
        return f"is a {kind.__name__}, which has a __call__ of its own"
    return None


def _has_own_call(kind: type) -> bool:
    call = kind.__call__
    return call is not torch.nn.Module.__call__ and str(call.__module__).partition(".")[0] != "torch"


def _called_by_class(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``module(*args, **kwargs)`` of a class with a ``__call__`` of its own, which may call ``super().__call__``."""
    guard_code(self, "__call__")
    return _run(types.MethodType(type(real_object(self)[0]).__call__, self), *args, **kwargs)


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


def _check_no_global_hooks(inputs: Inputs) -> None:
    """Guards that no hooks are registered for all modules, and raises :class:`NeedsEager` if some are."""
    _run_eagerly_if(
        has_global_hooks(), inputs, f"{inputs.prologue.constant(has_global_hooks, 'has_global_hooks')}()",
        "hooks are registered for all modules", "no hooks are registered for all modules",
    )  # fmt: skip


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``module(*args, **kwargs)``."""
    real, source, inputs = real_object(self)
    e = source.expression
    _check_no_global_hooks(inputs)
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


def _encoded(self: Any, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None) -> Any:
    """``TransformerEncoder.forward``: where torch's takes its short cut, which computes nothing for what is padding at the ends of the
    sequences, the results there are 0."""
    if src_key_padding_mask is None:
        return torch.nn.TransformerEncoder.forward(self, src, mask, None, is_causal)
    padding: Any = F._canonical_mask(
        src_key_padding_mask, "src_key_padding_mask", F._none_or_dtype(mask), "mask", src.dtype
    )
    mask = F._canonical_mask(mask, "mask", None, "", src.dtype, False)
    leaves_out = mask is None and _takes_short_cut(self, src)
    if leaves_out and (not getattr(self, "mask_check", True) or is_causal):
        raise NeedsEager("it leaves out padding by a mask that is not checked, or is causal, too")
    length = transformer._get_seq_len(src, self.layers[0].self_attn.batch_first)
    is_causal = transformer._detect_is_causal_mask(mask, is_causal, length)
    result = src
    for layer in self.layers:
        result = layer(result, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
    if leaves_out:
        padded = padding.bool()
        is_at_end = (padded[:, 1:] >= padded[:, :-1]).all()
        result = torch.where((padded & is_at_end).unsqueeze(-1), 0, result)
    return result if self.norm is None else self.norm(result)


def _takes_short_cut(encoder: Any, src: Any) -> bool:
    """Whether an encoder that is given a mask of the padding leaves padding out."""
    _, source, inputs = real_object(encoder)
    enabled = torch.backends.mha.get_fastpath_enabled
    condition = f"{inputs.prologue.constant(enabled, 'enabled')}()"
    inputs.prologue.guard(
        condition if enabled() else f"not {condition}", f"torch's short cut through {source.description} is as set"
    )
    first = encoder.layers[0]
    if (
        not enabled()
        or not encoder.use_nested_tensor
        or first.training
        or src.dim() != 3
        or torch.is_autocast_enabled()
    ):
        return False
    attention = first.self_attn
    used = [src, attention.in_proj_weight, attention.in_proj_bias]
    for part in (attention.out_proj, first.norm1, first.norm2, first.linear1, first.linear2):
        used += [part.weight, part.bias]
    return not (torch.is_grad_enabled() and any(x.requires_grad for x in used))


def _hooks(module: Any, name: str, *flags: str) -> list[tuple[Any, bool]]:
    """The hooks of one kind, in order, and whether they take what is passed by name."""
    real, source, inputs = real_object(module)
    e = source.expression
    hooks = list(real.__dict__[name].items())
    _check_hooks([hook for _, hook in hooks], source.description)
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


def _check_hooks(hooks: list[Any], owner: str) -> None:
    """Raises :class:`NeedsEager` for a hook of a library's, which may keep more than tnp sees (what is sharded where, statistics). Those
    of :mod:`torch.nn.utils` compute weights."""
    for hook in hooks:
        while isinstance(hook, functools.partial):
            hook = hook.func
        code = getattr(hook, "__func__", hook)
        if not isinstance(code, types.FunctionType):
            code = type(hook).__call__
        if not is_user_function(code) and not getattr(code, "__module__", "").startswith("torch.nn.utils."):
            raise NeedsEager(f"{owner} has a hook of a library's, {getattr(code, '__qualname__', code)}")


# Moves


def _is_at(module: torch.nn.Module, device: torch.device | None, dtype: torch.dtype | None) -> bool:
    """Whether ``module.to(device, dtype)`` changes nothing."""
    if any(type(m)._apply is not torch.nn.Module._apply or "_apply" in vars(m) for m in module.modules()):
        return False
    tensors = chain(module.parameters(), module.buffers())
    return all(
        (device is None or t.device == device)
        and (dtype is None or t.dtype == dtype or not (t.is_floating_point() or t.is_complex()))
        for t in tensors
    )


def _moved(self: Any, device: torch.device | None, dtype: torch.dtype | None) -> Any:
    """A module that is where it shall be, which is guarded."""
    real, source, inputs = real_object(self)
    is_at, where = inputs.prologue.constant(_is_at, "is_at"), inputs.prologue.constant((device, dtype), "where")
    there = f"{is_at}({source.expression}, *{where})"
    what = ", ".join(str(x) for x in (device, dtype) if x is not None)
    with torch._C.DisableTorchFunction():  # what is asked here is no part of the program
        holds = _is_at(real, device, dtype)
    _run_eagerly_if(
        not holds, inputs, f"not {there}", f"it moves a module to {what}", f"{source.description} is at {what}"
    )
    return self


def _to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``module.to(…)``."""
    tracer = active.current()
    with torch._C.DisableTorchFunction():
        device, dtype, _, memory_format = torch._C._nn._parse_to(*tracer.known(args), **tracer.known_values(kwargs))
    if memory_format is not None:
        raise NeedsEager("it lays the parameters of a module out in another way")
    return _moved(self, device, dtype)


#: methods that move a module, or cast it
_MOVES: dict[str, Any] = {
    "to": _to,
    "cpu": lambda self: _moved(self, torch.device("cpu"), None),
    "float": lambda self: _moved(self, None, torch.float32),
    "double": lambda self: _moved(self, None, torch.float64),
}


def _run(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of a module, traced."""
    return active.current().runtime.call(function, *args, **kwargs)


def _missing(self: Any, name: str) -> Any:
    raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")


def _looked_up(self: Any, name: str) -> Any:
    raise NeedsEager(f"it reads {name!r} of a {type(self).__name__}, which looks attributes up itself")


_METHODS = {"__call__": _call, "__tnp_call__": _call, "__getattr__": _missing}

"""PyTorch's implementation of :class:`~tnp.capture.libraries.base.Library`."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack, _pop_mode_temporarily

from tnp.capture import active
from tnp.capture.libraries.base import Library
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.torch import compiling, layouts, state_queries
from tnp.capture.libraries.torch.argument_kinds import check_kinds
from tnp.capture.libraries.torch.arguments import as_number, sized, with_torchs_names, without_inplace
from tnp.capture.libraries.torch.attributes import ATTRIBUTES, METHODS, own_attribute
from tnp.capture.libraries.torch.autocast import Casts
from tnp.capture.libraries.torch.classes import asks_for_class
from tnp.capture.libraries.torch.gradients import Gradients
from tnp.capture.libraries.torch.lifting import CONSTANTS, guard_state, is_object, is_unwatched, lift
from tnp.capture.libraries.torch.modules import chained, forward_of
from tnp.capture.libraries.torch.opaque_calls import OpaqueCalls
from tnp.capture.libraries.torch.random_state import SEEDED, generator_states, has_drawn
from tnp.capture.libraries.torch.training import TRAINING, WRITTEN_OUT
from tnp.capture.libraries.torch.typed_constructors import as_factory
from tnp.capture.tracing.output_aliasing import mark_shared
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedSize
from tnp.core import dtypes, languages, prims, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol
from tnp.core.symbols import is_symbol
from tnp.core.views import Step
from tnp.lang.torch import autocast, language
from tnp.lang.torch.dtypes import to_torch_dtype
from tnp.lang.torch.fills import FILLS
from tnp.lang.torch.operands import as_tensor
from tnp.lang.torch.registry import by_id, signature, symbol_of, takes

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["TorchLibrary"]

Tensor = torch.Tensor

#: functions that give whatever memory holds
_UNINITIALISED = frozenset(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"))
#: functions that make tensors of arrays, which torch refuses if they run backwards in memory
_FROM_NUMPY = frozenset(("from_numpy", "as_tensor", "asarray", "tensor"))
#: functions that refuse tensors which require gradients, or leave those behind; what they are made of does not
_DETACH_UNSEEN = frozenset((Tensor.numpy, torch.asarray))
#: queries of a tensor, and the methods that evaluate them
_QUERIES = {
    torch.is_floating_point: "is_floating_point",
    torch.is_complex: "is_complex",
    torch.is_conj: "is_conj",
    torch.is_neg: "is_neg",
    torch.is_signed: "is_signed",
    torch.numel: "numel",
}
_PLAIN_CONTEXTS = (torch.no_grad, torch.enable_grad, torch.inference_mode, torch.set_grad_enabled, torch.autocast)
_HANDS_ON = torch.overrides.handle_torch_function.__code__
_SHAPE: Any = Tensor.shape  # of the class: a descriptor
_GETTER = type(_SHAPE.__get__)
_APPLY: Any = torch.autograd.Function.apply  # of the class: a method
#: comparisons, and those of the operands in the other order
_TURNED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class _Mode(TorchFunctionMode):
    """Sends torch's functions to the tracer at work."""

    def __init__(self, library: TorchLibrary, tracer: Tracer) -> None:
        super().__init__()
        self.library = library
        self.tracer = tracer

    def __enter__(self) -> Any:
        self.tracer.generator_state = generator_states()
        if self.tracer.says_compiling:
            compiling.begin()
        return super().__enter__()  # type: ignore[no-untyped-call]  # PyTorch's class has no types

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.tracer.says_compiling:
            compiling.end()
        super().__exit__(kind, error, traceback)  # type: ignore[no-untyped-call]  # as above
        gradients = self.tracer.gradients
        (on, casts), (began_on, began_casts) = gradients.modes(), gradients.began
        gradients.put_back_modes(gradients.began)
        if has_drawn(self.tracer):
            first, *others = self.tracer.generator_state
            torch.set_rng_state(first)
            if others:
                torch.cuda.set_rng_state_all(others)
            if error is None:
                raise NeedsEager(SEEDED)
        if error is None and casts != began_casts:
            raise NeedsEager("it turns autocast on or off for what comes after it")
        if error is None and on is not began_on:
            raise NeedsEager("it turns gradients on or off for what comes after it")

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if active.running() is not self.tracer:  # a program that runs eagerly inside of this one's tracing
            return function(*args, **(kwargs or {}))
        return self.library.call(self.tracer, function, args, kwargs or {})


class TorchLibrary(OpaqueCalls, Library):
    """PyTorch.

    It has many methods: those of :class:`~tnp.capture.libraries.base.Library`, which the tracer calls.
    """

    # Functions

    functions = by_id
    has_dict = True
    fix_layout = staticmethod(layouts.fix_layout)

    def capture(self, tracer: Tracer) -> AbstractContextManager[Any]:
        tracer.began_ordinary = is_unwatched()
        tracer.casts = Casts(tracer)
        tracer.gradients = Gradients(tracer)
        return _Mode(self, tracer)

    @contextmanager
    def uncaptured(self) -> Iterator[None]:
        modes = _get_current_function_mode_stack()
        if not modes or not isinstance(modes[-1], _Mode):
            yield
            return
        state = autocast.state_now()
        autocast.put_back(modes[-1].tracer.casts.began)
        try:
            with _pop_mode_temporarily():
                yield
        finally:
            autocast.put_back(state)

    def method_called(self, value: Any) -> Any:
        return forward_of(value) if isinstance(value, torch.nn.Module) else None

    def is_plain_context(self, manager: Any) -> bool:
        return isinstance(manager, _PLAIN_CONTEXTS)

    def call(self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(function, type):
            return self._construct(tracer, function, args, kwargs)
        if type(function) is types.MethodType:  # of a class
            if function.__func__ is not _APPLY.__func__:
                return function(*args, **kwargs)
            owner: Any = function.__self__
            tracer.inputs.guard_class(owner)
            function = _as_function(owner)
        function = WRITTEN_OUT.get(function, function) if type(function) is types.FunctionType else function
        if (
            type(function) is types.FunctionType
            and function not in _autograd_functions.values()
            and function not in _overridable()
            and symbol_of(function) is None
        ):
            args, kwargs = tracer.known(args), tracer.known_values(kwargs)
            state_queries.check_allowed(function, function.__name__)
            if state_queries.is_about_torch(*args, *kwargs.values()):
                return state_queries.call(tracer, function, args, kwargs)
            return self._call_helper(tracer, function, args, kwargs)
        with torch._C.DisableTorchFunction():  # what is computed here is no part of the program
            if kwargs.get("requires_grad") and tracer.gradients.began_on:
                made = self._call(tracer, function, args, {**kwargs, "requires_grad": False})
                return METHODS["requires_grad_"](tracer, made, kwargs["requires_grad"])
            return self._call(tracer, function, args, kwargs)

    def _call_helper(self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of torch's written in Python, whose own calls come to :meth:`call`."""
        frame = sys._getframe(3)
        if _HANDS_ON in (frame.f_code, frame.f_back and frame.f_back.f_code):  # it hands itself on, to be overridden
            raise NeedsEager(f"it calls torch.{function.__name__}")
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if "incompatible function arguments" in str(error):  # of pybind11, which calls no __torch_function__
                raise NeedsEager(f"it calls torch.{function.__name__}, which gives tensors to C code") from None
            raise

    def _call(self, tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if type(function) is _GETTER and function.__name__ in ("__get__", "__set__"):
            return self._property(tracer, function, args)
        if function is torch._C._set_grad_enabled:
            return self._set_grad_enabled(tracer, *args)
        if state_queries.is_pure(function):
            return function(*tracer.known(args), **tracer.known_values(kwargs))
        if getattr(function, "__name__", "").startswith("_record_function_"):  # labels for torch's profiler
            return function
        if function is torch.is_tensor:
            return isinstance(args[0], Tensor)
        name = getattr(function, "__name__", "")
        state_queries.check_allowed(function, name)
        if state_queries.is_question(function) and state_queries.is_about_torch(*args, *kwargs.values()):
            return state_queries.call(tracer, function, args, kwargs)
        guard_state(tracer.inputs)
        args, kwargs = self._lifted(tracer, args), self._lifted(tracer, kwargs)
        if name in _UNINITIALISED and state_queries.call(tracer, torch.are_deterministic_algorithms_enabled, (), {}):
            raise NeedsEager(f"it calls torch.{name} under deterministic algorithms, which fill what that gives")
        if name in _FROM_NUMPY:
            _check_memory(args[0] if args else None)
        if function in _QUERIES and args and type(args[0]) is TracedArray:
            return METHODS[_QUERIES[function]](tracer, args[0])
        first = args[0] if args else None
        if type(first) is TracedArray and first.library is self and getattr(Tensor, name, None) is function:
            if name in METHODS:
                return METHODS[name](tracer, first, *args[1:], **kwargs)
        if (
            function in _DETACH_UNSEEN
            and type(first) is TracedArray
            and tracer.gradients.requires(first.__tnp_value__())
        ):
            raise NeedsEager(f"it calls {name} on a tensor that requires a gradient")
        args, kwargs, in_place = without_inplace(function, args, kwargs)
        if name in FILLS and type(first) is TracedArray and kwargs.get("out") is None:
            return self._filled(tracer, name, *args, **kwargs)
        if name.endswith("_") and not name.endswith("__"):
            function, in_place = self._functional(name), True
        elif name in _IN_PLACE_OPERATORS:
            function, in_place = getattr(Tensor, f"__{name[3:]}"), True
        out = kwargs.pop("out", None) if "out" in kwargs else None
        dtype = tracer.casts.dtype
        if dtype is None:
            result = self._compute(tracer, function, name, args, kwargs)
        else:
            with tracer.casts.made():
                if not in_place and out is None:
                    function, args, kwargs = tracer.casts.arguments(function, dtype, args, kwargs)
                result = self._compute(tracer, function, name, args, kwargs)
        if in_place:
            return self._store(tracer, args[0], result)
        return result if out is None else self._store_out(tracer, out, result)

    def _compute(self, tracer: Tracer, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "copy_":
            return self._copied(tracer, *args, **kwargs)
        if name in ("fill_", "zero_"):
            value = (*args[1:], *kwargs.values())[0] if name == "fill_" else 0
            return tracer.call(by_id["torch.full_like"].symbol, (args[0], value), {})
        in_training = TRAINING.get(function)
        if in_training is not None:
            found = in_training(self, tracer, *args, **kwargs)
            if found is not NotImplemented:
                return found
        symbol = symbol_of(function)
        if name == "fill" and tracer.gradients.requires(args[0].__tnp_value__()):
            symbol = None  # its gradient is 0, and not none
        if symbol is not None and type(function) is not types.FunctionType:
            kwargs = with_torchs_names(signature(symbol), kwargs)
        if symbol is None or not takes(symbol, args, kwargs):
            return self.run_opaquely(tracer, function, args, kwargs)
        check_kinds(function, args, kwargs)
        if name not in _FROM_NUMPY:
            args = tuple(as_number(tracer, x) for x in args)
            kwargs = {k: as_number(tracer, x) for k, x in kwargs.items()}
        if OpTags.ELEMENTWISE not in symbol.tags and not by_id[symbol.id].unknown_sizes:
            args, kwargs = sized(tracer, args, symbol.name), sized(tracer, kwargs, symbol.name)
        layouts.fix_layout_for(name, args)
        tracer.calling = function
        result = tracer.call(symbol, args, kwargs)
        if name in ("view", "view_as") and result.storage is not args[0].storage:
            raise layouts.not_a_view(args[0])
        if name == "contiguous" and len(args) == 1 and not kwargs:
            if args[0].contiguous_:
                return args[0]
            if args[0].strides_ is None:
                mark_shared(result.storage, args[0].storage)
        return result

    def _copied(self, tracer: Tracer, target: Any, source: Any, non_blocking: Any = False) -> Any:
        """What ``target.copy_(source)`` stores."""
        if type(source) is TracedArray:
            moved = tracer.call(by_id["torch.Tensor.to"].symbol, (source, target.device), {})
            return tracer.call(by_id["torch.Tensor.expand"].symbol, (moved, target.shape), {})
        return tracer.call(by_id["torch.full_like"].symbol, (target, source), {})

    def describe(
        self, tracer: Tracer, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any], seen: dict[str, TracedArray],
        made: Any,
    ) -> None:  # fmt: skip
        function = tracer.calling if symbol_of(tracer.calling) is symbol else None
        layouts.lay_out(function or layouts.function_of(symbol), args, kwargs, made, tags=symbol.tags)
        if tracer.gradients.roots:  # a backward program needs to know the lengths of all arrays
            tracer.found_lengths.settle(made)

    def ufunc(self, tracer: Tracer, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # ``np.float64(2) * tensor``: Python asks NumPy's scalar first, which leaves the operator to a tensor.
        if len(inputs) == 2 and type(inputs[0]) is not TracedArray:
            operator = _OPERATORS.get(ufunc)
            if operator is not None and method == "__call__" and not kwargs:
                return tracer.operate(operator, *inputs)
        return NUMPY.ufunc(tracer, ufunc, method, inputs, kwargs)

    def _functional(self, name: str) -> Any:
        """The function whose result one that changes its argument stores."""
        base = name.removesuffix("_")
        found = getattr(torch, base, None) or getattr(Tensor, base, None) or getattr(torch.nn.functional, base, None)
        if name in METHODS or (found is None and base not in ("fill", "zero", "copy")):
            raise NeedsEager(f"it calls Tensor.{name}")
        return found

    def _filled(self, tracer: Tracer, name: str, target: TracedArray, *args: Any, **kwargs: Any) -> Any:
        """``target.uniform_(…)`` and its like: what is drawn for which element depends on the order of these in memory."""
        like = tracer.call(by_id["torch.detach"].symbol, (target,), {})
        given = like, layouts.known_strides(target), *args
        return self._store(tracer, target, self.run_opaquely(tracer, FILLS[name], given, kwargs, in_order=True))

    def _store(self, tracer: Tracer, target: Any, result: Any) -> Any:
        """``result`` stored into ``target``, as functions do that change their argument."""
        if type(target) is not TracedArray or type(result) is not TracedArray or target.library is not self:
            raise NeedsEager("it changes something that is not a tensor of the program")
        if sizes.shapes_equal(result.shape_, target.shape_) is False:
            raise RuntimeError(f"output with shape {target.shape_} doesn't match the broadcast shape {result.shape_}")
        dtypes = to_torch_dtype(result._element_type), to_torch_dtype(target._element_type)
        if not torch.can_cast(*dtypes):
            raise RuntimeError(f"result type {dtypes[0]} can't be cast to the desired output type {dtypes[1]}")
        tracer.store(target, result)
        return target

    def _store_out(self, tracer: Tracer, out: Any, result: Any) -> Any:
        targets = out if isinstance(out, (tuple, list)) else (out,)
        results = result if isinstance(result, (tuple, list)) else (result,)
        for a, r in zip(targets, results, strict=True):
            if (
                type(a) is not TracedArray
                or sizes.shapes_equal(a.shape_, r.shape_) is not True
                or a._element_type is not r._element_type
            ):
                raise NeedsEager("out= is not a tensor of the result's shape and dtype")
            self._store(tracer, a, r)
        return out

    def _property(self, tracer: Tracer, function: Any, args: tuple[Any, ...]) -> Any:
        """An attribute of a tensor, read or set by code that is not traced."""
        name = function.__self__.__name__
        a = self._lifted(tracer, args[0])
        if function.__name__ == "__set__":
            return self.set_attribute(tracer, a, name, args[1])
        return self.attribute(tracer, a, name)

    def _set_grad_enabled(self, tracer: Tracer, mode: bool) -> None:
        tracer.gradients.guard_mode()  # what it sets may be what was set
        if mode and tracer.inputs.trace_has_gradients and not tracer.gradients.tracks:
            raise NeedsEager("it computes gradients of an argument")
        torch._C._set_grad_enabled(mode)

    def _construct(self, tracer: Tracer, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if issubclass(cls, (*_PLAIN_CONTEXTS, torch.dtype, torch.device, torch.Size, torch.finfo, torch.iinfo)):
            return cls(*tracer.known(args), **tracer.known_values(kwargs))
        if cls is torch.autograd.profiler.record_function:  # it labels what torch's profiler sees of eager code
            return nullcontext()
        if cls is torch.nn.Sequential and not kwargs:
            return chained(tracer, args)
        return self.call(tracer, *as_factory(cls, args, kwargs))

    def _lifted(self, tracer: Tracer, x: Any) -> Any:
        """Arguments in which tensors that escaped lifting become traced values."""
        kind = type(x)
        if kind in (tuple, list, TracedSize):
            return (list if kind is list else tuple)(self._lifted(tracer, y) for y in x)
        if kind is dict:
            return {k: self._lifted(tracer, y) for k, y in x.items()}
        if kind is not TracedArray and isinstance(x, Tensor):
            return tracer.inputs.constant_of_library(x)
        if kind is not TracedArray and kind not in _PLAIN and hasattr(kind, "__torch_function__"):
            raise NeedsEager(f"it passes a {kind.__name__}, which overrides torch's functions")
        return x

    # Values

    is_object = staticmethod(is_object)

    def lift(self, inputs: Inputs, value: Any, source: Source) -> Any:
        with torch._C.DisableTorchFunction():
            return lift(inputs, value, source)

    def is_constant(self, value: Any) -> bool:
        return isinstance(value, CONSTANTS)

    # Tensors

    def array_class(self, a: TracedArray) -> type:
        if not asks_for_class(sys._getframe(2)):
            return TracedArray
        return active.current().inputs.classes.get(id(a), Tensor)

    def attribute(self, tracer: Tracer, a: TracedArray, name: str) -> Any:
        found = ATTRIBUTES.get(name)
        if found is not None:
            return found(tracer, a)
        method = METHODS.get(name)
        if method is not None:
            return lambda *args, **kwargs: method(tracer, a, *args, **kwargs)
        function = getattr(Tensor, name, None)
        if function is None:
            return own_attribute(tracer, a, name)
        if not callable(function):
            raise NeedsEager(f"it reads Tensor.{name}")
        return lambda *args, **kwargs: self.call(tracer, function, (a, *args), kwargs)

    def set_attribute(self, tracer: Tracer, a: TracedArray, name: str, value: Any) -> None:
        if not name.startswith("_dynamo_"):  # what torch._dynamo.mark_static_address leaves for another compiler
            raise NeedsEager(f"it sets the attribute {name!r} of a tensor")

    def _operand(self, tracer: Tracer, x: Any) -> Any:
        """An operand of an operator: arrays of NumPy's are tensors, its scalars numbers."""
        if type(x) is TracedArray and x.library is NUMPY:
            return as_number(tracer, x) if x.ndim == 0 else tracer.call(by_id["torch.from_numpy"].symbol, (x,), {})
        if type(x) is not TracedArray and isinstance(x, (np.generic, np.ndarray)) and not x.ndim:
            return x.item()  # NumPy hands on a scalar that is on the left of a comparison as an array
        if type(x) is not TracedArray and isinstance(x, np.ndarray):
            return self._operand(tracer, tracer.inputs.constant_array(x))
        return self._lifted(tracer, x)

    def operate(self, tracer: Tracer, method: str, *args: Any) -> Any:
        operands = tuple(self._operand(tracer, x) for x in args)
        if (
            method in _TURNED and type(operands[0]) is not TracedArray
        ):  # torch compares tensors with numbers, not numbers with tensors
            method, operands = _TURNED[method], operands[::-1]
        symbol = language.methods.get(method)
        if symbol is None or not all(type(x) is TracedArray or type(x) in _NUMBERS for x in operands):
            raise NeedsEager(f"the operator {method} of tensors is not compiled")
        guard_state(tracer.inputs)
        if method == "matmul" and tracer.casts.dtype is not None:
            return self.call(tracer, torch.matmul, operands, {})
        return tracer.call(symbol, operands, {})

    def in_place(self, tracer: Tracer, method: str, a: TracedArray, other: Any) -> Any:
        return self._store(tracer, a, self.operate(tracer, method, a, other))

    def getitem(self, tracer: Tracer, a: TracedArray, key: Any) -> Any:
        key = self._key(tracer, key, a)
        tracer.flush_if_dynamic(a, key)
        found = tracer.call(by_id["torch.Tensor.__getitem__"].symbol, (a, key), {})
        if found.storage is not a.storage:  # the dimensions of advanced indices may come first in memory
            found._strides = None
            layouts.lay_out(Tensor.__getitem__, (a, key), {}, found)
        return found

    def _key(self, tracer: Tracer, key: Any, a: TracedArray) -> Any:
        """A subscript of ``a``; indices may be on the CPU."""
        if type(key) in (tuple, list):  # a tuple in a tuple is a list of indices
            parts = (list(k) if isinstance(k, tuple) and type(key) is tuple else k for k in key)
            return type(key)(self._key(tracer, k, a) for k in parts)
        if type(key) is slice:
            ends = [self._key(tracer, x, a) for x in (key.start, key.stop, key.step)]
            if any(type(x) is TracedArray for x in ends):
                raise NeedsEager("it slices by a tensor that has dimensions")
            return slice(*ends)
        if type(key) is TracedNumber and is_symbol(key.proxy):
            return key
        if type(key) is TracedNumber and key.proxy.value is not None and key.proxy.python_type in (bool, int):
            return key.proxy.known()
        if type(key) is TracedArray and key.library is self and key.ndim == 0:
            if key._element_type.kind != "i":
                raise NeedsEager("it subscripts with a 0-d tensor that is a mask")
            return tracer.call(prims.item, (key,), {})
        key = self._operand(tracer, key)
        if type(key) is TracedArray and key._proxy.device is not a._proxy.device:
            return tracer.call(by_id["torch.Tensor.to"].symbol, (key, a.device), {})
        return key

    def setitem(self, tracer: Tracer, a: TracedArray, key: Any, value: Any) -> None:
        from tnp.core import clang

        key = self._key(tracer, key, a)
        if type(value) is TracedArray and value.scalar and value._element_type is dtypes.float32:
            raise NeedsEager("it stores a scalar of NumPy's that torch refuses")
        value = self._operand(tracer, value)
        if isinstance(value, (tuple, list)) or not (type(value) in _NUMBERS or type(value) is TracedArray):
            raise NeedsEager(f"it stores a {type(value).__name__} into a tensor")
        tracer.flush_if_dynamic(a, key)
        getitem = by_id["torch.Tensor.__getitem__"].symbol
        key_value = tracer.value(key, {})
        if clang.is_basic(key_value):
            tracer.store(a, value, Step(getitem, (key_value,)))
            return
        tracer.before_raising()
        tracer.gradients.sync()
        new = self.converted(tracer, tracer.value(value, {}), a)
        updated = by_id["torch.Tensor.__setitem__"].symbol(a.__tnp_value__(), key_value, new)
        tracer.store_updated(a, updated)

    def converted(self, tracer: Tracer, value: Any, a: TracedArray, *, by_element: bool = True) -> Any:
        dtype = a._element_type
        if isinstance(value, TensorProxy):
            if value.dtype.kind == "c" and dtype.kind != "c":
                raise NeedsEager("it stores complex values into a real tensor")
        elif not isinstance(value, NumberProxy):
            if dtype.kind in "iu":
                limits = torch.iinfo(to_torch_dtype(dtype))
                if isinstance(value, complex) or value != value or not limits.min <= value <= limits.max:
                    raise NeedsEager(f"it stores {value} into a tensor of {dtype}")
                return int(value)
            if dtype.kind == "b":
                return bool(value)
            if isinstance(value, complex) and dtype.kind != "c":
                raise NeedsEager("it stores a complex number into a real tensor")
            return value
        with languages.language_context(language):
            return as_tensor(value, dtype)

    def written(self, value: TensorProxy) -> None:
        _INCREMENT_VERSION(value)

    def as_numpy(self, tracer: Tracer, a: TracedArray) -> TracedArray:
        array: TracedArray = tracer.call(by_id["torch.Tensor.numpy"].symbol, (a,), {})
        return array

    def rounded(self, tracer: Tracer, a: TracedArray, digits: Any) -> Any:
        raise NeedsEager("it rounds a tensor by round()")

    # Values of tensors

    def is_single(self, a: TracedArray) -> bool:
        return bool(sizes.product(a.shape_) == 1)

    def check_number(self, python_type: type, a: TracedArray) -> None:
        if sizes.product(a.shape_) != 1:
            raise NeedsEager("it takes a tensor of several elements for a number")

    def hash_of(self, a: TracedArray) -> int:  # by identity
        active.current().inputs.told_apart.append(a)
        return object.__hash__(a)


def _check_memory(a: Any) -> None:
    """Raises :class:`NeedsEager` for an array that torch may refuse to look at."""
    if type(a) is TracedArray and a.library is NUMPY and (a.strides_ is None or min(a.strides_, default=0) < 0):
        raise NeedsEager("it makes a tensor of an array that may run backwards in memory")


def _increment_version(t: torch.Tensor) -> None:
    if not t.is_inference():
        torch.autograd.graph.increment_version(t)


#: tells autograd that a tensor's memory was written, so that what was saved of it is not used
_INCREMENT_VERSION = Symbol(
    "increment_version", lambda a: None, id="torch_effect.increment_version", is_prim=True,
    tags=(OpTags.EFFECT, OpTags.NOTES_WRITE), namespace=Namespace("torch.autograd.graph", "import torch"),
    language=language, fn=_increment_version,
)  # fmt: skip
_NUMBERS = frozenset((bool, int, float, complex, TracedNumber))
#: the operators that NumPy's arrays and scalars have by ufuncs
_OPERATORS: dict[Any, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "div", np.floor_divide: "floor_divide", np.remainder: "remainder",
    np.power: "pow", np.matmul: "matmul", np.bitwise_and: "bitwise_and", np.bitwise_or: "bitwise_or", np.bitwise_xor: "bitwise_xor",
    np.left_shift: "left_shift", np.right_shift: "right_shift", np.equal: "eq", np.not_equal: "ne", np.less: "lt",
    np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge",
}  # fmt: skip
#: the kinds of most arguments that are no tensors
_PLAIN = frozenset(
    (bool, int, float, complex, str, type(None), slice, torch.dtype, torch.device, torch.Size, TracedNumber)
)
_IN_PLACE_OPERATORS = frozenset(
    f"__i{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
)


#: of a class of functions that autograd is told of, a function that does the same
_autograd_functions: dict[type, Any] = {}


def _as_function(cls: type[torch.autograd.Function]) -> Any:
    """``cls.apply``, always the same one."""
    if cls not in _autograd_functions:

        def apply(*args: Any) -> Any:
            return cls.apply(*args)

        apply.__name__ = re.sub(r"\W", "_", f"{cls.__module__}_{cls.__qualname__}")
        _autograd_functions[cls] = apply
    return _autograd_functions[cls]


@functools.cache
def _overridable() -> frozenset[Any]:
    """The functions that torch hands to function modes."""
    found: set[Any] = set()
    for functions in torch.overrides.get_overridable_functions().values():
        found.update(f for f in functions if getattr(f, "__hash__", None) is not None)
    return frozenset(found)

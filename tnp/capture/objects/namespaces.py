"""Look-ups of names in modules, classes and functions while tracing: data found there becomes an input of the trace."""

from __future__ import annotations

import abc
import builtins
import enum
import logging
import sys
import types
from functools import cached_property
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.guards.prologue import Source
from tnp.capture.objects.array_classes import ArrayOfClass, is_array_of_class
from tnp.capture.objects.assigned_attributes import is_variable
from tnp.capture.objects.dataclass_fields import FIELDS, attribute_of_field, fields_of_class, is_field
from tnp.capture.objects.foreign import Foreign, by_super, real_value
from tnp.capture.objects.named_tuples import check_assignment
from tnp.capture.objects.twins import (
    MISSING,
    class_attribute,
    class_of,
    is_made_by_statement,
    is_twin,
    user_method,
)
from tnp.capture.objects.users_descriptors import get_by
from tnp.capture.rewrite.code_origin import CACHED, is_followed, is_followed_module, is_library_module
from tnp.capture.rewrite.rewriter import has_hooks
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core.errors import NeedsEager

__all__ = [
    "attribute",
    "builtin",
    "check_owner",
    "delete_attribute",
    "first_attribute",
    "get_attribute",
    "has_attribute",
    "imported",
    "set_attribute",
]

#: what Python says of a function, a class or a module, and keeps as it is
_UNCHANGING_NAMES = frozenset(
    ("__name__", "__qualname__", "__module__", "__doc__", "__class__", "__mro__", "__bases__", "__base__", "__call__", "__init__",
     "__new__", "__func__", "__self__", "__wrapped__", "__get__", "__eq__", "__ne__", "__hash__", "__repr__", "__str__", "__version__")
)  # fmt: skip
#: what loggers do when the program runs
#: what users ask of loggers, whose values are guarded
_STATE_OF_LOGGERS = ("level", "disabled", "name")
_CALLS_OF_LOGGERS = frozenset(("debug", "info", "warning", "error", "critical", "log"))
#: packages whose modules' numbers, texts and objects are the same in every call
_CONSTANT_PACKAGES = frozenset(("numpy", "math", "cmath", "torch", "scipy", "string", "tnp"))
#: classes of classes that do nothing by themselves
_PLAIN_METACLASSES = (type, abc.ABCMeta, enum.EnumMeta)
#: kinds of values that modules of libraries keep as they are
_CODE = (
    type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType, types.GenericAlias, types.UnionType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType,
)  # fmt: skip


def attribute(owner: Any, name: str) -> Any:
    """``owner.name``, traced."""
    kind = type(owner)
    if active.running() is None:
        return getattr(owner, name)
    if kind is TracedEither:
        return attribute(owner.settled(), name)
    if kind is TracedArray or kind is TracedNumber:
        real = owner.__class__
        if name.startswith("__") and not any(name in vars(c) for c in real.__mro__):
            of_numpy = f"{real.__module__}." if real.__module__ != "builtins" else ""
            raise AttributeError(f"'{of_numpy}{real.__name__}' object has no attribute {name!r}")
        return getattr(owner, name) if name not in _OWN_NAMES else _of_handle(owner, name)
    if isinstance(owner, types.ModuleType):
        return _of_module(owner, name)
    if isinstance(owner, type):
        return _of_class(owner, name)
    if kind is types.FunctionType:
        return _of_function(owner, name)
    if kind is CACHED and name not in _UNCHANGING_NAMES:
        raise NeedsEager(f"it reads {name} of a function with a cache")
    if type(owner) is logging.Logger and name in _STATE_OF_LOGGERS:
        return _of_logger(owner, name)
    if isinstance(owner, logging.Logger) and name not in _CALLS_OF_LOGGERS:
        raise NeedsEager(f"it reads {name} of a logger")
    if kind is super:
        if type(owner.__self__) is Foreign:
            return _of_foreign_by_super(owner, name)
        if is_array_of_class(owner.__self__):
            return _of_array_by_super(owner, name)
        mro = owner.__self_class__.__mro__
        kind = next((c for c in mro[mro.index(owner.__thisclass__) + 1 :] if name in vars(c)), object)
        member = vars(kind).get(name)
        if type(member) is property and is_followed(member.fget) and not isinstance(owner.__self__, type):
            return active.current().runtime.call(member.fget, owner.__self__)
        if member is not None and not hasattr(type(member), "__get__"):
            return _of_class(kind, name)
        value = getattr(owner, name)
        if isinstance(value, (*_CODE, types.MethodType)):
            return value
        raise NeedsEager(f"it reads {name} by super()")
    if is_twin(kind) or kind.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE: made by a class statement
        return _of_instance(owner, name)
    return getattr(owner, name)


def _of_foreign_by_super(owner: Any, name: str) -> Any:
    """An attribute of ``super()`` in a method of a foreign value's class: one of ``dict``, or a method of the user's."""
    x = owner.__self__
    mro = type(real_value(x)).__mro__
    kind = next((c for c in mro[mro.index(owner.__thisclass__) + 1 :] if name in vars(c)), None)
    found: Any = vars(kind)[name] if kind is not None else None
    return types.MethodType(found, x) if kind is not dict and is_followed(found) else by_super(x, name)


def _of_array_by_super(owner: Any, name: str) -> Any:
    """An attribute of ``super()`` in a method of a subclass of ndarray."""
    x = owner.__self__
    mro = class_of(x).__mro__
    kind = next((c for c in mro[mro.index(owner.__thisclass__) + 1 :] if name in vars(c)), None)
    if kind is not np.ndarray and kind is not object:
        value = getattr(owner, name)
        if isinstance(value, (*_CODE, types.MethodType)):
            return value
    elif name in vars(ArrayOfClass):
        return vars(ArrayOfClass)[name].__get__(x, type(x))
    raise NeedsEager(f"it reads {name} by super()")


def _of_logger(logger: logging.Logger, name: str) -> Any:
    """An attribute of a logger, on whose value the program depends from now on."""
    value = getattr(logger, name)
    if type(value) not in (int, bool, str):
        raise NeedsEager(f"it reads {name} of a logger")
    return _guarded(logger, "logger", name, value, logger.name)


def _guarded(owner: Any, kind: str, name: str, value: Any, called: str = "") -> Any:
    """An attribute that is a number or a text, such as a setting, on whose value the program depends from now on."""
    prologue = active.current().inputs.prologue
    read = f"{prologue.constant(owner, kind)}.{name}"
    prologue.guard(f"{read} == {value!r}", f"{name} of the {kind} {called or owner.__name__} is {value!r}")
    return value


#: names that traced values have, and the values they stand for lack
_OWN_NAMES = frozenset(name for kind in (TracedArray, TracedNumber) for name in kind.__dict__ if not name.startswith("__")) - {
    "shape", "real", "imag", "flat", "ndim", "dtype", "size", "_dynamo_static_input_type",
}  # fmt: skip


def _of_handle(x: Any, name: str) -> Any:
    return x.library.attribute(active.current(), x, name) if type(x) is TracedArray else getattr(x._known(), name)


def _lift(value: Any, owner: Any, kind: str, name: str) -> Any:
    inputs = active.current().inputs
    words = f"{kind} {getattr(owner, '__name__', '?')}"
    return inputs.lift(value, Source(inputs.prologue.constant(owner, kind), words).attribute(name))


def _of_module(module: types.ModuleType, name: str) -> Any:
    """A name of a module."""
    is_library = is_library_module(module)
    if not is_library and name not in vars(module):
        for look_up in (_in_class_of_module, _made_by_module):
            made = look_up(module, name)
            if made is not MISSING:
                return made
    value = getattr(module, name)
    assigned = active.current().outer_names.get((id(vars(module)), name)) if active.running() is not None else None
    if assigned is not None:
        return assigned.value
    if is_library:
        top = module.__name__.partition(".")[0]
        is_constant = top in _CONSTANT_PACKAGES and type(module) is types.ModuleType
        # The contract knows whether the class of a class is code of the user's or of a package's that is traced.
        is_code = isinstance(value, _CODE) and (not isinstance(value, type) or type(value) in _PLAIN_METACLASSES)
        if is_code or name in _UNCHANGING_NAMES or is_constant or is_traced(value):
            return value
    elif module.__dict__.get(name, MISSING) is not value and not isinstance(value, types.ModuleType):
        if module.__name__.startswith("torch.backends") and type(value) in (bool, int, str):
            return _guarded(module, "module", name, value)
        raise NeedsEager(f"the module {module.__name__} makes {name} when it is asked for")
    return value if name in _UNCHANGING_NAMES else _lift(value, module, "module", name)


def _in_class_of_module(module: types.ModuleType, name: str) -> Any:
    """What the class of a module, of the user's, has under a name that the module lacks."""
    kind = type(module)
    owner: Any = next((c for c in kind.__mro__ if name in vars(c)), None)
    if owner is None or not is_made_by_statement(owner):
        return MISSING
    found, inputs = vars(owner)[name], active.current().inputs
    _guard_lack(module, name)
    inputs.guard_class(kind)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, (types.FunctionType, classmethod)):
        return getattr(module, name)
    if isinstance(found, property) and is_followed(found.fget):
        return active.current().runtime.call(found.fget, module)
    if user_method(found, "__get__") is not None:
        return get_by(found, name, module, kind)
    return MISSING if hasattr(type(found), "__get__") else _lift(found, kind, "class", name)


def _guard_lack(module: types.ModuleType, name: str) -> str:
    """Guards that a module lacks a name; gives the expression of its names."""
    prologue = active.current().inputs.prologue
    names: str = prologue.constant(vars(module), "names")
    prologue.guard(f"{name!r} not in {names}", f"the module {module.__name__} has no {name}")
    return names


def _made_by_module(module: types.ModuleType, name: str) -> Any:
    """What the ``__getattr__`` of a module, or of its class, makes of a name that it lacks."""
    kind, inputs = type(module), active.current().inputs
    look_up, own = class_attribute(kind, "__getattr__"), vars(module).get("__getattr__")
    by_class = class_attribute(kind, name) is MISSING and is_followed(look_up)
    if not by_class and own is None:
        return MISSING
    # ``__getattr__ = other_module.__getattribute__``
    asks_other = type(own) is types.MethodWrapperType and own.__name__ == "__getattribute__"
    other = getattr(own, "__self__", None) if asks_other else None
    if not by_class and not is_followed(own) and not isinstance(other, types.ModuleType):
        raise NeedsEager(f"the module {module.__name__} makes {name} when it is asked for")
    names = _guard_lack(module, name)
    if by_class:
        inputs.guard_class(kind)
        return active.current().runtime.call(look_up, module, name)
    same = f"{names}.get('__getattr__') is {inputs.prologue.constant(own, 'look_up')}"
    inputs.prologue.guard(same, f"the __getattr__ of the module {module.__name__} is the same")
    return _of_module(other, name) if other is not None else active.current().runtime.call(own, name)


def _is_of_library(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is not None and kind.__module__ != "__main__" and not is_followed_module(module)


def _of_class(kind: type, name: str) -> Any:
    """A name of a class."""
    if is_followed(class_attribute(type(kind), "__getattribute__")):
        raise NeedsEager(f"the class of {kind.__name__} looks names up itself")
    on_metaclass = class_attribute(type(kind), name)
    in_class = class_attribute(kind, name)
    if on_metaclass is not MISSING and not _is_of_library(type(kind)):
        is_data = hasattr(type(on_metaclass), "__set__")
        if isinstance(on_metaclass, property) and is_followed(on_metaclass.fget):
            return active.current().runtime.call(on_metaclass.fget, kind)
        if is_data or in_class is MISSING:
            if not is_followed(on_metaclass):
                raise NeedsEager(f"the class of {kind.__name__} makes {name}")
            return types.MethodType(on_metaclass, kind)
    value = getattr(kind, name)
    if name == FIELDS and type(value) is dict:
        return fields_of_class(active.current().inputs, kind)
    if in_class is MISSING and on_metaclass is MISSING:
        raise NeedsEager(f"the class {kind.__name__} makes {name} when it is asked for")
    if name in ("__dict__", "__annotations__", "__subclasses__") and not _is_of_library(kind):
        raise NeedsEager(f"it reads {name} of the class {kind.__name__}")
    if user_method(in_class, "__get__") is not None:
        return get_by(in_class, name, None, kind)
    owner = next((c for c in kind.__mro__ if name in c.__dict__), None)
    if owner is None or _is_of_library(owner) or (name.startswith("__") and name.endswith("__")):
        return value
    if isinstance(in_class, (staticmethod, classmethod, property)) or is_traced(value):
        return value
    return _lift(value, kind, "class", name)


def _of_function(f: types.FunctionType, name: str) -> Any:
    """An attribute of a function."""
    value = getattr(f, name)
    active.current().inputs.functions.check((f,))
    if not is_followed(f) or name in _UNCHANGING_NAMES or (has_hooks(f) and name in f.__dict__):
        return value  # the program's own function has what the program gave it
    if name == "__code__":
        inputs = active.current().inputs
        inputs.guard_identity(value, Source(inputs.functions.name_of(f), f"function {f.__name__}").attribute(name))
        return value
    if name not in f.__dict__:
        raise NeedsEager(f"it reads {name} of the function {f.__name__}")
    return _lift(value, f, "function", name)


def _of_instance(x: Any, name: str) -> Any:
    """An attribute of an object of a class made by a class statement: stand-ins know theirs; what the program has made finds
    data of its class there."""
    if is_field(x):
        return attribute_of_field(active.current().inputs, x, name)
    if "_tnp_shadowed" in type(x).__dict__ or name.startswith("__"):
        made_by_class = name == FIELDS and is_twin(type(x)) and name not in getattr(x, "__dict__", ())
        return fields_of_class(active.current().inputs, class_of(x)) if made_by_class else getattr(x, name)
    found = class_attribute(type(x), name)
    if isinstance(found, property) and is_followed(found.fget) and not is_twin(type(x)):
        return active.current().runtime.call(found.fget, x)
    if type(found) is cached_property and is_followed(found.func) and not is_twin(type(x)):
        attributes = getattr(x, "__dict__", None)
        if attributes is None or found.attrname is None:
            return getattr(x, name)
        if name not in attributes:
            attributes[name] = active.current().runtime.call(found.func, x)
        return attributes[name]
    if isinstance(x, enum.Enum):
        value = getattr(x, name)
        is_fixed = isinstance(value, (*_CODE, bool, int, float, complex, str, bytes, enum.Enum)) or value is None
        return value if is_fixed else _lift(value, x, "member", name)
    if found is MISSING or hasattr(type(found), "__get__"):
        if found is MISSING or user_method(found, "__get__") is None:
            return getattr(x, name)
        own = getattr(x, "__dict__", {})
        if name in own and not hasattr(type(found), "__set__"):
            return own[name]
        kind = class_of(x)
        return get_by(class_attribute(kind, name), name, x, kind)
    if name in getattr(x, "__dict__", ()):
        return getattr(x, name)
    owner = next(c for c in (*class_of(x).__mro__, *type(x).__mro__) if name in c.__dict__)
    return getattr(x, name) if _is_of_library(owner) else _lift(found, owner, "class", name)


def has_attribute(owner: Any, name: Any) -> bool:
    """``hasattr(owner, name)``."""
    try:
        _checked(owner, name)
    except AttributeError:
        return False
    return True


def _checked(owner: Any, name: Any, *default: Any) -> Any:
    """``getattr(owner, name)``; what a module, a class or a function lacks, it has to lack at each call."""
    name = name if type(name) is str else str(name)
    try:
        return attribute(owner, name)
    except AttributeError:
        if isinstance(owner, (types.ModuleType, type, types.FunctionType)):
            prologue = active.current().inputs.prologue
            has = f"{prologue.constant(hasattr)}({prologue.constant(owner)}, {name!r})"
            prologue.guard(f"not {has}", f"{owner.__name__} has no {name}")
        if not default:
            raise
        return default[0]


def first_attribute(owner: Any, *names: str) -> Any:
    """The first attribute of these names that an object of a library has, traced; ``None`` without any."""
    for name in names:
        if has_attribute(owner, name):
            return attribute(owner, name)
    return None


def get_attribute(owner: Any, name: Any, *default: Any) -> Any:
    """``getattr(owner, name)``, or with a ``default``."""
    return _checked(owner, name, *default)


def check_owner(x: Any, name: str) -> Any:
    """``x``, of which the attribute ``name`` is assigned or deleted: something of this trace, or else the program runs eagerly."""
    tracer = active.running()
    if tracer is None or type(x) is Foreign:
        return x
    if type(x) is types.FunctionType and not tracer.regions and has_hooks(x):
        return x  # the program has made it
    if isinstance(x, (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)):
        raise NeedsEager(f"it assigns an attribute of {x.__name__}")
    if type(x) in (TracedArray, TracedNumber):
        _check_settable(x, name)
    if type(x) is TracedArray and (name in _OWN_NAMES or (x.library.has_dict and not hasattr(TracedArray, name))):
        raise NeedsEager(f"it assigns {name!r} of an array")
    check_assignment(x)
    if tracer.regions and type(x) is not TracedArray and is_variable(x, name):
        tracer.assigns(x, name)
    return x


def _check_settable(x: Any, name: str) -> None:
    """Raises NumPy's or Python's error where what ``x`` stands for has no such attribute, and none can be added."""
    kind: Any = x.__class__
    if kind is not np.ndarray and not issubclass(kind, (np.generic, int, float, complex)):
        return
    if not hasattr(kind, name):
        setattr(np.empty(0) if kind is np.ndarray else kind(0), name, None)


def set_attribute(owner: Any, name: Any, value: Any) -> None:
    """``setattr(owner, name, value)``."""
    setattr(check_owner(owner, name), name, value)


def delete_attribute(owner: Any, name: Any) -> None:
    """``delattr(owner, name)``."""
    delattr(check_owner(owner, name), name)


def imported(value: Any, module: str, name: str) -> Any:
    """What ``from module import name`` in a traced function has bound."""
    tracer = active.running()
    found = sys.modules.get(module)
    if tracer is None or found is None or is_traced(value):
        return value
    return _of_module(found, name) if getattr(found, name, MISSING) is value else value


def builtin(name: str, value: Any) -> Any:
    """What a name means that is neither of the function nor of its module: Python's own, or what somebody put there."""
    if isinstance(value, (type, types.BuiltinFunctionType)) and value.__module__ == "builtins":
        return value
    if name.startswith("__") or isinstance(value, _CODE):
        return value
    return _lift(value, builtins, "module", name) if vars(builtins).get(name, MISSING) is value else value

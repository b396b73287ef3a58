"""Objects that say that they are of another class than their own: mocks, proxies, stand-ins for packages that are not here."""

import types
from unittest import mock

import numpy as np
import pytest

import tnp
from tests.flow_checks import same_as_eager
from tnp.testing import assert_same


class Missing:
    """What raises when it is used, in the place of a package; its class does not."""

    def __getattribute__(self, name):
        if name == "__class__":
            return type(None)
        raise ImportError("there is no such package")


class Rates:
    high = 3.0


class Proxy:
    def __init__(self, inner):
        object.__setattr__(self, "inner", inner)

    def __getattribute__(self, name):
        return getattr(object.__getattribute__(self, "inner"), name)


class Property:
    high = 2.0

    @property
    def __class__(self):
        return Rates


@pytest.mark.parametrize(
    "make",
    [
        lambda: mock.Mock(spec=Rates, high=4.0),
        lambda: mock.MagicMock(spec=int),
        lambda: Proxy(Rates()),
        Property,
        Missing,
    ],
)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_the_class_that_is_said_is_the_class(make):
    made = make()

    def of_argument(x, it):
        return (
            x,
            isinstance(it, Rates),
            isinstance(it, (int, type(None))),
            it.__class__ is Rates,
            type(it).__name__,
        )

    def of_global(x):
        return x + isinstance(made, Rates), made is None

    same_as_eager(of_argument, lambda: (np.ones(2), made))
    same_as_eager(of_global, lambda: (np.ones(2),))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_is_not_used_is_not_asked():
    """Attributes of the object raise, so nothing but its place in the dict may be looked at."""
    exporters = {"plain": lambda x: x + 1, "other": Missing()}

    def f(x, kind):
        return exporters[kind](x) if kind in exporters else x

    g = tnp.jit(f, strict=True)
    np.testing.assert_array_equal(g(np.ones(2), "plain"), np.full(2, 2.0))
    with pytest.raises(TypeError):
        tnp.jit(f)(np.ones(2), "other")


def test_a_class_that_the_program_makes():
    """It is the program's own to change, and says where the user defined it."""

    def f(x):
        class Counter:
            count = 0

            def __init__(self, start=0):
                self.start = start

            def __rmul__(self, other):
                Counter.count += 1
                return self

            def name(self):
                return type(self).__qualname__

        np.float64(2) * Counter()
        function = lambda: 0  # noqa: E731
        return x + Counter.count, Counter().name(), repr(Counter), function.__qualname__

    expected, (result, *names) = f(np.ones(2)), tnp.jit(f, strict=True)(np.ones(2))
    np.testing.assert_array_equal(result, expected[0])
    assert names == list(expected[1:])


def test_the_dictionary_of_an_object_is_returned():
    class Plain:
        def __init__(self):
            self.x = np.ones(2)

    for made in (Plain(), types.SimpleNamespace(x=np.ones(2))):
        assert tnp.jit(lambda o: [vars(o), o.x + 1], strict=True)(made)[0] is vars(made)


class Registered:
    """A class that is told of those that inherit from it."""

    known = []  # noqa: RUF012

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Registered.known.append(cls)

    def __init__(self, scale):
        self.scale = scale

    def __len__(self):
        return 3


class Scaled(Registered):
    @property
    def doubled(self):
        return self.scale * 2


class Slotted(Registered):
    __slots__ = ()

    def __getitem__(self, i):
        return self.scale + i


class Plain:
    __slots__ = ("scale",)

    def __init_subclass__(cls):
        Registered.known.append(cls)

    def __init__(self, scale):
        self.scale = scale


class PlainBelow(Plain):
    __slots__ = ()

    def __len__(self):
        return 2


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("make", [Scaled, Slotted, PlainBelow])
def test_classes_that_are_told_of_subclasses_are_not_told_of_tnps(make):
    def function(x, scaled):
        return x * scaled.scale + len(scaled), type(scaled) is make, isinstance(scaled, (Registered, Plain))

    def made_inside(x):
        y = make(4)
        return x * y.scale + len(y), type(y).__name__, type(y).__mro__

    before = list(Registered.known)
    for x in (np.arange(3.0), np.arange(3.0) + 1):
        assert_same(tnp.jit(function)(x, make(2)), function(x, make(2)))
        assert_same(tnp.jit(made_inside)(x), made_inside(x))
    assert Registered.known == before


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
def test_the_code_of_a_function_is_guarded():
    def scaled(x, factor=2):
        return x * factor

    def function(x):
        return scaled(x, 3) if "factor" in scaled.__code__.co_varnames else scaled(x)

    def other(x):
        return x + 1

    jitted, x = tnp.jit(function), np.arange(3.0)
    assert_same(jitted(x), function(x))
    scaled.__code__ = other.__code__
    scaled.__defaults__ = None
    assert_same(jitted(x), function(x))


NAMES = [
    "__len__", "__iter__", "__getitem__", "__setitem__", "__contains__", "__float__", "__int__", "__index__", "__bool__", "__call__",
    "__array__", "__add__", "__iadd__", "__radd__", "__matmul__", "__round__", "__trunc__", "__floor__", "__complex__", "__invert__",
    "__and__", "__divmod__", "__array_ufunc__", "__deepcopy__", "__lshift__", "__dict__", "__slots__", "__module__", "shape", "append",
]  # fmt: skip
VALUES = [
    np.float64(2),
    np.float32(2),
    np.int64(2),
    np.uint16(1),
    np.bool_(1),
    np.complex128(1),
    np.ones(2),
    np.array(2.0),
    2.0,
    3,
    True,
    1j,
]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("name", NAMES)
def test_what_traced_values_have_is_what_values_have(name):
    for value in VALUES:
        assert tnp.jit(lambda x: hasattr(x, name))(value) == hasattr(value, name), value
        assert tnp.jit(lambda x: getattr(x, name, None) is None)(value) == (getattr(value, name, None) is None), value


class Backend:
    """A backend."""

    __name__ = "base"

    def exp(self, x):
        return np.exp(x)


class Named:
    def __init__(self):
        self.__name__ = "own"


class Computed(Backend):
    @property
    def __name__(self):
        return f"computed {self.k}"

    k = 3


def named(x, o):
    if o.__name__ == "base":
        return o.exp(x), o.__doc__
    return x * len(getattr(o, "__name__", "")), hasattr(o, "__name__")


def renamed(x, o):
    o.__name__ = "other"
    return x * len(o.__name__)


@pytest.mark.parametrize("f", [named, renamed])
@pytest.mark.parametrize("kind", [Backend, Named, Computed])
def test_attributes_with_names_of_types(f, kind):
    if f is renamed and kind is Computed:
        with pytest.raises(AttributeError):
            tnp.jit(f)(np.ones(3), kind())
        return
    jitted = tnp.jit(f, strict=True)
    for _ in range(2):
        mine, others = kind(), kind()
        assert_same(jitted(np.arange(3.0), mine), f(np.arange(3.0), others))
        assert vars(mine) == vars(others)


def test_a_name_that_changes():
    jitted, o = tnp.jit(named, strict=True), Backend()
    for name in ("base", "other", "base"):
        o.__name__ = name
        assert_same(jitted(np.arange(3.0), o), named(np.arange(3.0), o))

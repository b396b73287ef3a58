"""Versions of classes: an equal one says that nothing in a class and what it inherits from has changed."""

import sys

import numpy as np
import pytest

import tnp
from tnp.capture.objects.type_versions import version_of


def test_a_version_is_gone_when_something_changes():
    class Base:
        pass

    class Derived(Base):
        pass

    version = version_of(Derived)
    if (
        version is None
    ):  # another interpreter than CPython, or a build of it without them: classes are compared attribute by attribute there
        pytest.skip(f"{sys.implementation.name} {sys.version_info} keeps no versions that are known")
    seen = {version.value}
    for kind in (Base, Derived):
        kind.number = 1
        assert version.value == 0
        assert Derived().number == 1
        assert version.value not in seen, "it is given once"
        seen.add(version.value)
        del kind.number
        assert version.value == 0
        assert not hasattr(Derived(), "number")


class Scale:
    factor = 2.0

    def apply(self, x):
        return x * self.factor


def test_methods_that_change_are_seen():
    scale, x = Scale(), np.arange(3.0)
    jitted = tnp.jit(lambda x: scale.apply(x) + 1)
    np.testing.assert_array_equal(jitted(x), [1, 3, 5])
    before = Scale.apply
    try:
        Scale.apply = lambda self, x: x - 1
        np.testing.assert_array_equal(jitted(x), x)
        Scale.apply = before
        np.testing.assert_array_equal(jitted(x), [1, 3, 5])
        Scale.factor = 3.0
        np.testing.assert_array_equal(jitted(x), [1, 4, 7])
    finally:
        Scale.apply, Scale.factor = before, 2.0
    assert tnp.cache_info(jitted).size <= 3

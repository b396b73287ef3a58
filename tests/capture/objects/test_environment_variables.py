"""Variables of ``os.environ`` that a program reads are guarded, each by itself."""

import os

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

NAME = "TNP_TEST_MODE"


def by_mode(x):
    if os.environ.get(NAME) == "double":
        return x * 2
    if NAME in os.environ:
        return x * int(os.environ[NAME])
    return x + (1 if os.environ.get("TNP_TEST_MISSING", "none") == "none" else 2)


def test_variables_are_guarded(monkeypatch):
    jitted, x = tnp.jit(by_mode, strict=True), np.arange(4.0)
    for value in (None, "double", "3", "4", None, "3"):
        monkeypatch.delenv(NAME, raising=False)
        if value is not None:
            monkeypatch.setenv(NAME, value)
        assert_same(jitted(x), by_mode(x))
    assert tnp.cache_info(jitted).misses == 4
    monkeypatch.setenv("TNP_TEST_UNREAD", "1")
    assert_same(jitted(x), by_mode(x))
    assert tnp.cache_info(jitted).misses == 4


@pytest.mark.filterwarnings("ignore:.* runs :tnp.EagerFallbackWarning")
def test_a_variable_that_is_missing_or_changed(monkeypatch):
    def missing(x):
        return x * float(os.environ["TNP_TEST_MISSING"])

    def changed(x):
        os.environ[NAME] = str(len(x))
        return x * int(os.environ[NAME]), len(os.environ)

    monkeypatch.setenv(NAME, "2")
    with pytest.raises(KeyError, match="TNP_TEST_MISSING"):
        tnp.jit(missing)(np.ones(3))
    jitted = tnp.jit(changed)
    for n in (3, 4, 3):
        assert_same(jitted(np.ones(n)), changed(np.ones(n)))

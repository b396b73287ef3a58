"""Code on the disk is found by what a region does: the same for the same, another for anything that changes the code."""

import numpy as np
import pytest

import tnp
from tnp.executors import llvm
from tnp.executors.llvm import identity
from tnp.executors.llvm.loop_ir import fixed_region
from tnp.runtime import disk_cache, engine

pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="no native code here")


class _Empty(dict):
    """Keeps nothing: code is found on the disk alone."""

    def __setitem__(self, key, value):
        pass


@pytest.fixture
def emitted(monkeypatch, tmp_path):
    """Calls of the code generator, with a disk cache that is empty at first."""
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TNP_DISABLE_CACHE", raising=False)
    monkeypatch.setattr(engine, "_linked", _Empty())
    calls = []
    emit = fixed_region.emit
    monkeypatch.setattr(fixed_region, "emit", lambda *args, **kwargs: calls.append(args) or emit(*args, **kwargs))
    return calls


def scaled(x, y):
    z = x * 2.5 + y
    z[1:-1] = np.sqrt(z[:-2])
    return z, z.sum()


def same_by_other_names(first, second):
    third = first * 2.5 + second
    third[1:-1] = np.sqrt(third[:-2])
    return third, third.sum()


def other_constant(x, y):
    z = x * 2.75 + y
    z[1:-1] = np.sqrt(z[:-2])
    return z, z.sum()


def other_places(x, y):
    z = x * 2.5 + y
    z[1:-1] = np.sqrt(z[2:])
    return z, z.sum()


X = np.linspace(0.5, 2.0, 24)


def run(f, x=X, y=X):
    expected, found = f(x, y), tnp.jit(f)(x, y)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


def test_code_is_found_without_writing_it_again(emitted):
    run(scaled)
    assert len(emitted) == 1
    run(scaled)
    run(same_by_other_names)
    assert len(emitted) == 1


@pytest.mark.parametrize(
    "f, x",
    [
        (other_constant, X),
        (other_places, X),
        (scaled, X[:12]),
        (scaled, np.repeat(X, 2)[::2]),
        (scaled, X.astype(np.float32)),
    ],
)
def test_what_changes_the_code_has_code_of_its_own(emitted, f, x):
    run(scaled)
    run(f, x, x)
    assert len(emitted) == 2


def test_a_kernel_found_on_disk_is_explained(emitted):
    texts = []
    for _ in range(2):
        f = tnp.jit(scaled)
        f(X, X)
        texts.append([line for line in str(tnp.explain(f)).splitlines() if "loops" in line or "kernel" in line])
    assert texts[0] and texts[0] == texts[1]


def test_what_is_lost_or_was_written_by_other_source_is_made_again(emitted, monkeypatch):
    run(scaled)
    for file in disk_cache.folder().glob("*.o"):
        if b'"interface"' not in file.read_bytes():
            file.unlink()  # the objects; what leads to them stays
    run(scaled)
    assert len(emitted) == 2
    monkeypatch.setattr(identity, "_sources", lambda: "other source")
    run(scaled)
    assert len(emitted) == 3
    monkeypatch.setattr(identity, "_sources", lambda: None)
    run(scaled)
    run(scaled)
    assert len(emitted) == 5


def test_values_are_written_exactly():
    def text(x):
        return identity._Writer().text(x)

    different = [
        0.0,
        -0.0,
        0,
        False,
        1,
        1.0,
        True,
        1 + 0j,
        "1",
        (1,),
        ((1,),),
        (),
        None,
        np.nan,
        slice(1),
        slice(None, 1, 1),
    ]
    assert len({text(x) for x in different}) == len(different)
    assert text(0.1 + 0.2) != text(0.3)
    with pytest.raises(identity._Unknown):
        text(object())

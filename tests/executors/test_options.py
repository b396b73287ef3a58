"""Options of executors: variants by name and by ``with_options``, one object each, wherever executors are named."""

import copy
import pickle
import re
import threading
import time
from types import MappingProxyType

import numpy as np
import pytest

import tnp
from tnp.__main__ import main
from tnp.executors import registry
from tnp.executors.options import identifier, names_in, split
from tnp.extend import OperatorExecutor, TensorProxy
from tnp.testing import assert_same

pytestmark = pytest.mark.usefixtures("executors_as_before")

X = np.arange(6.0).reshape(2, 3) + 1


class Counting(OperatorExecutor):
    """An executor with options, of an extension."""

    options = MappingProxyType({"loud": "says so", "slow": "takes its time", "twice": "does it again"})

    def make_variant(self, options):
        if "slow" in options:
            time.sleep(0.01)  # others may ask for it meanwhile
        return super().make_variant(options)


@pytest.fixture
def counting():
    return tnp.extend.register_executor(Counting("counting", version="0.1"))


def operations(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].body]


# Names


def test_options_in_any_order_are_one_variant(counting):
    both = counting.with_options("twice", "loud")
    assert both.name == "counting[loud,twice]" and both.version == "0.1" and type(both) is Counting
    assert both.chosen_options == {"loud", "twice"} and both.plain is counting
    same = [
        counting.with_options("loud").with_options("twice"),
        both.with_options("loud"),
        both.with_options(),
        tnp.extend.get_executor("counting[twice,loud]"),
        tnp.extend.get_executor("counting[loud, twice, loud]"),
    ]
    assert all(e is both for e in same)
    assert counting.with_options() is counting and tnp.extend.get_executor("counting") is counting


def test_options_that_are_not_there(counting):
    unknown = "the executor counting has no option 'lou'; it has loud, slow, twice"
    for ask in (
        lambda: counting.with_options("lou"),
        lambda: counting.with_options("loud").with_options("lou"),
        lambda: tnp.extend.get_executor("counting[loud,lou]"),
        lambda: tnp.jit(np.sin, executors=["counting[lou]"]),
        lambda: Counting("counting", options=["lou"]),
    ):
        with pytest.raises(ValueError, match=re.escape(unknown)):
            ask()
    with pytest.raises(ValueError, match=r"the executor python has no option 'x', 'y'; it has none"):
        tnp.set_default_executors(["python[y,x]"])


@pytest.mark.parametrize(
    "name", ["numpy[]", "numpy[prims", "numpyprims]", "[prims]", "numpy[prims][prims]", "abacus[prims]"]
)
def test_what_is_no_name(name):
    assert tnp.extend.get_executor(name) is None
    with pytest.raises(ValueError, match=re.escape(f"there is no executor {name!r} here; known are ")):
        tnp.jit(np.sin, executors=[name])


@pytest.mark.parametrize("old", ["numpy_prims", "llvm_everything", "torch_prims", "triton_random", "nvfuser_cupy"])
def test_variants_have_no_names_of_their_own(old):
    assert tnp.extend.get_executor(old) is None and old not in registry.known_names()


def test_names_among_commas():
    assert names_in("a,b[c,d],e[f]") == ["a", "b[c,d]", "e[f]"]
    assert split("b[c, d]") == ("b", ("c", "d"))


def test_a_name_with_options_cannot_be_registered(counting):
    for executor in (OperatorExecutor("counting[loud]"), counting.with_options("loud"), OperatorExecutor("llvm[x]")):
        with pytest.raises(ValueError, match="names options"):
            tnp.extend.register_executor(executor)


# Variants


def test_threads_get_one_variant():
    executor = Counting("in_threads")
    barrier, found = threading.Barrier(8), []

    def ask():
        barrier.wait()
        found.append(executor.with_options("slow"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8 and len({id(e) for e in found}) == 1


def test_a_variant_runs_what_its_executor_runs_but_for_what_is_its_own(counting):
    def registered(executor, name, fn):
        op = executor.register_operator(name, meta=lambda a: TensorProxy(like=a), fn=fn)
        executor.register_implementation("numpy.sin", op)

    registered(counting, "first", np.sin)
    loud = counting.with_options("loud")
    f = tnp.jit(lambda x: np.sin(x), executors=[loud])
    assert_same(f(X), np.sin(X))
    assert operations(f) == ["first"]
    registered(counting, "second", lambda a: np.sin(a) + 1)  # programs compiled with the variant use it
    assert_same(f(X), np.sin(X) + 1)
    registered(loud, "third", lambda a: np.sin(a) + 2)
    assert_same(f(X), np.sin(X) + 2)
    g = tnp.jit(lambda x: np.sin(x), executors=[counting])
    assert_same(g(X), np.sin(X) + 1)


def test_the_numpy_executor_opens_functions_with_prims():
    whole, opened = (tnp.jit(lambda x: np.var(x), executors=[name]) for name in ("numpy", "numpy[prims]"))
    assert_same(whole(X), np.var(X))
    np.testing.assert_allclose(opened(X), np.var(X))
    assert operations(whole) == ["var"] and len(operations(opened)) > 1


def test_regions_of_a_variant_have_names_of_python():
    assert identifier("llvm[everything]") == "llvm_everything"
    f = tnp.jit(lambda x: x + 1, executors=["llvm[everything]"])
    assert_same(f(X), X + 1)
    assert operations(f) == ["llvm_everything_fusion0"]


def test_relaxed_arithmetic_keeps_the_options():
    everything = tnp.extend.get_executor("llvm[everything]")
    relaxed = everything.with_fastmath()
    assert relaxed.fast and relaxed.everything and relaxed.name == everything.name
    assert relaxed is everything.plain.with_fastmath().with_options("everything") is relaxed.with_fastmath()
    assert not everything.fast and not everything.plain.everything


# Lists, pickles, info


def test_default_executors_with_options(counting):
    tnp.set_default_executors(["llvm[everything]"])
    tnp.extend.add_default_executor("counting[twice,loud]")
    assert [e.name for e in tnp.get_default_executors()] == ["counting[loud,twice]", "llvm[everything]"]
    f = tnp.jit(lambda x: x + 1)
    f(X)
    assert operations(f) == ["llvm_everything_fusion0"]
    tnp.extend.remove_default_executor("counting[twice, loud]")
    assert [e.name for e in tnp.get_default_executors()] == ["llvm[everything]"]
    tnp.set_default_executors(["numpy"])
    f(X)
    assert operations(f) == ["add"]


def test_a_variant_is_forgotten_with_its_executor(counting):
    tnp.extend.add_default_executor(counting.with_options("loud"))
    f = tnp.jit(lambda x: x + 1, executors=["counting[loud]"])
    f(X)
    tnp.extend.deregister_executor("counting")
    assert [e.name for e in tnp.get_default_executors()] == ["llvm"]
    with pytest.raises(ValueError, match=r"there is no executor 'counting\[loud\]' here"):
        f(X)
    with pytest.raises(ValueError, match="one of tnp's own"):
        tnp.extend.deregister_executor("llvm[everything]")


def test_always_executors_with_options():
    tnp.extend.set_always_executors(["python", "numpy[prims]", "torch_functions[prims]"])
    behind = tnp.extend.get_always_executors(["numpy"])
    assert [e.name for e in behind] == ["python", "numpy[prims]"]  # no tensors there
    assert_same(tnp.jit(lambda x: np.flip(x), executors=[])(X), np.flip(X))


@pytest.mark.parametrize("name", ["llvm", "llvm[everything]", "numpy[prims]", "counting[loud]"])
def test_known_executors_are_pickled_by_name(counting, name):
    executor = tnp.extend.get_executor(name)
    assert pickle.loads(pickle.dumps(executor)) is executor
    assert copy.deepcopy(executor) is executor
    f = pickle.loads(pickle.dumps(tnp.jit(np.sin, executors=[executor])))
    assert f.options["executors"] == (executor,)
    assert_same(f(X), np.sin(X))


def test_a_pickle_of_an_executor_that_is_not_there(counting):
    data = pickle.dumps(counting.with_options("loud"))
    tnp.extend.deregister_executor(counting)
    with pytest.raises(ValueError, match=r"there is no executor 'counting\[loud\]' here; known are "):
        pickle.loads(data)


def test_info_lists_executors_with_their_options(counting, capsys):
    tnp.set_default_executors(["llvm[everything]"])
    main(["info"])
    told = capsys.readouterr().out
    assert "\n  counting: available; options: loud, slow, twice\n" in told
    assert "\n  llvm: available, by default as llvm[everything]; options: everything\n" in told
    assert not re.search(r"^  \w+\[", told, re.M)
    assert {e.name for e in tnp.get_all_executors()}.isdisjoint({"numpy[prims]", "llvm[everything]"})

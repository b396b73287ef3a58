"""Modules that torch.distributed has wrapped or sharded, around jitted ones and inside of them: one process, of gloo.

It is a process of its own: what PyTorch keeps of a group of processes hangs in children that other tests fork.
"""

import os
import subprocess
import sys

import pytest

import tnp

torch = pytest.importorskip("torch")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    pytest.skip("torch is built without gloo", allow_module_level=True)

from tests.torch_cases import check  # noqa: E402

APART = "TNP_TEST_DISTRIBUTED"
apart = pytest.mark.skipif(APART not in os.environ, reason="test_in_a_process_of_its_own runs it")


@pytest.mark.skipif(APART in os.environ, reason="this is that process")
def test_in_a_process_of_its_own():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", __file__]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, APART: "1"})
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]


@pytest.fixture(scope="module")
def process_group(tmp_path_factory):
    store = torch.distributed.FileStore(str(tmp_path_factory.mktemp("group") / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


def losses(module, call):
    """Those of three steps of training."""
    optimizer, x, found = torch.optim.SGD(module.parameters(), 0.1), torch.arange(12.0).reshape(3, 4) / 5, []
    for _ in range(3):
        loss = call(x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss)
    return found


def sharded(module):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    return fully_shard(module, mesh=init_device_mesh("cpu", (1,)))


def jitted_and_sharded(jit):
    module = network()
    return losses(module, sharded(jit(module)))


def sharded_and_jitted(jit):
    module = network()
    sharded(module[0])
    return losses(module, jit(sharded(module)))


def sharded_inside(jit):
    module = network()
    sharded(module[0])
    return losses(module, jit(lambda x: module(x) * 1))


def jitted_parts_sharded(jit):
    module = network()
    module[0] = jit(module[0])
    return losses(module, sharded(module))


def replicated(jit):
    wrapped = torch.nn.parallel.DistributedDataParallel(network())
    return losses(wrapped, jit(wrapped))


def jitted_and_replicated(jit):
    wrapped = torch.nn.parallel.DistributedDataParallel(jit(network()))
    return losses(wrapped, wrapped)


def reduced_by_hand(jit):
    def f(x):
        y = x * 2
        torch.distributed.all_reduce(y)
        return y + torch.distributed.get_world_size()

    j = jit(f)
    return j(torch.ones(3)), j(torch.ones(3))


@apart
@pytest.mark.usefixtures("process_group")
@pytest.mark.filterwarnings("ignore")  # torch's own
@pytest.mark.parametrize(
    "case, compiles",
    [
        (jitted_and_sharded, False), (sharded_and_jitted, False), (sharded_inside, False), (jitted_parts_sharded, True),
        (replicated, False), (jitted_and_replicated, True), (reduced_by_hand, False),
    ],
)  # fmt: skip
def test_distributed(case, compiles):
    check(case, compiles)


@apart
@pytest.mark.usefixtures("process_group")
def test_a_sharded_module_is_not_half_initialised():
    module = network()
    with pytest.warns(tnp.EagerFallbackWarning, match="is a FSDPSequential"):
        tnp.jit(sharded(module))(torch.ones(2, 4))
    module(torch.ones(2, 4)).sum().backward()
    assert module[0].weight.grad is not None

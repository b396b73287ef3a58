"""How the triton executor launches kernels that Triton has compiled: without Triton, on memory of the CPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests import triton_regions as regions  # noqa: E402
from tnp.executors.triton import launch  # noqa: E402
from tnp.executors.triton.emit import generate  # noqa: E402
from tnp.executors.triton.graph import lower  # noqa: E402
from tnp.executors.triton.index import row_major  # noqa: E402
from tnp.executors.triton.schedule import schedule  # noqa: E402


class Kernel:
    """What ``@triton.jit`` makes: a launch compiles it, and gives what launches it again."""

    def __init__(self):
        self.compiled = []
        self.launched = []

    def __getitem__(self, grid):
        def compile_and_launch(*args, num_warps, enable_fp_fusion, **constants):
            self.compiled.append((grid, args, constants))
            return Compiled(self)

        return compile_and_launch


class Compiled:
    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        return lambda *args: self.kernel.launched.append((grid, args))


def program_of(function, *args):
    """The program of a function that is one region, and its kernels."""
    recorder = regions.Recorder()
    made = []
    recorder.fuse = lambda region, name: made.append(region)
    regions.tnp.jit(function, executors=[recorder])(*args)
    (region,) = made
    graph = lower(region.bound_symbols, region.inputs, region.outputs)
    strides = [row_major(n.shape) for n in graph.inputs if n.op == "input"]
    launches = generate(graph, schedule(graph), strides)
    kernels = [Kernel() for _ in launches]
    return launch._Program(graph, launches, kernels), kernels


def test_a_second_launch_is_of_what_the_first_compiled():
    program, (kernel,) = program_of(regions.with_numbers, np.ones((3, 5)), 0.1, 2)
    x = torch.ones(3, 5, dtype=torch.float64)
    for _ in range(3):
        (made,) = program(x, 0.1, 2)
    assert len(kernel.compiled) == 1
    assert len(kernel.launched) == 2
    (grid, (loaded, *numbers, stored, block)) = kernel.launched[-1]
    assert grid == (1, 1, 1)
    assert (loaded, stored) == (x.data_ptr(), made.data_ptr())
    assert numbers == [launch._bits(0.1), 2]
    assert block == dict(kernel.compiled[0][2])["XBLOCK"]


@pytest.mark.parametrize("other", ["alignment", "width of an integer"])
def test_what_triton_tells_apart_is_compiled_again(other):
    program, (kernel,) = program_of(regions.with_numbers, np.ones((3, 5)), 0.1, 2)
    x = torch.ones(16, dtype=torch.float64)[:15].view(3, 5)
    program(x, 0.1, 2)
    if other == "alignment":
        program(torch.ones(16, dtype=torch.float64)[1:].view(3, 5), 0.1, 2)
    else:
        program(x, 0.1, 2**31)
    assert (len(kernel.compiled), len(kernel.launched)) == (2, 0)
    program(x, 0.1, 3)
    assert (len(kernel.compiled), len(kernel.launched)) == (2, 1)

"""PyTorch models through ``tnp.jit`` against eager torch: whether they are right, and which way they run.

    python benchmarks/models.py                 # inference and training of every small model of tests/models
    python benchmarks/models.py --parts speed   # times of larger ones, beside eager, torch.compile and thunder, where that is installed
    python benchmarks/models.py GPT Llama       # the models with these in their names

A model runs *native* if it is one program of operations that the torch language defines, *opaque* if some of them are calls of torch's
function that it does not (they are named), *eager* if tnp leaves the model to torch, and why. Those that are eager are run through
``torch.compile(model, backend="tnp")``, too. Models of the ``transformers`` package are left out where that is not installed.
``--write benchmarks/results/models.md`` keeps the tables.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib.util
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from costs import module_dispatch
from pages import wrapped

import tnp
from tnp.runtime import allocator

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.models import MODELS, Model, compared, tensors_in
from tests.models.language import GPT, Encoder
from tests.models.vision import MLP, ResNet18


def chosen(names: list[str]) -> list[Model]:
    """The models with one of ``names`` in theirs; all if there are no names."""
    found = list(MODELS)
    if importlib.util.find_spec("transformers") is not None:
        from tests.models.transformers import MODELS as FROM_TRANSFORMERS

        found += FROM_TRANSFORMERS
    return [m for m in found if not names or any(n.lower() in m.name.lower() for n in names)]


def way(jitted: Any) -> str:
    """How the last program of a jitted module runs."""
    lines = str(tnp.explain(jitted)).splitlines()
    if not any(line.startswith("program 0") for line in lines):
        return "eager"
    if "program 0: eager" in lines:
        reason = lines[lines.index("program 0: eager") + 1].partition("runs eagerly: ")[2]
        return f"eager: {reason.split(' (/')[0]}"
    opaque = sorted({line.split()[2] for line in lines if line.strip().startswith("opaque call: ")})
    return f"opaque: {', '.join(opaque)}" if opaque else "native"


def inference(model: Model) -> list[str]:
    """A row of the table: the model's way, its largest difference from eager, and the seconds of its first call."""
    module, inputs = model.made()
    with torch.no_grad():
        expected = module(**inputs)
        jitted = tnp.jit(module)
        start = time.perf_counter()
        jitted(**inputs)
        first = time.perf_counter() - start
        taken, difference = way(jitted), compared(jitted(**inputs), expected)
        if taken.startswith("eager"):
            compiled = torch.compile(module, backend="tnp")
            difference = max(difference, compared(compiled(**inputs), expected))
            taken += "; right through Dynamo"
    return [model.name, taken, f"{difference:.0e}", f"{first:.2f}"]


def loss_of(result: Any) -> torch.Tensor:
    """A loss that depends on every tensor of a result that has a gradient."""
    return sum(t.square().mean() for t in tensors_in(result) if t.requires_grad)


def step(function: Any, module: torch.nn.Module, inputs: dict[str, Any]) -> dict[str, Any]:
    """The loss, the gradients, and what an optimizer makes of the parameters and the model of its buffers."""
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-2, momentum=0.9)
    loss = loss_of(function(**inputs))
    loss.backward()
    gradients = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    optimizer.step()
    return {"loss": loss.detach(), "gradients": gradients, "state": dict(module.state_dict())}


def training(model: Model) -> list[str]:
    """A row of the table: the way of the forward program, and the largest difference of two optimizer steps."""
    (eager, inputs), (mine, _) = model.made(training=True), model.made(training=True)
    jitted = tnp.jit(mine)
    difference, start = 0.0, time.perf_counter()
    first = 0.0
    for _ in range(2):
        found = step(jitted, mine, inputs)
        first = first or time.perf_counter() - start
        expected = step(eager, eager, inputs)
        assert found["gradients"].keys() == expected["gradients"].keys()
        difference = max(difference, compared(found, expected, rtol=1e-3, atol=1e-3))
        mine.load_state_dict(eager.state_dict())
        mine.zero_grad(), eager.zero_grad()
    return [model.name, way(jitted), f"{difference:.0e}", f"{first:.2f}"]


class Timed(NamedTuple):
    """A model that is timed: the module, what it is called with, and whether a step of training is timed or a call under ``no_grad``."""

    name: str
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[], dict[str, Any]]
    trains: bool = False

    def call(self, function: Any, module: torch.nn.Module, inputs: dict[str, Any]) -> Any:
        """What is timed: a call, or the loss and the gradients of all parameters."""
        if not self.trains:
            return function(**inputs)
        module.zero_grad()
        loss = function(**inputs)[1]
        loss.backward()
        return {"loss": loss.detach(), "gradients": {n: p.grad for n, p in module.named_parameters()}}


def tokens(vocabulary: int, *names: str) -> dict[str, Any]:
    return {name: torch.randint(0, vocabulary, (8, 256)) for name in names}


SPEED = (
    Timed("MLP, batch 1", lambda: MLP(64, 256, 256, 10), lambda: {"x": torch.randn(1, 64)}),
    Timed(
        "GPT, 6 layers, width 384, 8 × 256, a step of training",
        lambda: GPT(65, 256, layers=6, heads=6, width=384),
        lambda: tokens(65, "tokens", "targets"),
        trains=True,
    ),
    Timed(
        "GPT, 6 layers, width 384, 8 × 256",
        lambda: GPT(65, 256, layers=6, heads=6, width=384),
        lambda: tokens(65, "tokens"),
    ),
    Timed(
        "encoder, 4 layers, width 256, 8 × 128",
        lambda: Encoder(1000, 128, layers=4, heads=4, width=256),
        lambda: {"tokens": torch.randint(0, 1000, (8, 128))},
    ),
    Timed("ResNet-18, 1 × 3 × 224 × 224", ResNet18, lambda: {"x": torch.randn(1, 3, 224, 224)}),
)
#: methods that thunder 0.2.6 registers and torch 2.13 no longer has: thunder cannot be imported without them, and no model calls one
GONE = ("align_as", "align_to", "has_names", "refine_names", "rename")


def compilers(names: list[str]) -> dict[str, Callable[[torch.nn.Module], Any]]:
    """tnp and the peers that are there, each a function that compiles a module."""
    found: dict[str, Callable[[torch.nn.Module], Any]] = {"tnp": tnp.jit}
    if "inductor" in names:
        found["torch.compile"] = torch.compile
    if "thunder" in names and importlib.util.find_spec("thunder") is not None:
        for name in GONE:
            if not hasattr(torch.Tensor, name):
                setattr(torch.Tensor, name, _gone(name))
        found["thunder"] = importlib.import_module("thunder").jit
    return found


def _gone(name: str) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(name)

    method.__name__ = name
    return method


def best_times(calls: list[Callable[[], Any]], seconds: float) -> list[float]:
    """The least seconds a call of each takes, all called in turns for as long as that."""
    best = [float("inf")] * len(calls)
    end = time.perf_counter() + seconds
    while True:
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
        if time.perf_counter() > end:
            return best


def resident(what: str) -> int:
    """The bytes of this process in memory, now (``VmRSS``) or at most (``VmHWM``)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(what))


def peak(timed: Timed, by: str, peers: list[str]) -> int:
    """The bytes by which memory grows at most in a call by a contestant, which has been called before: arguments, parameters and what was
    compiled are there already, and memory kept for later has been given back, tnp's and the C library's. Linux says it."""
    torch.manual_seed(0)
    module, inputs = timed.make().train(timed.trains), timed.inputs()
    function = module if by == "eager" else compilers(peers)[by](module)
    with torch.set_grad_enabled(timed.trains):
        for _ in range(2):
            timed.call(function, module, inputs)
        module.zero_grad()
        gc.collect()
        allocator.trim()
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = resident("VmRSS")
        timed.call(function, module, inputs)
    return resident("VmHWM") - before


def peak_in_fresh_process(timed: Timed, by: str, peers: list[str]) -> str:
    """:func:`peak` in MB, as text; "?" where the system does not say it."""
    command = [sys.executable, __file__, timed.name, "--peak", by, "--peers", ",".join(peers)]
    done = subprocess.run(command, capture_output=True, text=True)
    return f"{int(done.stdout.split()[-1]) / 1e6:.1f}" if done.returncode == 0 else "?"


def speed(names: list[str], seconds: float, peers: list[str]) -> Iterator[list[str]]:
    """A row a model and a contestant: its time, eager's over that, the seconds of its first call, and its peak of memory in MB."""
    for timed in SPEED:
        if names and not any(n.lower() in timed.name.lower() for n in names):
            continue
        torch.manual_seed(0)
        module, inputs = timed.make().train(timed.trains), timed.inputs()
        torch._dynamo.reset()
        functions, first = {"eager": module}, {"eager": 0.0}
        with torch.set_grad_enabled(timed.trains):
            expected = timed.call(module, module, inputs)
            for name, compiled in compilers(peers).items():
                try:
                    function = compiled(module)
                    start = time.perf_counter()
                    found = timed.call(function, module, inputs)
                except Exception as error:  # a peer's own
                    if name == "tnp":
                        raise
                    print(
                        f"{name}: {timed.name}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr
                    )
                    continue
                first[name] = time.perf_counter() - start
                compared(found, expected, rtol=1e-3, atol=1e-3)
                functions[name] = function
            calls = [lambda f=f: timed.call(f, module, inputs) for f in functions.values()]
            times = best_times(calls, seconds)
        for name, t in zip(functions, times):
            most = peak_in_fresh_process(timed, name, peers)
            yield [timed.name, name, f"{t * 1e3:.3f}", f"{times[0] / t:.2f}", f"{first[name]:.2f}", most]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


#: what there is to do, in order
PARTS = ("inference", "training", "speed")


def told(rows: Iterable[list[str]]) -> list[list[str]]:
    """The rows, each printed when it is there."""
    found = []
    for row in rows:
        print("  ".join(row), flush=True)
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models with one of these in their names")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS[:2], help="what to do")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long a model is timed")
    parser.add_argument("--peers", default="inductor,thunder", help="those that are there of these")
    parser.add_argument("--write", type=Path, help="where the tables go")
    parser.add_argument(
        "--peak", help="print how many bytes a call by this contestant takes at most, of the model of that very name"
    )
    given = parser.parse_args()
    if given.peak is not None:
        (timed,) = (t for t in SPEED if [t.name] == given.names)
        print(peak(timed, given.peak, given.peers.split(",")))
        return
    warnings.simplefilter("ignore")
    text = "# PyTorch models through tnp\n\n"
    text += f"torch {torch.__version__}, tnp {tnp.__version__}, {platform.machine()}. Made by `benchmarks/models.py --parts "
    text += f"{' '.join(given.parts)}`.\n"
    if "inference" in given.parts:
        text += "\n## Inference\n\n"
        text += table(
            ["model", "way", "difference from eager", "first call, s"], told(map(inference, chosen(given.names)))
        )
    if "training" in given.parts:
        text += "\n## Training: loss, gradients, buffers, and parameters after a step of SGD\n\n"
        text += table(
            ["model", "way", "difference from eager", "first step, s"], told(map(training, chosen(given.names)))
        )
    if "speed" in given.parts:
        text += "\n## Times\n\nfloat32, the best of calls in turns; more than 1 is faster than eager. The peak is by how many MB memory grows at most in a\n"
        text += "call, in a process of its own.\n\n"
        head = ["model", "by", "ms", "eager : it", "first call, s", "peak, MB"]
        text += table(head, told(speed(given.names, given.seconds, given.peers.split(","))))
        text += "\n## A call of a module on tensors of one element, µs\n\n"
        found = module_dispatch().items()
        rows = ([name, *(f"{seconds * 1e6:.1f}" for seconds in times.values())] for name, times in found)
        text += table(["module", "eager", "tnp"], told(rows))
    if given.write is not None:
        given.write.write_text(wrapped(text))


if __name__ == "__main__":
    main()

"""PyTorch models through ``tnp.jit`` against eager torch: whether they are right, and which way they run.

    python benchmarks/models.py                 # inference of every small model of tests/models
    python benchmarks/models.py --speed         # times of four larger ones, beside eager and torch.compile
    python benchmarks/models.py GPT Llama       # the models with these in their names

A model runs *native* if it is one program of operations that the torch language defines, *opaque* if some of them are calls of torch's
function that it does not (they are named), *eager* if tnp leaves the model to torch, and why. Those that are eager are run through
``torch.compile(model, backend="tnp")``, too. Models of the ``transformers`` package are left out where that is not installed.
``--write benchmarks/results/models.md`` keeps the tables.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from costs import module_dispatch

import tnp

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from models import MODELS, Model, compared, tensors_in
from models.language import GPT, Encoder
from models.vision import MLP, ResNet18


def chosen(names: list[str]) -> list[Model]:
    """The models with one of ``names`` in theirs; all if there are no names."""
    found = list(MODELS)
    if importlib.util.find_spec("transformers") is not None:
        from models.transformers import MODELS as FROM_TRANSFORMERS

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


#: what is timed: the module, its inputs, and whether it is called under ``no_grad``
SPEED: tuple[tuple[str, Callable[[], torch.nn.Module], Callable[[], dict[str, Any]]], ...] = (
    ("MLP, batch 1", lambda: MLP(64, 256, 256, 10), lambda: {"x": torch.randn(1, 64)}),
    (
        "GPT, 6 layers, width 384, 8 × 256",
        lambda: GPT(65, 256, layers=6, heads=6, width=384),
        lambda: {"tokens": torch.randint(0, 65, (8, 256))},
    ),
    (
        "encoder, 4 layers, width 256, 8 × 128",
        lambda: Encoder(1000, 128, layers=4, heads=4, width=256),
        lambda: {"tokens": torch.randint(0, 1000, (8, 128))},
    ),
    ("ResNet-18, 1 × 3 × 224 × 224", ResNet18, lambda: {"x": torch.randn(1, 3, 224, 224)}),
)


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


def speed(names: list[str], seconds: float, peers: list[str]) -> list[list[str]]:
    """A row a model: eager's time, the others' times over it, and the seconds of the first calls."""
    rows = []
    for name, make, inputs_of in SPEED:
        if names and not any(n.lower() in name.lower() for n in names):
            continue
        torch.manual_seed(0)
        module, inputs = make().eval(), inputs_of()
        contestants = {"tnp": tnp.jit(module)}
        if "inductor" in peers:
            torch._dynamo.reset()
            contestants["torch.compile"] = torch.compile(module)
        with torch.no_grad():
            expected, first = module(**inputs), []
            for function in contestants.values():
                start = time.perf_counter()
                found = function(**inputs)
                first.append(time.perf_counter() - start)
                compared(found, expected, rtol=1e-3, atol=1e-3)
            functions = [module, *contestants.values()]
            times = best_times([lambda f=f: f(**inputs) for f in functions], seconds)
        ratios = [f"{times[0] / t:.2f}" for t in times[1:]]
        ratios += ["–"] * (2 - len(ratios))
        cold = [f"{s:.2f}" for s in first] + ["–"] * (2 - len(first))
        rows.append([name, f"{times[0] * 1e3:.3f}", *ratios, *cold])
        print("  ".join(rows[-1]), flush=True)
    return rows


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models with one of these in their names")
    parser.add_argument("--speed", action="store_true", help="times, too")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long a model is timed")
    parser.add_argument("--peers", default="inductor", help="'inductor', or '' for eager alone")
    parser.add_argument("--write", type=Path, help="where the tables go")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    text = "# PyTorch models through tnp\n\n"
    text += f"torch {torch.__version__}, tnp {tnp.__version__}, {platform.machine()}. Made by `benchmarks/models.py"
    text += f"{' --speed' if given.speed else ''}`.\n\n## Inference\n\n"
    rows = []
    for model in chosen(given.names):
        rows.append(inference(model))
        print("  ".join(rows[-1]), flush=True)
    text += table(["model", "way", "difference from eager", "first call, s"], rows)
    text += "\n## Training: loss, gradients, buffers, and parameters after a step of SGD\n\n"
    rows = []
    for model in chosen(given.names):
        rows.append(training(model))
        print("training  " + "  ".join(rows[-1]), flush=True)
    text += table(["model", "way", "difference from eager", "first step, s"], rows)
    if given.speed:
        text += "\n## Times of inference\n\nfloat32, ratios of eager's time to that of each: more than 1 is faster than eager.\n\n"
        head = ["model", "eager, ms", "tnp", "torch.compile", "tnp's first call, s", "torch.compile's"]
        text += table(head, speed(given.names, given.seconds, given.peers.split(",")))
        text += "\n## A call of a module on tensors of one element, µs\n\n"
        found = module_dispatch()
        rows = [[name, *(f"{seconds * 1e6:.1f}" for seconds in times.values())] for name, times in found.items()]
        print(rows)
        text += table(["module", "eager", "tnp"], rows)
    if given.write is not None:
        given.write.write_text(text)


if __name__ == "__main__":
    main()

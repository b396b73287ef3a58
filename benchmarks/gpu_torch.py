"""The part of benchmarks/gpu.py about tensors: a training step of nanoGPT in bfloat16, and what a call costs, with CUDA graphs and without."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tnp

__all__ = ["lines"]

#: of GPT-2 (124M): tokens that there are, tokens of a text, blocks, heads, width; and texts of a step
GPT_2 = {"vocabulary": 50304, "context": 1024, "layers": 12, "heads": 12, "width": 768}
TEXTS = 8


def _small(x: Any, y: Any) -> Any:
    return (x * 2 + y).relu() - x


def _step(call: Callable[..., Any], model: Any, texts: int) -> Callable[[], Any]:
    """A step of training: forwards, backwards, AdamW."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    size = (texts, GPT_2["context"])
    tokens, targets = (torch.randint(GPT_2["vocabulary"], size, device="cuda") for _ in range(2))

    def step() -> Any:
        optimizer.zero_grad()
        _, loss = call(tokens, targets)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _training(texts: int) -> dict[str, Callable[[], Callable[[], Any]]]:
    import torch

    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.models.language import GPT

    def version(around: Callable[[Any], Any]) -> Callable[[], Callable[[], Any]]:
        def make() -> Callable[[], Any]:
            torch.manual_seed(0)
            model = GPT(**GPT_2).to("cuda", torch.bfloat16)
            return _step(around(model), model, texts)

        return make

    return {
        "torch": version(lambda m: m),
        "tnp": version(tnp.jit),
        "tnp, cudagraphs": version(lambda m: tnp.jit(m, cudagraphs=True)),
        "torch.compile": version(torch.compile),
    }


def _calls() -> dict[str, Callable[[], Callable[[], Any]]]:
    import torch

    def version(around: Callable[[Any], Any]) -> Callable[[], Callable[[], Any]]:
        def make() -> Callable[[], Any]:
            x, y = torch.ones(1, device="cuda"), torch.ones(1, device="cuda")
            f = around(_small)
            return lambda: f(x, y)

        return make

    return {
        "torch": version(lambda f: f),
        "tnp": version(tnp.jit),
        "tnp, cudagraphs": version(lambda f: tnp.jit(f, cudagraphs=True)),
        "torch.compile, reduce-overhead": version(lambda f: torch.compile(f, mode="reduce-overhead")),
    }


def lines(
    seconds: Callable[[Callable[[], Any], Callable[[], None]], float], synchronize: Callable[[], None]
) -> list[str]:
    """The lines of the table; a version that is missing or fails is a note in it. ``seconds`` times a function."""
    made = [
        "",
        f"GPT-2 (124M), {TEXTS} texts of {GPT_2['context']} tokens, forwards, backwards and AdamW; a call of four operations on one element.",
        "",
        "| what | version | µs | times torch's |",
        "| --- | --- | ---: | ---: |",
    ]
    for what, versions in (("training step, bfloat16", lambda: _training(TEXTS)), ("call", _calls)):
        base = None
        for version, make in versions().items():
            try:
                run = make()
                results = [run() for _ in range(3)]  # graphs are captured by the second
                took = seconds(run, synchronize)
                del results
            except Exception as error:  # a peer that is missing or fails is a note, not the end
                text = (str(error).splitlines() or [""])[0][:90].replace("|", "/")
                made.append(f"| {what} | {version} | {type(error).__name__}: {text} | |")
                continue
            base = took if version == "torch" else base
            ratio = f"{base / took:.2f}" if base else ""
            made.append(f"| {what} | {version} | {took * 1e6:.1f} | {ratio} |")
    return made

"""torch's operator database through ``tnp.jit`` against eager: which operators run, how, and whether they are right.

    python benchmarks/opdb.py                       # every sample, float32, int64 and bool
    python benchmarks/opdb.py --samples 4 softmax   # four samples of the operators with that in their name
    python benchmarks/opdb.py --gradients           # the gradients of every sample in float64, against torch's autograd

An operator is *native* if its samples run through a definition of the torch language, *opaque* if some run as calls of
torch's function in a compiled program, *eager* if some make the program run eagerly, and *wrong* if one gives something else
than eager torch. ``--write benchmarks/results/opdb.md`` keeps the table, that of gradients in ``opdb_gradients.md``.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import platform
import warnings
from pathlib import Path

import torch
from pages import wrapped

import tnp
from tnp.executors.options import names_in
from tnp.testing.torch_gradients import differentiable_operators, gradient_outcomes
from tnp.testing.torch_samples import databases_operators, outcomes

DTYPES = {"float32": torch.float32, "int64": torch.int64, "bool": torch.bool}
WORST_LAST = ("native", "opaque", "eager", "wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="", help="operators with this in their name")
    parser.add_argument("--samples", type=int, help="samples of an operator and dtype, at most")
    parser.add_argument("--dtypes", default="float32,int64,bool")
    parser.add_argument("--executors", help="executors asked first, separated by commas")
    parser.add_argument("--variants", action="store_true", help="methods and in-place methods, too")
    parser.add_argument("--gradients", action="store_true", help="gradients, in float64, instead of results")
    parser.add_argument("--part", default="1/1", help="2/5: the second fifth of the operators")
    parser.add_argument("--verbose", action="store_true", help="why samples are not native")
    parser.add_argument("--write", type=Path, help="where the table goes")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    options = {"executors": names_in(given.executors)} if given.executors else {}
    rows: dict[str, collections.Counter[str]] = {}
    reasons: dict[str, dict[str, None]] = {}
    if given.gradients:
        operators = [(op.formatted_name, op) for op in differentiable_operators()]
    else:
        operators = [(info.name.removeprefix("torch."), info) for info in databases_operators(variants=given.variants)]
    part, parts = map(int, given.part.split("/"))
    for name, op in operators[len(operators) * (part - 1) // parts : len(operators) * part // parts]:
        if given.pattern not in name:
            continue
        counts: collections.Counter[str] = collections.Counter()
        why: dict[str, None] = {}
        if given.gradients:
            every = [gradient_outcomes(op, limit=given.samples, **options)]
        else:
            every = [outcomes(op, DTYPES[d], limit=given.samples, **options) for d in given.dtypes.split(",")]
        for found in itertools.chain(*every):
            counts[found.kind] += 1
            if found.reason:
                why[f"{found.kind}: {found.reason}"] = None
        if counts:
            rows[name], reasons[name] = counts, why
            if given.verbose and set(counts) != {"native"}:
                print(name, dict(counts), *list(why)[:3], sep="\n    ", flush=True)
    text = report(rows, reasons, given.samples, given.gradients)
    print(text.partition("\n| operator |")[0])
    if given.write is not None:
        given.write.write_text(wrapped(text))


def verdict(counts: collections.Counter[str]) -> str:
    """What an operator is called after its worst sample."""
    return max((k for k in counts if counts[k]), key=WORST_LAST.index)


def report(
    rows: dict[str, collections.Counter[str]], reasons: dict[str, dict[str, None]], limit: int | None, gradients: bool
) -> str:
    """The table in Markdown, the sums first."""
    which = " --gradients" * gradients + ("" if limit is None else f" --samples {limit}")
    operators = collections.Counter(verdict(c) for c in rows.values())
    partly = sum(bool(c["native"]) for c in rows.values())
    samples = sum(rows.values(), collections.Counter())
    total = sum(samples.values())
    lines = [
        "# torch's operator database through tnp",
        "",
        f"torch {torch.__version__}, tnp {tnp.__version__}, {platform.machine()}. Made by `benchmarks/opdb.py{which}`.",
        "",
        "| | native | opaque | eager | wrong | all |",
        "| --- | --- | --- | --- | --- | --- |",
        "| operators | " + " | ".join(str(operators[k]) for k in WORST_LAST) + f" | {len(rows)} |",
        "| samples | " + " | ".join(str(samples[k]) for k in WORST_LAST) + f" | {total} |",
        "",
        f"An operator counts by its worst sample; {partly} have native samples. "
        f"{100 * (total - samples['wrong']) / max(total, 1):.2f} % of the samples give what eager torch gives, "
        f"{100 * (samples['native'] + samples['opaque']) / max(total, 1):.1f} % in a compiled program.",
        "",
        "| operator | native | opaque | eager | wrong | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, counts in rows.items():
        cells = " | ".join(str(counts[k] or "") for k in WORST_LAST)
        why = "; ".join(reasons[name]).replace("|", "\\|")
        lines.append(f"| {name} | {cells} | {why[:160]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

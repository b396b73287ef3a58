"""The report of a run, in Markdown, and its plot. Ratios are speeds: above 1, tnp (or the peer) is the faster one."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from contestants import PEERS

__all__ = ["plot", "report"]

Record = dict[str, Any]

#: elements from which on summaries count a row
LARGE = 1_000_000

_INTRODUCTION = """\
Every figure is the median of interleaved calls with the other contestants, in this one run. The column of a contestant
is its speed relative to NumPy's. The last columns compare tnp with the best of the peers: above 1, tnp is faster.
Results were compared with NumPy's (float64: 1e-9, float32: 1e-4 of the largest element). Arguments that a kernel
changes are restored untimed. For memory-bound kernels, "of a copy" compares the bytes that any program must move (each
array once) with a copy of as many bytes, interleaved with the contestants. tnp and NumPy take and return NumPy arrays;
jax has its arguments on its device (those that the kernel changes are donated), torch has tensors. numba runs the
better of the NumPy function and of loops written for it, both with `parallel=True` for several threads; torch.compile
the better of the NumPy function and one on tensors. One thread means a process that may run on one core. The tables of
float32 have complex64 and uint32 for kernels on those dtypes."""


def report(records: list[Record], contestants: list[str], cold_n: int, seconds: float) -> str:
    """The whole report."""
    rows = [r for r in records if "warm" in r]
    bandwidth = {r["threads"]: r["bandwidth"] for r in records if "bandwidth" in r}
    most = max(bandwidth)
    notes = Notes()
    parts = [f"# Benchmarks\n\n{machine()}\n\n{_INTRODUCTION}"]
    parts.append("\n".join(["## Summary", "", *summary(rows, most)]))
    parts += tables(rows, contestants, bandwidth, notes)
    parts.append(cold(rows, records, contestants, cold_n, most))
    parts += other_costs({k: v for r in records for k, v in r.items()}, bandwidth)
    parts.append(findings(rows, records))
    parts.append(notes.text())
    parts.append(f"The run took {seconds / 60:.0f} minutes.")
    return "\n\n".join(p for p in parts if p) + "\n"


class Notes:
    """Footnotes, each text once."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f"[^{self.texts.index(text) + 1}]"

    def text(self) -> str:
        return "\n".join(f"[^{i}]: {t.replace('|', '/')}" for i, t in enumerate(self.texts, 1))


# A row's figures


def best_peer(row: Record) -> str | None:
    """The fastest peer of a row; NumPy and tnp are none."""
    return min((p for p in row["warm"] if p in PEERS), key=row["warm"].get, default=None)


def against_best(row: Record) -> float | None:
    """tnp's speed over the best peer's."""
    peer = best_peer(row)
    return row["warm"][peer] / row["warm"]["tnp"] if peer and "tnp" in row["warm"] else None


def against_numpy(row: Record, contestant: str = "tnp") -> float | None:
    return row["warm"]["NumPy"] / row["warm"][contestant] if contestant in row["warm"] else None


def of_a_copy(row: Record) -> float | None:
    """The bytes that a memory-bound kernel moves, in tnp's time, over what a copy of as many moves in that time."""
    if "copy" not in row or "tnp" not in row["warm"]:
        return None
    return row["bytes"] / row["warm"]["tnp"] / row["copy"]


def geometric_mean(values: Iterable[float | None]) -> float:
    logarithms = [math.log(v) for v in values if v]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _table(head: list[str], body: list[list[str]], left: int = 1) -> str:
    rule = [" --- "] * left + [" ---: "] * (len(head) - left)
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(rule)}|", *(f"| {' | '.join(cells)} |" for cells in body)]
    return "\n".join(lines)


# The sections


def summary(rows: list[Record], most: int) -> list[str]:
    """Geometric means, and the rows lost."""
    large = [r for r in rows if r["n"] >= LARGE and r["threads"] == most] or rows
    compared = [r for r in large if against_best(r)]
    won = [r for r in compared if against_best(r) >= 1]
    lines = [
        f"With {most} threads, at 10⁶ elements and more, {len(large)} rows, tnp's speed is in the geometric mean "
        f"**{geometric_mean(map(against_numpy, large)):.2f} × NumPy's** and "
        f"**{geometric_mean(map(against_best, compared)):.2f} × the best peer's**; "
        f"it is at least as fast as the best peer in {len(won)} of {len(compared)} rows.",
        "",
    ]
    body = []
    for threads in sorted({r["threads"] for r in rows}, reverse=True):
        for dtype in sorted({r["dtype"] for r in rows}, reverse=True):
            for n in sorted({r["n"] for r in rows}):
                of = [r for r in rows if (r["threads"], r["dtype"], r["n"]) == (threads, dtype, n)]
                faster = [r for r in of if (against_best(r) or 0) >= 1]
                means = [geometric_mean(map(f, of)) for f in (against_numpy, against_best)]
                cells = [str(threads), dtype, f"{n:,}", *(f"{m:.2f}" for m in means), f"{len(faster)} of {len(of)}"]
                body.append(cells)
    head = ["threads", "dtype", "elements", "tnp : NumPy", "tnp : best peer", "at least as fast as the best peer"]
    lines += [_table(head, body, left=2), ""]
    lost = sorted((r for r in compared if against_best(r) < 1), key=against_best)
    if lost:
        body = [[r["kernel"], r["dtype"], f"{r['n']:,}", f"{against_best(r):.2f}", best_peer(r) or ""] for r in lost]
        lines += [
            f"Rows lost with {most} threads at 10⁶ elements and more:",
            "",
            _table(["kernel", "dtype", "elements", "tnp : best peer", "best peer"], body, left=2),
        ]
    for n in sorted({r["n"] for r in large if of_a_copy(r)}, reverse=True):
        bound = [r for r in large if r["n"] == n and of_a_copy(r)]
        below = sorted((r for r in bound if of_a_copy(r) < 0.85), key=of_a_copy)
        listed = "; ".join(f"{r['kernel']} ({r['dtype']}: {of_a_copy(r):.0%})" for r in below)
        lines += [
            "",
            f"Of {len(bound)} memory-bound rows of {n:,} elements with {most} threads, {len(bound) - len(below)} move their bytes at 85 % of a copy's"
            f" speed or more{'; below that: ' if below else ''}{listed}.",
        ]
    slower = [r for r in rows if (against_numpy(r) or math.inf) < 1]
    if slower:
        described = [
            f"{r['kernel']} ({r['n']:,}, {r['dtype']}, {r['threads']} threads: {against_numpy(r):.2f})" for r in slower
        ]
        lines += ["", f"Slower than NumPy in {len(slower)} of {len(rows)} rows: {'; '.join(described)}."]
    return lines


def tables(rows: list[Record], contestants: list[str], bandwidth: dict[int, float], notes: Notes) -> list[str]:
    """A table for each number of threads, dtype and size."""
    parts: list[str] = []
    for threads in sorted({r["threads"] for r in rows}, reverse=True):
        copy = bandwidth[threads]
        parts.append(
            f"## {threads} thread{'s'[: threads > 1]}\n\nA copy between two large arrays: {copy / 1e9:.1f} GB/s."
        )
        for dtype in sorted({r["dtype"] for r in rows}, reverse=True):
            for n in sorted({r["n"] for r in rows}, reverse=True):
                of = [r for r in rows if (r["threads"], r["dtype"], r["n"]) == (threads, dtype, n)]
                head = ["kernel", "NumPy", *contestants[1:], "best peer", "tnp : best peer"]
                if n >= LARGE:
                    head += ["tnp, GB/s", "of a copy"]
                body = [_cells(r, contestants[1:], n >= LARGE, notes) for r in of]
                parts.append(
                    f"### {n:,} elements, {dtype}, {threads} thread{'s'[: threads > 1]}\n\n{_table(head, body)}"
                )
    return parts


def _cells(row: Record, contestants: list[str], is_large: bool, notes: Notes) -> list[str]:
    cells = [row["kernel"], _time(row["warm"]["NumPy"])]
    for name in contestants:
        ratio = against_numpy(row, name)
        cells.append(notes.mark(f"{name}: {row['blank'].get(name, '')}") if ratio is None else f"{ratio:.2f}")
    ratio = against_best(row)
    cells += [best_peer(row) or "", f"{ratio:.2f}" if ratio else ""]
    if is_large:
        shown = row["memory_bound"] and "tnp" in row["warm"]
        speed = row["bytes"] / row["warm"]["tnp"] if shown else 0
        cells += [f"{speed / 1e9:.1f}", f"{of_a_copy(row):.0%}"] if shown else ["", ""]
    return cells


def cold(rows: list[Record], records: list[Record], contestants: list[str], n: int, most: int) -> str:
    """The first call of a new function, tracing and compiling included."""
    from_disk = {r["kernel"]: r for r in records if "from_disk" in r}
    dtype = rows[0]["dtype"]
    of = [r for r in rows if (r["threads"], r["dtype"], r["n"]) == (most, dtype, n)]
    names = [c for c in contestants if c not in ("NumPy", "numexpr")]
    figures = {name: [r["cold"].get(name) for r in of] for name in names}
    found = [from_disk.get(r["kernel"], {}) for r in of]
    figures["tnp, from its disk cache"] = [f.get("from_disk") for f in found]
    figures["… less the kernel's own run"] = [
        f["from_disk"] - f["run"] if f.get("run", 1) < f.get("from_disk", 0) else None for f in found
    ]
    body = [
        [r["kernel"], *(f"{column[i] * 1e3:.0f}" if column[i] else "" for column in figures.values())]
        for i, r in enumerate(of)
    ]
    body.append(["**geometric mean**", *(f"{geometric_mean(column) * 1e3:.0f}" for column in figures.values())])
    return (
        f"## The first call, ms\n\n{n:,} elements of {dtype}, {most} threads. The process has compiled before; the function is "
        "new; no disk cache has anything, but in the last columns. numba and torch.compile are given the NumPy function "
        f"where they take it, else their own version.\n\n{_table(['kernel', *figures], body)}"
    )


def other_costs(found: Record, bandwidth: dict[int, float]) -> list[str]:
    """Dispatch, tracing, imports, memory, bandwidth."""
    parts: list[str] = []
    if "dispatch" in found:
        body = [[name, f"{s * 1e6:.2f}"] for name, s in found["dispatch"].items()]
        parts.append(f"## Dispatch: `a + b` of one element\n\n{_table(['', 'µs a call'], body)}")
    if "tracing" in found:
        t = dict(found["tracing"])
        count = t.pop("operations")
        body = [["tracing, an operation", f"{t.pop('an operation') * 1e3:.3f}"]]
        body += [[what, f"{s * 1e3:.1f}"] for what, s in t.items()]
        parts.append(
            f"## Tracing a function of {count} operations, on 5 elements\n\n"
            f"The native code comes from the disk cache.\n\n{_table(['', 'ms'], body)}"
        )
    if "imports" in found:
        body = [[name, f"{s * 1e3:.0f}"] for name, s in found["imports"].items()]
        parts.append(f"## Import, in a fresh process\n\n{_table(['', 'ms'], body)}")
    if "memory" in found:
        titles = {"chain": "elementwise chain, 3 × 128 MB", "wave": "5-point stencil in place, 2 × 128 MB"}
        body = [[titles[k], str(v["NumPy"]), str(v["tnp"])] for k, v in found["memory"].items()]
        parts.append(
            "## Peak memory beyond the arguments, the result included\n\n" + _table(["", "NumPy, MB", "tnp, MB"], body)
        )
    return parts


def findings(rows: list[Record], records: list[Record]) -> str:
    """Crashes, other results than NumPy's, and what tnp left to other executors."""
    lines = [f"- {r['crashed']}: the process ended with status {r['status']}" for r in records if "crashed" in r]
    largest = max(r["n"] for r in rows)
    wrong: dict[str, str] = {}
    rest: dict[str, list[str]] = {}
    for r in rows:
        for who, what in r["wrong"].items():
            wrong.setdefault(f"{r['kernel']}: {who}", f"{what} ({r['n']:,}, {r['dtype']}, {r['threads']} threads)")
        if r["unfused"] and r["n"] == largest:
            rest.setdefault(r["kernel"], r["unfused"])
    lines += [f"- other results than NumPy: {who}: {what}" for who, what in wrong.items()]
    lines += [f"- not in tnp's native code: {kernel}: {', '.join(ops)}" for kernel, ops in rest.items()]
    return "\n".join(["## Notes on this run", "", *lines]) if lines else ""


def machine() -> str:
    """The machine and the versions, in a line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found = []
    for package in ("numpy", "tnp", *PEERS.values()):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"{model}, {os.cpu_count()} cores, {total:.0f} GiB; Python {platform.python_version()}; {', '.join(found)}"


def plot(records: list[Record], contestants: list[str], path: Path) -> None:
    """Speeds over NumPy's with all threads: a panel a dtype and size, a row a kernel, a mark a contestant."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [r for r in records if "warm" in r]
    most = max(r["threads"] for r in rows)
    large = [r for r in rows if r["threads"] == most and r["n"] >= LARGE] or rows
    panels = sorted({(r["dtype"], r["n"]) for r in large}, reverse=True)
    kernels = list(dict.fromkeys(r["kernel"] for r in large))
    size = (3 + 3.2 * len(panels), 0.32 * len(kernels) + 1.6)
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, layout="constrained", squeeze=False)
    for axis, (dtype, n) in zip(axes[0], panels):
        of = [r for r in large if (r["dtype"], r["n"]) == (dtype, n)]
        for i, name in enumerate(contestants[1:]):
            points = [(against_numpy(r, name), kernels.index(r["kernel"])) for r in of if name in r["warm"]]
            style = {"s": 60, "zorder": 3, "color": "black"} if name == "tnp" else {"s": 28, "color": f"C{i}"}
            axis.scatter(*zip(*points), label=name, marker="Dosv^<>"[i % 7], **style) if points else None
        axis.set_title(f"{n:,} elements, {dtype}", fontsize=9)
        axis.set_xscale("log")
        axis.set_xlabel(f"times NumPy's speed, {most} threads")
        axis.axvline(1, color="grey", linewidth=0.8)
        axis.grid(axis="y", linewidth=0.3)
    axes[0][0].set_yticks(range(len(kernels)), kernels, fontsize=8)
    axes[0][0].invert_yaxis()
    axes[0][-1].legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)

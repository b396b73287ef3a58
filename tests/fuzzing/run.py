"""Runs random programs under tnp and prints what became of them.

``python tests/fuzzing/run.py --programs 10000 --seed 0``: programs of :mod:`fuzzing.language`, on two processes; one that does not end, and
one that ends its process, count as such. ``--gradients``: differentiable ones, of :mod:`fuzzing.gradients`, and their derivatives.
``--replay 17`` runs one program and prints it, made smaller if it fails.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

#: outcomes that are failures
FAILURES = ("wrong", "internal error", "hang", "crash", "generator")
#: programs that one process runs, which bounds its memory
A_PROCESS = 250


def generator(gradients: bool) -> tuple[Any, Any]:
    """What writes a program, and what judges one."""
    if gradients:
        from tests.fuzzing.gradients import judged, program
    else:
        from tests.fuzzing.language import judged, program
    return program, judged


def worker(seeds: list[int], arguments: argparse.Namespace) -> None:
    """Runs programs, and writes a line of JSON before and after each."""
    from tests.fuzzing.language.drafts import TooLong
    from tests.fuzzing.language.judging import Verdict
    from tnp.executors.options import names_in

    program, judged = generator(arguments.gradients)
    executors = names_in(arguments.executors) if arguments.executors else None
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            print(json.dumps({"seed": seed}), flush=True)
            try:
                path = Path(folder) / f"program_{seed}.py"
                path.write_text(program(seed))
                found = judged(path, executors)
            except TooLong:  # the time was over when the program was
                found = Verdict("too long")
            except Exception as error:
                found = Verdict("generator", "".join(traceback.format_exception(error)[-3:]))
            source = {"source": path.read_text()} if found.outcome in FAILURES and path.exists() else {}
            print(json.dumps({"seed": seed, **found.as_dict(), **source}), flush=True)


class Worker:
    """A process that runs programs, watched: one that is silent for ``limit`` seconds is ended."""

    def __init__(self, seeds: list[int], arguments: argparse.Namespace, results: queue.Queue[dict[str, Any]]) -> None:
        self.seeds = seeds
        self.arguments = arguments
        self.results = results
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        left = list(self.seeds)
        while left:
            part = left[:A_PROCESS]
            done = self.run_part(part)
            left = left[done:]

    def run_part(self, seeds: list[int]) -> int:
        """Runs some programs in one process; how many were finished, one way or the other."""
        command = [sys.executable, __file__, "--worker", json.dumps(seeds)]
        if self.arguments.executors:
            command += ["--executors", self.arguments.executors]
        command += ["--gradients"] * self.arguments.gradients
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        lines: queue.Queue[str | None] = queue.Queue()

        def read(stream: Any) -> None:
            for line in stream:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, args=(process.stdout,), daemon=True).start()
        done, current, last = 0, seeds[0], ""
        while True:
            try:
                line = lines.get(timeout=self.arguments.limit)
            except queue.Empty:
                process.kill()
                self.results.put(
                    {"seed": current, "outcome": "hang", "detail": "", "minor": [], "seconds": self.arguments.limit}
                )
                return done + 1
            if line is None:
                process.wait()
                if done == len(seeds):
                    return done
                self.results.put(
                    {
                        "seed": current,
                        "outcome": "crash",
                        "detail": f"exit status {process.returncode}: {last}",
                        "minor": [],
                        "seconds": 0,
                    }
                )
                return done + 1
            try:
                message = json.loads(line)
            except ValueError:  # what else the process writes
                last = line.strip() or last
                continue
            current = message["seed"]
            if "outcome" in message:
                done += 1
                self.results.put(message)


def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """All programs, on several processes, each failure told as it comes."""
    seeds = list(range(arguments.seed, arguments.seed + arguments.programs))
    results: queue.Queue[dict[str, Any]] = queue.Queue()
    workers = [Worker(seeds[i :: arguments.processes], arguments, results) for i in range(arguments.processes)]
    found: list[dict[str, Any]] = []
    start = time.monotonic()
    out = open(arguments.out, "a") if arguments.out else None
    while len(found) < len(seeds) and (any(w.thread.is_alive() for w in workers) or not results.empty()):
        try:
            message = results.get(timeout=1)
        except queue.Empty:
            continue
        found.append(message)
        if out is not None:
            print(json.dumps(message), file=out, flush=True)
        if message["outcome"] in FAILURES:
            print(f"{message['seed']}: {message['outcome']}: {message['detail'][:300]}", flush=True)
        if len(found) % 500 == 0:
            print(f"... {len(found)} programs in {time.monotonic() - start:.0f} s", flush=True)
    return found


def table(found: list[dict[str, Any]]) -> str:
    """The outcomes, with reasons and classes."""
    lines = []
    counts = Counter(m["outcome"] for m in found)
    for outcome, n in counts.most_common():
        lines.append(f"{n:7}  {n / len(found):6.1%}  {outcome}")
        if outcome in ("eager", "raises", "ill-conditioned", "refused", "not smooth"):
            details = Counter(m["detail"] for m in found if m["outcome"] == outcome)
            lines += [f"                   {k:5}  {detail}" for detail, k in details.most_common(25)]
        elif outcome == "wrong":
            details = Counter(_class_of(m["detail"]) for m in found if m["outcome"] == outcome)
            lines += [f"                   {k:5}  {detail}" for detail, k in details.most_common()]
    minor = Counter(text.split(" at ")[0] for m in found for text in m["minor"])
    lines += [f"{n:7}           of words only: {kind}" for kind, n in minor.most_common()]
    lines.append(
        f"{len(found):7}           programs, {sum(m['seconds'] for m in found) / max(1, len(found)):.2f} s each"
    )
    return "\n".join(lines)


def _class_of(detail: str) -> str:
    """Of what is wrong in a call, or of a derivative, the kind."""
    what, _, rest = detail.partition(": ")
    return rest.split(" at ")[0] if what.startswith("call ") else what


def replay(seed: int, arguments: argparse.Namespace) -> None:
    """One program, what became of it, and, of one that fails, a smaller one that fails alike."""
    from tests.fuzzing.language import minimised
    from tnp.executors.options import names_in

    program, judged = generator(arguments.gradients)
    executors = names_in(arguments.executors) if arguments.executors else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(arguments.file) if arguments.file else Path(folder) / "program.py"
        if not arguments.file:
            path.write_text(program(seed))
        found = judged(path, executors)
        source = path.read_text()
        if found.outcome in FAILURES:
            source, found = minimised(source, found, lambda path: judged(path, executors), arguments.seconds)
    print(source)
    print(f"# {found.outcome}: {found.detail}")
    for text in found.minor:
        print(f"# {text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds after which a program hangs")
    parser.add_argument("--executors", help="names, separated by commas; the default ones if not given")
    parser.add_argument("--gradients", action="store_true", help="differentiable programs")
    parser.add_argument("--out", help="a file for a line of JSON a program")
    parser.add_argument("--replay", type=int, help="a program's seed")
    parser.add_argument("--file", help="a program's file, with --replay")
    parser.add_argument("--seconds", type=float, default=120.0, help="for making a program smaller")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.setdefault("TNP_CHECK", "1")
    if arguments.worker is not None:
        worker(json.loads(arguments.worker), arguments)
        return 0
    if arguments.replay is not None or arguments.file:
        replay(arguments.replay or 0, arguments)
        return 0
    found = run(arguments)
    print(table(found))
    return int(any(m["outcome"] in FAILURES for m in found))


if __name__ == "__main__":
    sys.exit(main())

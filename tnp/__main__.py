"""tnp from the command line: ``python -m tnp info``, ``run``, ``explain``, ``cache``; installed, also ``tnp info``, …"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import runpy
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tnp
from tnp.compile import compiled_function
from tnp.executors import registry
from tnp.runtime import disk_cache, environment, logs

#: packages whose versions matter
_PACKAGES = ("numpy", "llvmlite", "optree", "torch", "triton", "cupy", "nvfuser", "apex")
#: the names that one is installed under, one for each version of CUDA
_DISTRIBUTIONS = {"cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy")}


def _version(package: str) -> str:
    for name in _DISTRIBUTIONS.get(package, (package,)):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return version if name == package else f"{version} ({name})"
    return "not installed"


def _devices() -> Iterator[str]:
    try:
        from tnp.runtime import engine
    except (ValueError, tnp.NoDeviceError) as wrong:  # TNP_CPU
        raise SystemExit(str(wrong)) from None
    try:
        target = engine.target()
        asked = " (TNP_CPU)" if environment.text("TNP_CPU") else ""
        yield f"cpu: {target.cpu}{asked}, vectors of {target.vector_bits} bits, {tnp.get_num_threads()} threads"
    except engine.Unavailable as reason:
        yield f"cpu: {platform.machine()}, no native code: {reason}"
    if importlib.util.find_spec("torch") is None:
        yield "cuda: not known without torch"
        return
    import torch

    if not torch.cuda.is_available():
        why = "this torch is built without CUDA" if torch.version.cuda is None else "torch finds no device or driver"
        yield f"cuda: none ({why})"
    for i in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        yield f"cuda:{i}: {torch.cuda.get_device_name(i)}"


def info() -> None:
    """Prints versions, devices, and the executors with the reasons why some are not there."""
    print(f"tnp {tnp.__version__}, Python {platform.python_version()}, {platform.platform()}")
    for package in _PACKAGES:
        print(f"  {package}: {_version(package)}")
    print("devices")
    for line in _devices():
        print(f"  {line}")
    print("executors")
    defaults = registry.get_default_executors()
    packages = registry.packages()
    for name, why_not in registry.availability().items():
        default = next((f", by default{_with(name, e.name)}" for e in defaults if e.plain.name == name), "")
        package = f", from {packages[name]}" if packages.get(name) else ""
        print(f"  {name}: {f'not there: {why_not}' if why_not else f'available{default}{package}'}{_options(name)}")
    print("environment")
    for variable in environment.VARIABLES.values():
        value = environment.text(variable.name)
        default = f"not set, by default {variable.default}" if variable.default else "not set"
        print(f"  {variable.name}: {value or default}")
    print("around whole programs")
    reason = _why_no_cudagraphs()
    print(f"  cudagraphs: {f'not there: {reason}' if reason else 'available, with jit(cudagraphs=True)'}")
    _print_cache()


def _with(name: str, variant: str) -> str:
    return "" if variant == name else f" as {variant}"


def _options(name: str) -> str:
    """The options that the executor has, if it is there."""
    try:
        executor = registry.get_executor(name)
    except tnp.ExtensionError:  # the message gives the reason
        return ""
    return f"; options: {', '.join(sorted(executor.options))}" if executor is not None and executor.options else ""


def _why_no_cudagraphs() -> str | None:
    if importlib.util.find_spec("torch") is None:
        return "the package torch is not installed"
    from tnp.executors.shared.device_errors import why_no_device

    return why_no_device()


def _print_cache() -> None:
    path = disk_cache.folder()
    if path is None:
        print(
            "cache: off (TNP_DISABLE_CACHE, TNP_CACHE_SIZE=0, or no folder that only you can write to, or no key that only you can read: "
            f"{disk_cache.key_file()})"
        )
        return
    count, size = disk_cache.usage()
    print(f"cache: {path}, {count} objects, {size / 2**20:.1f} MiB")


class _Tally:
    """What was compiled while it listened."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0
        self.again: list[str] = []
        self.eager: list[str] = []

    def __call__(self, event: logs.Event) -> None:
        self.counts[event.kind] += 1
        self.seconds += event.seconds
        if event.kind in ("eager", "parts"):
            self.eager.append(event.reason)
        elif event.again:
            self.again.append(f"{event.name}: {event.reason}")

    def report(self) -> str:
        c = self.counts
        lines = [
            f"tnp: {c['program']} programs and {c['native']} regions of native code in {self.seconds * 1000:.0f} ms, "
            f"{len(self.again)} recompilations, {c['eager'] + c['parts']} findings that calls run eagerly or in parts"
        ]
        lines += [f"  recompiled {reason}" for reason in self.again]
        lines += [f"  {reason}" for reason in self.eager]
        return "\n".join(lines)


@contextmanager
def _as_main(script: str, arguments: list[str]) -> Iterator[None]:
    """While a script runs, its arguments and its folder are the process's."""
    if not Path(script).is_file():
        raise SystemExit(f"there is no file {script}")
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [script, *arguments], os.path.dirname(os.path.abspath(script))
    try:
        yield
    finally:
        sys.argv, sys.path[0] = before


def run(script: str, arguments: list[str]) -> None:
    """Runs a script as Python would (nothing is jitted but what it jits), and reports to stderr what was compiled."""
    with _as_main(script, arguments):
        tally = _Tally()
        logs.listeners.append(tally)
        try:
            runpy.run_path(script, run_name="__main__")
        finally:
            logs.listeners.remove(tally)
            print(tally.report(), file=sys.stderr)


def explain(script: str, arguments: list[str]) -> None:
    """Runs a script as Python would, then explains the jitted functions that it called, in order of creation."""
    with _as_main(script, arguments):
        made: list[compiled_function.Jitted] = []
        compiled_function.recorded.append(made)
        try:
            runpy.run_path(script, run_name="__main__")
        finally:
            compiled_function.recorded.remove(made)
            called = [f for f in made if f._last is not None and not f._is_part]
            print("\n\n".join(tnp.explain(f) for f in called) or "tnp: the script called no jitted function")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    name = "tnp" if Path(sys.argv[0]).stem == "tnp" else "python -m tnp"
    parser = argparse.ArgumentParser(prog=name, description="tnp compiles array programs.")
    parser.add_argument("--version", action="version", version=f"tnp {tnp.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="versions, devices, executors and why some are not there")
    of_scripts = {"run": run, "explain": explain}
    helps = {
        "run": "run a script and report compile time and recompilations",
        "explain": "run a script and explain its jitted functions",
    }
    for command, text in helps.items():
        runs = commands.add_parser(command, help=text)
        runs.add_argument("script")
        runs.add_argument("arguments", nargs=argparse.REMAINDER)
    caches = commands.add_parser("cache", help="where compiled code is kept, and how much there is")
    caches.add_argument("--clear", action="store_true", help="remove all of it")
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        info()
    elif chosen.command in of_scripts:
        of_scripts[chosen.command](chosen.script, chosen.arguments)
    else:
        if chosen.clear:
            print(f"removed {disk_cache.clear()} objects")
        _print_cache()


if __name__ == "__main__":
    main()

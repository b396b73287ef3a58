"""Runs the samples of one operation: ``python -m tnp.testing NAME [--executor E] [--dtype D] [--sample N]``."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tnp.core.dtypes import float64
from tnp.testing import OpInfo, as_dtype, check_errors, check_gradient, check_op, opinfos


def _infos_in(source: str) -> Iterator[OpInfo]:
    """The OpInfos at the top level of a module or a file, also in its lists and tuples."""
    path = Path(source)
    if path.suffix == ".py":
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.exists():
            raise SystemExit(f"there is no file {source}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        beside = str(path.parent.resolve())  # where the file finds its own modules
        sys.path.insert(0, beside)
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(beside)
    else:
        module = importlib.import_module(source)
    for value in vars(module).values():
        for found in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(found, OpInfo):
                yield found


def _named(name: str, source: str | None) -> OpInfo:
    if source is None:
        try:
            return opinfos.named(name)
        except KeyError as error:
            raise SystemExit(error.args[0]) from None
    for info in _infos_in(source):
        if info.name == name:
            return info
    raise SystemExit(f"{source} has no OpInfo named {name!r}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tnp.testing", description=__doc__)
    parser.add_argument("name", help="an OpInfo's name, such as hypot or torch.softmax")
    parser.add_argument("--from", dest="source", help="the file or module that has it, if it is not one of tnp's own")
    parser.add_argument("--executor", help="one executor")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", help="one dtype")
    parser.add_argument("--sample", type=int, help="the number of one sample")
    parser.add_argument("--errors", action="store_true", help="the inputs that must raise")
    parser.add_argument("--gradients", action="store_true", help="the gradients, against differences")
    chosen = parser.parse_args(arguments)
    info = _named(chosen.name, chosen.source)
    only = None if chosen.sample is None else (chosen.sample,)
    executors = [chosen.executor] if chosen.executor else list(info.executor_lists())
    if chosen.errors:
        print(f"{info.name}: {check_errors(info, device=chosen.device, source=chosen.source)} errors are as stated")
        return
    dtypes: list[Any] = [as_dtype(chosen.dtype)] if chosen.dtype else list(info.dtypes or ())
    for executor in executors:
        if executor not in info.executor_lists():
            raise SystemExit(f"{info.name} is tested on {', '.join(info.executor_lists())}, not on {executor}")
        for dtype in [float64] if chosen.gradients else dtypes:
            if chosen.gradients:
                count = check_gradient(info, executor, source=chosen.source, only=only)
            else:
                count = check_op(info, executor, dtype, device=chosen.device, only=only, source=chosen.source)
            print(f"{info.name} on {executor}, {chosen.device}, {dtype}: {count} samples agree")


if __name__ == "__main__":
    main()

"""``python -m tnp.testing NAME [--executor E] [--dtype D] [--sample N]``: runs the samples of one operation."""

from __future__ import annotations

import argparse

from tnp.core import dtypes
from tnp.testing import check_sample, opinfos
from tnp.testing.opinfo import EXECUTORS


def main() -> None:
    import tnp.testing.families

    assert tnp.testing.families
    parser = argparse.ArgumentParser(prog="python -m tnp.testing", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--executor", choices=sorted(EXECUTORS))
    parser.add_argument("--dtype")
    parser.add_argument("--sample", type=int)
    chosen = parser.parse_args()
    info = opinfos.named(chosen.name)
    for executor in [chosen.executor] if chosen.executor else EXECUTORS:
        for dtype in [dtypes.by_name(chosen.dtype)] if chosen.dtype else info.dtypes:
            for i, sample in enumerate(info.samples(dtype)):
                if chosen.sample in (None, i):
                    print(f"{info.name} on {executor}, {dtype}, sample {i}: {sample}")
                    check_sample(info, sample, executor, dtype)
    print("all agree")


if __name__ == "__main__":
    main()

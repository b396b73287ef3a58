"""Autotuning of kernel launches: a few tiles and numbers of warps are timed on the device, and the fastest is cached on
disk.

Elementwise tiles change no result. Tiles of reductions change the order of additions, so last bits may differ between
devices; the cached choice makes them equal from run to run. ``TNP_TRITON_TUNE=0`` chooses by shapes, without timing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from tnp.executors.triton.emit import MOST_PROGRAMS, Launch
from tnp.runtime import disk_cache, environment

__all__ = ["best", "seconds", "variants"]

#: kernels for fewer elements than this are not tuned: they cost what a launch costs
WORTH = 2**18
#: elements of a tile, at most
MOST_ELEMENTS = 2**14
#: runs of each variant that are timed
RUNS = 5


def variants(launch: Launch) -> list[Launch]:
    """The launches that are tried, the one chosen by shape first."""
    constants = dict(launch.constants)
    rows, columns = constants["XBLOCK"], constants.get("RBLOCK")
    if columns is None:
        tried = [(rows, 4), (rows // 4, 4), (rows // 2, 4), (rows, 8), (rows * 2, 8), (rows * 4, 8)]
        found = [(max(1, x), None, w) for x, w in tried]
    else:
        tried = [(1, 1, 4), (1, 1, 8), (1, 1, 16), (2, 1, 4), (0.5, 1, 4)]
        if not launch.persistent:
            tried += [(1, 2, 8), (1, 0.5, 4)]
        found = [(max(1, int(rows * a)), max(16, int(columns * b)), w) for a, b, w in tried]
    made = [launch]
    for x, r, w in found:
        if x * (r or 1) <= MOST_ELEMENTS:
            sizes = {"XBLOCK": x} if r is None else {"XBLOCK": x, "RBLOCK": r}
            other = replace(launch, constants=sizes, num_warps=w)
            if other.grid[0] <= MOST_PROGRAMS and all(
                (other.constants, other.num_warps) != (m.constants, m.num_warps) for m in made
            ):
                made.append(other)
    return made


def best(launch: Launch, start: Callable[[Launch], None], device: Any) -> Launch:
    """The variant of a launch that runs fastest on a device, by what was measured here before, or now. ``start`` launches one; what it writes may
    be written several times."""
    if not _tunes(launch, device):
        return launch
    tried = variants(launch)
    key = _key(launch, device)
    known = _loaded(key, len(tried))
    if known is None:
        times = [seconds(start, v, device) for v in tried]
        known = min(range(len(tried)), key=times.__getitem__)
        disk_cache.store(key, json.dumps({"best": known, "seconds": times}).encode())
    return tried[known]


def _tunes(launch: Launch, device: Any) -> bool:
    if not environment.is_on("TNP_TRITON_TUNE") or launch.rows * launch.length < WORTH:
        return False
    return device.type == "cuda" and not torch.cuda.is_current_stream_capturing()


def _device_name(device: Any) -> str:
    properties = torch.cuda.get_device_properties(device)
    return f"{properties.name} {properties.major}.{properties.minor} {properties.multi_processor_count}"


def _key(launch: Launch, device: Any) -> str:
    """What a choice depends on: the kernel, for how much, on what, compiled by what."""
    import triton

    said = (
        launch.source,
        launch.rows,
        launch.length,
        sorted(launch.constants.items()),
        _device_name(device),
        triton.__version__,
    )
    return "tuned_" + hashlib.sha256(repr(said).encode()).hexdigest()


def _loaded(key: str, count: int) -> int | None:
    """The number of the variant that was best before; ``None`` if there is no sound record of it."""
    image = disk_cache.load(key)
    if image is None:
        return None
    try:
        found = json.loads(image)["best"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if type(found) is int and 0 <= found < count else None


def seconds(start: Callable[[Launch], None], launch: Launch, device: Any) -> float:
    """The least time of some runs of a launch; infinite for one that the device cannot run (too much shared memory, too many registers)."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources

    try:
        start(launch)
        found = []
        for _ in range(RUNS):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            start(launch)
            end.record()
            end.synchronize()
            found.append(begin.elapsed_time(end) / 1000)
    except (OutOfResources, CompilationError):
        return float("inf")
    return min(found)

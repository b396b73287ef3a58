"""The unfused fallback of GPU fusers: runs a region by the operations of other executors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tnp.core.proxies import TensorProxy
from tnp.executors.base import Region

__all__ = ["UnfusedFallback"]


class UnfusedFallback:
    """``region`` operation by operation: a call takes tensors on any device, and numbers, and gives tensors, whatever language the values are
    of. It raises what there is to raise. Results are on the device of the arguments, or where there are no tensors among them on ``device()``.
    """

    def __init__(self, region: Region, device: Callable[[], Any]) -> None:
        self.region = region
        self.device = device
        self._program: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> tuple[torch.Tensor, ...]:
        if self._program is None:
            assert self.region.run_unfused is not None
            self._program = self.region.run_unfused({})
        arrays = [a.cpu().numpy() if _is_ndarray(p) else a for p, a in zip(self.region.inputs, args)]
        with np.errstate(all="ignore"):
            result = self._program(*arrays)
        results = result if isinstance(result, tuple) else (result,)
        device = next((a.device for a in args if isinstance(a, torch.Tensor)), None) or self.device()
        return tuple((r if isinstance(r, torch.Tensor) else torch.from_numpy(np.array(r))).to(device) for r in results)


def _is_ndarray(p: Any) -> bool:
    return isinstance(p, TensorProxy) and p.lang.name == "numpy"

"""What ``torch.autocast`` does to calls on the CPU: which functions compute in the lower precision, which in float32.

torch's dispatcher casts the arguments of the functions that its lists name, just before they run, wherever they are
called from. The lists here have the functions by the names by which programs call them. What is made of such functions
runs as itself where autocast is on (:func:`under`), as do functions that the language does not define.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tnp.lang.torch.registry import public_name

__all__ = [
    "FLOAT32",
    "LOWER",
    "MADE_OF_OTHERS",
    "WIDEST",
    "dtype_now",
    "put_back",
    "state_now",
    "switched_off",
    "under",
]

#: functions that compute in autocast's dtype
LOWER = frozenset((
    "addbmm", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "linalg_vecdot", "linear", "matmul", "mm", "prelu", "scaled_dot_product_attention", "__matmul__", "__rmatmul__",
    "linalg_matmul",
))  # fmt: skip
#: functions that compute in float32
FLOAT32 = frozenset((
    "adaptive_avg_pool3d", "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky",
    "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "geqrf", "grid_sample",
    "grid_sampler", "hinge_embedding_loss", "huber_loss", "inverse", "kl_div", "l1_loss", "lu_solve", "margin_ranking_loss",
    "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nanquantile", "nll_loss", "orgqr", "ormqr", "pinverse",
    "poisson_nll_loss", "polar", "prod", "qr", "quantile", "smooth_l1_loss", "soft_margin_loss", "stft", "svd", "trace",
    "triangular_solve", "triplet_margin_loss", "view_as_complex",
    *(f"fft_{kind}{rank}" for kind in ("fft", "ifft", "rfft", "irfft") for rank in ("", "2", "n")), "fft_hfft", "fft_ihfft",
    *(f"linalg_{name}" for name in (
        "cholesky", "cholesky_ex", "cond", "eig", "eigh", "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "lstsq",
        "matrix_rank", "qr", "solve", "svd", "svdvals", "tensorinv", "tensorsolve",
    )),
))  # fmt: skip
#: functions that compute in the widest dtype among their arguments'
WIDEST = frozenset(("cat", "concat", "concatenate", "index_copy", "stack"))
#: functions that the language defines and torch makes of functions on the lists
MADE_OF_OTHERS = frozenset((
    "bilinear", "chain_matmul", "corrcoef", "cov", "einsum", "fn", "gru_cell", "inner", "linalg_matrix_power", "linalg_multi_dot",
    "lstm_cell", "matrix_power", "max_pool3d", "max_pool3d_with_indices", "multi_dot", "multi_head_attention_forward", "pad",
    "rnn_relu_cell", "rnn_tanh_cell", "tensordot",
))  # fmt: skip


def dtype_now() -> torch.dtype | None:
    """The dtype of autocast on the CPU; ``None`` where it is off."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None


def state_now() -> tuple[Any, ...]:
    """What :func:`put_back` takes."""
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()


def put_back(state: tuple[Any, ...]) -> None:
    """Makes autocast on the CPU what it was."""
    enabled, dtype, caches = state
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)
    torch.set_autocast_cache_enabled(caches)


@contextmanager
def switched_off() -> Iterator[None]:
    """Where functions run in the dtypes of their arguments."""
    enabled = torch.is_autocast_enabled("cpu")
    torch.set_autocast_enabled("cpu", False)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cpu", enabled)


@functools.cache
def under(function: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """``function``, called where autocast is on with that dtype; always the same function."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast("cpu", dtype=dtype):
            return function(*args, **kwargs)

    name = public_name(function) or getattr(function, "__name__", "function")
    call.__name__ = f"{name.replace('.', '_')}_in_{str(dtype).removeprefix('torch.')}"
    return call

"""``thunder.core``: :mod:`tnp.core`, by Thunder's names."""

from tnp.thunder.core import (
    devices,
    dtypes,
    langctxs,
    prims,
    proxies,
    symbol,
    trace,
    transform_common,
    transforms,
    utils,
)

__all__ = [
    "devices",
    "dtypes",
    "langctxs",
    "prims",
    "proxies",
    "symbol",
    "trace",
    "transform_common",
    "transforms",
    "utils",
]

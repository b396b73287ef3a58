"""``thunder.executors.triton_crossentropy``: :mod:`tnp.executors.triton_cross_entropy`."""

from tnp.executors.triton_cross_entropy import executor, register_triton_entropyex

triton_ex = executor

__all__ = ["register_triton_entropyex", "triton_ex"]

"""Code generation: loop nests to LLVM IR."""

from tnp.executors.llvm.emit.kernel import emit_kernel

__all__ = ["emit_kernel"]

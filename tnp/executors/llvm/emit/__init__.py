"""Code generation: loop nests to LLVM IR."""

from tnp.executors.llvm.emit.kernel import Kernel, emit_kernel

__all__ = ["Kernel", "emit_kernel"]

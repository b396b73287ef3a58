"""``thunder.core.transforms``: derivatives of functions, and gradient rules."""

from tnp.compile.derivatives import all_grads, jvp, value_and_grad, vjp
from tnp.compile.vectorization import vmap
from tnp.transforms.autodiff.rules import get_grad, put_grad, put_grads, register_grad

grad = all_grads

__all__ = ["get_grad", "grad", "jvp", "put_grad", "put_grads", "register_grad", "value_and_grad", "vjp", "vmap"]

"""``thunder.executors``: tnp's executors, by Thunder's names."""

from tnp.executors.registry import add_operator_executor, get_executor
from tnp.extend import Executor

__all__ = ["add_operator_executor"]

#: Thunder's name of an executor → tnp's
NAMES = {"TORCH": "torch_functions", "NUMPY": "numpy", "LLVM": "llvm", "PYTHON": "python"}


def __getattr__(name: str) -> Executor:
    found = get_executor(NAMES[name]) if name in NAMES else None
    if found is None:
        raise AttributeError(f"there is no executor {name} here")
    return found

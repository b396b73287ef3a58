"""Random differentiable programs: derivatives by tnp against differences of values, and against each other."""

from .judging import judged
from .writing import program

__all__ = ["judged", "program"]

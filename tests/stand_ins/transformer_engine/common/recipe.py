"""Recipes: how numbers are scaled before they are rounded to 8 bits."""

from dataclasses import dataclass


class Recipe:
    def delayed(self):
        return isinstance(self, DelayedScaling)

    def mxfp8(self):
        return isinstance(self, MXFP8BlockScaling)

    def nvfp4(self):
        return False


@dataclass(eq=False)
class DelayedScaling(Recipe):
    margin: int = 0
    amax_history_len: int = 1024
    amax_compute_algo: str = "max"
    reduce_amax: bool = True


@dataclass(eq=False)
class Float8CurrentScaling(Recipe):
    pass


@dataclass(eq=False)
class MXFP8BlockScaling(Recipe):
    pass

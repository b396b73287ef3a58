"""States of recipes, and quantisers."""

import torch

from transformer_engine.common.recipe import DelayedScaling

_MAX = {"forward": (torch.float8_e4m3fn, 448.0), "backward": (torch.float8_e5m2, 57344.0)}
#: what ``get_fp8_recipe`` returns: a list of one
current = [DelayedScaling(amax_history_len=4)]


class FP8GlobalStateManager:
    @classmethod
    def get_fp8_recipe(cls):
        return current[0]

    @classmethod
    def get_fp8_group(cls):
        return None


class Quantizer:
    def __init__(self, state, index):
        self.state, self.index = state, index

    def quantized(self, x):
        """The nearest numbers of 8 bits, as numbers."""
        kind, largest = _MAX[self.state.mode]
        amax = x.abs().max().float()
        if self.state.recipe.delayed():
            self.state.amax_history[0, self.index] = torch.maximum(self.state.amax_history[0, self.index], amax)
            scale = self.state.scale[self.index]
        else:
            scale = largest / amax
        return (x.float() * scale).clamp(-largest, largest).to(kind).float() / scale


class RecipeState:
    def __init__(self, recipe, mode, num_quantizers):
        self.recipe, self.mode, self.num_quantizers = recipe, mode, num_quantizers
        if recipe.delayed():
            self.amax_history = torch.zeros(recipe.amax_history_len, num_quantizers)
            self.scale = torch.ones(num_quantizers)

    @staticmethod
    def create(recipe, *, mode, num_quantizers=1, device=None, roles=None):
        assert mode in ("forward", "backward") and isinstance(device, torch.device)
        return RecipeState(recipe, mode, num_quantizers)

    def make_quantizers(self):
        return [Quantizer(self, i) for i in range(self.num_quantizers)]


def get_fp8_max(recipe, fprop_tensor):
    return _MAX["forward" if fprop_tensor else "backward"][1]


def _amax_and_scale_update(amax_history, scale, fp8_max, recipe):
    largest = amax_history.max(0).values
    scale.copy_(torch.where(largest > 0, fp8_max / largest / 2**recipe.margin, scale))
    amax_history.copy_(amax_history.roll(-1, 0))
    amax_history[0] = 0

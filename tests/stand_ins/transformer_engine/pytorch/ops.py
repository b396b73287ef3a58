"""Linear layers as functions."""

import torch


class BasicLinear:
    @staticmethod
    def _functional_forward(
        input, weight, *, alpha=1.0, bias=None, device=None, dtype=None, out=None, beta=None, accumulate_into_out=False,
        tensor_parallel_mode=None, tensor_parallel_group=None, sequence_parallel=False, with_quantized_compute=False,
        backward_override=None, input_quantizer=None, weight_quantizer=None, output_quantizer=None, input_requires_grad=True,
        weight_requires_grad=True,
    ):  # fmt: skip
        assert with_quantized_compute and dtype is weight.dtype is input.dtype
        _check(input, weight, input_quantizer)
        made = input_quantizer.quantized(input) @ weight_quantizer.quantized(weight).T
        made = made if bias is None else made + bias.float()
        return made.to(dtype), None, None

    @staticmethod
    def _functional_backward(
        grad_output, input, weight, *, grad_input_alpha=None, input_requires_grad=True, grad_weight_alpha=None,
        weight_requires_grad=True, device=None, dtype=None, grad_weight=None, grad_weight_beta=None,
        accumulate_into_grad_weight=False, grad_input=None, grad_input_beta=None, accumulate_into_grad_input=False,
        tensor_parallel_mode=None, tensor_parallel_group=None, sequence_parallel=False, with_quantized_compute=False,
        input_quantizer=None, weight_quantizer=None, grad_output_quantizer=None, grad_input_quantizer=None,
    ):  # fmt: skip
        assert with_quantized_compute and dtype is weight.dtype is grad_output.dtype
        _check(input, weight, input_quantizer)
        g = grad_output_quantizer.quantized(grad_output)
        to_input = g @ weight_quantizer.quantized(weight)
        return to_input.to(dtype), (g.T @ input_quantizer.quantized(input)).to(dtype)


def _check(input, weight, quantizer):
    step = 32 if quantizer.state.recipe.mxfp8() else 16
    for m in (input, weight):
        assert m.ndim == 2 and m.is_contiguous() and m.shape[0] % 8 == 0 and m.shape[1] % step == 0
        assert isinstance(m, torch.Tensor)

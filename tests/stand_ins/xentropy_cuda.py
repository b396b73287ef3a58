"""Stands in for Apex's extension module of cross entropy: the same functions, by torch on the CPU."""

import torch

__version__ = "stand-in"
DEVICE_TYPES = ("cpu",)


def forward(logits, labels, smoothing, half_to_float):
    assert logits.is_contiguous() and labels.is_contiguous() and labels.dtype == torch.int64 and not smoothing
    assert not half_to_float and (labels >= 0).all()
    wide = logits.float()
    losses = torch.nn.functional.cross_entropy(wide, labels, reduction="none")
    return [losses, torch.logsumexp(wide, 1).to(logits.dtype)]


def backward(grad_loss, logits, max_log_sum_exp, labels, smoothing):
    assert grad_loss.dtype == logits.dtype and grad_loss.shape == labels.shape and logits.is_contiguous()
    found = torch.exp(logits - max_log_sum_exp[:, None])
    found[torch.arange(len(labels)), labels] -= 1
    return found * grad_loss[:, None]

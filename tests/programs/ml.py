"""Learning by hand: forward, backward, update."""

from functools import partial
from typing import NamedTuple

import numpy as np

from .registry import call, program


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(lambda rng: call(rng.random((4, 3)), np.zeros(3), rng.random((6, 4)), rng.integers(0, 3, 6), 0.1))
def softmax_regression(W, b, X, y, lr):
    p = softmax(X @ W + b)
    n = len(y)
    loss = -np.log(p[np.arange(n), y]).mean()
    p[np.arange(n), y] -= 1
    p /= n
    W -= lr * X.T @ p
    b -= lr * p.sum(axis=0)
    return loss


def mlp_parameters(rng):
    return {
        "W1": rng.standard_normal((3, 5)),
        "b1": np.zeros(5),
        "W2": rng.standard_normal((5, 2)),
        "b2": np.zeros(2),
    }


@program(lambda rng: call(mlp_parameters(rng), rng.random((4, 3)), rng.random((4, 2))))
def mlp_gradients(params, x, target):
    h = x @ params["W1"] + params["b1"]
    a = np.maximum(h, 0)
    out = a @ params["W2"] + params["b2"]
    error = out - target
    loss = (error**2).mean()
    d_out = 2 * error / error.size
    d_a = d_out @ params["W2"].T
    d_a[h <= 0] = 0
    grads = {"W1": x.T @ d_a, "b1": d_a.sum(0), "W2": a.T @ d_out, "b2": d_out.sum(0)}
    return loss, grads


@program(
    lambda rng: call(
        {k: rng.random(s) for k, s in (("w", (3, 2)), ("b", (2,)))},
        {k: rng.random(s) for k, s in (("w", (3, 2)), ("b", (2,)))},
        {k: (rng.random(s), rng.random(s)) for k, s in (("w", (3, 2)), ("b", (2,)))},
        t=3,
    )
)
def adam(params, grads, state, t, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
    for key in params:
        g = grads[key]
        m, v = state[key]
        m *= betas[0]
        m += (1 - betas[0]) * g
        v *= betas[1]
        v += (1 - betas[1]) * g * g
        m_hat = m / (1 - betas[0] ** t)
        v_hat = v / (1 - betas[1] ** t)
        params[key] -= lr * m_hat / (np.sqrt(v_hat) + eps)


class BatchNorm:
    def __init__(self, features, momentum=0.9, eps=1e-5):
        self.gamma = np.ones(features)
        self.beta = np.zeros(features)
        self.running_mean = np.zeros(features)
        self.running_var = np.ones(features)
        self.momentum = momentum
        self.eps = eps
        self.cache = None

    def forward(self, x, training=True):
        if training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mean
            self.running_var *= self.momentum
            self.running_var += (1 - self.momentum) * var
        else:
            mean, var = self.running_mean, self.running_var
        normalized = (x - mean) / np.sqrt(var + self.eps)
        self.cache = (normalized, var)
        return self.gamma * normalized + self.beta


@program(lambda rng: call(BatchNorm(4), rng.random((6, 4))))
def batch_norm(layer, x):
    return layer.forward(x)


@program(lambda rng: call(BatchNorm(3, momentum=0.5), rng.random((5, 3)), training=False))
def batch_norm_at_inference(layer, x, training=True):
    return layer.forward(x, training=training)


class Attention(NamedTuple):
    output: np.ndarray
    weights: np.ndarray


@program(lambda rng: call(*(rng.standard_normal((2, 5, 4)).astype(np.float32) for _ in range(3)), causal=True))
def attention(q, k, v, causal=False):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    if causal:
        hidden = np.triu(np.ones(scores.shape[-2:], dtype=bool), k=1)
        scores[:, hidden] = -np.inf
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return Attention(scores @ v, scores)


@program(lambda rng: call(rng.random((2, 3, 6, 6)), rng.random((4, 3, 3, 3)), rng.random(4)))
def conv2d_by_im2col(x, weight, bias):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    out = np.einsum("nchwij,ocij->nohw", windows, weight)
    out += bias[None, :, None, None]
    return out


def leaky_relu(x, slope):
    return np.where(x > 0, x, slope * x)


activation = partial(leaky_relu, slope=0.1)


@program(lambda rng: call(rng.standard_normal((3, 4)), [rng.standard_normal((4, 4)) for _ in range(2)]))
def feed_forward(x, weights):
    for w in weights:
        x = activation(x @ w)
    norm = lambda a: a / np.linalg.norm(a, axis=-1, keepdims=True)  # noqa: E731
    return norm(x)


@program(lambda rng: call(rng.random((4, 3)), np.random.default_rng(rng.integers(1000)), 0.4))
def dropout(x, rng, rate):
    keep = rng.random(x.shape) >= rate
    x *= keep
    x /= 1 - rate
    return keep


@program(
    lambda rng: call(rng.random((5, 3)), rng.random((5, 4)), rng.random((3, 4)), rng.random((4, 4)), rng.random(4))
)
def rnn(inputs, _targets, Wx, Wh, b):
    h = np.zeros(Wh.shape[0])
    states = []
    for x in inputs:
        h = np.tanh(x @ Wx + h @ Wh + b)
        states.append(h)
    return np.vstack(states)

"""Factorisations and iterative solvers."""

import numpy as np

from .registry import call, program


def positive_definite(rng, n):
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


@program(lambda rng: call(positive_definite(rng, 5), rng.random(5)))
def power_iteration(A, v, iterations=6):
    for _ in range(iterations):
        w = A @ v
        v = w / np.linalg.norm(w)
    return v @ A @ v, v


@program(lambda rng: call(positive_definite(rng, 6), rng.random(6)))
def conjugate_gradient(A, b, x=None, iterations=4):
    x = np.zeros_like(b) if x is None else x
    r = b - A.dot(x)
    p = r.copy()
    rs_old = r.dot(r)
    for _ in range(iterations):
        Ap = A.dot(p)
        alpha = rs_old / p.dot(Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r.dot(r)
        p = r + (rs_new / rs_old) * p
        rs_old = rs_new
    return x, np.sqrt(rs_new)


@program(lambda rng: call(rng.standard_normal((6, 4))))
def gram_schmidt(Q):
    for j in range(Q.shape[1]):
        q = Q[:, j]
        for i in range(j):
            q -= np.dot(Q[:, i], q) * Q[:, i]
        q /= np.sqrt(np.dot(q, q))


@program(lambda rng: call(positive_definite(rng, 5)))
def lu(A):
    n = A.shape[0]
    for k in range(n - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    L = np.tril(A, -1) + np.eye(n)
    U = np.triu(A)
    return L, U


@program(lambda rng: call(positive_definite(rng, 4)))
def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


@program(lambda rng: call(rng.standard_normal((5, 3))))
def householder_qr(A):
    m, n = A.shape
    R = A.copy()
    Q = np.eye(m)
    for k in range(n):
        x = R[k:, k]
        e = np.zeros_like(x)
        e[0] = np.copysign(np.linalg.norm(x), x[0])
        v = x + e
        v /= np.linalg.norm(v)
        R[k:, k:] -= 2.0 * np.outer(v, v @ R[k:, k:])
        Q[:, k:] -= 2.0 * np.outer(Q[:, k:] @ v, v)
    return Q, R


@program(lambda rng: call(rng.random(6), 4 + rng.random(7), rng.random(6), rng.random(7)))
def thomas(lower, diagonal, upper, rhs):
    n = len(diagonal)
    c = np.zeros(n - 1)
    d = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = rhs[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i - 1] * c[i - 1]
        if i < n - 1:
            c[i] = upper[i] / pivot
        d[i] = (rhs[i] - lower[i - 1] * d[i - 1]) / pivot
    x = np.empty(n)
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@program(lambda rng: call(rng.random((4, 5)), rng.random((5, 6)), rng.random((6, 3)), rng.random((4, 3)), 1.5, 0.5))
def chained_products(A, B, C, D, alpha, beta):
    D *= beta
    D += alpha * (A @ B @ C)
    trace = np.einsum("ij,ij->", D, D)
    return trace, np.linalg.det(D.T @ D + np.eye(3))


@program(lambda rng: call(positive_definite(rng, 4)[::-1, ::-1], rng.random((3, 4)).T))
def reversed_views(A, B):
    x = np.linalg.solve(A, B)
    B[::2] = x[::2]
    return A[::-1], B.T, np.allclose(A @ x, B)


@program(lambda rng: call(rng.random((5, 5)) + 5 * np.eye(5), rng.random(5)))
def partial_pivoting(A, b):
    """Gaussian elimination that swaps rows by the position of the largest pivot."""
    A = A.copy()
    b = b.copy()
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        A[[k, p]] = A[[p, k]]
        b[[k, p]] = b[[p, k]]
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :] -= factors[:, None] * A[k]
        b[k + 1 :] -= factors * b[k]
    x = np.zeros(n)
    for k in range(n)[::-1]:
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x

"""Loops that stay loops: over ranges and arrays, nested and triangular, with recurrences and writes in place."""

import numpy as np

from .linear_algebra import cholesky
from .registry import call, program


def well_conditioned(rng, n):
    return rng.random((n, n)) + n * np.eye(n)


@program(lambda rng: call(1.5, 0.5, rng.random((9, 10)), rng.random((9, 11)), rng.random((11, 10))))
def gemm_by_elements(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] *= beta
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


@program(lambda rng: call(1.5, rng.random((10, 10)), rng.random((10, 9))))
def triangular_product(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


@program(lambda rng: call(1.5, 1.2, rng.random((9, 10)), rng.random((9, 9)), rng.random((9, 10))))
def symmetric_product(alpha, beta, C, A, B):
    temp = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp


@program(lambda rng: call((lambda m: m @ m.T)(well_conditioned(rng, 10))))
def cholesky_of_more_rows(A):
    cholesky(A)


@program(lambda rng: call(well_conditioned(rng, 10)))
def lu_in_place(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


@program(lambda rng: call(np.tril(well_conditioned(rng, 12)), rng.random(12)))
def forward_substitution(L, b):
    x = np.empty_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


@program(lambda rng: call(np.triu(well_conditioned(rng, 12)), rng.random(12)))
def back_substitution(U, b):
    x = b.copy()
    for i in range(b.shape[0] - 1, -1, -1):
        x[i] = (x[i] - U[i, i + 1 :] @ x[i + 1 :]) / U[i, i]
    return x


@program(lambda rng: call(rng.random((12, 10))))
def gram_schmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@program(lambda rng: call(rng.random(12)))
def levinson_durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = np.float64(1.0)
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@program(lambda rng: call(20, rng.random(40), rng.random(40)))
def jacobi_line(steps, A, B):
    for _t in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@program(lambda rng: call(9, rng.random((10, 10))))
def seidel_plane(steps, A):
    for _t in range(steps - 1):
        for i in range(1, A.shape[0] - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2]
            for j in range(1, A.shape[0] - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


@program(lambda rng: call(rng.random((10, 10)), rng.random((10, 10)), rng.random((10, 10)), np.arange(12.0), 12))
def waves_in_a_box(ex, ey, hz, source, steps):
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def relax_pressure(p, b, iterations):
    pn = np.empty_like(p)
    pn = p.copy()
    for _q in range(iterations):
        pn = p.copy()
        p[1:-1, 1:-1] = 0.25 * (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] + pn[:-2, 1:-1]) - b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[-1, :] = 0


@program(lambda rng: call(10, 9, rng.random((9, 9)), rng.random((9, 9)) * 0.1, rng.random((9, 9)), 0.01))
def driven_cavity(steps, iterations, u, v, p, dt):
    un = np.empty_like(u)
    b = np.zeros_like(u)
    for _n in range(steps):
        un = u.copy()
        vn = v.copy()
        b[1:-1, 1:-1] = dt * (u[1:-1, 2:] - u[1:-1, :-2]) * (v[2:, 1:-1] - v[:-2, 1:-1])
        relax_pressure(p, b, iterations)
        u[1:-1, 1:-1] = un[1:-1, 1:-1] - dt * (p[1:-1, 2:] - p[1:-1, :-2]) + dt * vn[1:-1, 1:-1]
        v[1:-1, 1:-1] = vn[1:-1, 1:-1] - dt * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[0, :] = 0
        u[-1, :] = 1
        v[:, 0] = 0
    return un


@program(lambda rng: call(rng.random((12, 13, 2)), rng.random((3, 3, 2, 4))))
def convolve_pixels(image, weights):
    K = weights.shape[0]
    H, W = image.shape[0] - K + 1, image.shape[1] - K + 1
    out = np.empty((H, W, weights.shape[3]), dtype=image.dtype)
    for i in range(H):
        for j in range(W):
            window = image[i : i + K, j : j + K, :, np.newaxis]
            out[i, j, :] = np.sum(window * weights, axis=(0, 1, 2))
    return out


def sparse(rng):
    rows = np.array([0, 3, 3, 7, 12, 15, 16, 18, 20, 25, 30, 31, 40])
    return call(rows, rng.integers(0, 20, 40), rng.random(40), rng.random(20))


@program(sparse)
def sparse_times_vector(rows, columns, values, x):
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        cols = columns[rows[i] : rows[i + 1]]
        vals = values[rows[i] : rows[i + 1]]
        y[i] = vals @ x[cols]
    return y


@program(lambda rng: call(np.linspace(-2, 0.5, 9), np.linspace(-1, 1, 7), 15, 2.0))
def mandelbrot_masked(x, y, iterations, horizon):
    C = x + y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=C.dtype)
    for n in range(iterations):
        inside = np.less(np.abs(Z), horizon)
        N[inside] = n
        Z[inside] = Z[inside] ** 2 + C[inside]
    N[N == iterations - 1] = 0
    return Z, N


@program(lambda rng: call(rng.random((6, 3)), rng.random((6, 3)), rng.random(6), 15, 0.01))
def bodies_for_a_while(pos, vel, mass, steps, dt):
    energy = np.zeros(steps + 1)
    acc = np.zeros_like(pos)
    for i in range(steps):
        d = pos[np.newaxis] - pos[:, np.newaxis]
        r2 = (d**2).sum(axis=2) + 0.01
        acc = (d * (r2**-1.5)[:, :, np.newaxis] * mass[np.newaxis, :, np.newaxis]).sum(axis=1)
        vel += acc * dt
        pos += vel * dt
        energy[i + 1] = 0.5 * np.sum(mass[:, None] * vel**2)
    return energy, acc


@program(lambda rng: call(rng.random(30), 0.3))
def exponential_smoothing(x, alpha):
    y = np.empty_like(x)
    level = x[0]
    for i in range(x.shape[0]):
        level = alpha * x[i] + (1 - alpha) * level
        y[i] = level
    return y, level


@program(lambda rng: call(rng.random(30)))
def a_sum_that_settles(x):
    total = 0
    for v in x:
        total += v
        last = total * 2
    return total, last


@program(lambda rng: call(rng.random((11, 4)), rng.random(11)))
def rows_with_their_weights(rows, weights):
    total = np.zeros(rows.shape[1])
    for i, (row, w) in enumerate(zip(rows, weights)):
        total += row * w
        row[0] = i
    for w in reversed(weights):
        total = total * 0.5 + w
    return total


@program(lambda rng: call(rng.random((6, 6)), rng.random(6), 25))
def power_iteration(A, x, iterations):
    for _ in range(iterations):
        x = A @ x
        x = x / np.sqrt(x @ x)
    return x


@program(lambda rng: call(rng.random((12, 12)), rng.random(12)))
def views_made_before(A, x):
    first, column = A[0], A[:, 1]
    for i in range(1, A.shape[0]):
        first += A[i]
        column[i] = first[2] + x[i]
    return column * 2, first.copy()


@program(lambda rng: call(rng, 12))
def draws_in_a_loop(rng, n):
    total, path = 0.0, np.zeros(n)
    for i in range(n):
        total += rng.standard_normal()
        path[i] = total
    return path


@program(lambda rng: call(40))
def numbers_without_end(n):
    a, b = 1, 1
    x = np.zeros(3)
    for i in range(n):
        a, b = b, a + b * 7
        x[i % 3] += 1
    return a, b, x


@program(lambda rng: call(rng.random(21), 2, 19, 3))
def by_steps(x, start, stop, step):
    for i in range(start, stop, step):
        x[i] += x[i - 1]
    for i in range(stop, start, -step):
        x[i] *= x[i - 2]


@program(lambda rng: call(rng.random((20, 3)), 10))
def lists_that_grow(x, n):
    found = []
    for i in range(n):
        found.append(x[i].sum())
    return np.array(found), len(found)


@program(lambda rng: call(rng.random(12), 12))
def values_needed_afterwards(x, n):
    k = 0
    for i in range(n):
        x[i] *= i
        k += 2
    return np.zeros(k), [k] * 3


@program(lambda rng: call(rng.random(14), rng.random(14), 11))
def two_buffers(u, v, steps):
    for _t in range(steps):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u


@program(lambda rng: call(rng.random(12)))
def grows_by_append(x):
    out = np.zeros(0)
    for i in range(x.shape[0]):
        out = np.append(out, x[i] * i)
    return out


@program(lambda rng: call(rng.random((5, 6, 7)), 9))
def heat_cube(A, steps):
    B = A.copy()
    for _t in range(1, steps):
        B[1:-1, 1:-1, 1:-1] = 0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
        A[1:-1, 1:-1, 1:-1] = 0.125 * (B[1:-1, 2:, 1:-1] + B[1:-1, 1:-1, 2:]) + B[1:-1, 1:-1, 1:-1]
    return B


@program(lambda rng: call(rng.random((10, 10)), 3))
def few_iterations_are_written_out(A, n):
    out = A * 0
    for k in range(3):
        for q in range(-1, 2):
            out[1:-1, 1:-1] += A[k : k + 8, 1 + q : 9 + q] * (k + q)
    return out


@program(lambda rng: call(rng.random(24), rng.permutation(24)))
def rotates_cycles(x, to):
    done, cycles, longest = np.zeros(24, dtype=bool), 0, 0
    for i in range(24):
        j, length = i, 0
        while not done[j]:
            done[j] = True
            x[j] += cycles
            j = to[j]
            length += 1
        cycles += length > 0
        longest = max(longest, length)
    return x, cycles, longest


@program(lambda rng: call(rng.random(40), 0.9))
def walks_until_a_value(x, limit):
    i, total = 0, 0.0
    while (v := x[i]) < limit and i < 39:
        total += v
        i += 1
    return total, i, v


@program(lambda rng: call(rng.random((200, 180))))
def covariance_by_columns(data):
    n = data.shape[1]
    data -= data.mean(axis=0)
    cov = np.zeros((n, n))
    for i in range(n):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (len(data) - 1.0)
    return cov

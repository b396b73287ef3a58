"""What LAPACK's routines do in the memory that native code gives them, by NumPy: for the interpreters of the IRs."""

import functools

import numpy as np

__all__ = ["ROUTINES"]


def _matrix(memory, m, n):
    """The matrix whose columns the first lines are."""
    return memory[..., :n, :m].swapaxes(-1, -2)


def _with_lines(memory, *parts):
    """The memory with other lines from ``parts``: pairs of the first line's number and columns."""
    made = memory.copy()
    for first, columns in parts:
        lines = columns.swapaxes(-1, -2)
        made[..., first : first + lines.shape[-2], : lines.shape[-1]] = lines
    return made


def _eigh(memory, triangle):
    n = memory.shape[-1]
    values, vectors = np.linalg.eigh(_matrix(memory, n, n), triangle)
    return _with_lines(memory, (0, vectors), (n, values[..., None]))


def _eig(memory, vectors):
    n = memory.shape[-1]
    w, v = np.linalg.eig(_matrix(memory, n, n))
    is_complex = memory.dtype.kind == "c"
    parts = (np.asarray,) if is_complex else (np.real, np.imag)
    lines = [part(w)[..., None] for part in parts] + [part(v) for part in parts if vectors]
    return _with_lines(memory, (n, np.concatenate(lines, axis=-1)))


def _svd(memory, tall, full):
    rows, width = memory.shape[-2:]
    if tall:
        m, n = width, (rows - 1 - width) // 2 if full else (rows - 1) // 3
    else:
        m, n = rows - 2 * width - 1, width
    u, s, vh = np.linalg.svd(_matrix(memory, m, n), full_matrices=full)
    return _with_lines(memory, (n, s[..., None]), (n + 1, u), (n + 1 + u.shape[-1], vh))


def _qr(memory, tall):
    rows, m = memory.shape[-2:]
    n = rows // 2 if tall else rows - m
    q, r = np.linalg.qr(_matrix(memory, m, n), "reduced" if tall else "complete")
    return _with_lines(memory, (0, r), (n, q))


ROUTINES = {
    **{f"{name}_{t}": functools.partial(_eigh, triangle=t) for name in ("eigh", "eigvalsh") for t in "LU"},
    "eig": functools.partial(_eig, vectors=True),
    "eigvals": functools.partial(_eig, vectors=False),
    **{
        f"{name}_{shape}{'_full' * full}": functools.partial(_svd, tall=shape == "tall", full=full)
        for name in ("svd", "svdvals")
        for shape in ("tall", "wide")
        for full in (False, True)
    },
    "qr_tall": functools.partial(_qr, tall=True),
    "qr": functools.partial(_qr, tall=False),
}

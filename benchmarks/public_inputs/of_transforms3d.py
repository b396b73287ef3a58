"""Calls of transforms3d's functions on data of the sizes that its users have."""

import numpy as np
from transforms3d import _gohlketransforms as tg
from transforms3d import affines, axangles, quaternions, reflections, shears, zooms

rng = np.random.default_rng(0)


def rotation():
    """A random rotation matrix."""
    return quaternions.quat2mat(rng.normal(size=4))


def test_qmult():
    q1, q2 = rng.normal(size=(4, 50_000)), rng.normal(size=(4, 50_000))
    quaternions.qmult(q1, q2)
    quaternions.qmult(q1[:, :30_000], q2[:, :30_000])


def test_mat2quat():
    mat = rotation()
    quaternions.mat2quat(mat)
    quaternions.mat2quat(mat.T)


def test_nearly_equivalent():
    q = rng.normal(size=4)
    quaternions.nearly_equivalent(q, -q)


def test_mat2axangle():
    mat = rotation()
    axangles.mat2axangle(mat)


def test_aff2axangle():
    aff = axangles.axangle2aff([1.0, 2.0, -0.5], 0.7, [10.0, -4.0, 3.0])
    axangles.aff2axangle(aff)


def test_decompose44():
    aff = affines.compose([10.0, -20.0, 5.0], rotation(), [2.0, 2.0, 3.5])
    affines.decompose44(aff)


def test_decompose():
    n = 50
    mat = np.eye(n + 1)
    mat[:n, :n] = rng.normal(size=(n, n)) + 5 * np.eye(n)
    affines.decompose(mat)


def test_aff2rfnorm():
    aff = reflections.rfnorm2aff([0.3, -0.2, 0.9], [1.0, 4.0, 2.0])
    reflections.aff2rfnorm(aff)


def test_aff2sadn():
    aff = shears.sadn2aff(0.4, [1.0, 1.0, 0.0], [1.0, -1.0, 0.5], [2.0, 0.5, -3.0])
    shears.aff2sadn(aff)


def test_aff2zfdir():
    aff = zooms.zfdir2aff(1.7, [0.2, 0.5, -1.0], [3.0, 1.0, 2.0])
    zooms.aff2zfdir(aff)


def test_affine_matrix_from_points():
    moving = rng.uniform(-50, 50, (3, 1000))
    fixed = rotation() @ moving + rng.normal(0, 0.5, (3, 1000)) + 10.0
    tg.affine_matrix_from_points(moving, fixed)
    tg.affine_matrix_from_points(moving[:, :600], fixed[:, :600], shear=False)


def test_superimposition_matrix():
    moving = rng.uniform(-50, 50, (3, 20_000))
    fixed = rotation() @ moving + 10.0
    tg.superimposition_matrix(moving, fixed)


def test_unit_vector():
    vectors = rng.normal(size=(100_000, 3))
    tg.unit_vector(vectors, axis=1)
    tg.unit_vector(vectors[:65_000], axis=1)


def test_angle_between_vectors():
    v0, v1 = rng.normal(size=(3, 50_000)), rng.normal(size=(3, 50_000))
    tg.angle_between_vectors(v0, v1)
    tg.angle_between_vectors(v0[:, :33_000], v1[:, :33_000])


def test_decompose_matrix():
    matrix = tg.compose_matrix(
        scale=[1.2, 0.8, 1.5], shear=[0.1, 0.0, 0.2], angles=[0.3, -0.5, 1.1], translate=[4.0, -3.0, 8.0]
    )
    tg.decompose_matrix(matrix)


def test_vector_product():
    v0, v1 = rng.normal(size=(3, 100_000)), rng.normal(size=(3, 100_000))
    tg.vector_product(v0, v1)
    tg.vector_product(v0[:, :60_000], v1[:, :60_000])


def test_vector_norm():
    vectors = rng.normal(size=(100_000, 3))
    tg.vector_norm(vectors, axis=-1)

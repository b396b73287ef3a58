"""Calls of control's functions on data of the sizes that its users have."""

import control as ct
import control.flatsys
import numpy as np

rng = np.random.default_rng(0)


def chain(n, inputs=1, outputs=1):
    """A chain of n damped masses, as a continuous state-space model with 2 n states."""
    stiffness = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    a = np.block([[np.zeros((n, n)), np.eye(n)], [-4.0 * stiffness, -0.3 * np.eye(n) - 0.1 * stiffness]])
    b = np.zeros((2 * n, inputs))
    b[n + np.arange(inputs), np.arange(inputs)] = 1.0
    c = np.zeros((outputs, 2 * n))
    c[np.arange(outputs), n - 1 - np.arange(outputs)] = 1.0
    return ct.ss(a, b, c, 0)


def test_forced_response():
    plant = chain(5)
    for n in (5000, 7500):
        timepts = np.arange(n) * 0.01
        ct.forced_response(plant, timepts, np.sin(timepts) + 0.1 * rng.normal(size=n))


def test_forced_response_discrete():
    plant = ct.sample_system(chain(5, 2, 2), 0.05)
    for n in (3000, 4500):
        ct.forced_response(plant, np.arange(n) * 0.05, rng.normal(size=(2, n)))


def test_step_response():
    plant = chain(6, 2, 2)
    ct.step_response(plant, np.linspace(0.0, 40.0, 1000))


def test_impulse_response():
    plant = ct.tf([1.0, 3.0, 2.5], [1.0, 4.0, 9.0, 8.0, 5.0])
    for n in (3000, 4500):
        ct.impulse_response(plant, np.linspace(0.0, 30.0, n))


def test_step_info():
    for n in (50000, 75000):
        timepts = np.linspace(0.0, 20.0, n)
        output = 1.0 - np.exp(-0.4 * timepts) * np.cos(2.0 * timepts) + 1e-3 * rng.normal(size=n)
        ct.step_info(output, timepts)


def test_frequency_response_state_space():
    plant = chain(10, 2, 2)
    for n in (500, 750):
        ct.frequency_response(plant, np.logspace(-2, 2, n))


def test_frequency_response_transfer_function():
    plant = ct.tf(
        [[[1.0, 2.0], [3.0]], [[1.0], [2.0, 5.0]]],
        [[[1.0, 0.4, 9.0], [1.0, 2.0]], [[1.0, 3.0, 4.0, 5.0], [1.0, 0.1, 30.0]]],
    )
    for n in (10000, 15000):
        ct.frequency_response(plant, np.logspace(-2, 3, n))


def test_lyap():
    for n in (40, 60):
        a = chain(n // 2).A
        ct.lyap(a, np.eye(n), method="scipy")


def test_lqr():
    for n in (20, 30):
        plant = chain(n // 2, 2, 2)
        ct.lqr(plant, np.eye(n), 0.1 * np.eye(2), method="scipy")


def test_ctrb():
    for n in (60, 90):
        plant = chain(n // 2, 2, 2)
        ct.ctrb(plant.A, plant.B)


def test_flat_trajectory_eval():
    plant = control.flatsys.LinearFlatSystem(
        ct.ss([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -2.0, -0.5]], [[0.0], [0.0], [1.0]], [[1.0, 0.0, 0.0]], 0)
    )
    trajectory = control.flatsys.point_to_point(
        plant, 5.0, [0.0, 0.0, 0.0], [0.0], [1.0, 0.0, 0.0], [1.0], basis=control.flatsys.BezierFamily(8, 5.0)
    )
    for n in (100, 150):
        trajectory.eval(np.linspace(0.0, 5.0, n))


def test_markov():
    for n in (2000, 3000):
        u = rng.normal(size=(1, n))
        y = np.convolve(u[0], np.exp(-0.2 * np.arange(60)) * np.sin(np.arange(60)))[None, :n]
        ct.markov(y, u, m=60)


def test_eigensys_realization():
    for n in (200, 300):
        k = np.arange(n)
        y = 0.95**k * np.sin(0.3 * k) + 0.9**k * np.cos(0.9 * k) + 1e-4 * rng.normal(size=n)
        ct.eigensys_realization(y, 4, m=n // 2, n=n // 2 - 2)


def test_describing_function():
    amplitudes = np.linspace(0.1, 8.0, 100)
    ct.describing_function(ct.friction_backlash_nonlinearity(0.5), amplitudes, try_method=False)


def test_input_output_response():
    def pendulum(t, x, u, params):
        return np.array([x[1], -9.81 * np.sin(x[0]) - 0.2 * x[1] + u[0]])

    plant = ct.nlsys(pendulum, None, inputs=1, outputs=2, states=2)
    timepts = np.linspace(0.0, 10.0, 500)
    ct.input_output_response(plant, timepts, 0.5 * np.sin(2.0 * timepts), [0.3, 0.0])


def test_correlation():
    for n in (4000, 6000):
        noise = np.convolve(rng.normal(size=n), np.exp(-0.1 * np.arange(50)))[:n]
        ct.correlation(np.arange(n) * 0.01, noise)


def test_unwrap():
    for n in (100000, 150000):
        angle = np.cumsum(rng.normal(0.3, 0.2, n)) % (2 * np.pi)
        ct.unwrap(angle)


def test_stability_margins():
    omega = np.logspace(-2, 2, 400)
    response = 5.0 / ((1j * omega + 1) * (1j * omega + 2) * (1j * omega + 3)) * np.exp(-0.1j * omega)
    ct.stability_margins(ct.frd(response, omega))

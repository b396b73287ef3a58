"""Calls of skrf's functions on data of the sizes that its users have."""

import numpy as np
import skrf as rf
from skrf import mathFunctions as mf
from skrf import network as nw
from skrf import tlineFunctions as tl
from skrf.calibration import SOLT
from skrf.media import DefinedGammaZ0, MLine, RectangularWaveguide
from skrf.networkSet import NetworkSet
from skrf.vectorFitting import VectorFitting

rng = np.random.default_rng(0)


def frequency(n):
    """A sweep from 1 to 20 GHz."""
    return rf.Frequency(1, 20, n, "ghz")


def parameters(n, ports=2):
    """Scattering parameters of a lossy device."""
    s = rng.normal(size=(n, ports, ports)) + 1j * rng.normal(size=(n, ports, ports))
    return 0.25 * s / np.sqrt(ports)


def network(n, ports=2):
    """A network with such parameters."""
    return rf.Network(frequency=frequency(n), s=parameters(n, ports), z0=50)


def test_s2z():
    s = parameters(5000, 4)
    z0 = 50 * np.ones((5000, 4), dtype=complex)
    nw.s2z(s, z0)
    nw.s2z(s[:3000], z0[:3000])


def test_z2s():
    z = 50 + 20 * parameters(5000, 3) + 10 * np.eye(3)
    nw.z2s(z, 50)


def test_s2t():
    s = parameters(10_000)
    nw.s2t(s)
    nw.s2t(s[:6500])


def test_renormalize_s():
    s = parameters(2000, 4)
    nw.renormalize_s(s, 50, 75)


def test_connect():
    a, b = network(1001, 3), network(1001, 4)
    nw.connect(a, 1, b, 0)
    a, b = network(1501, 3), network(1501, 4)
    nw.connect(a, 1, b, 0)


def test_innerconnect():
    ntwk = network(1001, 5)
    nw.innerconnect(ntwk, 1, 3)


def test_de_embed():
    fixture, both = network(2001), network(2001)
    nw.de_embed(both, fixture)


def test_interpolate():
    ntwk = network(501, 4)
    ntwk.interpolate(frequency(5001))
    ntwk.interpolate(frequency(3001), kind="cubic")


def test_time_gate():
    line = RectangularWaveguide(rf.Frequency(75, 110, 1001, "ghz"), a=2.54e-3, z0_override=50)
    ntwk = line.delay_load(0.3, 100e-3)
    ntwk.time_gate(center=0.7, span=0.2, t_unit="ns")


def test_step_response():
    f = rf.Frequency(0, 20, 2001, "ghz")
    ntwk = rf.Network(frequency=f, s=np.exp(-2j * np.pi * f.f * 1e-9) * 0.8, z0=50)
    ntwk.step_response(pad=2000)


def test_se2gmm():
    ntwk = network(1001, 4)
    ntwk.se2gmm(p=2)


def test_stability_circle():
    ntwk = network(1001)
    ntwk.stability_circle(target_port=1)


def test_mline():
    line = MLine(frequency(2001), w=3e-3, h=1.6e-3, t=35e-6, ep_r=4.4, rho=1.7e-8, tand=0.02, z0_port=50)
    line.line(20e-3, "m")


def test_input_impedance_at_theta():
    zl = rng.uniform(10, 100, 50_000) + 1j * rng.normal(0, 30, 50_000)
    theta = rng.uniform(0, 2 * np.pi, 50_000)
    tl.input_impedance_at_theta(50.0, zl, theta)


def test_unwrap_rad():
    phase = np.angle(parameters(20_000, 2))
    mf.unwrap_rad(phase)


def test_network_set_std():
    networks = NetworkSet([network(201) for _ in range(50)])
    assert networks.std_s is not None


def test_vector_fit():
    f = frequency(201)
    w = 1j * f.w / 1e9
    s = 1.0 / (w + 5.0) + (w + 1.0) / (w**2 + 2 * w + 3000.0) * 3.0
    fit = VectorFitting(rf.Network(frequency=f, s=s, z0=50))
    fit.vector_fit(n_poles_real=1, n_poles_cmplx=1)


def test_solt_run():
    air = DefinedGammaZ0(frequency(401))
    ideals = [nw.two_port_reflect(one, one) for one in (air.short(), air.open(), air.match())] + [air.thru()]
    before, after = network(401), network(401)
    measured = [before**ideal**after for ideal in ideals]
    calibration = SOLT(measured=measured, ideals=ideals, n_thrus=1)
    calibration.run()

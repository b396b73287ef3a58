"""Modes and settings of torch: they apply where a program sets them, are left as eager leaves them, and are never those of another call."""

import contextlib

import pytest

import tnp

torch = pytest.importorskip("torch")

from tests.torch_cases import Table, attempt, check  # noqa: E402

table = Table()


def line():
    return torch.tensor([0.3, 0.7, -1.2], requires_grad=True)


def iterations(j, make=line, modes=(True, True)):
    """The results of calls, and whether gradients are on after each; ``modes`` says whether they are before."""
    found = []
    for on in modes:
        torch.set_grad_enabled(on)
        found.append((j(make()), torch.is_grad_enabled()))
    return found


# Gradients


@table(False)
def turned_off_at_the_end(jit):
    def f(x):
        y = x.sin()
        torch.set_grad_enabled(False)
        return y, y * 2

    return iterations(jit(f))


@table(False)
def turned_off_on_and_off(jit):
    def f(x):
        torch.set_grad_enabled(False)
        a = x * 2
        torch.set_grad_enabled(True)
        b = x * 3
        torch.set_grad_enabled(False)
        return a, b, x * 4

    return iterations(jit(f))


@table(True)
def turned_on_where_they_are_off(jit):
    def f(x):
        a = x * 2
        torch.set_grad_enabled(True)
        return a, x * 3

    return iterations(jit(f), modes=(False, True, False))


@table(False)
def turned_without_arguments_that_require_them(jit):
    def f(x):
        torch.set_grad_enabled(False)
        return x * 2

    return iterations(jit(f), lambda: torch.ones(3))


@table(True)
def set_as_they_are(jit):
    def f(x):
        torch.set_grad_enabled(True)
        return x * 2

    return iterations(jit(f), lambda: torch.ones(3), modes=(True, False, True))


@table(True)
def contexts_and_decorators(jit):
    @torch.no_grad()
    def off(x):
        return x.sin()

    @torch.enable_grad()
    def on(x):
        return off(x) + x.cos()

    def f(x):
        with torch.no_grad():
            a = x * 2
            with torch.enable_grad():
                b = x * 3
            c = b * 4
        return a, b, c, a + b + c, on(x)

    return iterations(jit(f), modes=(True, False, True, False))


@table(True)
def decorated_in_the_function(jit):
    def inner(x):
        return x.sin()

    return iterations(jit(lambda x: (torch.set_grad_enabled(False)(inner)(x), x * 2)))


@table(False)
def left_by_a_helper(jit):
    def helper(x):
        torch.set_grad_enabled(False)
        return x * 2

    return iterations(jit(lambda x: (x * 3, helper(x), x * 5)))


@table(True)
def entered_by_hand(jit):
    def f(x):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            y = x * 2
        context = torch.no_grad()
        context.__enter__()
        z = x * 3
        context.__exit__(None, None, None)
        return y, z, x * 4

    return iterations(jit(f))


@table(False)
def entered_and_not_left(jit):
    def f(x):
        torch.no_grad().__enter__()
        return x * 2

    return iterations(jit(f))


@table(True)
def turned_in_a_loop(jit):
    def f(x):
        out = x
        for i in range(4):
            with torch.set_grad_enabled(i % 2 == 0):
                out = out * 2 + x
        return out

    return iterations(jit(f))


@table(False)
def left_by_a_loop(jit):
    def f(x):
        for i in range(3):
            x = x * 2
            torch.set_grad_enabled(i % 2 == 1)
        return x * 3

    return iterations(jit(f))


@table(False)
def turned_in_one_side_of_a_branch(jit):
    def f(x):
        if x.sum() > 0:
            torch.set_grad_enabled(False)
            y = x * 2
        else:
            y = x * 5
        z = x * 4
        torch.set_grad_enabled(True)
        return y, z

    j = jit(f)
    return [j((sign * torch.ones(2)).requires_grad_()) for sign in (1, -1, 1)]


@table(False)
def an_error_after_they_were_turned_off(jit):
    def f(x):
        torch.set_grad_enabled(False)
        return x.reshape(7)

    j = jit(f)
    return [(torch.set_grad_enabled(True), attempt(j, line()), torch.is_grad_enabled())[1:] for _ in range(2)]


@table(True)
def asked_for(jit):
    j = jit(lambda x: x * (2 if torch.is_grad_enabled() else 3))
    return iterations(j, lambda: torch.ones(2), modes=(True, False, True))


# Inference mode


@table(True)
def all_in_inference_mode(jit):
    @torch.inference_mode()
    def f(x):
        y = x.view(-1)
        x.mul_(3)
        return x, y, y * 2

    j = jit(f)
    return j(torch.ones(3)), j(torch.ones(3)), j(torch.ones(2, 2))


@table(False)
def a_part_in_inference_mode(jit):
    def f(x):
        with torch.inference_mode():
            a = x * 2
        return a, x * 3

    return iterations(jit(f))


@table(True)
def called_in_inference_mode(jit):
    j = jit(lambda x: x * (2 if torch.is_inference_mode_enabled() else 3))
    found = [j(line())]
    with torch.inference_mode():
        made = torch.ones(2)
        found += [j(line()), j(made)]
    return *found, j(line()), attempt(j, made), attempt(jit(lambda a, b: a * b), made, line()[:2])


# What programs ask torch about itself


def asked(jit, f, settings, put_back):
    """A program's results under several settings."""
    j, found = jit(f), []
    try:
        for change in settings:
            change()
            found.append(j(torch.ones(2)))
    finally:
        put_back()
    return found


@table(True)
def threads(jit):
    now = torch.get_num_threads()
    settings = [lambda n=n: torch.set_num_threads(n) for n in (1, 2, 1)]
    return asked(jit, lambda x: x * torch.get_num_threads(), settings, lambda: torch.set_num_threads(now))


def deterministic(on):
    """What ``torch.use_deterministic_algorithms`` sets; that imports Inductor."""
    torch._C._set_deterministic_algorithms(on, warn_only=False)


@table(True)
def deterministic_algorithms(jit):
    def f(x):
        return x * (2 if torch.are_deterministic_algorithms_enabled() else 3) + torch.get_deterministic_debug_mode()

    settings = [lambda on=on: deterministic(on) for on in (False, True, False)]
    return asked(jit, f, settings, settings[0])


@table(False)
def uninitialised_memory_that_is_filled(jit):
    settings = [lambda: deterministic(True)] * 2
    return asked(jit, lambda x: torch.empty(4) + x[0], settings, lambda: deterministic(False))


@table(True)
def precision_of_products(jit):
    settings = [lambda p=p: torch.set_float32_matmul_precision(p) for p in ("highest", "high", "highest")]
    return asked(jit, lambda x: x * len(torch.get_float32_matmul_precision()), settings, settings[0])


@table(True)
def switches_of_backends(jit):
    switch = torch.backends.mha.set_fastpath_enabled
    settings = [lambda on=on: switch(on) for on in (True, False, True)]
    return asked(jit, lambda x: x * (2 if torch.backends.mha.get_fastpath_enabled() else 3), settings, settings[0])


@table(True)
def the_cache_of_autocast(jit):
    settings = [lambda on=on: torch.set_autocast_cache_enabled(on) for on in (True, False, True)]
    return asked(jit, lambda x: x * (2 if torch.is_autocast_cache_enabled() else 3), settings, settings[0])


@table(False)
def settings_that_it_changes(jit):
    def f(x):
        torch.set_printoptions(precision=2)
        return x * 2

    found = []
    for make in (lambda: jit(f), lambda: jit(lambda x: (torch.set_flush_denormal(False), x * 2)[1])):
        j = make()
        for _ in range(2):
            found += [j(torch.ones(2)), repr(torch.tensor(1.2345))]
            torch.set_printoptions(profile="default")
    return found


# What looks at torch's functions one by one


@table(True)
def traced_by_torch(jit):
    j = jit(lambda x: x * 2 + 1)
    j(torch.ones(3))
    traced = torch.jit.trace(j, (torch.ones(3),))
    return traced(torch.full((3,), 5.0)), j(torch.ones(3))


@table(True)
def searched_for_anomalies(jit):
    j, x = jit(lambda x: torch.sqrt(x) * 0), torch.tensor([-1.0, 1.0], requires_grad=True)
    j(x)
    with torch.autograd.set_detect_anomaly(True):
        return attempt(lambda: j(x).sum().backward()), j(x)


@pytest.mark.filterwarnings("ignore")  # of torch.jit, and of what is eager
@table.parametrized
def test_modes(case, compiles):
    check(case, compiles)


@pytest.mark.filterwarnings("ignore:.*sdp_kernel:FutureWarning")
def test_a_choice_among_kernels_of_attention_is_part_of_the_program():
    def f(q):
        with torch.backends.cuda.sdp_kernel(enable_flash=False), torch.nn.attention.sdpa_kernel(list(KERNELS)):
            made = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        return made * 2

    q = torch.randn(2, 4, 8, 16)
    state = torch.backends.cuda.flash_sdp_enabled()
    jitted = tnp.jit(f, strict=True)
    for _ in range(2):
        torch.testing.assert_close(jitted(q), f(q))
    assert torch.backends.cuda.flash_sdp_enabled() == state


KERNELS = (torch.nn.attention.SDPBackend.MATH, torch.nn.attention.SDPBackend.FLASH_ATTENTION)


def test_settings_of_backends_are_guarded():
    def f(x):
        return x * 2 if torch.backends.mkldnn.enabled else x * 3

    jitted, x = tnp.jit(f, strict=True), torch.ones(3)
    for enabled in (True, False, True):
        before = torch._C._get_mkldnn_enabled()
        torch._C._set_mkldnn_enabled(enabled)
        try:
            torch.testing.assert_close(jitted(x), f(x))
        finally:
            torch._C._set_mkldnn_enabled(before)
    assert tnp.cache_info(jitted).misses == 2

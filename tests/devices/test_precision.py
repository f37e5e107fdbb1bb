"""How float32 matrices are multiplied: a thread's setting, products of the simulated device, and the backward pass."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.autograd import checkpoint
from minirnn.devices.precision import _Chosen, chosen, from_environment, to_tf32

SIMULATED = mr.devices.available()["cuda-sim"] is None
simulated = pytest.mark.skipif(not SIMULATED, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}")

FINE = np.float32(1 + 2**-12)
"""A float32 that TF32 rounds to 1."""


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    with mr.use_precision("ieee"):
        yield


def rounded_by_hand(x: float) -> float:
    """11 significant bits, ties away from zero, by arithmetic on integers."""
    mantissa, exponent = np.frexp(np.float64(x))
    scaled = abs(mantissa) * 2**11
    return float(np.sign(x) * np.ldexp(np.floor(scaled + 0.5), int(exponent) - 11))


def test_tf32_keeps_eleven_bits_and_the_range_of_float32(rng: np.random.Generator) -> None:
    x = (rng.standard_normal(200) * 10.0 ** rng.integers(-30, 30, 200)).astype(np.float32)
    expected = np.array([rounded_by_hand(value) for value in x])
    found = to_tf32(x)
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    assert (np.abs(found.astype("f8") - x) <= 2.0**-11 * np.abs(x)).all()
    ties = np.float32([1 + 2**-11, -1 - 2**-11, 1 + 3 * 2**-11])
    np.testing.assert_array_equal(to_tf32(ties), np.float32([1 + 2**-10, -1 - 2**-10, 1 + 4 * 2**-11]))
    special = np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0])
    np.testing.assert_array_equal(to_tf32(special), special)
    assert np.signbit(to_tf32(np.float32([-0.0])))[0]


def test_a_block_ends_and_a_plain_call_lasts() -> None:
    with mr.use_precision("tf32") as name:
        assert name == chosen.precision == "tf32"
        with mr.use_precision("ieee"):
            assert chosen.precision == "ieee"
        assert chosen.precision == "tf32"
    assert chosen.precision == "ieee"
    mr.use_precision("tf32")
    assert chosen.precision == "tf32"
    with pytest.raises(ValueError, match="'bf16'"):
        mr.use_precision("bf16")
    assert chosen.precision == "tf32"
    with pytest.raises(RuntimeError, match="inside"), mr.use_precision("ieee"):
        raise RuntimeError("inside")
    assert chosen.precision == "tf32"


def test_every_thread_has_its_own() -> None:
    seen = []
    with mr.use_precision("tf32"):
        thread = threading.Thread(target=lambda: seen.append(chosen.precision))
        thread.start()
        thread.join()
    assert seen == ["ieee"]


@pytest.mark.parametrize("said, expected", [("1", "tf32"), ("0", "ieee"), ("", "ieee")])
def test_the_environment_says_how_a_thread_begins(said: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIRNN_TF32", said)
    assert from_environment() == _Chosen().precision == expected
    monkeypatch.delenv("MINIRNN_TF32")
    assert from_environment() == "ieee"


def column(device: str, dtype: type = np.float32) -> mr.Tensor:
    return mr.tensor(np.full((1, 1), FINE, dtype), device=device, requires_grad=True)


@simulated
def test_float32_is_rounded_only_when_asked_for_and_other_types_never() -> None:
    one = np.float32(1)
    a = column("cuda-sim")
    assert (a @ a).item() == FINE * FINE
    with mr.use_precision("tf32"):
        assert (a @ a).item() == one
        wide = column("cuda-sim", np.float64)
        assert (wide @ wide).item() == np.float64(FINE) ** 2
        assert (a * a).item() == FINE * FINE  # no matrix product
        here = column("cpu")
        assert (here @ here).item() == FINE * FINE
    assert (a @ a).item() == FINE * FINE


@simulated
@pytest.mark.parametrize("forward, backward", [("ieee", "tf32"), ("tf32", "ieee")])
def test_the_backward_pass_multiplies_as_its_forward_pass_did(forward: str, backward: str) -> None:
    a, b = column("cuda-sim"), column("cuda-sim")
    expected = np.float32(1) if forward == "tf32" else FINE
    with mr.use_precision(forward):
        y = (a @ b).sum()
        z = checkpoint(lambda t: (t @ b).sum(), b)
    with mr.use_precision(backward):
        y.backward()
        assert chosen.precision == backward
        assert a.grad is not None and a.grad.item() == expected
        (found,) = mr.grad(z, [b])
        assert found.item() == 2 * expected
        with mr.use_precision(forward):
            y = (a @ a * (a @ b)).sum()
        (first,) = mr.grad(y, [b], create_graph=True)  # (a @ a) a, by products with b
        (second,) = mr.grad(first.sum(), [a])
    assert first.item() == pytest.approx(expected**3, rel=1e-6)
    assert abs(first.item() - expected**3) < 2**-13
    assert abs(second.item() - 3 * expected**2) < 2**-12


@simulated
def test_the_backward_pass_of_a_fused_op_also_does_so(rng: np.random.Generator) -> None:
    """Exact bits: each pass equals the one that runs wholly inside the setting."""
    x, h, w_ru, w_c, b_ru, b_c = (
        rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (3, 5), (9, 10), (9, 5), (10,), (5,))
    )

    def gradient(forward: str, backward: str) -> np.ndarray:
        ts = [mr.tensor(a, device="cuda-sim", requires_grad=True) for a in (x, h, w_ru, w_c, b_ru, b_c)]
        with mr.use_precision(forward):
            out = ops.gru_block_cell(*ts)
        with mr.use_precision(backward):
            return mr.grad(out.h.sum(), [ts[2]])[0].numpy()

    ieee, tf32 = gradient("ieee", "ieee"), gradient("tf32", "tf32")
    assert (ieee != tf32).any()
    np.testing.assert_array_equal(gradient("ieee", "tf32"), ieee)
    np.testing.assert_array_equal(gradient("tf32", "ieee"), tf32)


@simulated
def test_results_are_as_near_as_eleven_bits_allow(rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((20, 64), (64, 30)))
    exact = a.astype("f8") @ b
    bound = 2.1 * 2.0**-11 * (np.abs(a).astype("f8") @ np.abs(b))
    with mr.use_precision("tf32"):
        found = (mr.tensor(a, device="cuda-sim") @ mr.tensor(b, device="cuda-sim")).numpy()
    error = np.abs(found - exact)
    assert (error <= bound).all() and error.max() > 2.0**-14  # rounded, indeed

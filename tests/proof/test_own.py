"""A user's own op and own cell are proven on every device, and mistakes are found."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, clip, floor, product, sigmoid, sqrt, tanh, unit_max, unit_mean, where
from minirnn.devices.cpu.device import CPU
from minirnn.nn.own.layer import CellLayer
from minirnn.proof import prove
from minirnn.proof.case import Kinks
from minirnn.proof.table import ABSENT, FAILED, PASSED
from tests.cells.with_torch import gallery
from tests.slow import slow_unless

GUARD = "if (k < n) "
TEXT = r"""
#include "real.cuh"
extern "C" __global__ void two(i64 n, const real *x, real *y, real *slope) {
    const i64 k = element();
    GUARD{ y[k] = x[k] * x[k] * x[k]; slope[k] = 3 * x[k] * x[k]; }
}"""


def cube(second: float = 6.0, save_slope: bool = True) -> Any:
    """x ** 3 and its slope; with `save_slope` False backward uses a constant instead of the slope."""

    class Cube(mr.autograd.Function):
        @staticmethod
        def forward(x: mr.Tensor, scale: float = 1.0) -> Any:
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], output[1] if save_slope else 1 * output[1])

        @staticmethod
        def backward(ctx: Any, dy: Any, d_slope: Any) -> Any:
            x, slope = ctx.saved_tensors
            return dy * slope + d_slope * second * x, None  # as in torch, also for the default of `scale`

    return Cube


def with_kernel(guard: str = GUARD, wrong: float = 0.0) -> Any:
    op = cube()
    source = mr.devices.CudaSource(TEXT.replace("GUARD", guard))

    def kernel(x: Any, scale: float) -> Any:
        y, slope = (x.device.empty(x.shape, x.dtype) for _ in range(2))
        source("two", x.size, x, y, slope, threads=x.size)
        return y, slope

    op.register_kernel("cuda", kernel)
    op.register_kernel("cpu", lambda x, scale: (x * x * x, 3 * x * (x + wrong)))
    return op


def test_a_saved_value_between_is_said_to_be_the_likely_cause_where_only_the_second_order_is_wrong() -> None:
    class Swish(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor, beta: float) -> mr.Tensor:
            s = mr.sigmoid(beta * x)
            ctx.save_for_backward(x, s)
            ctx.beta = beta
            return x * s

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, s = ctx.saved_tensors
            return dy * (s + ctx.beta * x * s * (1 - s)), None

    x = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    with pytest.raises(AssertionError, match="gradient of x: off by (?s:.)*only gradients of gradients are wrong"):
        prove(Swish, x, 1.7, devices=["cpu"])
    Swish.backward = staticmethod(lambda ctx, dy: (dy * ctx.saved_tensors[1], None))  # type: ignore[method-assign]
    with pytest.raises(AssertionError) as raised:
        prove(Swish, x, 1.7, devices=["cpu"])
    assert "only gradients of gradients" not in str(raised.value)


all_devices_slowly = pytest.mark.parametrize("devices", [["cpu"], pytest.param(None, marks=pytest.mark.slow)])


def needs(device: str) -> None:
    reason = mr.devices.available()[device]
    if reason is not None:
        pytest.skip(reason)


def test_a_right_op_passes_in_every_way(rng: np.random.Generator) -> None:
    needs("cuda-sim")
    proof = prove(with_kernel(), rng.standard_normal((3, 5)), devices=["cpu", "cuda-sim"])
    assert proof
    ways = {(r.cell.device, r.cell.way, r.cell.dtype) for r in proof.results}
    for device in ("cpu", "cuda-sim"):
        for dtype in ("float64", "float32", "float16"):
            assert (device, "definition", dtype) in ways
        assert {(device, "differences", "float64"), (device, "second order", "float64")} <= ways
    assert ("cuda-sim", "check mode", "float32") in ways
    assert "0 FAILED" in str(proof) and "\nCube " in str(proof)


@pytest.mark.parametrize("op", [cube(second=5.0), cube(save_slope=False)], ids=["factor", "saved constant"])
def test_a_wrong_backward_is_found_by_differences_and_by_the_composition(op: Any, rng: np.random.Generator) -> None:
    proof = prove(op, rng.standard_normal(4), devices=["cpu"], raise_exception=False)
    failed = {r.cell.way for r in proof.results if r.status == "FAILED"}
    assert not proof and {"differences", "second order"} <= failed
    with pytest.raises(AssertionError, match="prove: Cube is wrong\n(.*\n)*FAILED Cube, to second order"):
        prove(op, rng.standard_normal(4), devices=["cpu"])


def test_a_wrong_kernel_is_found_where_it_is(rng: np.random.Generator) -> None:
    proof = prove(with_kernel(wrong=1e-5), rng.standard_normal(4), devices=["cpu"], raise_exception=False)
    assert {r.cell.dtype for r in proof.results if r.status == "FAILED"} >= {"float32", "float64"}


def test_a_kernel_that_writes_too_far_is_found_by_check_mode(rng: np.random.Generator) -> None:
    needs("cuda-sim")
    proof = prove(with_kernel(guard=""), rng.standard_normal(4), devices=["cuda-sim"], raise_exception=False)
    assert "check mode" in {r.cell.way for r in proof.results if r.status == "FAILED"}
    assert "own.cu" in str(proof)


@all_devices_slowly
def test_an_op_through_numpy_has_no_composition(devices: list[str] | None, rng: np.random.Generator) -> None:
    def halved(ctx: Any, dy: Any) -> Any:
        return dy * ctx.saved_tensors[0].cos() / 2

    class Sine(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor) -> mr.Tensor:
            ctx.save_for_backward(x)
            return mr.tensor(np.sin(x.numpy()), device=x.device)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return dy * ctx.saved_tensors[0].cos()

    proof = prove(Sine, rng.standard_normal(4), devices=devices)
    assert proof and "second order" not in {r.cell.way for r in proof.results}
    Sine.backward = staticmethod(halved)  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="differences"):
        prove(Sine, rng.standard_normal(4), devices=["cpu"])


@all_devices_slowly
def test_callables_several_inputs_and_arguments_that_are_no_floats(
    devices: list[str] | None, rng: np.random.Generator
) -> None:
    def picked(x: mr.Tensor, places: mr.Tensor, w: mr.Tensor) -> Any:
        return (cube().apply(x)[0] * w).gather(1, places), x.argmax()

    places = mr.tensor([[0, 2], [1, 1]])
    assert prove(picked, rng.standard_normal((2, 3)), places, rng.standard_normal(3), devices=devices)
    with pytest.raises(ValueError, match="no input requires gradients"):
        prove(cube(), [1, 2])


# ---- cells


@cell(states=("h",))
def normalized(z_a, h, *, g, b, eps=1e-5):
    centered = z_a - unit_mean(z_a)
    h = tanh(centered / sqrt(unit_mean(centered * centered) + eps) * g + b) + 0.5 * h
    return h


@cell(states=("c", "h"))
def straight(z_a, z_b, c, h, mask_c):
    c = clip(mask_c * c + z_a, -1, 1, straight_through=True)
    h = sigmoid(z_b) * c
    return c, h


def ways_of(proof: Any) -> set[str]:
    return {r.cell.way for r in proof.results}


@pytest.mark.parametrize("name", slow_unless(["normalized"], ["gru_block", "slstm", "sru", "normalized"]))
def test_a_cell_is_proved(name: str) -> None:
    own: Any = normalized if name == "normalized" else gallery(name)
    proof = own.verify(["cpu"])
    assert proof, proof
    assert ways_of(proof) == {"definition", "differences", "second order"}
    assert {r.cell.dtype for r in proof.results} == {"float64", "float32", "float16"}
    assert all(0 < r.ratio < 1 for r in proof.results if r.cell.variant != "recorded backward pass")
    head, row = str(proof).splitlines()[1:3]
    assert head.split() == ["differences", "definition", "second", "order"] and row.split()[0] == name


def test_what_is_no_derivative_is_not_compared_with_differences() -> None:
    proof = straight.verify(["cpu"])
    assert proof
    assert ways_of(proof) == {"definition", "second order"}


def test_a_wrong_kernel_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = CPU.cell_sequence_grad

    def wrong(*args: Any, **kwargs: Any) -> Any:
        dx, dh0, dc0, dweights = right(*args, **kwargs)
        return dx, dh0 * 1.0001, dc0, dweights

    monkeypatch.setattr(CPU, "cell_sequence_grad", staticmethod(wrong))
    proof = gallery("gru").verify(["cpu"])
    assert not proof
    assert {r.cell.way for r in proof.results if r.status == FAILED} >= {"definition", "differences"}
    row = "FAILED gru, two directions, lengths 2, 4, 3, float64, cpu, definition"
    assert f"{row}: T4 B3 I2 H5, gradient of h0" in str(proof)


@pytest.mark.slow
def test_a_cell_is_proved_on_every_device_at_hand() -> None:
    proof = gallery("lem").verify()
    assert proof, proof
    for name, reason in mr.devices.available().items():
        if name not in ("cpu", "native", "cuda-sim", "cuda"):  # devices of other tests
            continue
        found = {r.status for r in proof.results if r.cell.device == name}
        assert found == ({PASSED} if reason is None else {ABSENT})
    assert "mine" not in {r.cell.device for r in proof.results}, "a device that is made only by name"


def test_a_device_that_composes_the_cell_does_not_judge_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CPU, "kernels", CPU.kernels - {"cell_sequence", "cell_sequence_grad"})
    proof = gallery("gru").verify(["cpu"])
    assert {r.status for r in proof.results} == {ABSENT}
    assert "it has no kernel for this cell, and composes it" in str(proof)


class Antisymmetric(CellLayer):
    def weights(self, k: int) -> Any:
        own = super().weights(k)
        return own._replace(R=own.R - own.R.T, U=(own.U[0],) * len(own.U))


class Signs(CellLayer):
    def weights(self, k: int) -> Any:
        own = super().weights(k)
        return own._replace(R=mr.straight_through(mr.sign(own.R), own.R))


class Doubled(mr.autograd.Function):
    """A derivative that is wrong: the gradient of x, twice."""

    @staticmethod
    def forward(ctx: Any, x: mr.Tensor) -> mr.Tensor:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, dy: mr.Tensor) -> mr.Tensor:
        return dy * 2


class Wrong(CellLayer):
    def weights(self, k: int) -> Any:
        own = super().weights(k)
        return own._replace(R=Doubled.apply(own.R))


@cell(states=("h",))
def twice(z_a, h):
    h = tanh(z_a + product(h))
    h = h + 0.5 * tanh(product(h))
    return h


def test_a_layer_is_proved_with_the_matrices_of_its_class() -> None:
    proof = Antisymmetric(twice, 2, 3, bidirectional=True, batch_first=True).verify(["cpu"])
    assert proof, proof
    assert ways_of(proof) == {"definition", "differences", "second order"}
    assert str(proof).splitlines()[2].split()[0] == "Antisymmetric"
    signs = Signs(twice, 2, 3).verify(["cpu"])
    assert signs and ways_of(signs) == {"definition", "second order"}  # not a derivative


def test_a_wrong_derivative_in_the_matrices_of_a_class_is_noticed() -> None:
    proof = Wrong(twice, 2, 3).verify(["cpu"])
    assert {r.cell.way for r in proof.results if r.status == FAILED} == {"differences"}


@cell(states=("h",))
def largest(z_a, x_b, h):
    v = tanh(z_a + product(h))
    return 0.5 * h + tanh(v * unit_max(v + x_b)) + 0.2 * unit_max(x_b * h)


@cell(states=("h",))
def jumping(z_a, x_b, h):
    return tanh(floor(3 * z_a) * x_b) + 0.2 * where(h > 0.1, 1.0, 0.0)


@pytest.mark.parametrize("own", [largest, jumping], ids=lambda own: own.__name__)
def test_rounding_to_float16_does_not_change_which_unit_is_the_largest(own: Any) -> None:
    """Nor the side of a jump: the inputs of a proof are far from it."""
    proof = own.verify(["cpu"], 18)  # where a draw is near a jump
    assert proof, str(proof)


@pytest.mark.parametrize(
    ("function", "nearest"),
    [
        (lambda x: mr.relu(x), 0.25),
        (lambda x: mr.abs(x - 0.5), 0.5),
        (lambda x: mr.where(x > 1.3, x, -x), 0.175),
        (lambda x: mr.clip(x, -2, 1.4), 0.1),
        (lambda x: mr.floor(x), 0.125),
        (lambda x: mr.unit_max(x), 0.375),
        (lambda x: tanh(x), np.inf),
    ],
)
def test_the_distance_from_a_kink(function: Any, nearest: float) -> None:
    device = Kinks()
    function(mr.tensor([0.0, -0.25, 1.5, 1.125], dtype="float64", device=device))
    assert device.nearest == pytest.approx(nearest)


def test_native_code_that_does_not_compile_is_not_proven_by_that_of_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    if mr.devices.available()["native"] is not None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.setenv("MINIRNN_NATIVE_FLAGS", "-march=nonsense")

    @cell(states="h")
    def alone(z_a: Any, h: Any) -> Any:
        return 0.37 * tanh(z_a)

    proof = alone.verify("native")
    assert {r.status for r in proof.results} == {ABSENT}
    assert "does not compile" in str(proof)

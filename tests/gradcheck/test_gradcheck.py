"""gradcheck finds wrong gradients, says where they are, and accepts correct ones with a tight tolerance."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.engine.tape import Op, record
from minirnn.gradcheck import GradcheckError
from tests.each import each


class Cubic(Op):
    """y = x^3, with a backward that a test chooses."""

    def __init__(self, formula: Any) -> None:
        self.formula = formula

    def backward(self, dy: Any, y: Any, x: Any) -> Any:
        return (self.formula(dy, x),)


def cubic(formula: Any) -> Any:
    def fn(x: mr.Tensor) -> mr.Tensor:
        return record(Cubic(formula), x.device, x.array**3, (x,))

    return fn


def right(dy: Any, x: Any) -> Any:
    return dy * 3 * x * x


def one_entry_off(dy: Any, x: Any) -> Any:
    wrong = np.ones(x.shape)
    wrong[1, 2] = 1 + 1e-6
    return right(dy, x) * wrong


def raw_array(dy: Any, x: Any) -> Any:
    """The first derivative is right, but x is a plain array, so the second derivative is lost."""
    return dy * 3 * mr.tensor(x.numpy()) * mr.tensor(x.numpy())


X = np.array([[0.5, -1.2, 0.7], [1.1, 0.3, -0.4]])
WRONG = {
    "missing factor": lambda dy, x: dy * x * x,
    "wrong sign": lambda dy, x: -right(dy, x),
    "ignores the cotangent": lambda dy, x: 3 * x * x,
    "no gradient": lambda dy, x: None,
    "one entry": one_entry_off,
    "float32 inside": lambda dy, x: right(dy, x).astype(np.float32).astype(np.float64),
    "wrong by a part in ten million": lambda dy, x: right(dy, x) * (1 + 1e-7),
    "constant added": lambda dy, x: right(dy, x) + 1e-7,
}


def test_a_right_gradient_passes_at_both_orders() -> None:
    report = mr.gradcheck(cubic(right), [X], order=2)
    assert report
    assert max(report.errors.values()) < 1e-10
    assert list(report.errors) == ["x", "x, order 2", "cotangent 0, order 2"]


@each("sampled", [False, True], ids=["entries", "directions"])
@each("name", WRONG)
def test_a_wrong_gradient_is_found(name: str, sampled: bool) -> None:
    with pytest.raises(GradcheckError, match=r"gradcheck of fn, seed 0:\ngradient of x, shape \(2, 3\)"):
        mr.gradcheck(cubic(WRONG[name]), [X], max_entries=5 if sampled else 500)


def test_a_lost_second_derivative_is_found_by_order_two_only() -> None:
    assert mr.gradcheck(cubic(raw_array), [X])
    with pytest.raises(GradcheckError, match="gradient of x, order 2, shape .*: 6 of 6 entries are off"):
        mr.gradcheck(cubic(raw_array), [X], order=2)


def test_a_wrong_derivative_with_respect_to_the_cotangent_is_found_by_order_two() -> None:
    def formula(dy: Any, x: Any) -> Any:
        return mr.tensor(dy.numpy()) * 3 * x * x

    assert mr.gradcheck(cubic(formula), [X])
    with pytest.raises(GradcheckError, match="gradient of cotangent 0, order 2"):
        mr.gradcheck(cubic(formula), [X], order=2)


@pytest.mark.parametrize("sampled", [False, True], ids=["entries", "directions"])
def test_the_message_names_the_entry_and_both_values(sampled: bool) -> None:
    def fn(weights: mr.Tensor, bias: mr.Tensor) -> mr.Tensor:
        return cubic(one_entry_off)(weights) + bias

    with pytest.raises(GradcheckError) as caught:
        mr.gradcheck(fn, [X, np.ones(3)], max_entries=5 if sampled else 500)
    message = str(caught.value)
    assert "worst weights[1, 2]: backward gives " in message
    assert "central differences give " in message
    assert "tolerance" in message
    assert "bias" not in message
    assert ("of 20 random directions are off" if sampled else "1 of 6 entries are off") in message
    report = mr.gradcheck(fn, [X, np.ones(3)], raise_exception=False, max_entries=5 if sampled else 500)
    worst = report.worst
    assert worst is not None and worst.index == (1, 2) and worst.name == "weights"
    assert worst.analytic / worst.numeric == pytest.approx(1 + 1e-6, abs=1e-9)
    assert worst.difference > worst.tolerance


def test_one_wrong_entry_among_many_is_located() -> None:
    x = np.random.default_rng(1).uniform(1, 2, (30, 40))

    def formula(dy: Any, t: Any) -> Any:
        wrong = np.ones(t.shape)
        wrong[17, 23] = 0.9
        return right(dy, t) * wrong

    report = mr.gradcheck(cubic(formula), [x], raise_exception=False, directions=5)
    assert report.inputs[0].index == (17, 23)
    assert report.inputs[0].analytic == pytest.approx(0.9 * report.inputs[0].numeric)
    assert report.inputs[0].checked == report.inputs[0].wrong == 5


def test_an_output_whose_gradient_is_dropped_is_found() -> None:
    pair = namedtuple("pair", "h c")

    def fn(x: mr.Tensor) -> Any:
        return pair(x * x, x.detach() * 2.0)

    with pytest.raises(GradcheckError, match="6 of 6 entries are off"):
        mr.gradcheck(fn, [X])
    assert mr.gradcheck(lambda x: pair(x * x, x * 2.0), [X])


def test_an_input_without_influence_is_named() -> None:
    for fn, inputs, name in (
        (lambda x, unused: x * x, [X, np.ones(4)], "unused"),
        (lambda x: mr.tensor(np.ones(3)), [X], "x"),
        (lambda x, y: x * y.detach(), [X, X], "y, shape"),
        (lambda x: mr.tensor(X) * 2.0, [X], "x"),
    ):
        for order in (1, 2):
            with pytest.raises(GradcheckError, match=rf"{name}( has no influence on any output|.*: 6 of 6)"):
                mr.gradcheck(fn, inputs, order=order)
    assert mr.gradcheck(lambda x, unused: x * x, [X, mr.tensor(np.ones(4))])  # a constant
    assert mr.gradcheck(lambda x: mr.floor(x) + 0.0 * x, [X])  # recorded, with gradient 0
    assert mr.gradcheck(mr.floor, [X])


@each("order", [1, 2])
def test_parameters_that_the_function_uses_without_its_arguments_are_checked(order: int) -> None:
    w = mr.tensor(X, requires_grad=True)
    before, twice = w.array, w * 2.0
    with pytest.raises(GradcheckError, match=r"gradient of input 0, shape \(2, 3\): 6 of 6"):
        mr.gradcheck(lambda *p: cubic(WRONG["missing factor"])(w), (w,), order=order)
    assert mr.gradcheck(lambda *p: cubic(right)(w), (w,), order=order)
    lstm = mr.nn.LSTM(2, 2).double()
    report = mr.gradcheck(lambda *p: lstm(mr.tensor(X.reshape(3, 1, 2)))[0], lstm.parameters(), order=order)
    assert report and all(abs(r.analytic) > 1e-4 for r in report.inputs[:4])
    assert w.array is before and w.grad is None
    twice.sum().backward()  # its tape is still valid
    np.testing.assert_array_equal(w.grad.numpy(), np.full((2, 3), 2.0))


def test_float32_parameters_that_are_used_without_the_argument_are_refused() -> None:
    w = mr.tensor(X, requires_grad=True, dtype=np.float32)
    for fn in (lambda *p: mr.exp(w).astype("float64"), lambda p: p * w):
        with pytest.raises(
            GradcheckError, match=r"is used without the argument of <lambda>.*\n.*\n  likely net.double"
        ):
            mr.gradcheck(fn, (w,))


def test_an_input_that_the_function_writes_into_is_restored() -> None:
    w = mr.tensor(X, requires_grad=True)

    def fn(x: mr.Tensor) -> mr.Tensor:
        with mr.no_grad():
            x.add_(1.0)
        return x * 1.0

    with pytest.raises(GradcheckError, match="x was changed by fn"):
        mr.gradcheck(fn, (w,))
    np.testing.assert_array_equal(w.numpy(), X)


def test_the_message_says_that_the_input_is_at_a_kink_or_the_step_too_large() -> None:
    for fn, x, said in (
        (mr.relu, np.array([1.0, 0.0]), "the slopes on the two sides differ by"),
        (mr.log, np.array([1e-4]), r"with a step of 1e-0[678] they agree better: likely steps="),
        (lambda x: mr.sin(x * 1e4), np.array([0.3]), r"with a step of 1e-0[678] they agree better"),
    ):
        with pytest.raises(GradcheckError, match=said):
            mr.gradcheck(fn, [x])
    for name in WRONG:
        report = mr.gradcheck(cubic(WRONG[name]), [X], raise_exception=False)
        assert not report and report.inputs[0].doubt == "", name
    assert mr.gradcheck(mr.log, [np.array([1e-4])], steps=(1e-8,), rtol=1e-6)


def test_integer_outputs_are_ignored() -> None:
    assert mr.gradcheck(lambda x: [x.argmax(), x * x, x > 0], [X])


def test_broadcasting_that_is_not_undone_is_found() -> None:
    class Add(Op):
        def backward(self, dy: Any, y: Any, a: Any, b: Any) -> Any:
            return dy, dy[0]  # a sum is missing

    def fn(a: mr.Tensor, b: mr.Tensor) -> mr.Tensor:
        return record(Add(), a.device, a.array + b.array, (a, b))

    with pytest.raises(GradcheckError, match=r"gradient of b, shape \(3,\): 3 of 3"):
        mr.gradcheck(fn, [X, np.ones(3)])


# ---- unsuitable functions


def test_random_draws_are_noticed() -> None:
    def fn(x: mr.Tensor) -> mr.Tensor:
        return x * mr.random.generator().standard_normal(x.shape)

    with pytest.raises(GradcheckError, match="output 0 changes when fn is called again .*\n.*likely dropout"):
        mr.gradcheck(fn, [X])

    def seeded(x: mr.Tensor) -> mr.Tensor:
        mr.manual_seed(3)
        return fn(x)

    assert mr.gradcheck(seeded, [X])


def test_changed_inputs_are_noticed_by_name() -> None:
    def assigns(x: mr.Tensor, h: mr.Tensor) -> mr.Tensor:
        y = x + h
        h.assign(h.numpy() + 1)
        return y

    with pytest.raises(GradcheckError, match="h was changed by assigns\n  expected inputs to be left as they are"):
        mr.gradcheck(assigns, [X, X])

    def writes(x: mr.Tensor, ids: np.ndarray) -> mr.Tensor:
        y = x[ids]
        ids[0] = 1
        return y

    with pytest.raises(GradcheckError, match="ids was changed by writes"):
        mr.gradcheck(writes, [X, np.array([0, 0])])


def test_the_callers_inputs_are_never_touched() -> None:
    t, a = mr.tensor(np.float32(X), requires_grad=True), X.copy()
    assert mr.gradcheck(lambda x, y: x * y, [t, a], order=2)
    assert t.grad is None and t.dtype == np.float32
    assert (a == X).all()


def test_values_that_are_not_finite_are_noticed() -> None:
    with np.errstate(all="ignore"):
        with pytest.raises(GradcheckError, match="output 0 has 3 of 6 values that are not finite"):
            mr.gradcheck(lambda x: x.log(), [np.array([[1.0, -1, 2], [-1, 3, -2]])])
        with pytest.raises(GradcheckError, match="the gradient of x has 1 of 2 values that are not finite"):
            mr.gradcheck(lambda x: x.sqrt(), [np.array([0.0, 1.0])])


def test_outputs_in_less_than_float64_are_noticed() -> None:
    with pytest.raises(GradcheckError, match="output 1 has dtype float32\n  expected float64"):
        mr.gradcheck(lambda x: [x * x, x.astype(np.float32)], [X])


# ---- sharpness and limits


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_inputs_of_any_magnitude_pass(scale: float) -> None:
    assert mr.gradcheck(lambda x: x * x / scale, [X * scale], order=2)
    assert mr.gradcheck(lambda x: (x / scale).tanh(), [X * scale])


def test_a_function_that_varies_over_tiny_distances_needs_tiny_steps() -> None:
    assert not mr.gradcheck(lambda x: (x / 1e-6).tanh(), [X * 1e-6], raise_exception=False)
    assert mr.gradcheck(lambda x: (x / 1e-6).tanh(), [X * 1e-6], steps=[1e-9])


def test_kinks_and_poles_nearby_do_not_matter() -> None:
    assert mr.gradcheck(ops.relu, [np.array([2e-4, -2e-4, 0.5])])
    assert mr.gradcheck(lambda x: x.log() + x.sqrt(), [np.array([5e-4, 1.0])])
    assert mr.gradcheck(lambda x: 1 / x, [np.array([0.01, 1.0])])


def test_a_kink_is_reported_as_the_disagreement_that_it_is() -> None:
    with pytest.raises(GradcheckError, match=r"worst x\[0\]: backward gives 0, central differences give 0.0628"):
        mr.gradcheck(ops.relu, [np.array([0.0, 0.5])])
    with pytest.raises(GradcheckError, match="1 of 2 entries"):
        mr.gradcheck(lambda x: x.clip(-1, 1, straight_through=True), [np.array([0.5, 2.0])])


def test_tolerances_and_steps_are_arguments() -> None:
    fn = cubic(WRONG["wrong by a part in ten million"])
    assert mr.gradcheck(fn, [X], rtol=1e-6)
    assert mr.gradcheck(fn, [X], rtol=0.0, atol=1e-5)
    assert not mr.gradcheck(cubic(right), [X], rtol=0.0, atol=0.0, raise_exception=False)
    assert mr.gradcheck(fn, [X], rtol=1e-6, steps=[1e-4])


def test_other_seeds_draw_other_cotangents() -> None:
    numbers = {mr.gradcheck(cubic(right), [X], seed=s).inputs[0].analytic for s in range(4)}
    assert len(numbers) == 4
    first, again = (mr.gradcheck(cubic(right), [X], seed=5).inputs[0] for _ in range(2))
    assert first == again


# ---- arguments


def test_arguments_that_are_no_floats_are_handed_on_as_they_are() -> None:
    seen: list[Any] = []

    def fn(x: Any, ids: Any, flag: Any, constant: Any, nothing: Any, number: Any) -> Any:
        seen.append((type(ids), flag, constant.dtype, constant.requires_grad, nothing, number))
        return x[ids] * constant

    constant = mr.tensor(np.float32(2.0))
    report = mr.gradcheck(fn, [X, np.array([0, 1, 1]), True, constant, None, 1.5])
    assert list(report.errors) == ["x"]
    assert set(seen) == {(np.ndarray, True, np.dtype(np.float64), False, None, 1.5)}


def test_inputs_are_named_by_parameter_or_by_number() -> None:
    def named(x: Any, /, y: Any, *more: Any) -> Any:
        return x * y * more[0] * more[1]

    four = [np.array(1.5)] * 4
    assert list(mr.gradcheck(named, four).errors) == ["x", "y", "input 2", "input 3"]
    assert list(mr.gradcheck(lambda *a: a[0] * a[1], four[:2]).errors) == ["input 0", "input 1"]
    assert list(mr.gradcheck(functools.partial(ops.clip, high=9.0), four[:1]).errors) == ["x"]
    assert list(mr.gradcheck(ops.matmul, [X, X.T]).errors) == ["a", "b"]


def test_inputs_that_are_not_used_may_be_nan() -> None:
    assert mr.gradcheck(lambda x, padding: x * x, [X, mr.tensor([np.nan])])


def test_a_check_along_directions_says_so() -> None:
    report = mr.gradcheck(cubic(right), [X], max_entries=5, directions=7)
    assert report.inputs[0].directions and report.inputs[0].checked == 7 and report.inputs[0].index is None
    assert "7 dir" in str(report)
    assert not mr.gradcheck(cubic(right), [X], max_entries=6).inputs[0].directions


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: mr.gradcheck(lambda x: x, [mr.tensor(1.0)]), ValueError, "no input requires gradients, got Tensor"),
        (lambda: mr.gradcheck(lambda x: x, [1, None]), ValueError, "no input requires gradients, got int, NoneType"),
        (lambda: mr.gradcheck(lambda: 1, []), ValueError, "no input requires gradients, got none"),
        (lambda: mr.gradcheck(lambda x: x.numpy(), [X]), TypeError, "returned a ndarray\n  expected Tensors"),
        (lambda: mr.gradcheck(lambda x: x.argmax(), [X]), ValueError, "returned no float Tensor\n  expected at least"),
        (lambda: mr.gradcheck(lambda x: x, [X], order=3), ValueError, "order is 3\n  expected 1 or 2"),
        (lambda: mr.gradcheck(lambda x: x, [X], steps=[]), ValueError, r"steps are \[\]\n  expected at least one"),
        (
            lambda: mr.gradcheck(lambda x: x, [X], steps=[0.0]),
            ValueError,
            r"steps are \[0.0\]\n  expected at least one",
        ),
    ],
)
def test_what_cannot_be_checked_is_an_error(call: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=f"gradcheck: .*{message}"):
        call()


def test_it_works_inside_no_grad() -> None:
    with mr.no_grad():
        assert mr.gradcheck(cubic(right), [X], order=2)


# ---- the edges of the settings


def test_the_smallest_settings_are_taken() -> None:
    report = mr.gradcheck(cubic(right), [X], max_entries=0, directions=1, seed=0, rtol=0, atol=1e-8, steps=[1e-3])
    (only,) = report.inputs
    assert (only.checked, only.wrong, only.directions, only.index) == (1, 0, True, None)
    assert only.tolerance == 1e-8
    relative = mr.gradcheck(cubic(right), [X], atol=0, rtol=1e-8).inputs[0]
    assert relative.tolerance == pytest.approx(1e-8 * max(abs(relative.analytic), abs(relative.numeric)))
    assert mr.gradcheck(cubic(right), [X], max_entries=6).inputs[0].directions is False
    assert mr.gradcheck(cubic(right), [X], max_entries=5, directions=3).inputs[0].checked == 3


def test_a_seed_decides_cotangents_and_directions() -> None:
    def analytic(seed: int) -> float:
        return mr.gradcheck(cubic(right), [X], seed=seed, max_entries=0, directions=1).inputs[0].analytic

    assert analytic(1) == analytic(1) != analytic(2)


def test_constants_are_widened_and_not_checked_and_integers_stay() -> None:
    seen: list[tuple[Any, ...]] = []

    def fn(x: mr.Tensor, c: mr.Tensor, *rest: Any) -> mr.Tensor:
        seen.append((x.dtype.name, c.dtype.name, c.requires_grad, *(type(r) for r in rest)))
        return (x * c)[rest[0]] * rest[1].sum() * rest[2]

    ids, more = np.array([1, 0, 1]), np.array([2.0, 3.0], np.float32)
    report = mr.gradcheck(fn, [np.float32(X), mr.tensor(np.ones(3, np.float32)), ids, more, 2], order=2)
    assert set(seen) == {("float64", "float64", False, np.ndarray, mr.Tensor, int)}
    assert list(report.errors) == ["x", "input 3", "x, order 2", "input 3, order 2", "cotangent 0, order 2"]
    assert [r.shape for r in report.inputs] == [(2, 3), (2,), (2, 3), (2,), (3, 3)]


def test_one_array_or_tensor_is_a_list_of_one() -> None:
    for one in (X, mr.tensor(X, requires_grad=True), np.float64(0.5)):
        assert list(mr.gradcheck(cubic(right), one).errors) == ["x"]
    with pytest.raises(ValueError, match="no input requires gradients, got Tensor, int"):
        mr.gradcheck(cubic(right), [mr.tensor(X), 3])


def test_an_output_that_was_not_recorded_is_a_constant_also_at_order_two() -> None:
    report = mr.gradcheck(lambda x: (x * x, mr.tensor(np.ones(2))), [X], order=2)
    assert list(report.errors) == ["x", "x, order 2", "cotangent 0, order 2", "cotangent 1, order 2"]
    assert report.inputs[3].analytic == report.inputs[3].numeric == 0


def test_torchs_step_is_taken_and_changes_nothing() -> None:
    x = mr.tensor([0.5, 2.0], dtype=np.float64, requires_grad=True)
    assert mr.autograd.gradcheck(lambda t: t**3, (x,), eps=1e-6, atol=1e-4)
    assert mr.gradcheck(lambda t: t**3, (x,), eps=1.0).errors == mr.gradcheck(lambda t: t**3, (x,)).errors

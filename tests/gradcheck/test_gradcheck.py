"""gradcheck finds wrong gradients, says where they are, and accepts right ones: a row of `CHECKS` is one check."""

import copy
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

X = np.array([[0.5, -1.2, 0.7], [1.1, 0.3, -0.4]])
PART = np.where(X == -0.4, 1 + 1e-6, 1.0)
BIG = np.random.default_rng(1).uniform(1, 2, (30, 40))
FEW = {"max_entries": 5}
pair = namedtuple("pair", "h c")


class By(Op):
    """An op whose backward a test chooses."""

    def __init__(self, formula: Any) -> None:
        self.formula = formula

    def backward(self, dy: Any, y: Any, *xs: Any) -> Any:
        found = self.formula(dy, *xs)
        return found if isinstance(found, tuple) else (found,)


def op(formula: Any, forward: Any = lambda x: x**3) -> Any:
    def fn(x: mr.Tensor, *more: mr.Tensor) -> mr.Tensor:
        return record(By(formula), x.device, forward(*(t.array for t in (x, *more))), (x, *more))

    return fn


def right(dy: Any, x: Any) -> Any:
    return dy * 3 * x * x


def constant(t: Any) -> mr.Tensor:
    return mr.tensor(t.numpy())


def random_draw(x: mr.Tensor) -> mr.Tensor:
    return x * mr.random.generator().standard_normal(x.shape)


def seeded(x: mr.Tensor) -> mr.Tensor:
    mr.manual_seed(3)
    return random_draw(x)


def assigns(x: mr.Tensor, h: mr.Tensor) -> mr.Tensor:
    y = x + h
    h.assign(h.numpy() + 1)
    return y


def writes(x: mr.Tensor, ids: np.ndarray) -> mr.Tensor:
    y = x[ids]
    ids[0] = 1
    return y


HEAD = r"gradcheck of fn, seed 0:\ngradient of x, shape \(2, 3\)"
WRONG = {
    "missing factor": lambda dy, x: dy * x * x,
    "wrong sign": lambda dy, x: -right(dy, x),
    "ignores the cotangent": lambda dy, x: 3 * x * x,
    "no gradient": lambda dy, x: None,
    "one entry": lambda dy, x: right(dy, x) * PART,
    "float32 inside": lambda dy, x: right(dy, x).astype(np.float32).astype(np.float64),
    "a part in ten million": lambda dy, x: right(dy, x) * (1 + 1e-7),
    "constant added": lambda dy, x: right(dy, x) + 1e-7,
}
NO_USE: list[tuple[Any, Any, str]] = [
    (lambda x, unused: x * x, [X, np.ones(4)], "unused"),
    (lambda x: mr.tensor(np.ones(3)), [X], "x"),
    (lambda x: mr.tensor(X) * 2.0, [X], "x"),
]
tenth = op(WRONG["a part in ten million"])
# What is checked, its inputs, the settings, and what must be said; None if it passes.
CHECKS: list[tuple[Any, Any, dict[str, Any], str | None]] = [
    (op(right), [X], {"order": 2}, None),
    *((op(f), [X], s, HEAD) for f in WRONG.values() for s in ({}, FEW)),
    (op(lambda dy, x: dy * 3 * constant(x) * constant(x)), [X], {}, None),
    (
        op(lambda dy, x: dy * 3 * constant(x) * constant(x)),
        [X],
        {"order": 2},
        "gradient of x, order 2, shape .*: 6 of 6 entries",
    ),
    (op(lambda dy, x: constant(dy) * 3 * x * x), [X], {}, None),
    (op(lambda dy, x: constant(dy) * 3 * x * x), [X], {"order": 2}, "gradient of cotangent 0, order 2"),
    (lambda x: pair(x * x, x.detach() * 2.0), [X], {}, "6 of 6 entries are off"),
    (lambda x: pair(x * x, x * 2.0), [X], {}, None),
    *(
        (fn, inputs, {"order": k}, f"{name} has no influence on any output")
        for k in (1, 2)
        for fn, inputs, name in NO_USE
    ),
    *((lambda x, y: x * y.detach(), [X, X], {"order": k}, r"gradient of y, shape \(2, 3\): 6 of 6") for k in (1, 2)),
    (lambda x, unused: x * x, [X, mr.tensor(np.ones(4))], {}, None),  # a constant
    *((f, [X], {}, None) for f in (mr.floor, lambda x: mr.floor(x) + 0.0 * x)),  # recorded, with gradient 0
    (mr.relu, [np.array([1.0, 0.0])], {}, "the slopes on the two sides differ by"),
    (mr.log, [np.array([1e-4])], {}, r"with a step of 1e-0[678] they agree better: likely steps="),
    (lambda x: mr.sin(x * 1e4), [np.array([0.3])], {}, r"with a step of 1e-0[678] they agree better"),
    (mr.log, [np.array([1e-4])], {"steps": (1e-8,), "rtol": 1e-6}, None),
    (lambda x: [x.argmax(), x * x, x > 0], [X], {}, None),
    (op(lambda dy, a, b: (dy, dy[0]), np.add), [X, np.ones(3)], {}, r"gradient of input 1, shape \(3,\): 3 of 3"),
    (random_draw, [X], {}, "output 0 changes when random_draw is called again .*\n.*likely dropout"),
    (seeded, [X], {}, None),
    (assigns, [X, X], {}, "h was changed by assigns\n  expected inputs to be left as they are"),
    (writes, [X, np.array([0, 0])], {}, "ids was changed by writes"),
    (lambda x: x.log(), [np.array([[1.0, -1, 2], [-1, 3, -2]])], {}, "output 0 has 3 of 6 values that are not finite"),
    (lambda x: x.sqrt(), [np.array([0.0, 1.0])], {}, "the gradient of x has 1 of 2 values that are not finite"),
    (lambda x: [x * x, x.astype(np.float32)], [X], {}, "output 1 has dtype float32\n  expected float64"),
    *((lambda x, s=s: x * x / s, [X * s], {"order": 2}, None) for s in (1.0, 1e3, 1e6)),
    (lambda x: (x / 1e6).tanh(), [X * 1e6], {}, None),
    (lambda x: (x / 1e-6).tanh(), [X * 1e-6], {}, "entries are off"),
    (lambda x: (x / 1e-6).tanh(), [X * 1e-6], {"steps": [1e-9]}, None),
    (ops.relu, [np.array([2e-4, -2e-4, 0.5])], {}, None),
    (lambda x: x.log() + x.sqrt(), [np.array([5e-4, 1.0])], {}, None),
    (ops.relu, [np.array([0.0, 0.5])], {}, r"worst x\[0\]: backward gives 0, central differences give 0.0628"),
    (lambda x: x.clip(-1, 1, straight_through=True), [np.array([0.5, 2.0])], {}, "1 of 2 entries"),
    (tenth, [X], {"rtol": 1e-6}, None),
    (tenth, [X], {"rtol": 0.0, "atol": 1e-5}, None),
    (tenth, [X], {"rtol": 1e-6, "steps": [1e-4]}, None),
    (op(right), [X], {"rtol": 0.0, "atol": 0.0}, "off"),
    (lambda x, padding: x * x, [X, mr.tensor([np.nan])], {}, None),
]


@each(("fn", "inputs", "settings", "words"), CHECKS)
def test_a_check_passes_or_says_what_is_wrong(fn: Any, inputs: Any, settings: Any, words: str | None) -> None:
    with np.errstate(all="ignore"), mr.no_grad():
        if words is None:
            assert max(mr.gradcheck(fn, inputs, **settings).errors.values()) < 1e-4
        else:
            with pytest.raises(GradcheckError, match=words):
                mr.gradcheck(fn, copy.deepcopy(inputs), **settings)
            assert not mr.gradcheck(fn, inputs, raise_exception=False, **settings)


@pytest.mark.parametrize(("settings", "count"), [({}, "1 of 6 entries"), (FEW, "of 20 random directions")])
def test_the_message_names_the_entry_and_both_values(settings: Any, count: str) -> None:
    def fn(weights: mr.Tensor, bias: mr.Tensor) -> mr.Tensor:
        return op(WRONG["one entry"])(weights) + bias

    report = mr.gradcheck(fn, [X, np.ones(3)], raise_exception=False, **settings)
    worst, (message, *_) = report.worst, [str(r) for r in report.inputs if r.wrong]
    assert f"{count} are off\n  worst weights[1, 2]: backward gives " in message and "bias" not in message
    assert worst is not None and worst.index == (1, 2) and worst.name == "weights"
    assert worst.analytic / worst.numeric == pytest.approx(1 + 1e-6, abs=1e-9)
    assert worst.difference > worst.tolerance


def test_one_wrong_entry_among_many_is_located() -> None:
    wrong = np.ones(BIG.shape)
    wrong[17, 23] = 0.9
    (found,) = mr.gradcheck(op(lambda dy, x: right(dy, x) * wrong), BIG, raise_exception=False, directions=5).inputs
    assert found.index == (17, 23) and found.analytic == pytest.approx(0.9 * found.numeric)
    assert found.checked == found.wrong == 5


def test_the_callers_inputs_are_never_touched() -> None:
    t, a = mr.tensor(np.float32(X), requires_grad=True), X.copy()
    assert mr.gradcheck(lambda x, y: x * y, [t, a], order=2)
    assert t.grad is None and t.dtype == np.float32 and (a == X).all()


def test_a_seed_decides_cotangents_and_directions() -> None:
    few: Any = {"max_entries": 0, "directions": 1}
    for settings in ({}, few):
        found = [mr.gradcheck(op(right), [X], seed=s, **settings).inputs[0] for s in (0, 1, 2, 3, 3)]
        assert found[3] == found[4] and len({r.analytic for r in found}) == 4


def test_arguments_that_are_no_floats_are_handed_on_and_constants_are_widened() -> None:
    seen: list[Any] = []

    def fn(x: Any, ids: Any, flag: Any, c: Any, nothing: Any, number: Any, more: Any) -> Any:
        seen.append((type(ids), flag, c.dtype.name, c.requires_grad, nothing, number, x.dtype.name, type(more)))
        return (x * c)[ids] * more.sum()

    rest = [np.array([0, 1, 1]), True, mr.tensor(np.float32(2.0)), None, 1.5, np.array([2.0, 3.0], np.float32)]
    report = mr.gradcheck(fn, [np.float32(X), *rest], order=2)
    assert set(seen) == {(np.ndarray, True, "float64", False, None, 1.5, "float64", mr.Tensor)}
    assert list(report.errors) == ["x", "more", "x, order 2", "more, order 2", "cotangent 0, order 2"]
    assert [r.shape for r in report.inputs] == [(2, 3), (2,), (2, 3), (2,), (3, 3)]


def test_inputs_are_named_by_parameter_or_by_number() -> None:
    def named(x: Any, /, y: Any, *more: Any) -> Any:
        return x * y * more[0] * more[1]

    four = [np.array(1.5)] * 4
    for fn, inputs, names in (
        (named, four, ["x", "y", "input 2", "input 3"]), (lambda *a: a[0] * a[1], four[:2], ["input 0", "input 1"]),
        (functools.partial(ops.clip, high=9.0), four[:1], ["x"]), (ops.matmul, [X, X.T], ["a", "b"]),
        (op(right), X, ["x"]), (op(right), mr.tensor(X, requires_grad=True), ["x"]),
        (lambda x: (x * x, mr.tensor(np.ones(2))), np.float64(0.5), ["x"]),
    ):  # fmt: skip
        assert list(mr.gradcheck(fn, inputs).errors) == names
    report = mr.gradcheck(lambda x: (x * x, mr.tensor(np.ones(2))), [X], order=2)
    assert list(report.errors) == ["x", "x, order 2", "cotangent 0, order 2", "cotangent 1, order 2"]
    assert report.inputs[3].analytic == report.inputs[3].numeric == 0


def test_the_smallest_settings_are_taken() -> None:
    def of(**settings: Any) -> Any:
        return mr.gradcheck(op(right), [X], **settings).inputs[0]

    only = of(max_entries=0, directions=1, rtol=0, atol=1e-8, steps=[1e-3])
    assert (only.checked, only.wrong, only.directions, only.index, only.tolerance) == (1, 0, True, None, 1e-8)
    relative = of(atol=0, rtol=1e-8)
    assert relative.tolerance == pytest.approx(1e-8 * max(abs(relative.analytic), abs(relative.numeric)))
    assert (of(max_entries=6).directions, of(max_entries=5, directions=3).checked) == (False, 3)
    x = mr.tensor([0.5, 2.0], dtype=np.float64, requires_grad=True)
    assert mr.autograd.gradcheck(lambda t: t**3, (x,), eps=1e-6, atol=1e-4)
    assert mr.gradcheck(lambda t: t**3, (x,), eps=1.0).errors == mr.gradcheck(lambda t: t**3, (x,)).errors


NO = "no input requires gradients, got "
REFUSED: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
    (lambda x: x, [mr.tensor(1.0)], {}, ValueError, f"{NO}Tensor"),
    (lambda x: x, [1, None], {}, ValueError, f"{NO}int, NoneType"),
    (lambda: 1, [], {}, ValueError, f"{NO}none"),
    (lambda x: x.numpy(), [X], {}, TypeError, "returned a ndarray\n  expected Tensors"),
    (lambda x: x.argmax(), [X], {}, ValueError, "returned no float Tensor\n  expected at least"),
    (lambda x: x, [X], {"order": 3}, ValueError, "order is 3\n  expected 1 or 2"),
    (lambda x: x, [X], {"steps": []}, ValueError, r"steps are \[\]\n  expected at least one"),
    (lambda x: x, [X], {"steps": [0.0]}, ValueError, r"steps are \[0.0\]\n  expected at least one"),
]


@each(("fn", "inputs", "settings", "kind", "words"), REFUSED)
def test_what_cannot_be_checked_is_an_error(fn: Any, inputs: Any, settings: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=f"gradcheck: .*{words}"):
        mr.gradcheck(fn, inputs, **settings)


@each("order", [1, 2])
def test_parameters_that_the_function_uses_without_its_arguments_are_checked(order: int) -> None:
    w = mr.tensor(X, requires_grad=True)
    before, twice = w.array, w * 2.0
    with pytest.raises(GradcheckError, match=r"gradient of input 0, shape \(2, 3\): 6 of 6"):
        mr.gradcheck(lambda *p: op(WRONG["missing factor"])(w), (w,), order=order)
    assert mr.gradcheck(lambda *p: op(right)(w), (w,), order=order)
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


def test_a_plainly_wrong_gradient_is_not_blamed_on_the_step() -> None:
    for name in WRONG:
        report = mr.gradcheck(op(WRONG[name]), [X], raise_exception=False)
        assert not report and report.inputs[0].doubt == "", name

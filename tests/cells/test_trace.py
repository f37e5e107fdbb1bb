"""Valid functions of cells, and the errors for invalid ones.

Tests `minirnn/cells/trace.py`, `minirnn/cells/expr.py` and `minirnn/cells/rules.py`.
"""

import math
import re
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, product, sigmoid, tanh, where
from minirnn.cells.expr import COMPARISONS, CUTS, SUMS, CellError, Graph, apply
from minirnn.cells.rules import RULES
from minirnn.cells.words import FUNCTIONS


def branches(z_a, h):
    if z_a > 0:
        h = h + 1
    return tanh(z_a) + h


def unknown_name(z_a, h):
    return tanh(z_a) + hh  # noqa: F821


def torch_order(z_i: Any, z_f: Any, z_n: Any, z_o: Any, h: Any, c: Any) -> Any:
    c = sigmoid(z_f) * c + sigmoid(z_i) * tanh(z_n)
    h = sigmoid(z_o) * tanh(c)
    return h, c


class Surrogate(mr.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return tanh(x)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy


def unused_product(z_a, h):
    product(h)
    return tanh(z_a)


def combined(z_a, h):
    return where(h, z_a, h)


def exchanged(z_a, c, h):
    c = c + tanh(z_a)
    h = tanh(c)
    return h, c


def vararg(z_a, h, *more):
    return tanh(z_a) + h


WRONG: dict[str, Any] = {
    "branches": (branches, "asked whether it is true"),
    "unknown name": (unknown_name, "name 'hh' is not defined"),
    "NumPy": (lambda z_a, h: np.tanh(z_a), r"given to np\.tanh"),
    "NumPy's functions": (lambda z_a, h: np.concatenate([z_a, h]), r"given to np\.concatenate"),
    "math": (lambda z_a, h: math.tanh(z_a), "turned into a number"),
    "max": (lambda z_a, h: max(z_a, h), "asked whether it is true"),
    "an array": (lambda z_a, h: tanh(z_a) * np.ones(3), "given to np.multiply|got ndarray"),
    "a Tensor": (lambda z_a, h: tanh(z_a) + mr.ones(3), "got Tensor|Tensor"),
    "a method": (lambda z_a, h: tanh(z_a).mean(), r"asked for \.mean(.|\n)*write unit_mean\(v\)"),
    "a shape": (lambda z_a, h: tanh(z_a) * h.shape[0], r"asked for \.shape"),
    "a length": (lambda z_a, h: tanh(z_a) * len(h), "asked for its length"),
    "an index": (lambda z_a, h: tanh(z_a) + h[0], "was indexed"),
    "a matrix": (lambda z_a, h: tanh(z_a) @ h, "multiplied by a matrix"),
    "a loop": (lambda z_a, h: sum(z_a) + h, "iterated over"),
    "a power": (lambda z_a, h: tanh(z_a) ** 0.3 + h, "a power that devices cannot compute"),
    "a condition": (combined, "the condition is a value of the step"),
    "another function": (lambda z_a, h: mr.tan(z_a) + h, "given to tan"),
    "the sum over units": (lambda z_a, h: z_a.sum() + h, r"write unit_sum\(v\)"),
    "softmax": (lambda z_a, h: mr.softmax(z_a) + h, r"the softmax over units is unit_softmax\(v\)"),
    "no gradient": (lambda z_a, h: z_a.detach() + h, r"write straight_through\(v, 0.0\)"),
    "a remainder": (lambda z_a, h: z_a % 2 + h, r"by % or //\n.*\n.*write v - n \* floor\(v / n\)"),
    "a complex number": (lambda z_a, h: 1j * z_a + h, "the real and the imaginary part as two states"),
    "a bound": (lambda z_a, h: mr.clip(z_a, -1, h), "a bound is a value"),
    "a power of a number": (lambda z_a, h: 2**z_a + h, r"write exp\(x \* 0.693147"),
    "a number to the power of zero": (lambda z_a, h: 0**z_a + h, r"a number was raised.*\n.*a base above 0"),
    "and": (lambda z_a, h: where((z_a > 0) & (h > 0), z_a, h), r"combined with & or \|\n(.|\n)*where\(a, where"),
    "not": (lambda z_a, h: where(~(z_a > 0), z_a, h), "exchange the values of where"),
    "a function of Tensors": (lambda z_a, h: mr.softmax(z_a) + h, "asked for .dtype, perhaps by a function of T"),
    "exchanged states": (("c", "h"), exchanged, "returns h, c\n  expected the new c, h in the order of states="),
    "zero": (lambda z_a, h: tanh(z_a) / 0, "divided by 0"),
    "an unused gate": (lambda z_a, z_b, h: tanh(z_a), "the gate 'z_b' is never used"),
    "an unused state": (("c", "h"), lambda z_a, c, h: (tanh(z_a), sigmoid(z_a)), "the state 'c' is never used"),
    "an LSTM that returns h, c as torch does": (
        ("h", "c"),
        torch_order,
        r"'h' is never used\n.*the last state, here c; .* states=\('c', 'h'\) and return c, h\n",
    ),
    "a Function": (
        lambda z_a, h: Surrogate.apply(z_a) + h,
        r"Surrogate.apply .* would be ignored\n  write straight_through",
    ),
    "a state that is the output alone": (
        ("c", "h"),
        lambda x_a, c, h: (c + x_a, tanh(c)),
        r"'h' is never used\n  if it is only the output of the layer, write @cell\(states=\('c',\), output='h'\)",
    ),
    "an unused product": (unused_product, "a product or mean is never used"),
    "a matrix that is not named by text": (
        lambda z_a, h: tanh(z_a) + product(h, 2),
        "the matrix is 2\n  expected a name such as 'U', or None",
    ),
    "a matrix called like a value": (
        lambda z_a, h: tanh(z_a) + product(h, "z_a"),
        "a matrix is called 'z_a'\n  expected a name that nothing else has",
    ),
    "too few results": (("c", "h"), lambda z_a, c, h: tanh(z_a) * c, "returns 1 values\n  expected 2: the new c, h"),
    "a result that is no value": (lambda z_a, h: 1, "the new h is a int"),
    "a state that stays": (("c", "h"), lambda z_a, c, h: (c, tanh(z_a) + c), "the new c is the c before the step"),
    "another parameter": (lambda a, h: tanh(a), "got a parameter 'a'"),
    "no gate": (lambda h: tanh(h), "it has no gate"),
    "no such state": (("c", "h"), lambda z_a, h: (h, tanh(z_a)), "the state 'c' is not a parameter"),
    "a state twice": (("h", "h"), lambda z_a, h: h, "expected every state once"),
    "a state called like a gate": (("z_h",), lambda z_a, z_h: z_a, "got a state 'z_h'"),
    "many parameters": (vararg, "without \\*args"),
    "a default": (lambda z_a, h=3: tanh(z_a) + h, "'h' has a default"),
    "a default that is no number": (lambda z_a, h, *, u="x": tanh(z_a) + h, "the default of u is 'x'"),
    "a rate": (lambda z_a, h, mask_a=2: tanh(z_a) * mask_a + h, "the default of mask_a is 2"),
    "an unused constant": (lambda z_a, h, *, u=1.0: tanh(z_a) + h, "the constant 'u' is never used"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_one_error_with_its_line(case: str) -> None:
    *states, function, words = WRONG[case]
    with pytest.raises(CellError, match=words) as caught:
        cell(states=states[0] if states else ("h",))(function)
    text = str(caught.value)
    line = re.match(r"[\w<>]+ \((.+), line (\d+)\)", text)
    assert line is not None, text
    first = function.__code__.co_firstlineno
    assert line[1] == __file__
    assert first <= int(line[2]) <= first + 3
    assert 2 <= len(text.splitlines()) <= 4


def test_a_forgotten_call_is_named() -> None:
    with pytest.raises(CellError, match=r"expected @cell\(states=\('h',\)\) above it"):
        cell(step)  # type: ignore[arg-type]
    assert cell("h")(step).step.user_states == ("h",)


def step(x_a: Any, h: Any, *, u: Any, dt: float = 0.5) -> Any:
    a = x_a + u * h
    a = tanh(a)
    h = h + dt * a
    return h


def test_names_are_those_of_the_function() -> None:
    own = cell(states="h")(step)
    assert own.forward_formulas() == "a = x_a + u * h_prev\na2 = tanh(a)\nh = h_prev + dt * a2"
    assert own.step.constants == {"dt": 0.5}
    assert "dt" in own.with_constants(dt=2).backward_formulas()
    with pytest.raises(CellError, match="no constant 'dx'"):
        own.with_constants(dx=2)


def test_a_function_needs_no_source_text() -> None:
    scope: dict[str, Any] = {"tanh": tanh}
    exec("def made(z_a, h):\n    n = tanh(z_a)\n    return n * h", scope)
    assert cell(states=("h",))(scope["made"]).forward_formulas() == "n = tanh(z_a)\nh = n * h_prev"
    assert cell(states=("h",))(lambda z_a, h: tanh(z_a)).forward_formulas() == "h = tanh(z_a)"


class Holder:
    @staticmethod
    @cell(states=("h",))
    def outside(z_a: Any, h: Any) -> Any:
        t = tanh(z_a)
        return t * h

    @cell(states=("h",))
    @staticmethod
    def inside(z_a: Any, h: Any) -> Any:
        t = tanh(z_a)
        return t * h

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.cell = cell(states=("h",))(self.method)

    def method(self, z_a: Any, h: Any) -> Any:
        n = self.scale * tanh(z_a)
        return n * h


def test_a_cell_may_be_in_a_class() -> None:
    assert Holder.outside.forward_formulas() == Holder.inside.forward_formulas() == "t = tanh(z_a)\nh = t * h_prev"
    assert Holder(3).cell.forward_formulas().endswith("h = n * h_prev")
    assert "3 * " in Holder(3).cell.forward_formulas()


def test_tracing_leaves_the_tracer_of_a_debugger() -> None:
    import sys

    def mine(*_: Any) -> Any:
        return None

    before = sys.gettrace()
    try:
        sys.settrace(mine)
        cell(states=("h",))(lambda z_a, h: tanh(z_a) * h)
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)


def test_what_the_messages_say_instead_is_right() -> None:
    """What the messages say to write for a sum, a norm and a remainder computes these."""
    v = np.random.default_rng(0).normal(size=(3, 5))
    t = mr.tensor(v)
    np.testing.assert_allclose(mr.unit_sum(t).numpy(), v.sum(-1, keepdims=True))
    np.testing.assert_allclose(mr.sqrt(mr.unit_sum(t * t)).numpy()[:, 0], np.linalg.norm(v, axis=-1))
    np.testing.assert_allclose((t - 0.7 * mr.floor(t / 0.7)).numpy(), v % 0.7, rtol=0, atol=1e-15)


def test_numbers_are_folded_and_terms_that_vanish_are_left_out() -> None:
    graph = Graph()
    a = graph.node("input", (), "a")
    assert a + 0 is a
    assert 1 * a is a
    assert a - 0 is a
    assert (a * 0).value == 0
    minus = -a
    assert -minus is a
    assert a * -a is -(a * a)
    assert 2 * np.float32(3) * a is 6 * a
    assert np.float64(2) * a is 2 * a
    assert a**3 is a * a * a
    assert (a > 0) * a is where(a > 0, 1, 0) * a


COUNTS = {"neg": 1, "clip": 3, "where": 3}
UNITS = (*CUTS, *SUMS, "dot", "unit_norm", "unit_softmax", "unit_share")
ONE = [name for name in FUNCTIONS if name not in (*COUNTS, *UNITS, "maximum", "minimum", "straight_through")]


@pytest.mark.parametrize("name", [n for n in RULES if n not in (*COMPARISONS, *UNITS, "straight_through", "copy")])
def test_the_table_of_derivatives_is_right(rng: np.random.Generator, name: str) -> None:
    """Against finite differences of the table's own values."""
    rule = RULES[name]
    n = 1 if name in ONE else COUNTS.get(name, 2)
    graph = Graph()
    symbols = [graph.node("input", (), f"a{k}") for k in range(n)]
    d = graph.node("gradient", (), "d")
    if name == "where":
        symbols[0] = symbols[1] > symbols[2]
    if name == "clip":
        symbols[1:] = [graph.number(-0.5), graph.number(0.5)]
    y = graph.node(name, tuple(symbols))
    assert rule.derivative is not None
    gradients = rule.derivative(d, y, *symbols)

    def value(e: Any, given: dict[Any, float]) -> float:
        if e in given:
            return given[e]
        return e.value if e.op == "number" else RULES[e.op].value(*[value(a, given) for a in e.args])

    for _ in range(5):
        at = {e: float(rng.uniform(0.1, 2)) for e in symbols if e.op == "input"} | {d: 1.7}
        if name == "where":
            at = {symbols[1]: 0.4, symbols[2]: 0.9, d: 1.7}
        for e, g in zip(symbols, gradients, strict=True):
            if e not in at:
                continue
            up, down = ({**at, e: at[e] + s * 1e-6} for s in (1, -1))
            slope = 1.7 * (value(y, up) - value(y, down)) / 2e-6
            found = 0.0 if g is None else value(graph.lift(g), at)
            assert found == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_every_function_has_a_rule() -> None:
    assert set(FUNCTIONS) <= RULES.keys() | {"dot"}  # a product, and a sum over keys


@pytest.mark.parametrize("name", ONE)
def test_functions_take_symbols_tensors_and_arrays(name: str) -> None:
    function = getattr(mr, name)
    graph = Graph()
    e = graph.node("input", (), "a")
    assert function(e) is apply(name, e)
    values = np.array([0.3, 1.2])
    expected = [RULES[name].value(v) for v in values]
    for given in (values, mr.tensor(values)):
        np.testing.assert_allclose(function(given).numpy(), expected, rtol=1e-12)


def test_other_functions_take_symbols_and_tensors() -> None:
    graph = Graph()
    e = graph.node("input", (), "a")
    t = mr.tensor([[1.0, 5.0], [2.0, 4.0]], requires_grad=True)
    assert mr.maximum(e, 1).op == "maximum"
    assert mr.minimum(2, e).op == "minimum"
    assert mr.clip(e, -1, 1).op == "clip"
    assert mr.clip(e, -1, 1, straight_through=True).op == "straight_through"
    assert mr.unit_mean(e).op == "unit_mean"
    assert np.array_equal(mr.unit_mean(t).numpy(), [[3], [3]])
    assert np.array_equal(mr.unit_max(t).numpy(), [[5], [4]])
    np.testing.assert_allclose(mr.unit_softmax(t).numpy().sum(-1), 1)
    np.testing.assert_allclose(mr.unit_norm(t, eps=0).numpy(), [[-1, 1], [-1, 1]])
    a, b = mr.unit_norm(t, t + 10, eps=0)
    both = np.concatenate([a.numpy(), b.numpy()], -1)
    np.testing.assert_allclose([both.mean(-1), both.var(-1)], [[0, 0], [1, 1]], atol=1e-15)
    y = mr.straight_through(mr.where(t > 3, 1.0, 0.0), t)
    y.sum().backward()
    assert np.array_equal(y.numpy(), [[0, 1], [0, 1]])
    assert np.array_equal(t.grad.numpy(), np.ones((2, 2)))
    with pytest.raises(CellError, match="expected a value of a cell's step"):
        product(t)

"""A hand-written backward pass is compared with the derived one, and the mistakes are named.

Tests `minirnn/cells/compare.py` and `minirnn/cells/cell.py`.
"""

import types
from typing import Any

import pytest

from minirnn import cell, product, relu, sigmoid, tanh
from minirnn.cells.expr import CellError
from tests.cells.with_torch import gallery

RIGHT = {
    "dz_o": "dh * tanh_c * o * (1 - o)",
    "dc": "c_grad + dh * o * (1 - tanh_c * tanh_c) + dz_o * wco",
    "dz_i": "dc * n * i * (1 - i)",
    "dz_f": "dc * c_prev * f * (1 - f)",
    "dz_n": "dc * i * (1 - n * n)",
    "dc_prev": "dc * f + dz_i * wci + dz_f * wcf",
    "dwci": "dz_i * c_prev",
    "dwcf": "dz_f * c_prev",
    "dwco": "dz_o * c",
}


def by_hand(changes: dict[str, str] | None = None, returns: str = "") -> Any:
    """A backward pass of the peephole LSTM, with some lines changed, or left out if they are empty."""
    lines = {**RIGHT, **(changes or {})}
    body = "\n".join(f"    {n} = {e}" for n, e in lines.items() if e)
    scope: dict[str, Any] = {}
    exec(f"def f(c_grad, dh, i, f, n, o, tanh_c, c_prev, c, wci, wcf, wco):\n{body}\n{returns}", scope)
    found = scope["f"]
    assert isinstance(found, types.FunctionType)
    return found


def test_a_right_backward_pass_is_printed_from_then_on() -> None:
    own = gallery("peephole_lstm")
    derived = own.backward_formulas()
    own.backward(by_hand({"dz_n": "i * dc * (1 - n) * (1 + n)"}))
    assert "dz_n = i * dc * (1 - n) * (1 + n)" in own.backward_formulas()
    assert "dwci = sum of dz_i * c_prev" in own.backward_formulas()
    assert len(own.backward_formulas().splitlines()) == len(derived.splitlines())


def test_gradients_may_be_returned_in_a_dict() -> None:
    own = gallery("ugrnn")
    own.backward(lambda h_grad, g, c, h_prev: {
        "dz_g": h_grad * (h_prev - c) * g * (1 - g), "dz_c": (1 - g) * h_grad * (1 - c**2), "dh_prev": g * h_grad,
    })  # fmt: skip
    assert own.by_hand is not None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dz_i": "dc * n * i"}, "dz_i: the factor 1 - i is missing"),
        ({"dz_f": "dc * c * f * (1 - f)"}, "dz_f: c should be c_prev"),
        ({"dz_n": "-dc * i * (1 - n * n)"}, "dz_n: the sign is wrong"),
        ({"dc_prev": "dc * f + dz_i * wci"}, "dc_prev: the term dz_f * wcf is missing"),
        ({"dc": "c_grad + dh * o * (1 - tanh_c * tanh_c)"}, "dc: the term dz_o * wco is missing"),
        ({"dc": "c_grad + dh * o * tanh_c + dz_o * wco"}, "dc: tanh_c should be 1 - tanh_c**2"),
        ({"dz_o": "dh * tanh_c * o * (1 - o) * i"}, "dz_o: the factor i does not belong there"),
        ({"dwcf": "dz_f * c_prev + dz_i"}, "dwcf: the term dz_i does not belong there"),
        ({"dwco": ""}, "dwco is missing: dz_o * c"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, str], words: str) -> None:
    with pytest.raises(CellError) as caught:
        gallery("peephole_lstm").backward(by_hand(changes))
    lines = str(caught.value).split("\n  ")
    assert lines == ["peephole_lstm: the backward pass is not the derivative of the step", words]


def test_a_sum_over_steps_that_was_written_by_hand_has_brackets() -> None:
    @cell(states=("h",))
    def shared(z_f, z_r, h, *, b):
        f = sigmoid(z_f + b)
        r = tanh(z_r - b)
        h = f * h + r
        return h

    @shared.backward
    def _(dh, f, r, h_prev):
        dz_f = dh * h_prev * f * (1 - f)
        dz_r = dh * (1 - r * r)
        return {"dz_f": dz_f, "dz_r": dz_r, "db": dz_f - dz_r, "dh_prev": dh * f}

    assert "db = sum of (dz_f - dz_r)" in shared.backward_formulas()


def test_each_mistake_is_told_once() -> None:
    changes = {"dz_o": "dh * o * (1 - o)", "dz_i": "dc * n * i", "dc_prev": "dc * f + dz_i * wci - dz_f * wcf"}
    with pytest.raises(CellError) as caught:
        gallery("peephole_lstm").backward(by_hand(changes))
    assert str(caught.value).split("\n  ")[1:] == [
        "dz_o: the factor tanh_c is missing",
        "dz_i: the factor 1 - i is missing",
        "dc_prev: the sign is wrong",
    ]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda dh, q: {}, "asks for 'q'"),
        (lambda dh: 3, "returns a int"),
        (lambda dh, g: {"dz_q": dh * g}, "dz_q: the step has no such gradient"),
    ],
)
def test_other_mistakes(function: Any, words: str) -> None:
    with pytest.raises(CellError, match=words):
        gallery("ugrnn").backward(function)


def test_the_total_cannot_be_asked_for_where_the_step_adds_to_what_arrives() -> None:
    with pytest.raises(CellError, match="asks for 'dc'(.|\n)*the gradient that arrives at a state is NAME_grad"):
        gallery("lstm").backward(lambda dc: {})


def test_a_cell_shows_its_formulas_in_a_notebook() -> None:
    shown = gallery("ligru")._repr_html_()
    assert r"\odot [a > 0]" in shown
    assert "ligru(z_z, z_a, h)" in shown


def test_what_comes_back_through_a_product_has_no_line_or_any_name() -> None:
    def elman(x_a: Any, h: Any) -> Any:
        return tanh(x_a + product(h))

    def short(dh: Any, h: Any) -> None:
        dx_a = dh * (1 - h * h)  # noqa: F841

    def named(dh: Any, h: Any, dh_prev_m1: Any) -> None:
        dx_a = dh * (1 - h * h)  # noqa: F841
        dh_prev = dh_prev_m1  # noqa: F841

    for by_hand in (short, named):
        own = cell(states="h")(elman)
        assert own.backward_formulas() == "dx_a = dh * (1 - h**2)\ndh_prev = dx_a @ U1"
        own.backward(by_hand)
        assert own.backward_formulas() == "dx_a = dh * (1 - h**2)\ndh_prev = dx_a @ U1"
        assert own.verify(["cpu"])


def test_products_that_share_a_matrix() -> None:
    def mixed(z_a: Any, h: Any) -> Any:
        m = tanh(product(h, "V") + z_a)
        n = product(m) - 0.3 * product(m * h, "V")
        return tanh(n) + 0.1 * h

    def by_hand(dh: Any, dv3: Any, dm: Any, dh_prev_m1: Any, h_prev: Any, m: Any, tanh_n: Any) -> None:
        dn = dh * (1 - tanh_n * tanh_n)  # noqa: F841
        dz_a = (1 - m * m) * (h_prev * dv3 + dm)  # noqa: F841
        dh_prev = 0.1 * dh + m * dv3 + dh_prev_m1  # noqa: F841

    own = cell(states="h")(mixed)
    own.backward(by_hand)
    assert "dm = dn @ U2\ndv3 = (-0.3 * dn) @ V\ndz_a = (1 - m**2) * (h_prev * dv3 + dm)" in own.backward_formulas()
    assert own.verify(["cpu"])


def test_a_gradient_that_the_next_product_needs_has_a_line() -> None:
    @cell(states="h")
    def nested(x_a: Any, h: Any) -> Any:
        return tanh(product(relu(product(h))) + x_a)

    lines = nested.backward_formulas(products=True).splitlines()
    assert lines[1:3] == ["dv2 = dx_a @ U2", "dh_prev = (dv2 * (v2 > 0)) @ U1"]
    assert "dU1 = (dv2 * (v2 > 0))^T @ h_prev" in lines


def test_a_constant_is_read_by_its_name() -> None:
    def leaky(z_a: Any, h: Any, *, a: float = 0.3) -> Any:
        t = tanh(z_a)
        return (1 - a) * h + a * t

    def by_hand(dh: Any, t: Any, a: Any) -> None:
        dz_a = a * dh * (1 - t * t)  # noqa: F841
        dh_prev = dh * (1 - a)  # noqa: F841

    own = cell(states="h")(leaky)
    own.backward(by_hand)
    assert own.verify(["cpu"]) and own.layer(3, 5, a=0.9).verify(["cpu"])

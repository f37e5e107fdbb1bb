"""The backward passes of minirnn's own cells, written by hand, are the derived ones. Wrong lines are named.

Tests `minirnn/ops/cudnn_rnn/cells.py`, `minirnn/ops/lstm_block/cells.py`, `minirnn/ops/gru_block/cells.py`,
`minirnn/cells/by_hand.py`, `minirnn/cells/formulas.py`, `minirnn/cells/terms.py` and `minirnn/cells/text.py`.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from minirnn import cell, sigmoid, tanh
from minirnn.cells.by_hand import ByHand
from minirnn.cells.cell import Formulas
from minirnn.cells.derive import Derivation
from minirnn.cells.expr import CellError
from minirnn.cells.formulas import Formula, Writer, as_latex, with_products
from minirnn.explain.ops import PAGES as pages
from tests.cells.with_torch import CELLS, gallery
from tests.devices.cells.own_layers import multiplicative

PAGES = {cell.__name__: cell for cells in pages.values() for cell in cells}
"""Every cell of minirnn, with its backward pass by hand."""


@pytest.mark.parametrize("name", PAGES)
def test_the_derivation_is_the_page_line_by_line(name: str) -> None:
    """Text by text, up to the order of terms: the derived lines are those that a person writes."""

    def terms(lines: Iterable[Formula]) -> dict[str, list[str]]:
        return {line.name: sorted(line.value.split(" + ")) for line in lines}

    own = PAGES[name]
    assert isinstance(own.derivation, ByHand)
    derived = terms(Writer(Derivation(own.step)).backward())
    again = {own.derivation.names[e] for e in own.derivation.again}
    printed = terms(Writer(own.derivation).backward())
    assert {n: value for n, value in printed.items() if n not in again} == derived
    page = inspect.getsource(own.by_hand[0])  # type: ignore[index]
    for n, written in re.findall(r"^    (d\w+) = (.*)$", page, re.M):
        line = Formula(n, f"sum of {written}" if n[1:] in own.step.vectors else written)
        assert terms([line])[n] == derived[n], n


def changed(own: Formulas, n: int, change: Callable[[ast.expr], ast.expr | None]) -> Callable[..., Any]:
    """The backward pass of a page with another line number n, or without it."""
    function = own.by_hand[0]  # type: ignore[index]
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list, line = [], tree.body[n]
    assert isinstance(line, ast.Assign)
    value = change(line.value)
    if value is None:
        tree.body[n : n + 1] = [] if len(tree.body) > 1 else [ast.Pass()]
    else:
        line.value = value
    scope = dict(function.__globals__)
    exec(compile(ast.fix_missing_locations(ast.Module([tree], [])), "page", "exec"), scope)
    return scope[tree.name]


def lines_of(own: Formulas) -> list[str]:
    return re.findall(r"^    (d\w+) = ", inspect.getsource(own.by_hand[0]), re.M)  # type: ignore[index]


LINES = [(name, n, line) for name, own in PAGES.items() for n, line in enumerate(lines_of(own))]


@pytest.mark.parametrize(("name", "n", "line"), LINES)
def test_a_wrong_line_of_a_page_is_named_with_what_is_wrong(name: str, n: int, line: str) -> None:
    """The control: each line of each page with another sign, with a factor too many, and without itself."""
    own = PAGES[name]
    factor = next(v for v in ("o", "u", "z", "h_new", "h") if v in inspect.signature(own.by_hand[0]).parameters)  # type: ignore[index]
    mistakes: dict[str, Callable[[ast.expr], ast.expr | None]] = {
        f"{line}: the sign is wrong": lambda e: ast.UnaryOp(ast.USub(), e),
        f"the factor {factor} does not belong there": lambda e: ast.BinOp(e, ast.Mult(), ast.Name(factor, ast.Load())),
    }
    ends = {f"d{own.step.names[owner]}" for owner in own.derivation.ends}
    if line in ends and not re.search(rf"=.*\b{line}\b", inspect.getsource(own.by_hand[0])):  # type: ignore[index]
        mistakes[f"{line} is missing"] = lambda _: None
    for words, change in mistakes.items():
        wrong = changed(own, n, change)
        with pytest.raises(CellError) as caught:
            ByHand(Derivation(own.step), wrong)
        title, *said = str(caught.value).split("\n  ")
        assert title == f"{name}: the backward pass is not the derivative of the step"
        assert said[0].startswith(line)
        if "sign" in words:  # a sum with the other sign has several wrong terms
            assert "the sign is wrong" in said[0]
        else:  # relu(z_a) is z_a wherever the line is not 0
            assert words in said[0].replace("factor z_a", f"factor {factor}")


def derived(name: str) -> dict[str, str]:
    return {line.name: line.value for line in Writer(gallery(name).derivation).backward()}


def test_lines_that_every_cell_has() -> None:
    w = Writer(gallery("gru").derivation)
    assert {line.name: line.value for line in w.products()} == {
        "dx": "[dz_r | dz_z | dx_n] @ W",
        "dW": "[dz_r | dz_z | dx_n]^T @ x",
        "dh_prev": "dh * z + [dz_r | dz_z | dh_n] @ R",
        "dR": "[dz_r | dz_z | dh_n]^T @ h_prev",
        "db": "sum of [dz_r | dz_z | dx_n | dh_n]",
    }


@pytest.mark.parametrize("style", ["text", "latex"])
@pytest.mark.parametrize("name", CELLS)
def test_what_arrives_the_total_and_what_goes_on_have_three_names(name: str, style: Any) -> None:
    d = gallery(name).derivation
    w = Writer(d, style)
    lines = with_products(w.backward(), w)
    for line in lines:
        assert not re.search(rf"(?<![\w\\{{]){re.escape(line.name)}(?![\w}}])", line.value), line
    assert len({line.name for line in lines}) == len(lines)
    for after, before, e in zip(d.step.after, d.step.states.values(), d.incoming, strict=True):
        total = d.arrived[after]
        found = [w.names[e], w.name(d.free(f"d{d.names[before]}"), True), w.names.get(total, "")]
        assert len(set(found)) == 3 - (total is e)


def test_common_subexpressions_have_names_that_a_reader_knows() -> None:
    lines = derived("slstm")
    assert lines["da_i"] == "(dc * z + dn) * i"  # the argument of exp
    assert lines["dz_z"] == "dc * i * (1 - z**2)"
    assert lines["dm"] == "m_grad - da_i - da_f"


@cell(states=("h",))
def biased_twice(z_a, h, *, bz, bn, w):
    z = sigmoid(z_a + bz + w * h)
    n = tanh(z_a - bn)
    h = (1 - z) * n + z * h
    return h


def test_the_name_of_a_sum_over_steps_is_read_by_no_other_line() -> None:
    lines = {line.name: line.value for line in Writer(biased_twice.derivation).backward()}
    assert lines["da_z"] == "dh * (h_prev - n) * z * (1 - z)"
    assert (lines["dbz"], lines["dw"]) == ("sum of da_z", "sum of da_z * h_prev")
    assert lines["dbn"] == "sum of -da_n"
    assert lines["dh_prev"] == "dh * z + da_z * w"
    sums = [n for n, value in lines.items() if value.startswith("sum of")]
    assert not any(re.search(rf"\b{n}\b", value) for n in sums for value in lines.values())


def test_a_sum_over_steps_has_its_terms_in_brackets() -> None:
    @cell(states=("h",))
    def shared(z_f, z_r, h, *, b):
        f = sigmoid(z_f + b)
        r = tanh(z_r - b)
        h = f * h + r
        return h

    lines = {line.name: line.value for line in Writer(shared.derivation).backward()}
    assert lines["db"] == "sum of (dz_f - dz_r)"
    assert r"\delta b &= \sum \left(\delta z_{f} - \delta z_{r}\right)" in shared.latex()


def test_latex_multiplies_by_numbers_without_a_sign() -> None:
    @cell(states=("h",))
    def euler(z_a, h, *, step=0.1):
        h = h + step * (0.5 * tanh(z_a) - h)
        return h

    text = euler.latex()
    assert r"h_{t-1} + \mathit{step} \, \left(0.5 \, \tanh(z_{a}) - h_{t-1}\right)" in text
    assert r"\delta z_{a} &= 0.5 \, \mathit{step} \, \delta h \odot" in text


def test_every_product_of_one_value_comes_back_through_its_own_matrix() -> None:
    lines = {line.name: line.value for line in Writer(multiplicative.derivation).backward()}
    assert set(lines["dm"].split(" + ")) == {"dx_f @ U1", "dx_n @ U2"}


@pytest.mark.parametrize("name", CELLS)
def test_latex_is_balanced_and_has_a_line_for_every_formula(name: str) -> None:
    w: Any = Writer(gallery(name).derivation, "latex")
    for part in (w.forward(), w.backward(), w.products()):
        text = as_latex(part)
        assert text.count("{") == text.count("}")
        assert text.count(r"\left(") == text.count(r"\right)")
        assert text.count("&=") == sum(name != value for name, value in part)  # tanh_c is written as tanh(c)
        assert "_prev" not in text
    assert (r"\begin{cases}" in as_latex(w.backward())) == (name in ("mingru", "slstm"))

"""The derived formulas are those of minirnn's docstrings and headers, which are written by hand.

Both are lines ``name = formula``. Only the names are changed into those of the cell here.

Tests `minirnn/cells/formulas.py`, `minirnn/cells/terms.py` and `minirnn/cells/text.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import minirnn
from minirnn import cell, sigmoid, tanh
from minirnn.cells.formulas import Writer, as_latex, with_products
from tests.cells.with_torch import CELLS, gallery
from tests.devices.cells.own_layers import multiplicative

ROOT = Path(minirnn.__file__).parent


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A formula with other names. All are replaced at once, so that two may be swapped."""
    text = text.replace("tanh(c)^2", "tanh_c * tanh_c").replace("n^2", "n * n").replace("tanh(c)", "tanh_c")
    text = text.replace("c'", "c_prev").replace("h'", "h_prev")
    text = text.replace("d_x_h_prevr[:, I:]", "drh").replace("s.d_after[0]", "c_grad").replace("w_c^T", "U1")
    return re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m[0], m[0]), text).strip()


def lines_of(text: str, names: Mapping[str, str]) -> dict[str, str]:
    """The lines ``name = formula`` of a text. A second line for a name continues the first."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        line = (
            re.sub(r"\s*(//|#).*|;$", "", line.strip())
            .removeprefix("const V ")
            .removeprefix("lstm ")
            .removeprefix("gru ")
        )
        line = re.sub(r"^if \(?use_peephole\)?:? ?", "", line.strip()).removeprefix("V ").rstrip(";").strip()
        m = re.fullmatch(r"(\w[\w ']*?) = (.+?);?", line)
        if m and "= s." not in m[2]:  # otherwise several values are read
            name, right = renamed(m[1].removeprefix("gradient of "), names), renamed(m[2], names)
            name = f"d{name}" if name.endswith("_prev") and not name.startswith("d") else name
            if right.startswith(f"{name} + ") and name in found:
                right = found[name] + right[len(name) :]
            found[name] = right
    return found


def derived(name: str) -> dict[str, str]:
    return {line.name: line.value for line in Writer(gallery(name).derivation).backward()}


def docstring(file: str, after: str) -> str:
    return (ROOT / file).read_text().split('"""')[1].split(after, 1)[1]


def grad_of(header: str) -> str:
    text = (ROOT / "devices/cells" / header).read_text()
    return "\n".join(part.split("CELL_FN", 1)[0] for part in text.split("CELL_FN void grad")[1:])


LSTM = {"da_i": "dz_i", "da_f": "dz_f", "da_n": "dz_n", "da_o": "dz_o", "dm": "dh"}
GRU = {"da_r": "dz_r", "da_z": "dz_z", "da_n": "dx_n", "dq": "dh_n", "q": "h_n"}
BLOCK = {
    "dzi": "dz_i", "dzc": "dz_n", "dzf": "dz_f", "dzo": "dz_o", "dcs": "dc", "cs_grad": "c_grad", "h_grad": "dh",
    "ci": "n", "co": "tanh_c", "cs": "c", "cs_prev": "c_prev", "cs_prev_grad": "dc_prev",
}  # fmt: skip
GRU_BLOCK = {
    "d_c_bar": "dx_c", "d_u_bar": "dz_u", "d_r_bar": "dz_r", "d_h": "dh", "d_h_prev": "dh_prev", "d_h_prevr": "drh",
}  # fmt: skip

BOOK = {
    "lstm, docstring": (
        "lstm", "ops/cudnn_rnn/__init__.py", "Backward through one step", LSTM, "dc dz_i dz_f dz_n dz_o dc_prev",
    ),
    "lstm, header": ("lstm", "lstm.h", "", LSTM, "dc dz_i dz_f dz_n dz_o dc_prev"),
    "gru, docstring": ("gru", "ops/cudnn_rnn/__init__.py", "gru                  da_n", GRU, "dx_n dz_z dz_r"),
    "gru, header": ("gru", "gru.h", "", GRU, "dx_n dz_z dz_r dh_n dh_prev"),
    "gru_block, docstring": ("gru_block", "ops/gru_block.py", "Backward, for", GRU_BLOCK, "dx_c dz_u dz_r"),
    "gru_block, header": ("gru_block", "gru_block.h", "", GRU_BLOCK, "dx_c dz_u dz_r dh_prev"),
    "peephole, docstring": (
        "peephole_lstm", "ops/lstm_block/cell.py", "Backward, for", BLOCK, "dz_o dc dz_n dz_i dz_f dc_prev",
    ),
    "peephole, header": ("peephole_lstm", "lstm_block.h", "", BLOCK, "dz_o dc dz_n dz_i dz_f dc_prev"),
}  # fmt: skip


@pytest.mark.parametrize("which", BOOK)
def test_the_derivation_is_the_book_line_by_line(which: str) -> None:
    name, file, after, names, expected = BOOK[which]
    if file.endswith(".h"):
        text = grad_of(file)
    else:
        text = docstring(file, after).split("\n    gru ")[0]
        text = "da_n" + text if after.endswith("da_n") else text
    book, ours = lines_of(text, names), derived(name)
    assert {n: book[n] for n in expected.split()} == {n: ours[n] for n in expected.split()}


def test_the_book_has_every_line_of_the_derivation() -> None:
    for which, (name, _, _, _, expected) in BOOK.items():
        if which.endswith("header"):
            vectors = {f"d{n}" for n in gallery(name).step.vectors}
            assert derived(name).keys() - vectors - {"drh"} == set(expected.split())


def test_gradients_of_peepholes_are_those_of_the_book() -> None:
    text = docstring("ops/lstm_block/cell.py", "Backward, for")
    for vector, line in (("wci", "dz_i * c_prev"), ("wcf", "dz_f * c_prev"), ("wco", "dz_o * c")):
        book = re.search(rf"{vector}_grad = (sum of \w+ \* \w+)", text)
        assert book is not None
        assert renamed(book[1], BLOCK) == f"sum of {line}" == derived("peephole_lstm")[f"d{vector}"]


def test_the_product_inside_a_step_goes_back_through_its_matrix() -> None:
    text = docstring("ops/gru_block.py", "Backward, for")
    assert "d_x_h_prevr = d_c_bar @ w_c^T" in text
    assert derived("gru_block")["drh"] == renamed("d_c_bar @ w_c^T", GRU_BLOCK)


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
    assert lines["dz_z"] == "dc * i * (1 - z * z)"
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
    assert (r"\begin{cases}" in as_latex(w.backward())) == (name in ("indrnn", "ligru", "slstm"))

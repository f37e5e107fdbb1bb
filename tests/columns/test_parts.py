"""Every fused op has its parts, and every text of a part sets what the formulas set, by the same names.

Tests `docs/columns/parts.py` and `minirnn/explain/sources.py`.
"""

from __future__ import annotations

import re

import pytest

from docs.columns import statements
from docs.columns.parts import BOTH, apart, parts
from minirnn.cells.cell import Formulas
from minirnn.devices.cells.header import header
from minirnn.devices.cpu.sequence.step import function_of
from minirnn.explain.names import explained
from minirnn.explain.ops import PAGES, Layer, cells_of
from minirnn.explain.sources import ROOT

PARTS = parts()
CELLS: dict[str, Formulas] = {cell.__name__: cell for cells in PAGES.values() for cell in cells}


def wanted(key: str) -> set[str]:
    return {name for s in statements.of_formula(PARTS[key].formulas.text) for name in s.names}


@pytest.mark.parametrize("key", PARTS)
def test_each_column_sets_every_name_of_the_formulas(key: str) -> None:
    names, part = wanted(key), PARTS[key]
    assert names
    for column, found in part.columns.items():
        assert not names - {name for box in found for name in box.names()}, column


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_has_its_lines_in_the_order_of_its_page(name: str) -> None:
    """In NumPy, C++ and CUDA, without any alias."""
    for key, page in ((name, CELLS[name].forward_formulas()), (f"{name}_grad", CELLS[name].backward_formulas())):
        assert PARTS[key].formulas.text == page
        order = [n for n, _, right in (line.partition(" = ") for line in page.splitlines()) if "@ U1" not in right[-4:]]
        order = [n for n in order if n != "c_new" or not key.endswith("_grad")]  # computed again, where it is read
        for column in ("NumPy", BOTH):
            cut = PARTS[key].columns[column][0].cut
            lines = [
                s for s in statements.of(cut, {}) if "= s." not in cut.text[s.start : s.end]
            ]  # a later stage reads
            assert [n for s in lines for n in s.names if n in order] == order, column


@pytest.mark.parametrize("name", CELLS)
def test_the_text_of_a_cell_is_what_devices_run(name: str) -> None:
    plan = CELLS[name].plan(name == "lstm_zoned_c")
    for key, backward in ((name, False), (f"{name}_grad", True)):
        numpy, cpp = PARTS[key].columns["NumPy"][0].cut.text, PARTS[key].columns[BOTH][0].cut.text
        assert function_of(plan, backward).__doc__ == numpy
        inside = "\n".join(line.removeprefix("    ") for line in header(plan).splitlines())
        assert cpp in inside


def test_a_page_is_found_at_its_line() -> None:
    for name, cell in CELLS.items():
        for key, function in ((name, cell.function), (f"{name}_grad", cell.by_hand and cell.by_hand[0])):
            cut = PARTS[key].formulas
            lines = (ROOT / cut.path).read_text().splitlines()[cut.line - 1 :]
            assert next(line for line in lines if line.startswith("def ")).startswith(f"def {function.__name__}(")


def test_every_op_but_those_of_the_buffer_has_a_page() -> None:
    shown = set()
    for op in explained():
        for layer in (Layer(m, p, z) for m in ("lstm", "gru", "rnn_tanh", "rnn_relu") for p in (0, 1) for z in (0, 1)):
            found = {cell.__name__ for cell in cells_of(op, layer)}
            assert bool(found) == ("params" not in op), op
            shown |= found
    assert shown == set(CELLS)


def test_a_joined_name_is_taken_apart() -> None:
    names = {"dz_o", "dc", "dc_prev", "dz_i"}
    assert apart("dz_o_dc", names) == ["dz_o", "dc"]
    assert apart("dc_prev_dz_i_dz_o", names) == ["dc_prev", "dz_i", "dz_o"]
    assert apart("dc_prev_by_dc", names) == ["dc_prev"]
    assert apart("d_gates", names) == apart("dz", names) == []


def test_the_loop_over_a_sequence_has_a_call_for_every_line_of_the_lstm() -> None:
    [_, loop] = PARTS["lstm_grad"].columns["NumPy"]
    lines = [loop.cut.text[s.start : s.end] for s in loop.statements() if "dc" in s.names]
    assert lines[-1] == "add(dc, c_grad, dc)" and re.fullmatch(r"multiply\(dz_o_dc, dh, dz_o_dc\)", lines[-2])

"""Every fused op has its parts, and every place of a part is in the sources and sets what the formulas set.

Tests `minirnn/explain/parts.py` and `minirnn/explain/places.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minirnn.explain import cuts, places, statements
from minirnn.explain.names import explained
from minirnn.explain.parts import BOTH, PARTS, parts_of

ADDED_BY_THE_NODE = {
    "lstm_block_cell_grad": {"x_grad", "h_prev_grad", "w_grad", "b_grad"},
    "gru_block_cell_grad": {"d_w_ru", "d_w_c", "d_b_ru", "d_b_c"},
}
GATES = {"lstm_block_cell_grad": {"dzi", "dzc", "dzf", "dzo"}}  # the node adds the gradients of all uses
NOT_IN_CUDA = {"lstm_grad": {"da2"}, "block_lstm_grad": {"hp"}}  # one array; the product over all steps needs no hp


def wanted(key: str) -> set[str]:
    return {name for s in statements.of_formula(PARTS[key].formulas().text) for name in s.names}


@pytest.mark.parametrize("key", PARTS)
def test_each_column_sets_every_name_of_the_formulas(key: str) -> None:
    names, part = wanted(key), PARTS[key]
    assert names
    for column, found in part.columns().items():
        missing = names - {name for place in found for name in place.names()}
        if column == "Node":
            assert not missing & (ADDED_BY_THE_NODE[key] | GATES.get(key, set()))
        else:
            allowed = ADDED_BY_THE_NODE.get(key, set()) | (NOT_IN_CUDA.get(key, set()) if column != "NumPy" else set())
            assert missing == allowed, column


NAMES_IN_CELLS = {
    "lstm_block_cell": "zi zc zf zo i f ci cs o co h",
    "lstm_block_cell_grad": "dzo dcs dzc dzi dzf cs_prev_grad",
    "lstm": "i f n o c",
    "lstm_grad": "da_o dc da_n da_i da_f",
    "gru_block_cell": "r u c h",
    "gru_block_cell_grad": "d_c_bar d_h_prev",
    "gru": "r z q n",
    "gru_grad": "da_n da_z da_r",
}


@pytest.mark.parametrize("key", NAMES_IN_CELLS)
def test_a_cell_has_the_names_of_formulas_and_numpy(key: str) -> None:
    """Without an alias, a value has the same name wherever it is read."""
    names = set(NAMES_IN_CELLS[key].split())
    columns = PARTS[key].columns()
    for column in ("NumPy", BOTH):
        plain = {name for place in columns[column] for s in statements.of(place.cut(), {}) for name in s.names}
        assert names <= plain | ({"zi", "zc", "zf", "zo", "h"} if column == "NumPy" else set()), column
    assert names <= wanted(key) | {"r_h", "d_h_prev"}


def test_every_op_but_those_of_the_buffer_has_parts() -> None:
    for op in explained():
        assert bool(parts_of(op)) == ("params" not in op), op
    assert {key for op in explained() for key in parts_of(op)} | set(parts_of("cross_entropy")) == set(PARTS)


def test_a_column_whose_files_are_not_there_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "devices" / "cells" / "gru.h"
    source.parent.mkdir(parents=True)
    source.write_text(
        "template <class V, class real>\nstruct Gru {\n"
        "    CELL_FN void step(Step &s) const {\n"
        "        const V r = sigmoid(a[0]), z = sigmoid(a[1]), q = a[3];\n"
        "        s.after[0] = h;\n"
        "    }\n};\n"
    )
    monkeypatch.setattr(places, "ROOT", tmp_path)
    monkeypatch.setattr(cuts, "ROOT", tmp_path)
    columns = PARTS["gru"].columns()
    assert list(columns) == [BOTH]
    [place] = columns[BOTH]
    assert place.cut().line == 3 and place.names() >= {"r", "z", "q"}
    assert not PARTS["lstm"].columns()

"""Every fused op has its parts, and every place of a part is in the sources and sets what the formulas set.

Tests `minirnn/explain/parts.py` and `minirnn/explain/places.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minirnn.explain import cuts, places, statements
from minirnn.explain.names import explained
from minirnn.explain.parts import PARTS, parts_of

ADDED_BY_THE_NODE = {
    "lstm_block_cell_grad": {"x_grad", "h_prev_grad", "w_grad", "b_grad"},
    "gru_block_cell_grad": {"d_w_ru", "d_w_c", "d_b_ru", "d_b_c"},
}
NOT_IN_CUDA = {"lstm_grad": {"da2"}, "block_lstm_grad": {"hp"}}  # one array; the product over all steps needs no hp


def wanted(key: str) -> set[str]:
    return {name for s in statements.of_formula(PARTS[key].formulas().text) for name in s.names}


@pytest.mark.parametrize("key", PARTS)
def test_each_column_sets_every_name_of_the_formulas(key: str) -> None:
    names, part = wanted(key), PARTS[key]
    assert names
    for column, found in part.columns().items():
        missing = names - {name for place in found for name in place.names()}
        if column == "C++":  # its matrix products and peepholes are elsewhere
            assert len(missing - ADDED_BY_THE_NODE.get(key, set())) <= len(names) // 4, missing
        elif column == "Node":
            assert not missing & ADDED_BY_THE_NODE[key]
        else:
            allowed = ADDED_BY_THE_NODE.get(key, set()) | (NOT_IN_CUDA.get(key, set()) if column == "CUDA" else set())
            assert missing == allowed, column


def test_every_op_but_those_of_the_buffer_has_parts() -> None:
    for op in explained():
        assert bool(parts_of(op)) == ("params" not in op), op
    assert {key for op in explained() for key in parts_of(op)} | set(parts_of("cross_entropy")) == set(PARTS)


def test_cpp_has_a_column_as_soon_as_the_native_device_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "devices" / "native" / "kernels" / "gru.h"
    source.parent.mkdir(parents=True)
    source.write_text(
        "template <class real>\nstruct Gru {\n"
        "    INLINE V step(const Place &at) const {\n"
        "        const V r = sigmoid<real>(a[0]), z = s(a[1]), q = a[3];\n"
        "        if (saves) store(d.n, at, 1);\n"
        "        return n + z * (h_prev(at) - n);\n"
        "    }\n};\n"
    )
    monkeypatch.setattr(places, "ROOT", tmp_path)
    monkeypatch.setattr(cuts, "ROOT", tmp_path)
    columns = PARTS["gru"].columns()
    assert list(columns) == ["C++"]
    [place] = columns["C++"]
    assert place.cut().line == 3 and place.names() >= {"r", "z", "q", "n", "h"}
    assert "C++" not in PARTS["lstm"].columns()

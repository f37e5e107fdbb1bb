"""The picture of a cell: its contents, judged by the tape, and its layout.

Tests `minirnn/viz/cell/`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.cells.linear import Linear
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu.sequence.step import SCOPE
from minirnn.viz.cell.drawing import NAMED, placed
from minirnn.viz.cell.graph import FACTOR, NEW, STATE, Graph, backward, forward
from tests.cells.with_torch import CELLS, gallery

ALL = [*CELLS, *NAMED]


def mean(*values: Any) -> Any:
    return np.mean(np.concatenate(values, -1), axis=-1, keepdims=True)


def variance(*values: Any) -> Any:
    return np.var(np.concatenate(values, -1), axis=-1, keepdims=True)


def norm(*values: Any) -> Any:
    found = [
        (v - np.mean(np.concatenate(values, -1), -1, keepdims=True)) / np.sqrt(variance(*values) + 1e-5) for v in values
    ]
    return found if len(found) > 1 else found[0]


def cell_of(name: str) -> Any:
    return NAMED[name] if name in NAMED else gallery(name)


@pytest.mark.parametrize("name", ALL)
def test_every_node_comes_after_those_that_lead_to_it(name: str) -> None:
    for g in (forward(cell_of(name)), backward(cell_of(name))):
        assert all(a < b for a, b in g.edges)
        assert len(set(g.edges)) == len(g.edges)
        assert {a for a, _ in g.edges} | {b for _, b in g.edges} == set(range(len(g.labels)))


@pytest.mark.parametrize("name", ALL)
def test_forward_has_the_lines_of_the_cell(name: str) -> None:
    cell, g = cell_of(name), forward(cell_of(name))
    lines = [line.partition(" = ")[0] for line in cell.forward_formulas().splitlines()]
    assert [t for t, k in zip(g.texts, g.kinds, strict=True) if k in ("value", NEW)] == lines
    inputs = [t for t, k in zip(g.texts, g.kinds, strict=True) if k in ("gate", STATE)]
    assert sorted(inputs) == sorted(
        n
        for e, n in cell.derivation.names.items()
        if e.op == "input" and e in cell.step.nodes and n not in cell.step.vectors
    )


@pytest.mark.parametrize("name", ALL)
def test_the_paths_of_the_picture_add_up_to_the_gradient(name: str, rng: np.random.Generator) -> None:
    """Every box is computed from the texts of the picture alone and compared with the device cpu, which is tested
    against torch.
    """
    cell = cell_of(name)
    plan: Plan = cell.plan()
    H, B = 5, 3
    draw = lambda *shape: rng.normal(size=shape)  # noqa: E731
    gates, before = draw(len(plan.gate_names), B, H), draw(plan.states, B, H)
    vectors, U = draw(plan.vectors, H), draw(plan.matrices, H, H)
    d_after = draw(plan.states, B, H)
    cpu, weights = mr.devices.get("cpu"), Weights(None, None, U=U, vectors=vectors)
    after, saved = cpu.cell_step(np.concatenate(gates, 1), before, weights, plan=plan)
    d_gates, d_before, d_vectors = cpu.cell_step_grad(before, after, saved, d_after, weights, plan=plan)
    step, d = cell.step, cell.derivation
    values: dict[str, Any] = {**SCOPE, "unit_mean": mean, "unit_var": variance, **step.constants}
    values |= dict(zip(step.gates, gates, strict=True)) | dict(zip(step.vectors, vectors, strict=True))
    values |= {f"{n}_prev": v for n, v in zip(step.order, before, strict=True)}
    for line in cell.forward_formulas().splitlines():
        left, _, text = line.partition(" = ")
        values[left] = eval(text.replace("^T", ".T"), {f"U{k + 1}": m for k, m in enumerate(U)}, values)
    g = backward(cell)
    R = np.zeros((H, H))  # the path through R belongs to the layer
    matrices = {f"U{k + 1}": m for k, m in enumerate(U)} | {"R": R}
    matrices["the mean over units"] = np.full((H, H), 1 / H)
    given = {d.names[e]: v for e, v in zip(d.incoming, d_after, strict=True)}
    found: dict[int, Any] = {}
    for k, (kind, text) in enumerate(zip(g.kinds, g.texts, strict=True)):
        arrived = sum(found[a] for a, b in g.edges if b == k)
        if kind != FACTOR:
            found[k] = given.get(text, arrived)
        elif text.startswith("@"):
            found[k] = arrived @ matrices[text[2:]]
        else:
            found[k] = arrived * eval(text.removeprefix("sum of "), {}, values)
    by_name = {t: found[k] for k, t in enumerate(g.texts) if g.kinds[k] != FACTOR}
    right = dict(zip(step.gates, np.split(d_gates, len(gates), 1), strict=True))
    right |= dict(zip([*step.vectors, *(f"{n}_prev" for n in step.order)], [*d_vectors, *d_before], strict=True))
    for n, expected in right.items():
        if f"d{n}" in by_name or np.any(expected):
            box = np.broadcast_to(by_name[f"d{n}"], (B, H))
            assert np.allclose(box.sum(0) if n in step.vectors else box, expected, rtol=1e-10, atol=1e-12), n


@pytest.mark.parametrize("name", ALL)
def test_no_line_is_behind_a_box_and_no_two_boxes_touch(name: str) -> None:
    for g in (forward(cell_of(name)), backward(cell_of(name))):
        sizes = [(0.2 + 0.07 * len(t), 0.25) for t in g.texts]
        p = placed(sizes, g.edges)
        for k, a in enumerate(p.boxes):
            assert a.width / 2 - 1e-9 <= a.x <= p.width - a.width / 2 + 1e-9
            assert a.height / 2 - 1e-9 <= a.y <= p.height - a.height / 2 + 1e-9
            for b in p.boxes[:k]:
                assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) > (a.height + b.height) / 2
        columns = sorted({(min(s[0], e[0]), max(s[0], e[0])) for w in p.ways.values() for s, e in w})
        assert columns
        for edge, way in p.ways.items():
            for k, box in enumerate(p.boxes):
                for (x0, y0), (x1, y1) in way:
                    assert y0 == y1
                    passes = max(x0, box.x - box.width / 2) < min(x1, box.x + box.width / 2) - 1e-9
                    assert k in edge or not passes or abs(y0 - box.y) > box.height / 2
            for (_, (x0, y0)), ((x1, y1), _) in zip(way, way[1:], strict=False):
                assert x1 > x0 and min(y0, y1) >= 0  # curves are between columns, where no box is
                for box in p.boxes:
                    assert max(x0, box.x - box.width / 2) >= min(x1, box.x + box.width / 2) - 1e-9


@pytest.mark.parametrize(("mine", "of_gallery"), [("lstm", "lstm"), ("gru", "gru"), ("gru_block_cell", "gru_block")])
def test_named_cells_are_those_of_the_gallery(mine: str, of_gallery: str) -> None:
    found, expected = (c.backward_formulas().splitlines() for c in (NAMED[mine], gallery(of_gallery)))
    assert set(found) == set(expected)


def test_named_gradients_are_factors_of_their_own() -> None:
    d = gallery("peephole_lstm").derivation
    found = {d.names[t.value]: {d.names[a] for a in t.form} for t in Linear(d, named=True).targets}
    assert found["dc_prev"] == {"dc", "dz_i", "dz_f"} and found["dwco"] == {"dz_o"}


def test_a_picture_has_words_and_data() -> None:
    picture = mr.viz.cell_graph(gallery("gru"))
    assert "h = (1 - z) * n + z * h_prev" in picture.alt and "dh_n = dx_n * r" in picture.alt
    assert picture.data["forward"].shape == (9, 4) and picture.data["backward edges"].shape[1] == 2
    assert len(picture.artists["backward"]) == len(picture.data["backward"])
    assert picture._repr_html_().startswith('<img alt="The cell gru')
    width, height = picture.figure.get_size_inches()
    for boxes in (picture.data["forward"], picture.data["backward"]):
        x, y, w, h = boxes.T
        assert (
            (x - w / 2 >= 0).all()
            and (x + w / 2 <= width).all()
            and (y - h / 2 >= 0).all()
            and (y + h / 2 <= height).all()
        )


def test_a_formula_fits_its_box() -> None:
    picture = mr.viz.cell_graph("gru")
    glyphs = [p.get_path().get_extents() for p in picture.ax.patches if p.get_zorder() == 4]
    boxes = np.concatenate([picture.data["forward"], picture.data["backward"]])
    inside = [
        g
        for g in glyphs
        if any(
            abs(g.x0 + g.x1 - 2 * x) + g.width < w and abs(g.y0 + g.y1 - 2 * y) + g.height < h for x, y, w, h in boxes
        )
    ]
    assert len(inside) == len(boxes) == len(glyphs) - 2  # the headings are not in any box


def test_dark_pages_get_light_ink() -> None:
    light, dark = mr.viz.cell_graph("gru"), mr.viz.cell_graph("gru", dark=True)
    assert light.figure.get_facecolor() == (1, 1, 1, 1) and max(dark.figure.get_facecolor()[:3]) < 0.2


def test_equal_conditions_are_brackets() -> None:
    labels = backward(gallery("ligru")).labels
    assert any("[a > 0]" in label for label in labels)
    assert isinstance(backward(gallery("slstm")), Graph) and not any(
        "cases" in label for label in backward(gallery("slstm")).labels
    )

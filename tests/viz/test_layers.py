"""The values, Jacobians and paths of layers agree with the tape.

Tests `minirnn/viz/layers.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, nn, sigmoid, sqrt, tanh, unit_mean, viz
from minirnn.nn.microscope import opened
from minirnn.nn.own.file import cell_in
from tests.cells.with_torch import CELLS, GALLERY
from tests.nn.test_microscope import LAYERS
from tests.slow import slow_unless

T, B, I, H = 5, 3, 2, 4


@cell(states=("c", "h"))
def normalized(z_f, z_n, c, h):
    v = z_n - unit_mean(z_n)
    f = sigmoid(z_f)
    c = f * c + (1 - f) * tanh(v / sqrt(unit_mean(v * v) + 0.1))
    h = tanh(c)
    return c, h


MADE = {**LAYERS, "normalized": normalized.layer}
OWN = [n for n in MADE if n not in ("lstm", "gru", "rnn", "relu", "lstm, projected", "lstm, zoneout")] + ["lstm", "gru"]


def own(name: str, **more: Any) -> Any:
    make = cell_in(str(GALLERY / f"{name}.py")).layer if name in CELLS else MADE[name]
    return make(I, H, dtype=np.float64, **more)


def an_lstm_and_its_twin() -> tuple[nn.LSTM, Any]:
    theirs, ours = nn.LSTM(I, H, dtype=np.float64), own("lstm")
    ours.weight_ih.assign(theirs.weight_ih_l0.numpy())
    ours.weight_hh.assign(theirs.weight_hh_l0.numpy())
    ours.bias.assign(theirs.bias_ih_l0.numpy() + theirs.bias_hh_l0.numpy())
    return theirs, ours


# ---- paths


@pytest.mark.parametrize("name", slow_unless(2, OWN))
def test_the_paths_of_an_own_cell_add_up_to_the_jacobian_of_the_tape(name: str, rng: np.random.Generator) -> None:
    layer = own(name)
    for p in layer.parameters():
        p.assign(rng.normal(size=p.shape) * 0.6)
    x = rng.normal(size=(T, I))
    paths = viz.layer_paths(layer, x)
    one = opened(layer)
    seen = one.trace([mr.tensor(row[None]) for row in x], one.zeros(1)).steps[0]
    c = [values.states[one.memory] for values in seen]
    total = sum(paths.values())
    assert total.shape == (T - 1, one.width(one.memory) if len(one.states) == 1 else H, H)
    for t in range(1, T):
        for j in range(H):
            row = mr.grad(c[t][0, j], c[t - 1], retain_graph=True).numpy()[0]
            np.testing.assert_allclose(total[t - 1, :, j], row, rtol=0, atol=1e-12)


def test_the_paths_have_the_names_of_the_function(rng: np.random.Generator) -> None:
    x = rng.normal(size=(T, I))
    assert list(viz.layer_paths(own("mgu"), x)) == ["directly", "z_f", "product 1"]
    assert list(viz.layer_paths(own("indrnn"), x)) == ["directly"]
    assert list(viz.layer_paths(own("gru"), x)) == ["directly", "z_r", "z_z", "h_n"]
    assert list(viz.layer_paths(normalized.layer(I, H), x)) == ["directly", "z_f", "z_n", "unit_mean 1", "unit_mean 2"]
    assert "state h" in viz.layer_paths(own("cornn"), x)


def test_the_paths_of_an_lstm_are_those_of_its_equations(rng: np.random.Generator) -> None:
    theirs, ours = an_lstm_and_its_twin()
    x = rng.normal(size=(T, I))
    built_in, found = viz.layer_paths(theirs, x), viz.layer_paths(ours, x)
    same = {"forget path f": "directly", "forget gate": "z_f", "input gate": "z_i", "candidate": "z_n"}
    assert built_in.keys() == same.keys() and found.keys() == set(same.values())
    for a, b in same.items():
        np.testing.assert_allclose(found[b], built_in[a], rtol=0, atol=1e-13)


def test_every_path_is_drawn_and_told_apart(rng: np.random.Generator) -> None:
    paths = {f"path {k}": rng.normal(size=(3, 2, 2)) for k in range(9)}
    picture = viz.path_strengths(paths, state="m")
    assert "from m to m one step earlier?" in picture.ax.get_title()
    lines = picture.artists
    assert list(lines) == list(paths)
    assert len({(line.get_color(), line.get_linestyle()) for line in lines.values()}) == 9


@pytest.mark.parametrize("name", slow_unless(["lstm", "ours"], ["lstm", "ours", "mgu"]))
@pytest.mark.parametrize("reverse", [False, True])
def test_the_paths_and_jacobians_of_any_layer_and_direction(name: str, reverse: bool, rng: np.random.Generator) -> None:
    make = {"lstm": nn.LSTM, "ours": lambda *a, **k: own("lstm", **k), "mgu": lambda *a, **k: own("mgu", **k)}[name]
    layer = (
        make(I, H, num_layers=3, bidirectional=True, dtype=np.float64)
        if name == "lstm"
        else make(num_layers=3, bidirectional=True)
    )
    x = rng.normal(size=(T, I))
    one = opened(layer)
    for index in (0, 1, -1):
        seen = one.trace([mr.tensor(row[None]) for row in x], one.zeros(1)).steps[index % 3 * 2 + reverse]
        c = [values.states[one.memory] for values in (seen[::-1] if reverse else seen)]
        total = sum(viz.layer_paths(layer, x, index=index, reverse=reverse).values())
        rows = [mr.grad(c[2][0, j], c[1], retain_graph=True).numpy()[0] for j in range(H)]
        np.testing.assert_allclose(total[1].T, rows, rtol=0, atol=1e-12)
        whole = viz.layer_jacobians(layer, x, index=index, reverse=reverse)
        k = sum(one.width(n) for n in one.carried[: one.carried.index(one.memory)])
        last = [mr.grad(c[-1][0, j], c[1], retain_graph=True).numpy()[0] for j in range(H)]
        if len(one.carried) == 1:
            np.testing.assert_allclose(whole[2][k : k + H, k : k + H], last, rtol=0, atol=1e-12)
        assert whole.shape[0] == T + 1
        values = viz.layer_values(layer, x[:, None], index=index, reverse=reverse).states[one.memory]
        np.testing.assert_array_equal(values[2, 0], seen[2].states[one.memory].numpy()[0])


# ---- Jacobians


@pytest.mark.parametrize("name", slow_unless(["lstm", "relu", "mgu", "sru", "lstm, projected"], MADE))
def test_the_jacobians_are_those_of_the_layer(name: str, rng: np.random.Generator) -> None:
    layer = MADE[name](I, H, dtype=np.float64).eval()
    x = rng.normal(size=(T, I))
    found = viz.layer_jacobians(layer, x)
    one = opened(layer)
    n = sum(one.width(s) for s in one.states)
    whole = n + H * (name == "reads its output")  # which is not a state, but is carried from step to step
    assert found.shape == (T + 1, whole, whole)
    zero = one.zeros(1)
    state = [mr.tensor(t.numpy(), requires_grad=True) for t in zero]
    _, last = one.run(mr.tensor(x[:, None]), state)
    rows = [mr.grad(last[s].sum() * 0 + last[s][0, 0, j], state, retain_graph=True)
            for s in range(len(state)) for j in range(state[s].shape[-1])]  # fmt: skip
    expected = [np.concatenate([g.numpy()[0, 0] for g in row]) for row in rows]
    np.testing.assert_allclose(found[0, :n, :n], expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found[T], np.eye(whole))


# ---- values


def test_an_lstm_and_its_equations_have_the_same_values(rng: np.random.Generator) -> None:
    theirs, ours = an_lstm_and_its_twin()
    x = rng.normal(size=(T, B, I))
    a, b = viz.layer_values(theirs, x), viz.layer_values(ours, x)
    assert a.gates.keys() == b.gates.keys() == set("ifno") and a.states.keys() == b.states.keys() == set("hc")
    for n in a.gates:
        np.testing.assert_allclose(a.gates[n], b.gates[n], rtol=0, atol=1e-13)
    for n in a.states:
        np.testing.assert_allclose(a.states[n], b.states[n], rtol=0, atol=1e-13)
    assert a.candidates == ("n", "h") and b.candidates == ("n",)
    assert a.unlimited == ("c",) and b.unlimited == ("c", "h")


@pytest.mark.parametrize("name", slow_unless(4, MADE))
def test_the_values_of_every_layer_can_be_drawn(name: str, rng: np.random.Generator) -> None:
    layer = MADE[name](I, H, num_layers=2, bidirectional=True, batch_first=True)
    x = rng.normal(size=(B, T, I)).astype(np.float32)
    for reverse in (False, True):
        found = viz.layer_values(layer, x, reverse=reverse)
        output = layer.eval()(x)[0].numpy()
        half = output.shape[-1] // 2
        expected = np.swapaxes(output[..., half:] if reverse else output[..., :half], 0, 1)
        last = opened(layer).output
        if last in found.states:
            np.testing.assert_allclose(found.states[last], expected, rtol=0, atol=1e-5)
        one_row = {n: a[:, 0] for n, a in {**found.gates, **found.states}.items() if a.shape[-1] == H}
        viz.gate_map(one_row, candidates=found.candidates, states=found.unlimited)


def test_states_have_a_scale_of_their_own_and_say_it(rng: np.random.Generator) -> None:
    c = rng.normal(size=(T, H)) * 7
    picture = viz.gate_map({"f": np.abs(np.tanh(c)), "c": c}, states=["c"], meaning={"f": "how much stays"})
    assert [ax.get_title() for ax in picture.ax] == ["f: how much stays", "c"]
    low, high = picture.artists["c"].get_clim()
    assert -low == high == np.abs(c).max()
    assert picture.artists["f"].get_clim() == (0, 1)

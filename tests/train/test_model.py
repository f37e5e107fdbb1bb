"""The character model and the measured gradient flow."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.train.model import BLANKED, CharModel, blanked, detached, gradient_norms, row_names
from minirnn.train.options import CELLS, Options
from tests.slow import slow_unless

T, B, V, H = 6, 3, 7, 5


KINDS = [
    *(pytest.param({"cell": cell}, id=cell) for cell in CELLS),
    *(pytest.param({"cell": cell, "layers": 3}, id=f"{cell}-3") for cell in CELLS),
    *(pytest.param({"cell": cell, "layers": 2, "bidirectional": True}, id=f"{cell}-both-ways") for cell in CELLS),
    *(pytest.param({"cell": cell, "layers": 2, "zoneout": 0.3}, id=f"{cell}-zoneout") for cell in CELLS),
    pytest.param({"cell": "lstm", "layers": 2, "projection": 3, "bidirectional": True}, id="lstm-projection"),
]


def model_and_ids(rng: np.random.Generator, **kind: Any) -> tuple[CharModel, np.ndarray, np.ndarray]:
    model = CharModel(Options(hidden=H, **kind), V)
    for p in model.parameters():  # larger than initially, so that nothing is nearly linear
        p.assign(rng.normal(size=p.shape) * 0.7)
    return model, rng.integers(V, size=(T, B)), rng.integers(V, size=B)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_equals_its_trace_in_values_state_and_gradients(
    kind: dict[str, Any], rng: np.random.Generator
) -> None:
    model, ids, _ = model_and_ids(rng, **kind)
    model.eval()
    state = tuple(mr.tensor(rng.normal(size=t.shape).astype(np.float32)) for t in model.zero_state(B))
    dy = rng.normal(size=(T, B, V)).astype(np.float32)

    scores, final = model(ids, state)
    seen = model.trace(ids, state)
    assert scores.shape == (T, B, V)
    # float32, T steps: the sums are taken in another order.
    np.testing.assert_allclose(scores, [s.numpy() for s in seen.scores], rtol=0, atol=2e-5)
    for ours, theirs in zip(final, seen.state, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)

    parameters = list(model.parameters())
    fast = mr.grad(scores, parameters, dy)
    plain = mr.grad(mr.ops.stack(seen.scores), parameters, dy)
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 * np.abs(b.numpy()).max())


@pytest.mark.parametrize("cell", CELLS)
def test_a_text_in_two_parts_equals_the_text_in_one(cell: str, rng: np.random.Generator) -> None:
    model, ids, _ = model_and_ids(rng, cell=cell, layers=2)
    whole, final = model(ids, model.zero_state(B))
    first, state = model(ids[:4], model.zero_state(B))
    second, end = model(ids[4:], detached(state))
    np.testing.assert_allclose(whole, np.concatenate([first, second]), rtol=0, atol=1e-5)
    np.testing.assert_allclose(end[0], final[0], rtol=0, atol=1e-5)
    assert all(t.op is None for t in detached(state))


def test_blanks_are_hidden_from_the_model_and_known_by_their_place(rng: np.random.Generator) -> None:
    ids = rng.integers(V, size=(200, 30))
    given, where = blanked(ids, V, rng)
    assert (given[where] == V).all() and (given == V).sum() == len(where[0])
    untouched = given != V
    np.testing.assert_array_equal(given[untouched], ids[untouched])
    share = len(where[0]) / ids.size
    assert abs(share - BLANKED) < 5 * (BLANKED * (1 - BLANKED) / ids.size) ** 0.5  # five standard deviations
    assert len(blanked(ids[:1, :1], V, rng)[1][0]) == 1  # never none


def moved(model: CharModel, ids: np.ndarray, target: np.ndarray, t: int, row: str, change: np.ndarray) -> float:
    """The loss of the last step, in float64, when x, h or c of step t is changed by `change` (one layer)."""
    p = {name: value.astype(np.float64) for name, value in model.state_dict().items()}
    W, R = p["recurrent.weight_ih_l0"], p["recurrent.weight_hh_l0"]
    bW, bR = p["recurrent.bias_ih_l0"], p["recurrent.bias_hh_l0"]
    h, c = np.zeros((B, H)), np.zeros((B, H))
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    for k in range(T):
        x = p["embedding.weight"][ids[k]] + (change if (k, row) == (t, "x") else 0)
        ax, ah = x @ W.T + bW, h @ R.T + bR
        if model.recurrent.net.rnn_mode == "lstm":
            i, f, n, o = np.split(ax + ah, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(n) + (change if (k, row) == (t, "c") else 0)
            h = sigmoid(o) * np.tanh(c)  # h follows c: a change of c reaches the loss through both
        elif model.recurrent.net.rnn_mode == "gru":
            (xr, xz, xn), (hr, hz, q) = np.split(ax, 3, axis=1), np.split(ah, 3, axis=1)
            z = sigmoid(xz + hz)
            h = (1 - z) * np.tanh(xn + sigmoid(xr + hr) * q) + z * h
        else:
            h = np.tanh(ax + ah)
        if (k, row) == (t, "h"):
            h = h + change
    scores = h @ p["output.weight"].T + p["output.bias"]
    scores -= scores.max(axis=1, keepdims=True)
    return float((np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(B), target]).sum())


@pytest.mark.parametrize("cell", slow_unless(["lstm"], CELLS))
def test_gradient_norms_equal_finite_differences_of_the_last_loss(cell: str, rng: np.random.Generator) -> None:
    model, ids, target = model_and_ids(rng, cell=cell)
    norms = gradient_norms(model, ids, target)
    rows = row_names(model)
    assert rows == (["x", "h", "c"] if cell == "lstm" else ["x", "h"])
    assert norms.shape == (len(rows), T)
    h = 1e-5
    for k, row in enumerate(rows):
        for t in (0, 3, T - 1):
            n = 64 if row == "x" else H
            g = np.zeros((B, n))
            for b, j in np.ndindex(B, n):
                change = np.zeros((B, n))
                change[b, j] = h
                up, down = (moved(model, ids, target, t, row, s * change) for s in (1, -1))
                g[b, j] = (up - down) / (2 * h)
            expected = np.linalg.norm(g, axis=1).mean()
            # float32 gradients through T steps
            assert abs(norms[k, t] - expected) < 1e-5 * max(1, norms.max()), (row, t)


def test_gradients_of_one_blank_flow_to_both_sides_each_direction_to_its_own(rng: np.random.Generator) -> None:
    model, ids, target = model_and_ids(rng, cell="lstm", layers=2, bidirectional=True)
    at = 3
    norms = dict(zip(row_names(model), gradient_norms(model, ids, target, at), strict=True))
    assert list(norms) == [
        "x",
        "h0\u2192",
        "c0\u2192",
        "h0\u2190",
        "c0\u2190",
        "h1\u2192",
        "c1\u2192",
        "h1\u2190",
        "c1\u2190",
    ]
    assert (norms["h1\u2192"] > 0).tolist() == [t <= at for t in range(T)]  # the text that it read up to the blank
    assert (norms["h1\u2190"] > 0).tolist() == [t >= at for t in range(T)]
    assert (norms["x"] > 0).all()

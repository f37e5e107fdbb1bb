"""The character model, the measured gradient flow and the sample."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn.commands.train_flow import gradient_norms
from minirnn.commands.train_model import CELLS, CharModel, detached
from minirnn.commands.train_sample import TEMPERATURE, sample

T, B, V, H = 6, 3, 7, 5


def model_and_ids(cell: str, rng: np.random.Generator) -> tuple[CharModel, np.ndarray, np.ndarray]:
    model = CharModel(cell, V, H)
    for p in model.parameters():  # larger than at the start, so that nothing is nearly linear
        p.assign(rng.normal(size=p.shape) * 0.7)
    return model, rng.integers(V, size=(T, B)), rng.integers(V, size=B)


@pytest.mark.parametrize("cell", CELLS)
def test_a_sequence_equals_its_single_steps_in_values_state_and_gradients(cell: str, rng: np.random.Generator) -> None:
    model, ids, _ = model_and_ids(cell, rng)
    state = tuple(mr.tensor(rng.normal(size=(B, H)).astype(np.float32)) for _ in model.state_names)
    dy = rng.normal(size=(T, B, V)).astype(np.float32)

    scores, final = model(ids, state)
    steps = model.steps(ids, state)
    assert scores.shape == (T, B, V)
    # float32, T steps: the sums are taken in another order.
    np.testing.assert_allclose(scores, [step.scores.numpy() for step in steps], rtol=0, atol=2e-5)
    for ours, theirs in zip(final, steps[-1].state, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)

    parameters = list(model.parameters())
    fast = mr.grad(scores, parameters, dy)
    plain = mr.grad(mr.ops.stack([step.scores for step in steps]), parameters, dy)
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 * np.abs(b.numpy()).max())


@pytest.mark.parametrize("cell", CELLS)
def test_a_text_in_two_parts_equals_the_text_in_one(cell: str, rng: np.random.Generator) -> None:
    model, ids, _ = model_and_ids(cell, rng)
    whole, final = model(ids, model.zero_state(B))
    first, state = model(ids[:4], model.zero_state(B))
    second, end = model(ids[4:], detached(state))
    np.testing.assert_allclose(whole, np.concatenate([first, second]), rtol=0, atol=1e-5)
    np.testing.assert_allclose(end[-1], final[-1], rtol=0, atol=1e-5)
    assert all(t.op is None for t in detached(state))


def test_an_unknown_cell_is_named() -> None:
    with pytest.raises(ValueError, match="CharModel: cell is 'lstn'\n  expected one of lstm, gru, rnn"):
        CharModel("lstn", V, H)


def moved(model: CharModel, ids: np.ndarray, target: np.ndarray, t: int, row: str, change: np.ndarray) -> float:
    """The loss of the last step, in float64, when x, h or c of step t is changed by `change`."""
    p = {name: value.astype(np.float64) for name, value in model.state_dict().items()}
    state = [np.zeros((B, H)) for _ in model.state_names]
    for k in range(T):
        x = p["embedding.weight"][ids[k]] + (change if (k, row) == (t, "x") else 0)
        if model.state_names == ("c", "h"):
            z = np.concatenate([x, state[1]], 1) @ p["recurrent.w"] + p["recurrent.b"]
            i, ci, f, o = np.split(z, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-g)) for g in (i, f + 1, o))
            c = i * np.tanh(ci) + f * state[0] + (change if (k, row) == (t, "c") else 0)
            state = [c, o * np.tanh(c)]  # h follows c: a change of c reaches the loss through both
        elif "recurrent.w_ru" in p:
            ru = 1 / (1 + np.exp(-(np.concatenate([x, state[0]], 1) @ p["recurrent.w_ru"] + p["recurrent.b_ru"])))
            r, u = ru[:, :H], ru[:, H:]
            c = np.tanh(np.concatenate([x, r * state[0]], 1) @ p["recurrent.w_c"] + p["recurrent.b_c"])
            state = [u * state[0] + (1 - u) * c]
        else:
            z = x @ p["recurrent.weight_ih"].T + p["recurrent.bias_ih"]
            state = [np.tanh(z + state[0] @ p["recurrent.weight_hh"].T + p["recurrent.bias_hh"])]
        if (k, row) == (t, "h"):
            state[-1] = state[-1] + change
    scores = state[-1] @ p["output.weight"].T + p["output.bias"]
    scores -= scores.max(axis=1, keepdims=True)
    return float((np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(B), target]).sum())


@pytest.mark.parametrize("cell", CELLS)
def test_gradient_norms_equal_finite_differences_of_the_last_loss(cell: str, rng: np.random.Generator) -> None:
    model, ids, target = model_and_ids(cell, rng)
    norms = gradient_norms(model, ids, target)
    rows = ["x", "h", "c"][: len(model.state_names) + 1]
    assert norms.shape == (len(rows), T)
    h = 1e-5
    for k, row in enumerate(rows):
        for t in range(T):
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


def test_a_sample_is_drawn_from_the_models_own_stream_of_random_numbers(rng: np.random.Generator) -> None:
    model, ids, _ = model_and_ids("gru", rng)
    before = mr.random.generator().bit_generator.state["state"]["counter"].copy()
    a, b, c = (sample(model, ids[:, 0], length=40, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    assert a.shape == (40,)
    assert a.min() >= 0
    assert a.max() < V
    np.testing.assert_array_equal(mr.random.generator().bit_generator.state["state"]["counter"], before)


def test_a_sample_continues_what_was_read(rng: np.random.Generator) -> None:
    """A model whose scores say that V-1-id follows an id goes on with it, from the last character of the prime."""
    model = CharModel("rnn", V, V)
    for p in model.parameters():
        p.assign(np.zeros(p.shape))
    one_hot = np.zeros(model.embedding.weight.shape)
    one_hot[np.arange(V), np.arange(V)] = 9  # tanh(9) is nearly 1
    model.embedding.weight.assign(one_hot)
    model.recurrent.weight_ih.assign(np.eye(V, 64))
    model.output.weight.assign(100 * np.eye(V)[::-1])
    written = sample(model, np.array([5, 0, 2]), length=4)
    np.testing.assert_array_equal(written, [4, 2, 4, 2])


def test_a_sample_follows_softmax_of_the_scores_divided_by_the_temperature() -> None:
    model = CharModel("rnn", 2, H)
    for p in model.parameters():
        p.assign(np.zeros(p.shape))
    model.output.bias.assign([0.0, TEMPERATURE * np.log(9)])
    written = sample(model, np.array([0]), length=4000)
    # Binomial with p = 0.9: five standard deviations.
    assert abs(written.mean() - 0.9) < 5 * np.sqrt(0.9 * 0.1 / 4000)

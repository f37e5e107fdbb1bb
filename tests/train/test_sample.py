"""The text of a model follows its scores, and sampling has no side effects."""

import itertools

import numpy as np
import pytest

import minirnn as mr
from minirnn.train.model import CharModel
from minirnn.train.options import CELLS, Options
from minirnn.train.sample import TEMPERATURE, characters, draw, fill_in, filled, sample
from tests.slow import slow_unless

V, H = 7, 5


def model_of(rng: np.random.Generator, cell: str = "lstm", **kind: object) -> CharModel:
    model = CharModel(Options(cell=cell, hidden=H, **kind), V)  # type: ignore[arg-type]
    for p in model.parameters():  # larger than at the start, so that scores differ
        p.assign(rng.normal(size=p.shape) * 0.7)
    return model


def test_a_sample_is_drawn_from_its_own_stream_of_random_numbers(rng: np.random.Generator) -> None:
    model, prime = model_of(rng, "gru", layers=2, dropout=0.5), rng.integers(V, size=6)
    before = mr.random.generator().bit_generator.state["state"]["counter"].copy()
    a, b, c = (sample(model, prime, length=40, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    assert a.shape == (40,) and a.min() >= 0 and a.max() < V
    np.testing.assert_array_equal(mr.random.generator().bit_generator.state["state"]["counter"], before)
    assert model.training


def test_a_sample_continues_what_was_read() -> None:
    """If the scores say that V-1-id follows an id, the text continues with it, from the last character of the prime."""
    model = CharModel(Options(cell="rnn", hidden=V), V)
    for p in model.parameters():
        p.assign(np.zeros(p.shape))
    one_hot = np.zeros(model.embedding.weight.shape)
    one_hot[np.arange(V), np.arange(V)] = 9  # tanh(9) is nearly 1
    model.embedding.weight.assign(one_hot)
    model.recurrent.weight_ih_l0.assign(np.eye(V, 64))
    model.output.weight.assign(100 * np.eye(V)[::-1])
    written = sample(model, np.array([5, 0, 2]), length=4)
    np.testing.assert_array_equal(written, [4, 2, 4, 2])


@pytest.mark.parametrize("temperature", slow_unless([2.0], [TEMPERATURE, 2.0]))
def test_a_sample_follows_softmax_of_the_scores_divided_by_the_temperature(temperature: float) -> None:
    model = CharModel(Options(cell="rnn", hidden=H), 2)
    for p in model.parameters():
        p.assign(np.zeros(p.shape))
    model.output.bias.assign([0.0, temperature * np.log(9)])
    written = sample(model, np.array([0]), length=1000, temperature=temperature)
    # Binomial with p = 0.9: five standard deviations.
    assert abs(written.mean() - 0.9) < 5 * np.sqrt(0.9 * 0.1 / 1000)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("kind", [{}, {"layers": 2, "zoneout": 0.3, "dropout": 0.4}, {"projection": 3}])
def test_temperature_0_takes_the_likeliest_character_after_all_that_stands_before_it(
    cell: str, kind: dict[str, object], rng: np.random.Generator
) -> None:
    """Each time from the beginning and step by step, instead of with a kept state."""
    if "projection" in kind and cell != "lstm":
        pytest.skip("only an lstm has a projection")
    model, text = model_of(rng, cell, **kind), list(rng.integers(V, size=3))
    written = sample(model, text, length=12, temperature=0)
    for number in written:
        with mr.no_grad():
            scores = model.trace(np.array(text)[:, None], model.zero_state(1)).scores[-1].numpy()
        assert number == scores[0].argmax()
        text.append(number)
    np.testing.assert_array_equal(written, sample(model, text[:3], length=12, temperature=0, seed=9))


def test_temperatures_at_the_ends_of_the_numbers_are_the_likeliest_and_all_alike(rng: np.random.Generator) -> None:
    scores = np.array([1.0, 3.0, 2.0], np.float32)
    assert {draw(scores, 5e-324, rng) for _ in range(50)} == {1}
    counts = np.bincount([draw(scores, 1e300, rng) for _ in range(3000)], minlength=3)
    assert (np.abs(counts - 1000) < 5 * np.sqrt(3000 * 2 / 9)).all()  # five standard deviations


def test_characters_come_one_at_a_time_and_leave_the_tape_recording(rng: np.random.Generator) -> None:
    model = model_of(rng)
    stream = characters(model, [1, 2])
    first = [next(stream), next(stream)]
    x = mr.tensor(1.0, requires_grad=True)
    assert (x * 2).requires_grad  # between two characters
    assert [*first, *itertools.islice(stream, 3)] == sample(model, [1, 2], length=5).tolist()


def test_filling_in_changes_nothing_but_the_blanks(rng: np.random.Generator) -> None:
    model = model_of(rng, "gru", bidirectional=True)
    text = rng.integers(V, size=90)
    given, answer = filled(model, text, seed=3)
    blanks = given == V
    assert blanks.any() and answer.max() < V
    np.testing.assert_array_equal(answer[~blanks], text[~blanks])


def test_a_blank_becomes_what_the_model_finds_likeliest_there(rng: np.random.Generator) -> None:
    model = model_of(rng, "lstm", bidirectional=True)
    given = np.array([2, V, 4, 0, V, V])
    with mr.no_grad():
        scores = [s.numpy()[0] for s in model.trace(given[:, None], model.zero_state(1)).scores]
    np.testing.assert_array_equal(
        fill_in(model, given), [2, scores[1].argmax(), 4, 0, scores[4].argmax(), scores[5].argmax()]
    )

"""The capstone: gradients are judged first, training only if they are right, and only models with memory pass."""

import numpy as np
import pytest

from minirnn.learn.catalog.capstone import BOUND, CAPSTONE, V, texts
from minirnn.learn.models import STEPS, bits_of
from minirnn.learn.picture import picture_of
from tests.learn.answers import COURSE, checked, solution

FAST = ("updates, lr = 32, 24, 32, 500", "updates, lr = 32, 24, 32, 2")


def trained_by(code: str) -> str:
    """The solution with another body of `train`."""
    text = solution("ex41")
    return text[: text.index("def train")] + f"def train(text, V, rng):\n    {code}\n"


def test_the_text_is_predicted_by_who_remembers_and_by_nobody_else():
    text, validation = texts([0])
    words = text.reshape(-1, 8)
    np.testing.assert_array_equal(words[:, :3], words[:, 4:7])
    assert len(set(words[:, 3])) == len(set(words[:, 7])) == 1 and set(text) == set(range(V))
    assert {len(set(words[:, k])) for k in range(3)} == {4}
    assert validation.shape == (200, 40) and not np.array_equal(texts([1])[0], text)
    # Without memory: three letters of two bits and the same three again, of eight.
    H = 4
    model = {"W": np.zeros((V, 4 * H)), "R": np.zeros((H, 4 * H)), "b": np.zeros(4 * H), "U": np.zeros((H, V)),
             "c": np.log(np.bincount(text, minlength=V))}  # fmt: skip
    assert bits_of(CAPSTONE, model, validation) > 2.4 > 1.5 > BOUND > 0.75


@pytest.mark.slow
def test_a_right_answer_passes_and_draws_its_gradients(tmp_path):
    result = checked(tmp_path, "ex41", solution("ex41"))
    assert result.passed and result.score == COURSE.entry("ex41").points, result.message
    picture = picture_of(result)
    assert picture.data["norms"].shape == (2, STEPS) and np.all(picture.data["norms"] > 0)


def test_wrong_gradients_are_named_and_nothing_is_trained(tmp_path):
    result = checked(tmp_path, "ex41", solution("ex41", ("dh * o * (1 - co * co)", "dh * o"), FAST))
    assert result.status == "failed" and result.exact and "(1 - co * co)" in result.message
    assert [p.name for p in result.parts if p.ok] == ["loss", "dU", "dc"] and len(result.cases) == 2
    picture = picture_of(result)
    assert "dW" in picture.data


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("return text, text", "train returned 2 value(s)\n  expected W, R, b, U, c"),
        ("return None", "train returned one value(s)"),
        ("return [1, 2, 3, 4, 5]", "train returned an R whose shape is not (H, 4H)"),
        ("H = 65; return [np.zeros(s) for s in ((V, 4*H), (H, 4*H), (4*H,), (H, V), (V,))]", "expected H from 1 to 64"),
        ("H = 4; return [np.zeros(s) for s in ((V, 4*H), (H, 4*H), (4*H,), (V, H), (V,))]", "expected (4, 6)"),
        ("H = 4; return [np.full(s, np.nan) for s in ((V, 4*H), (H, 4*H), (4*H,), (H, V), (V,))]", "W with NaN"),
        ("H = 4; return [np.zeros(s) for s in ((V, 4*H), (H, 4*H), (4*H,), (H, V), (V,))]", "2.585 bits per letter"),
        ("raise RuntimeError('no')", "RuntimeError: no"),
    ],
)  # fmt: skip
def test_what_is_no_model_or_has_learned_nothing_is_told(tmp_path, code, said):
    result = checked(tmp_path, "ex41", trained_by(code))
    assert result.status == "failed" and said in result.message


def test_a_model_may_come_as_a_dict_and_what_training_prints_is_shown(tmp_path):
    code = (
        "print('hello'); H = 2; "
        "return dict(c=np.zeros(V), U=np.zeros((H, V)), b=np.zeros(4*H), R=np.zeros((H, 4*H)), W=np.zeros((V, 4*H)))"
    )
    result = checked(tmp_path, "ex41", trained_by(code))
    assert "bits per letter" in result.message and result.prints == "hello\n"


def test_without_a_training_it_is_told_that_there_is_none(tmp_path):
    result = checked(tmp_path, "ex41", solution("ex41", ("def train(", "def training(")))
    assert (
        result.status == "failed"
        and "there is no train" in result.message
        and "loss_and_gradients" not in result.message
    )

"""pad: against numpy.pad, too much padding."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_same

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", MODES)
def test_it_is_numpys_pad_with_the_last_axis_first(mode: str, device: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 4))
    y = F.pad(mr.tensor(x, device=device), (3, 1, 0, 2), mode)
    assert_same(y, np.pad(x, ((0, 0), (0, 2), (3, 1)), MODES[mode]))


def test_any_dtype_is_kept() -> None:
    assert_same(F.pad([True, False], (1, 0), value=1), np.array([True, True, False]))
    assert_same(F.pad(np.array([3], np.int32), (0, 2), value=7), np.array([3, 7, 7], np.int32))
    assert F.pad(np.zeros((0, 2), np.float16), (1, 1)).shape == (0, 4)


@pytest.mark.parametrize("mode", ["reflect", "circular"])
def test_more_than_a_mirror_shows_is_refused(mode: str) -> None:
    most = 2 if mode == "reflect" else 3
    assert F.pad(np.zeros((1, 3)), (most, most), mode).shape == (1, 3 + 2 * most)
    with pytest.raises(ValueError, match=f"mode '{mode}'\n  expected at most {most}"):
        F.pad(np.zeros((1, 3)), (0, most + 1), mode)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_taken_away_on_one_side_is_not_there_to_be_shown_on_the_other(mode: str) -> None:
    x = np.arange(5.0)
    if mode == "reflect":  # allowed in torch, where the mirror is at the end of the input
        assert_same(F.pad(x[None], (-4, 2), mode)[0], np.array([4.0, 3, 2]))
        assert_same(F.pad(x[None], (3, -4), mode)[0], np.array([3.0, 2, 1, 0]))
        return
    left = x[2:]
    most = {"constant": 9, "replicate": 9, "circular": 3}[mode]
    assert_same(F.pad(x[None], (-2, most), mode)[0], np.pad(left, (0, most), MODES[mode]))
    assert_same(F.pad(x[None], (most, -2), mode)[0], np.pad(x[:3], (most, 0), MODES[mode]))
    if mode == "circular":
        with pytest.raises(ValueError, match=f"expected at most {most} on each side"):
            F.pad(x[None], (-2, most + 1), mode)
    for pair in ((-3, -3), (-6, 0), (0, -6)):
        with pytest.raises(ValueError, match="expected no more than all elements"):
            F.pad(x[None], pair, mode)


def test_of_nothing_only_a_constant_can_be_repeated() -> None:
    x = np.zeros((2, 0))
    assert_same(F.pad(x, (1, 2), value=4), np.full((2, 3), 4.0))
    assert F.pad(x, (0, 0), "replicate").shape == (2, 0)
    with pytest.raises(ValueError, match="expected at most 0 on each side"):
        F.pad(x, (0, 1), "replicate")
    assert F.pad(x + 1, (0, 0), "circular").shape == (2, 0)
    assert_same(F.pad(np.ones((1, 3)), (-3, 0)), np.ones((1, 0)))

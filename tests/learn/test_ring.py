"""The exercise "Adding up in a ring": its expected results, the counts and errors of the network, and named mistakes.

Tests `minirnn/learn/catalog/ranks.py`.
"""

from pathlib import Path

import numpy as np
import pytest

from minirnn.learn.catalog.ranks import NetworkError, Ring, on_a_ring, ring_with
from minirnn.learn.exercise import HIDDEN, PUBLIC_CASES
from tests.learn.answers import COURSE, checked, solution
from tests.slow import slow_unless

EXERCISE = COURSE.entry("ex42").exercise


def solved(parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The result of the course's solution over the network."""
    names: dict[str, object] = {}
    exec(solution("ex42"), names)
    found: tuple[np.ndarray, np.ndarray] = names["ring_all_reduce"](**on_a_ring(parts))  # type: ignore[operator]
    return found


@pytest.mark.parametrize(("P", "n"), [(1, 4), (2, 2), (2, 7), (3, 7), (4, 15), (5, 3), (7, 23)])
def test_everybody_has_the_sum_and_has_sent_what_the_formula_says(P: int, n: int) -> None:
    """2 n (P-1) / P numbers per rank: exactly if P divides n, otherwise on average."""
    parts = np.random.default_rng(P).normal(size=(P, n))
    for sums, sent in (solved(parts), ring_with(**on_a_ring(parts))):
        np.testing.assert_allclose(sums, np.tile(parts.sum(0), (P, 1)), rtol=1e-12, atol=1e-12)
        assert sent.sum() == 8 * 2 * n * (P - 1)
        assert np.abs(sent - 8 * 2 * n * (P - 1) / P).max() <= (0 if n % P == 0 else 8 * 2)
    np.testing.assert_array_equal(*(found[1] for found in (solved(parts), ring_with(**on_a_ring(parts)))))


def test_in_every_case_some_pieces_are_longer_than_others() -> None:
    for sizes in [*(sizes for _, sizes in PUBLIC_CASES), *HIDDEN]:
        P, n = EXERCISE.case([0], sizes)["parts"].shape
        assert n % P


def test_the_network_refuses_what_a_ring_cannot_do() -> None:
    ring = Ring(np.zeros((3, 6)))
    with pytest.raises(NetworkError, match="nothing is on its way to rank 1"):
        ring.receive(1)
    with pytest.raises(NetworkError, match="no rank 3: they count from 0 to 2"):
        ring.send(3, [1.0])
    values = np.ones(4)
    ring.send(2, values)
    values[:] = 0
    np.testing.assert_array_equal(ring.receive(0), np.ones(4))  # sent values stay unchanged
    np.testing.assert_array_equal(ring.sent(), [0, 0, 32])
    ring.send(2, np.ones(4))
    with pytest.raises(NetworkError, match="rank 2 has sent 64 bytes and wants to send 8 more: 64 are enough"):
        ring.send(2, [1.0])


def test_sums_without_messages_are_half_an_answer(tmp_path: Path) -> None:
    text = """
import numpy as np


def ring_all_reduce(parts, send, receive, sent):
    return np.tile(parts.sum(0), (len(parts), 1)), sent()
"""
    result = checked(tmp_path, "ex42", text)
    assert not result.passed and "sent" in result.message


KEEP, SEND = "sums[r, pieces[(r - s) % P]] = receive(r)", "send(r, sums[r, pieces[(r + 1 - s) % P]])"


@pytest.mark.parametrize(
    ("changes", "said"),
    slow_unless(
        4,
        [
            ([(KEEP, KEEP.replace("=", "+="))], "they must replace it"),
            ([(SEND, SEND.replace("r + 1", "r")), (KEEP, KEEP.replace("r - s", "r - 1 - s"))], "wrong piece"),
            ([("np.array_split(np.arange(n), P)", "np.arange(n - n % P).reshape(P, -1)")], "n % P numbers are never"),
            ([("return sums, sent()", "return sums / P, sent()")], "these are means"),
        ],
    ),
)
def test_a_mistake_in_the_solution_is_called_by_its_name(
    tmp_path: Path, changes: list[tuple[str, str]], said: str
) -> None:
    result = checked(tmp_path, "ex42", solution("ex42", *changes))
    assert not result.passed and said in result.message, result.message

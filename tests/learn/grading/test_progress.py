"""Each score is printed when it is known, and from time to time the remaining time."""

from __future__ import annotations

import io

import pytest

from minirnn.learn.grading.progress import INTERVAL, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def graded(told: io.StringIO, seconds: float, done: int, most: int) -> str:
    now, out = [0.0], io.StringIO()
    progress = Progress(most, out, told, lambda: now[0])
    for k in range(done):
        now[0] += seconds
        progress.add(f"s{k}: 1 of 1 points")
    progress.close()
    assert out.getvalue() == "".join(f"s{k}: 1 of 1 points\n" for k in range(done))
    return told.getvalue()


def test_without_a_terminal_there_is_a_line_now_and_then():
    lines = graded(io.StringIO(), INTERVAL / 3, 10, 20).splitlines()
    assert lines == [
        "3 of 20 graded, about 3 min left",
        "6 of 20 graded, about 2 min left",
        "9 of 20 graded, about 2 min left",
    ]
    assert graded(io.StringIO(), 0.1, 20, 20) == ""


def test_on_a_terminal_the_line_is_replaced():
    text = graded(Terminal(), 10, 2, 2)
    assert text == "\r\x1b[K  1 of 2 graded, about 10 s left\r\x1b[K  2 of 2 graded\r\x1b[K"


@pytest.mark.parametrize(("seconds", "said"), [(0.9, "89 s"), (0.5, "50 s"), (10, "16 min"), (100, "2.8 h")])
def test_the_time_left_is_what_the_rest_takes_as_it_went(seconds, said):
    now = [0.0]
    progress = Progress(100, io.StringIO(), io.StringIO(), lambda: now[0])
    now[0] = seconds
    progress.done = 1
    assert progress.left() == said

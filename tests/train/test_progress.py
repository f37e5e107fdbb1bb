"""Progress is shown once, if a user is waiting."""

import io
import sys
import threading

import pytest

from minirnn.train import progress
from minirnn.train.progress import Doing, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_turning_sign_that_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, turned = Terminal(), threading.Event()

    def write(text: str) -> int:
        if text.startswith("\r/"):
            turned.set()
        return io.StringIO.write(terminal, text)

    monkeypatch.setattr(terminal, "write", write)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "16")
    with Doing("drawing a picture", quiet=False):
        turned.wait()
    first, second, *_, last = terminal.getvalue().removeprefix("\r").split("\r")
    assert (first, second) == ("| drawing a pic", "/ drawing a pic")  # as wide as the terminal, less one
    assert last == "" and terminal.getvalue().endswith("\r" + " " * 15 + "\r")
    assert "\x1b" not in terminal.getvalue()


def test_elsewhere_a_line_is_printed_if_it_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    with Doing("drawing", quiet=False, patience=0.0) as doing:
        doing.thread.join()
    assert capsys.readouterr() == ("drawing ...\n", "")
    with Doing("drawing", quiet=False, patience=1e6):
        pass
    assert capsys.readouterr() == ("", "")


def test_quiet_says_nothing_and_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Doing("drawing", quiet=True, patience=0.0) as doing:
        assert not doing.thread.is_alive()
    assert capsys.readouterr() == ("", "")


def test_an_error_inside_stops_it() -> None:
    with pytest.raises(KeyboardInterrupt), Doing("drawing", quiet=False, patience=1e6) as doing:
        raise KeyboardInterrupt
    assert not doing.thread.is_alive()


def test_lines_say_how_long_the_rest_will_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    with Progress(100, 400, quiet=False) as one:  # continued after 100 steps
        for step in (200, 400):
            one.show(step, {"loss": 1.0, "validation_loss": None})
    assert capsys.readouterr().out.splitlines() == [
        "step 200 of 400   loss 1.000   10 s, about 20 s left",
        "step 400 of 400   loss 1.000   20 s",
    ]

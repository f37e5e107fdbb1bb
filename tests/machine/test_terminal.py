"""Styles and lines about work are only shown on terminals, and only on those that want them."""

import io
import sys

import pytest

from minirnn.machine.terminal import has_colors, styled, while_working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),  # no-color.org: present and not empty
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": "0"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_a_terminal_has_colors_unless_it_is_dumb_or_its_user_wants_none(
    environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert has_colors(Terminal()) is expected
    assert styled("a", "bold", Terminal()) == ("\x1b[1ma\x1b[0m" if expected else "a")
    assert not has_colors(io.StringIO()) and styled("a", "red", io.StringIO()) == "a"


@pytest.mark.parametrize(
    ("stderr", "quiet", "shown"),
    [(Terminal, False, "\rdrawing\r       \r"), (Terminal, True, ""), (io.StringIO, False, "")],
)
def test_a_terminal_gets_a_line_that_leaves_nothing(
    stderr: type[io.StringIO], quiet: bool, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MINIRNN_QUIET", raising=False)
    monkeypatch.setattr(sys, "stderr", stderr())
    with pytest.raises(KeyboardInterrupt), while_working("drawing", quiet):
        raise KeyboardInterrupt
    assert sys.stderr.getvalue() == shown  # type: ignore[attr-defined]

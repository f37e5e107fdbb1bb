"""Letters that Matplotlib's own font lacks are drawn by an installed font, or by a sign, without a warning.

Tests `minirnn/viz/text_colors.py`.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from minirnn import viz
from minirnn.viz import text_colors as fonts


@pytest.mark.parametrize("text", ["abc", "\u4e2d\u6587\u5b57", "a\U0001f600b", "\u05d0\u0431\u03b3"])
def test_no_text_gives_a_warning(text: str, tmp_path: Path) -> None:
    gates = {"i": np.full((3, 2), 0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.ravel(viz.gate_map(gates, text=text).ax)[0].figure.savefig(tmp_path / "gates.png")
        np.ravel(viz.colored_text(np.linspace(-1, 1, 3), text).ax)[0].figure.savefig(tmp_path / "text.png")


def test_a_font_that_has_the_letters_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.font_manager import fontManager

    first, other = "DejaVu Sans Mono", next(f for f in fontManager.ttflist if f.name == "DejaVu Serif")
    has = fonts.letters_of
    monkeypatch.setattr(fonts, "letters_of", lambda path: {0x4E2D} if path == other.fname else has(path))
    assert fonts.fonts_for("a") == ([first], "a")
    assert fonts.fonts_for("a\u4e2d\u6587") == ([first, other.name], "a\u4e2d" + fonts.MISSING)

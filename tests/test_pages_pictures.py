"""Pictures of the pages: none is too wide for a phone, each says what it shows, and links to the site have one.

Tests `docs/images/`, `docs/descriptions.py`, `scripts/social_card.py`.
"""

import re
import runpy
import struct
from pathlib import Path

import pytest

from docs.drawings.phone_layout import WIDTH

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def test_a_picture_that_is_too_wide_for_a_phone_scrolls_sideways() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"!\[[^\]]*\]\(images/([\w.]+)\)", text):
            assert size(DOCS / "images" / name)[0] <= 150 * WIDTH, (page.name, name)
        for name, options in re.findall(r"```\{image\} images/([\w.]+)\n((?::.*\n)*)```", text):
            assert ":class: sideways" in options and int(re.findall(r":width: (\d+)px", options)[0]) > 600, name


def test_the_words_for_a_picture_say_what_it_shows() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for words in re.findall(r"!\[([^\]]*)\]\(", text) + re.findall(r"^:alt: (.*)$", text, flags=re.M):
            assert len(words) > 40, (page.name, words)


def test_the_picture_of_a_link_has_the_size_that_is_shown_and_its_tags_need_an_address() -> None:
    assert size(DOCS / "_static" / "social_card.png") == (1200, 630)
    pytest.importorskip("docutils", reason='pip install -e ".[docs]"')
    picture = runpy.run_path(str(DOCS / "descriptions.py"))["picture"]
    assert picture("", "index") == ""
    tags = picture("https://example.org/minirnn/", "tutorials/01_the_tape")
    assert 'property="og:image" content="https://example.org/minirnn/_static/social_card.png"' in tags
    assert 'content="https://example.org/minirnn/tutorials/01_the_tape.html"' in tags


def test_the_card_says_what_its_curves_show() -> None:
    (ax,) = runpy.run_path(str(ROOT / "scripts" / "social_card.py"))["card"]().axes
    lstm, plain = (line.get_ydata() for line in ax.lines)
    assert lstm[0] > 0.01 and plain[0] < 1e-6

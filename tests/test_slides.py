"""Slides have the equations, figures and summary of their chapter, can be edited, and need no network.

Tests `scripts/slides.py`.
"""

import html
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from minirnn.viz import display
from tests.book.test_equations import ROOT, TUTORIALS, blocks

CORE = [name for name in TUTORIALS if int(name[:2]) <= 13]
SMALL = '''"""
1. A small chapter
==================

*Is it small?*

| **You need** nothing.
| **You will be able to** see ``x`` and
  :math:`y < 2`.
"""

# %%
# The curve
# ---------
# It *falls*. The rest of the text is for the speaker -- who knows it.
#
# .. math::
#
#    a &< b \\\\\\\\
#    c &= d

import minirnn as mr

mr.viz.show(mr.viz.loss_curve([1, 2, 3], [3.0, 2.0, 1.0]))

# %%
# The end is at 1. Nothing more.
#
# Summary
# -------
# - One
#   and two.
# - ``three``
'''


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("slides", ROOT / "scripts" / "slides.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SLIDES = load()
NUMBERS = sys.modules["chapter_text"].numbers()  # which the script has imported


@pytest.fixture(autouse=True)
def nothing_is_collected_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(display, "_collected", None)
    (tmp_path / "tex.js").write_text("drawn")
    monkeypatch.setattr(SLIDES, "mathjax", lambda: tmp_path / "tex.js")


@pytest.mark.parametrize("name", CORE)
def test_a_deck_has_every_equation_and_heading_of_its_chapter(name: str) -> None:
    deck = SLIDES.compose(TUTORIALS[name])
    for label, tex in blocks(TUTORIALS[name]):
        tag = f" \\tag{{{NUMBERS[label]}}}" if label else ""
        assert f"$$\n{tex}{tag}\n$$" in deck
    assert deck.count("\n$$\n\n") == len(list(blocks(TUTORIALS[name])))
    text = re.sub(r"^# ?", "", TUTORIALS[name].read_text(encoding="utf-8"), flags=re.M)
    headings = re.findall(r"^(\S.*)\n-{3,}$", text, flags=re.M)
    assert {"Summary", "Further reading", "Try it"} <= set(headings)
    for heading in headings:
        assert f"## {SLIDES.flat(heading)}\n" in deck, heading
    assert not re.search(r":(math|doc|eq):`|\.\. math|``", deck)


def test_equations_are_numbered_by_chapter_and_told_apart() -> None:
    assert NUMBERS["lstm-states"] == "5.2" and NUMBERS["time-recursion"] == "D.1"
    assert len(set(NUMBERS.values())) == len(NUMBERS) > 60


def test_a_page_has_a_section_per_slide_and_fetches_nothing() -> None:
    for name in CORE:
        deck = SLIDES.compose(TUTORIALS[name])
        page = SLIDES.page(deck)
        assert page.count("<section>") == page.count("</section>") == deck.count("\n---\n") + 1 > 5
        assert re.findall(r'(?:src|href)="([^"]+)"', page) == ["mathjax.js"]
        assert "@media print" in page and "break-after: page" in page


def test_figures_claims_and_notes_of_a_small_chapter(tmp_path: Path) -> None:
    chapter = tmp_path / "01_small.py"
    chapter.write_text(SMALL, encoding="utf-8")
    deck = SLIDES.write(chapter, tmp_path).read_text(encoding="utf-8")
    title, formula, figure, summary = deck.split("\n\n---\n\n")
    assert title.startswith("# 1. A small chapter\n\n*Is it small?*\n\n**You will be able to** see `x` and $y < 2$.")
    assert formula.startswith("## The curve\n\nIt *falls*.\n\n$$\na &< b")
    assert "the speaker \u2013 who knows it" in formula.partition("<!--")[2]
    found = re.fullmatch(r"## The curve\n\n!\[(.+)\]\((.+)\)\n\n(.+)\n\n<!--\n(.+)\n-->", figure, flags=re.S)
    assert found is not None
    alt, file, claim, notes = found.groups()
    assert notes == "The end is at 1. Nothing more."
    assert "loss" in alt and file == "01_small/1.svg" and claim == "The end is at 1."
    assert "<svg" in (tmp_path / file).read_text(encoding="utf-8")
    assert summary.startswith("## Summary\n\n- One and two.\n- `three`")
    page = SLIDES.page(deck)
    assert "\\[a &amp;&lt; b" in page and "\\(y &lt; 2\\)" in page and "<em>falls</em>" in page
    assert "<ul>\n<li>One and two.</li>\n<li><code>three</code></li>\n</ul>" in page
    assert f'<img src="{file}" alt="' in page and '<div class="number">4 / 4</div>' in page


def test_the_words_of_a_figure_are_no_markdown() -> None:
    deck, words = SLIDES.Deck(), r"x [2.) <a> & `b`, 1 - c**2 and n**2 * $m$ _k_ \\ !"
    deck.figure("f.svg", words, "Title. More.")
    (alt,) = re.findall(r"<img src=\"f.svg\" alt=\"(.*?)\"", SLIDES.page(deck.slides[0]))
    assert html.unescape(alt) == words


def test_an_edited_deck_becomes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deck = tmp_path / "mine.md"
    deck.write_text("# Mine\n\n---\n\n## **A** <b>\n\n$a$ and `a < b`, 2 * 3 * 4\n\n<!--\nsay\n-->\n", encoding="utf-8")
    assert SLIDES.main([str(tmp_path / "out"), "--from", str(deck)]) == 0
    page = (tmp_path / "out" / "mine.html").read_text(encoding="utf-8")
    assert "<title>Mine</title>" in page and "<h2><strong>A</strong> &lt;b&gt;</h2>" in page
    assert "\\(a\\)</span> and <code>a &lt; b</code>, 2 * 3 * 4</p>" in page and "<summary>Notes</summary>say<" in page
    assert (tmp_path / "out" / "mathjax.js").read_text() == "drawn" and "mine.html" in capsys.readouterr().out


def test_tables_of_a_deck_are_shown() -> None:
    page = SLIDES.page("# T\n\n| a | b |\n|---|--:|\n| **c** | x \\| y |")
    assert "<th>a</th>" in page and "<td><strong>c</strong></td>" in page and ">x | y</td>" in page


def test_a_page_without_a_folder_is_built_next_to_its_deck(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("# Mine\n", encoding="utf-8")
    assert SLIDES.main(["--from", str(tmp_path / "mine.md")]) == 0
    assert "<title>Mine</title>" in (tmp_path / "mine.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["slides", "05_lstm"], "no chapter is called 05_lstm; expected one of 01_the_tape, "),
        ([], "the folder is missing"),
        (["--from", "none.md"], "none.md: No such file or directory"),
        (["--from", "bytes.md"], "bytes.md: 'utf-8' codec can't decode"),
        (["--from", "page.html"], "page.html; expected a deck, whose name ends in .md"),
        (["slides", "01_the_tape", "--from", "mine.md"], "--from builds the page of one deck, and runs no chapter"),
        (["bytes.md", "01_the_tape"], "bytes.md: File exists"),
    ],
)
def test_a_wrong_call_is_refused_with_a_reason(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe")
    (tmp_path / "page.html").write_text("mine")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit):
        SLIDES.main(arguments)
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "page.html").read_text() == "mine"


def test_an_edited_deck_is_kept_until_it_may_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("01_small", "02_more"):
        (tmp_path / f"{name}.py").write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(SLIDES, "TUTORIALS", tmp_path)
    out = tmp_path / "out"
    deck, page, figure = out / "01_small.md", out / "01_small.html", out / "01_small" / "1.svg"
    assert SLIDES.main([str(out), "01_small"]) == 0
    assert capsys.readouterr().out == f"01_small: its code runs\n{page}\n"
    made = deck.read_text(encoding="utf-8")
    assert SLIDES.main([str(out), "01_small"]) == 0  # nobody has edited it
    deck.write_text(made + "edited", encoding="utf-8")
    page.write_text("mine")
    figure.write_text("redrawn")
    capsys.readouterr()
    assert SLIDES.main([str(out)]) == 1
    said = capsys.readouterr().out
    assert f"{deck} was edited, so it is kept\n  its page: --from {deck}; to replace it: --again\n" in said
    assert deck.read_text(encoding="utf-8") == made + "edited"
    assert page.read_text() == "mine" and figure.read_text() == "redrawn" and (out / "02_more.html").exists()
    assert SLIDES.main([str(out), "01_small", "--again"]) == 0
    assert deck.read_text(encoding="utf-8") == made and "<svg" in figure.read_text(encoding="utf-8")


def test_an_answer_is_named_with_its_page() -> None:
    deck = SLIDES.compose(TUTORIALS["03_one_step_then_many"])
    assert "(Answer: *Exercises on paper, and answers*)" in deck and "(Answer)" not in deck


@pytest.mark.slow
def test_the_command_makes_two_chapters_with_all_their_figures(tmp_path: Path) -> None:
    names = ["05_the_lstms_highway", "08_what_a_cut_loses"]
    assert SLIDES.main([str(tmp_path), *names]) == 0
    for name in names:
        shows = TUTORIALS[name].read_text(encoding="utf-8").count("mr.viz.show(")
        deck = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        files = re.findall(rf"^!\[.+\]\(({name}/\d\.svg)\)$", deck, flags=re.M)
        assert len(files) == shows >= 1 and all((tmp_path / file).stat().st_size > 5000 for file in files)
        assert SLIDES.page(deck) == (tmp_path / f"{name}.html").read_text(encoding="utf-8")

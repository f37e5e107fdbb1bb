"""The order of the book: three tracks, chapters of the same form, and redirects from old addresses.

Tests `docs/tracks.py`, `docs/moved.py` and the form of `tutorials/`.
"""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from minirnn.learn.course import load
from tests.book.test_equations import ROOT, TUTORIALS

CHAPTERS = list(TUTORIALS)
PARTS = ("Summary", "Further reading", "Try it")
FIRST_ORDER = [
    "01_the_tape", "02_trust_but_difference", "03_one_step_then_many", "04_vanish_and_explode",
    "05_the_lstms_highway", "06_two_grus", "07_one_node_or_many", "08_real_batches", "09_the_opaque_buffer",
    "10_a_kernel_without_a_gpu", "11_one_launch_for_all_steps", "12_gradients_of_gradients",
    "13_from_beginning_to_end", "14_attention", "15_what_dropout_may_touch", "16_whose_gates", "17_many_hands",
    "18_addition_is_not_associative", "19_your_own_cell", "20_long_lags", "21_what_a_cut_loses",
]  # fmt: skip
"""The chapters at their first addresses."""


@pytest.fixture
def docs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of docs/, by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module


def core() -> list[str]:
    return [name for name in CHAPTERS if int(name[:2]) <= 13 or int(name[:2]) >= 22]


def body(name: str) -> str:
    """A chapter without the marks of comments."""
    return re.sub(r"^# ?", "", TUTORIALS[name].read_text(encoding="utf-8"), flags=re.M)


def numbers(text: str) -> list[int]:
    """The numbers in `chapter 4`, `chapters 3, 4 and 6` and `chapters 3 to 5`."""
    found = re.findall(r"[Cc]hapters?\s+(\d+(?:(?:,|\s+to|\s+and)\s+\d+)*)", text)
    return [int(number) for listed in found for number in re.findall(r"\d+", listed)]


def test_the_tracks_have_every_chapter_in_the_order_of_the_numbers(docs: Any) -> None:
    tracks = docs("tracks")
    assert sorted(tracks.NAMES) == CHAPTERS and [int(name[:2]) for name in CHAPTERS] == list(range(1, 24))
    assert all(sorted(chapters) == list(chapters) for chapters in tracks.TRACKS.values())
    assert list(tracks.TRACKS) == ["The core", "Libraries", "Hardware"]
    assert list(tracks.TRACKS["The core"]) == core()


def test_the_table_of_a_track_has_question_and_minutes_of_each_chapter(docs: Any, tmp_path: Path) -> None:
    docs("tracks").write(tmp_path / "tracks.txt")
    text = (tmp_path / "tracks.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d+)\. .+\]\(tutorials/(\w+)\) \| .+\? \| \d+ \|$", text, flags=re.M)
    assert [name for _, name in rows] == list(docs("tracks").NAMES) and all(
        int(number) == int(name[:2]) for number, name in rows
    )


def test_the_list_of_sphinx_gallery_is_divided_into_tracks(docs: Any) -> None:
    tile = '.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer">\n\n  :doc:`/tutorials/{0}`\n\n'
    listed = "".join(tile.format(name) for name in CHAPTERS)
    written = (
        'Tutorials\n=========\n\n.. raw:: html\n\n    <div class="sphx-glr-thumbnails">\n\n'
        f".. thumbnail-parent-div-open\n\n{listed}.. thumbnail-parent-div-close\n\n.. raw:: html\n\n    </div>\n\n"
        ".. toctree::\n   :hidden:\n\n   /tutorials/01_the_tape\n"
    )
    source = [written]
    docs("tracks").named(None, "tutorials/index", source)
    places = [source[0].index(f"\n{track}\n--") for track in docs("tracks").TRACKS]
    tiles = [source[0].index(f":doc:`/tutorials/{name}`") for name in docs("tracks").NAMES]
    assert sorted(places + tiles) == [places[0], *tiles[:15], places[1], *tiles[15:19], places[2], *tiles[19:]]
    assert source[0].count("parent-div-open") == source[0].count("parent-div-close") == 3
    assert re.findall(r"^   .+ </tutorials/(\w+)>$", source[0], flags=re.M) == list(docs("tracks").NAMES)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_says_what_it_needs_what_it_gives_and_how_long_it_takes(name: str) -> None:
    opening = body(name).partition('"""\n\n%%')[0]
    (need,) = re.findall(r"^\| \*\*You need\*\* (.+)\n\| \*\*You will be able to\*\* ", opening, flags=re.M)
    (minutes,) = re.findall(r"^\| \*\*Time\*\*: (\d+) minutes\.$", opening, flags=re.M)
    assert int(minutes) <= (20 if name in core() else 25)
    assert all(number < int(name[:2]) for number in numbers(need))


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_ends_with_the_next_one(name: str) -> None:
    last = body(name).rstrip().rpartition("\n\n")[2]
    following = dict(zip(CHAPTERS, [*CHAPTERS[1:], "exercises </exercises>"], strict=True))[name]
    assert re.search(rf"Next: :doc:`{following}`", last), last


@pytest.mark.parametrize("name", core())
def test_a_chapter_of_the_core_is_short_and_has_its_parts_in_order(name: str) -> None:
    text = body(name)
    assert len(TUTORIALS[name].read_text(encoding="utf-8").splitlines()) <= 285
    places = [text.rindex(f"\n{part}\n{'-' * len(part)}\n") for part in PARTS]
    assert places == sorted(places)


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_there_is_to_try_needs_no_later_chapter(name: str) -> None:
    tries = body(name).partition("\nTry it\n------\n")[2].partition("Next: ")[0]
    assert tries and all(number <= int(name[:2]) for number in numbers(tries))
    assert not re.search(r":doc:`\d\d_", tries)


def test_no_exercise_needs_one_of_a_later_chapter() -> None:
    entries = load().entries
    for entry in entries.values():
        assert all(entries[need].tutorial <= entry.tutorial for need in entry.needs), entry.id
        assert entry.tutorial, entry.id


def test_every_old_address_leads_to_its_chapter(docs: Any) -> None:
    redirects = docs("moved").REDIRECTS
    answers = {old.removeprefix("tutorials/"): to for old, to in redirects.items() if old.startswith("tutorials/")}
    assert answers.keys() | set(CHAPTERS) >= set(FIRST_ORDER) and not answers.keys() & set(CHAPTERS)
    assert redirects["more"] == "use.html" and redirects["locks"] == "appendix/locks.html"
    for name, to in answers.items():
        assert to.removesuffix(".html") in CHAPTERS and to[2:] == f"{name[2:]}.html"


def test_the_built_site_answers_at_every_old_address() -> None:
    built = ROOT / "docs" / "_build" / "html" / "tutorials"
    if not built.exists():
        pytest.skip("the site is not built")
    assert all((built / f"{name}.html").exists() for name in [*FIRST_ORDER, *CHAPTERS])

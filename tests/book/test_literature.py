"""Every citation leads to an entry of the bibliography, and every entry is cited or on the reading path.

Tests `docs/literature.py`, `docs/literature.bib`, `docs/bibliography.md`.
"""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("literature", ROOT / "docs" / "literature.py")
    assert spec is not None and spec.loader is not None
    found = sys.modules["literature"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


LITERATURE = module()
LIBRARY = LITERATURE.read()
CITING = sorted(
    path
    for folder, kinds in (
        ("docs", "md"),
        ("docs/examples", "py"),
        ("tutorials", "py"),
        ("minirnn", "py cu cuh cpp h md"),
    )
    for kind in kinds.split()
    for path in (ROOT / folder).rglob(f"*.{kind}")
    if not {"api", "_build"} & set(path.relative_to(ROOT).parts) and path.parent != ROOT / "docs" / "tutorials"
)


def cited(path: Path) -> Iterator[re.Match[str]]:
    """The citations of a file, also across line ends."""
    text = re.sub(r"\n[ \t]*(?:#|//|\*)?[ \t]*", " ", path.read_text(encoding="utf-8"))
    yield from LITERATURE.citations(text)


def test_every_citation_means_one_entry() -> None:
    unknown = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in CITING
        for match in cited(path)
        if LIBRARY.find(match["names"], match["year"]) is None
    }
    assert not unknown, f"docs/literature.bib has no entry for {', '.join(sorted(unknown))}"


def test_every_entry_is_cited_or_on_the_reading_path() -> None:
    found = (LIBRARY.find(match["names"], match["year"]) for path in CITING for match in cited(path))
    assert set(LIBRARY) == {entry.key for entry in found if entry is not None}


@pytest.mark.parametrize("path", sorted((ROOT / "tutorials").glob("[0-9]*.py")), ids=lambda path: path.stem)
def test_a_chapter_names_one_to_five_works_with_what_they_are_for(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8").partition("\n# Further reading\n# ---------------\n")[2]
    (tmp_path / "part").write_text(text.partition("\n# Try it\n")[0], encoding="utf-8")
    assert 1 <= len({match[0] for match in cited(tmp_path / "part")}) <= 5


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Werbos (1990), *Backpropagation*", "werbos1990"),
        ("(Gers et al. 2000;", "gers2000"),
        ("Gers and Schmidhuber (2000)", "gers2000peepholes"),
        ("Gers & Schmidhuber 2000", "gers2000peepholes"),
        ("Le, Jaitly and Hinton 2015", "le2015"),
        ("Karpathy, Johnson, Fei-Fei 2015", "karpathy2015"),
        ("Griewank and Walther (2000)", "griewank2000"),
        ("Griewank and Walther\n(2008)", "griewank2008"),
        ("Bengio et al. (2015)", "bengio2015"),
        ("Zhou et al., 2016", "zhou2016"),
        ("Cho et al. 2015", None),
        ("Gers and Cummins (2000)", None),
    ],
)
def test_a_citation_in_any_form_is_understood(text: str, key: str | None) -> None:
    (match,) = LITERATURE.citations(text)
    entry = LIBRARY.find(match["names"], match["year"])
    assert (entry and entry.key) == key


def test_an_acronym_is_not_a_name() -> None:
    assert not list(LITERATURE.citations("an LSTM (1997)"))


def test_an_entry_says_who_what_where_when_and_what_for() -> None:
    for entry in LIBRARY.values():
        assert {"author", "title", "year", "keywords", "annote"} <= set(entry.fields), entry.key
        assert entry.fields["keywords"] in LITERATURE.GROUPS, entry.key
        assert entry.fields["annote"].endswith("."), entry.key
        assert entry.key.startswith(ascii_of(entry.authors[0][0])) and entry.fields["year"] in entry.key, entry.key
        assert entry.place and all(given for _, given in entry.authors), entry.key


def ascii_of(name: str) -> str:
    return name.lower().translate(str.maketrans("öáí", "oai"))


def test_entries_are_told_apart_by_what_a_text_says_of_them() -> None:
    for entry in LIBRARY.values():
        (match,) = LITERATURE.citations(entry.label)
        assert LIBRARY.find(match["names"], match["year"]) == entry


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.bib"
    file.write_text("@misc{a2000,\n  author = {A, B},\n  year = 2000,\n}\n")
    with pytest.raises(ValueError, match="a2000 has a line that is not a field"):
        LITERATURE.read(file)
    file.write_text("@misc{a2000,\n  year = {2000},\n}\n@misc{a2000,\n  year = {2000},\n}\n")
    with pytest.raises(ValueError, match="a2000 is there twice"):
        LITERATURE.read(file)

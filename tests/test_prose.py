"""The prose of pages, docstrings, comments and messages has few of the habits that docs/contributing.md lists.

Tests `scripts/prose.py`.
"""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def prose(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import prose

    return prose


def table() -> list[tuple[str, str]]:
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    section = text.partition("## How we write")[2].partition("\n## ")[0]
    return re.findall(r"^\| (?!instead|---)(.+) \| (.+) \|$", section, flags=re.MULTILINE)


def test_each_habit_of_the_page_is_found_and_what_to_write_instead_is_not(prose: Any) -> None:
    rows = table()
    assert len(rows) == len(prose.HABITS)
    for (habit, pattern), (wrong, right) in zip(
        prose.COMPILED.items(), sorted(rows, key=lambda row: order(prose, row[0])), strict=True
    ):
        assert pattern.search(wrong), habit
        assert not any(p.search(right) for p in prose.COMPILED.values()), right


def order(prose: Any, wrong: str) -> int:
    """The index of the habit in a sentence."""
    return next(k for k, pattern in enumerate(prose.COMPILED.values()) if pattern.search(wrong))


def test_texts_of_each_kind_are_read_with_their_lines(prose: Any, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("It works, too.\n\n```\nit stands\n```\nIt stands.\n")
    (tmp_path / "code.py").write_text(
        '"""The word stands here."""\nx = "a"  # of its own\nraise ValueError(f"{x} is no thing of it")\n'
    )
    (tmp_path / "kernel.cu").write_text("int beside;\n// It stands.\n")
    found = {path.name: [line for line, _, _ in sorted(prose.places(path))] for path in prose.files([str(tmp_path)])}
    assert found == {"code.py": [1, 2, 3], "kernel.cu": [2], "page.md": [1, 6]}


@pytest.mark.parametrize("group", ["docs", "tutorials", pytest.param("code", marks=pytest.mark.slow)])
def test_a_thousand_words_have_at_most_half_a_habit(prose: Any, group: str) -> None:
    files = [*prose.files(prose.GROUPS[group])]
    found = [(path.relative_to(ROOT), *place) for path in files for place in prose.places(path)]
    assert len(found) <= prose.LIMIT * sum(prose.words(path) for path in files) / 1000, found[:20]

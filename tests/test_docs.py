"""The documentation keeps its word: every op has a page, and every test, path and link it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minirnn.commands.explain import explained

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_every_op_has_a_page() -> None:
    pages = "\n".join(p.read_text() for p in (ROOT / "docs" / "ops").glob("*.md") if p.name != "README.md")
    for op in explained():
        assert f"{op}" in pages, op


def test_every_known_disagreement_names_a_test_that_exists() -> None:
    tests = "\n".join(p.read_text() for p in (ROOT / "tests").rglob("test_*.py"))
    rows = [line for line in (ROOT / "docs" / "disagreements.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 8
    for row in rows:
        names = re.findall(r"`(test_\w+)`", row)
        assert names, row
        for name in names:
            assert f"def {name}(" in tests, name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target
    for path in re.findall(r"`((?:minirnn|tests|benchmarks|docs)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path

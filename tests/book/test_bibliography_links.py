"""A citation in running text becomes a link to its entry, and nothing else does.

Tests `docs/bibliography_links.py`.
"""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.book.test_literature import LIBRARY, ROOT

nodes = pytest.importorskip("docutils.nodes", reason="the docs need it: pip install -e '.[docs]'")


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    yield importlib.import_module("bibliography_links")
    sys.modules.pop("bibliography_links", None)


def app(format: str = "html") -> Any:
    builder = SimpleNamespace(format=format, get_relative_uri=lambda page, target: f"../{target}.html")
    return SimpleNamespace(builder=builder, minirnn_library=LIBRARY)


def document(*children: Any) -> Any:
    from docutils.utils import new_document

    found = new_document("page")
    found += nodes.paragraph("", "", *children)
    return found


def addresses(tree: Any) -> list[str]:
    return [link["refuri"] for link in tree.findall(nodes.reference)]


def test_a_citation_is_a_link_across_the_ends_of_lines(links: Any) -> None:
    tree = document(nodes.Text("As Cho et al. 2014 and Diamos"), nodes.Text("\n"), nodes.Text("et al. (2016) say."))
    links.link_citations(app(), tree, "tutorials/x")
    assert addresses(tree) == ["../bibliography.html#cho2014", "../bibliography.html#diamos2016"]
    assert tree.astext() == "As Cho et al. 2014 and Diamos\net al. (2016) say."


def test_code_titles_links_and_unknown_names_are_left_alone(links: Any) -> None:
    text = "Werbos (1990)"
    quiet = [nodes.literal("", text), nodes.reference("", text, refuri="x"), nodes.Text("Nobody (1990) knows.")]
    tree = document(*quiet)
    tree += nodes.section("", nodes.title("", text))
    links.link_citations(app(), tree, "x")
    assert addresses(tree) == ["x"]
    printed = document(nodes.Text(text))
    links.link_citations(app("latex"), printed, "x")
    assert addresses(printed) == []


def test_the_page_has_each_entry_once_with_its_key_as_anchor(links: Any) -> None:
    works = [work for section in links.sections() for work in section.findall(nodes.paragraph)]
    assert sorted(work["ids"][0] for work in works) == sorted(LIBRARY)
    assert all(work.astext().endswith(LIBRARY[work["ids"][0]].fields["annote"]) for work in works)

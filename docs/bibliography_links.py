"""The page "Bibliography", and a link to it wherever a page cites a work (`literature`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from literature import GROUPS, Entry, citations, read

PAGE = "bibliography"


class Bibliography(Directive):
    """The directive that shows all entries."""

    def run(self) -> list[nodes.Node]:
        return list(sections())


def sections() -> Iterator[nodes.section]:
    """All entries, group by group, each with an anchor that is its key."""
    library = read()
    for group, title in GROUPS.items():
        section = nodes.section(ids=[nodes.make_id(title)], names=[nodes.fully_normalize_name(title)])
        section += nodes.title(title, title)
        section += [paragraph(entry) for entry in library.values() if entry.fields["keywords"] == group]
        yield section


def paragraph(entry: Entry) -> nodes.paragraph:
    """One entry: authors, year, title, place, and what to read it for."""
    people = [f"{given} {family}" for family, given in entry.authors]
    if entry.fields["author"].endswith(" and others"):
        people.append("others")
    text = people[0] if len(people) == 1 else f"{', '.join(people[:-1])} and {people[-1]}"
    shown = nodes.paragraph(ids=[entry.key], classes=["work"])
    shown += nodes.inline("", f"{text} ({entry.fields['year']}). ", classes=["uncited"])
    title = nodes.emphasis("", entry.fields["title"])
    shown += nodes.reference("", "", title, refuri=entry.link) if entry.link else title
    shown += nodes.Text(f"{'' if entry.fields['title'].endswith('?') else '.'} {entry.place}. ")
    shown += nodes.Text(entry.fields["annote"])
    return shown


def join_lines(doctree: nodes.document) -> None:
    """Make one text of the lines that Markdown has apart, since a citation may cross their ends."""
    for parent in {id(text.parent): text.parent for text in doctree.findall(nodes.Text)}.values():
        joined: list[nodes.Node] = []
        for child in parent.children:
            if joined and isinstance(child, nodes.Text) and isinstance(joined[-1], nodes.Text):
                joined[-1] = nodes.Text(joined[-1].astext() + child.astext())
            else:
                joined.append(child)
        if len(joined) < len(parent.children):
            parent.children.clear()
            parent.extend(joined)


def link_citations(app: Any, doctree: nodes.document, docname: str) -> None:
    """Make a link of every citation in running text."""
    if app.builder.format != "html":
        return
    library = app.minirnn_library
    address = app.builder.get_relative_uri(docname, PAGE)
    quiet = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.math, nodes.math_block, nodes.raw)
    join_lines(doctree)
    for text in list(doctree.findall(nodes.Text)):
        above, parents = text.parent, []
        while above is not None:
            parents.append(above)
            above = above.parent
        if any(isinstance(p, quiet) or "work" in p.get("classes", ()) for p in parents if isinstance(p, nodes.Element)):
            continue
        pieces: list[nodes.Node] = []
        end = 0
        for match in citations(text.astext()):
            if (entry := library.find(match["names"], match["year"])) is None:
                continue
            pieces.append(nodes.Text(text.astext()[end : match.start()]))
            pieces.append(nodes.reference("", match[0], internal=True, refuri=f"{address}#{entry.key}"))
            end = match.end()
        if pieces:
            pieces.append(nodes.Text(text.astext()[end:]))
            text.parent.replace(text, pieces)


def setup(app: Any) -> dict[str, bool]:
    app.minirnn_library = read()
    app.add_directive("works", Bibliography)
    app.connect("doctree-resolved", link_citations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The directive ``op-columns``: an op's formulas next to the NumPy, the CUDA and the C++ that compute them.

The columns are made when the site is built (`docs/columns`): those of a cell from its page, the others from
the sources. Statements that set the same names carry the same ``data-names``; `_static/op_columns.js` lights them up
together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import formula_tex
import source_pages
from docutils import nodes
from docutils.parsers.rst import Directive
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from docs.columns import statements
from docs.columns.cuts import Cut
from docs.columns.parts import Box, Part, parts
from docs.columns.statements import Statement
from minirnn.explain.sources import ROOT


class OpColumns(Directive):
    """``op-columns`` with the key of a part."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        part = parts()[self.arguments[0]]
        up = "../" * env.docname.count("/")
        for path in [part.formulas.path, *(box.cut.path for found in part.columns.values() for box in found)]:
            env.note_dependency(str(ROOT / path))
        return [nodes.raw("", "\n".join(columns(self.arguments[0], part, up)), format="html")]


def columns(key: str, part: Part, up: str) -> Iterator[str]:
    """The HTML of a part; `up` leads from its page to the root of the site."""
    formulas = part.formulas
    found = statements.of_formula(formulas.text)
    names = {name: str(k) for k, name in enumerate(dict.fromkeys(n for s in found for n in s.names))}
    titles = ["Formula", *part.columns]
    yield f'<div class="op-columns" data-part="{key}" role="group" aria-label="{part.title}: formulas and code">'
    yield '<div class="op-choice" role="toolbar" aria-label="Columns to show">'
    yield from (f'<button type="button" aria-pressed="true" data-column="{t}">{t}</button>' for t in titles)
    yield "</div>"
    yield '<div class="op-grid">'
    yield '<section class="op-column op-formulas" data-column="Formula" aria-label="Formula">'
    yield _title(formulas, up)
    yield from formula_lines(formulas.text, found, names)
    yield "</section>"
    for title, boxes in part.columns.items():
        yield f'<section class="op-column" data-column="{title}" aria-label="{title}">'
        for k, box in enumerate(boxes):
            yield f"<details{'' if k else ' open'}><summary><code>{escape(box.name)}</code></summary>"
            yield _title(box.cut, up)
            marked = "".join(code(box, names))
            yield f'<div class="highlight op-code"><pre>{marked}</pre></div></details>'
        yield "</section>"
    yield "</div></div>"


def _title(cut: Cut, up: str) -> str:
    """The link to a source. It is not in the summary of a box, which is a control itself."""
    page = f"{up}{source_pages.page_of(cut.path)}.html#L-{cut.line}"
    file, made = cut.path.rsplit("/", 1)[1], "made of " if cut.written_in else ""
    return f'<p class="op-title">{made}<a href="{page}" title="minirnn/{cut.path}, line {cut.line}">{file}</a></p>'


def opening(statement: Statement, names: dict[str, str], label: str) -> str:
    """The tag that marks a statement: one can point at it, or reach it with the keyboard."""
    known = [names[n] for n in statement.names if n in names]
    return (
        f'<span class="op-statement" role="button" tabindex="-1" aria-pressed="false" data-names="{" ".join(known)}"'
        f' aria-label="{escape(label, quote=True)}">'
    )


def formula_lines(text: str, found: Sequence[Statement], names: dict[str, str]) -> Iterator[str]:
    """The formulas set as mathematics, a line a paragraph."""
    at = 0
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        here = [s for s in found if at <= s.start < at + len(line)]
        parts, done = [], at
        for s in here:
            parts.append(_plain(text[done : s.start]))
            formula = text[s.start : s.end]
            tex = "<wbr>".join(rf'<span class="math notranslate nohighlight">\({p}\)</span>' for p in _tex(formula))
            parts.append(f"{opening(s, names, formula)}{tex}</span>")
            done = s.end
        parts.append(_plain(text[done : at + len(line)]))
        yield f'<p class="op-line" style="--indent: {indent}">{" ".join(parts)}</p>'
        at += len(line) + 1


def _tex(formula: str) -> list[str]:
    return [escape(piece) for piece in formula_tex.pieces(formula)]


def _plain(text: str) -> str:
    words, sign, comment = text.partition("#")
    words = words.strip(" ,").replace(" .. ", " … ")
    said = f'<span class="op-note">{escape(comment.strip())}</span>' if sign else ""
    return f"<span>{escape(words)}</span> {said}" if words else said


def code(box: Box, names: dict[str, str]) -> Iterator[str]:
    """The highlighted source with its statements marked, a line per block, which keeps its indent if it wraps."""
    cut = box.cut
    found = [s for s in box.statements() if any(n in names for n in s.names)]
    tokens = list(_tokens(cut))
    at = 0
    for line in cut.text.splitlines():
        end = at + len(line)
        indent = len(line) - len(line.lstrip())
        shown = min(indent, 4) if indent > DEEP else indent
        yield f'<span class="op-row" style="--indent: {shown}">{" " * shown}'
        start = at + indent
        for s in (s for s in found if s.start < end and s.end > start):
            yield from _part(tokens, start, max(s.start, start))
            start = min(s.end, end)
            label = " ".join(cut.text[s.start : s.end].split())
            yield opening(s, names, label) if s.start >= at else _continued(s, names)
            yield from _part(tokens, max(s.start, at + indent), start)
            yield "</span>"
        yield from _part(tokens, start, end)
        yield "\n</span>"
        at = end + 1


DEEP = 20
"""Lines that are further in than this many letters continue a list of parameters: they are shown further out."""


def _continued(statement: Statement, names: dict[str, str]) -> str:
    known = [names[n] for n in statement.names if n in names]
    return f'<span class="op-more" data-names="{" ".join(known)}">'


def _tokens(cut: Cut) -> Iterator[tuple[int, int, Any]]:
    lexer = get_lexer_by_name("python" if cut.language == "python" else "cuda", stripnl=False, ensurenl=False)
    for at, kind, token in lexer.get_tokens_unprocessed(cut.text):
        yield at, at + len(token), (kind, cut.text)


def _part(tokens: list[tuple[int, int, Any]], start: int, end: int) -> Iterator[str]:
    """The highlighted letters from `start` to `end`."""
    for first, last, (kind, text) in tokens:
        if first < end and last > start:
            yield _token(kind, text[max(first, start) : min(last, end)])


def _token(kind: Any, text: str) -> str:
    while kind not in STANDARD_TYPES:
        kind = kind.parent
    style = STANDARD_TYPES[kind]
    shown = escape(text)
    if not style or re.fullmatch(r"\s*", text):
        return shown
    return f'<span class="{style}">{shown}</span>'


def has_formulas(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """MathJax is loaded where there are columns."""
    if 'class="op-columns"' in context.get("body", ""):
        context["has_maths_elements"] = True


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("op-columns", OpColumns)
    app.connect("html-page-context", has_formulas, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

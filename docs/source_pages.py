"""A highlighted page of every file that an op's page cuts from, and of all CUDA and C++."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from docs.columns.parts import parts
from minirnn.explain.sources import ROOT

COMPILED = {".cu": "cuda", ".cuh": "cuda", ".cpp": "cpp", ".h": "cpp", ".hpp": "cpp"}


def files() -> list[str]:
    """The files that have a page, from the folder of the package on."""
    cut = {part.formulas.path for part in parts().values()}
    cut |= {box.cut.path for part in parts().values() for boxes in part.columns.values() for box in boxes}
    folders = ROOT / "devices" / "cells", ROOT / "devices" / "cuda" / "kernels", ROOT / "devices" / "native"
    compiled = (path for folder in folders for path in folder.rglob("*") if path.suffix in COMPILED)
    return sorted(cut | {path.relative_to(ROOT).as_posix() for path in compiled})


def page_of(path: str) -> str:
    """The name of a file's page."""
    return f"source/minirnn/{path}"


def pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """All pages, and a list of them."""
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, cssclass="highlight source")
    for path in files():
        lexer = get_lexer_by_name(COMPILED.get(Path(path).suffix, "python"), stripnl=False)
        shown = highlight((ROOT / path).read_text(encoding="utf-8"), lexer, formatter)
        title = f"minirnn/{path}"
        body = f"<h1>{title.replace('/', '/<wbr>')}</h1>\n{shown}"
        yield page_of(path), {"title": title, "body": body, "parents": []}, "page.html"
    rows = "".join(f'<li><a href="minirnn/{path}.html">minirnn/{path}</a></li>' for path in files())
    body = f"<h1>Sources</h1><p>Where the ops are computed, file by file.</p><ul>{rows}</ul>"
    yield "source/index", {"title": "Sources", "body": body, "parents": []}, "page.html"


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

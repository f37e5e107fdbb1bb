r"""The text of a chapter as Markdown, for its notebook and its slides.

A chapter is written in reStructuredText. Sphinx-Gallery converts the formulas of a notebook, but leaves roles such as
``:eq:`bound``` and the labels of equations as they are. This extension of Sphinx finishes the conversion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
TUTORIALS = DOCS.parent / "tutorials"
LABELED = re.compile(r"\\begin\{align\}:label: (\S+)\n\n(.*?)\\end\{align\}", flags=re.S)
"""How Sphinx-Gallery writes an equation with a label."""


@cache
def numbers() -> dict[str, str]:
    """The number of each labeled equation of the book, such as 5.3, by its label; D.3 on the page of derivations."""
    derived = (DOCS / "derivations.md").read_text(encoding="utf-8")
    labels = re.findall(r"^\$\$ \((\S+)\)$", derived, flags=re.M)
    found = {label: f"D.{number}" for number, label in enumerate(labels, 1)}
    for path in sorted(TUTORIALS.glob("[0-9][0-9]_*.py")):
        labels = re.findall(r"^# +:label: (\S+)$", path.read_text(encoding="utf-8"), flags=re.M)
        found |= {label: f"{int(path.name[:2])}.{number}" for number, label in enumerate(labels, 1)}
    return found


def equation(tex: str, label: str = "") -> str:
    """A displayed equation with its number."""
    tag = f" \\tag{{{numbers()[label]}}}" if label else ""
    return f"$$\n{tex.strip()}{tag}\n$$"


def title(page: str) -> str:
    """The heading of a page."""
    first = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ")


def flat(text: str) -> str:
    """Text with references and code in Markdown."""
    text = re.sub(r"^\.\. sliders::.*\n(?:[ \t]+.*\n?)+", "", text, flags=re.M)  # which need the site
    text = re.sub(r":eq:`([^`]+)`", lambda found: f"({numbers()[found[1]]})", text)
    text = re.sub(r":doc:`Answer </([^`>]+)>`", lambda found: f"Answer: *{title(found[1])}*", text)
    text = re.sub(r":doc:`([^`<]+) <[^>]+>`", r"\1", text)
    text = re.sub(r":doc:`(\d\d)_[^`]+`", lambda found: f"chapter {int(found[1])}", text)
    text = re.sub(r":doc:`(?:\.\./|/)?([^`]+)`", lambda found: f"*{title(found[1])}*", text)
    text = re.sub(r":math:`([^`]+)`", r"$\1$", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def of_notebook(text: str) -> str:
    """The rest of the conversion of a cell of a notebook; a converted cell stays as it is."""
    text = LABELED.sub(lambda found: equation(re.sub("^   ", "", found[2], flags=re.M), found[1]), text)
    return re.sub(r"^\| ", "- ", flat(text), flags=re.M)


def converted(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """A notebook whose texts are Markdown."""
    cells = [dict(cell) for cell in notebook["cells"]]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = of_notebook("".join(cell["source"])).splitlines(keepends=True)
    return {**notebook, "cells": cells}


def convert_all(app: Any) -> None:
    """Convert the notebooks that Sphinx-Gallery has written."""
    for path in sorted((Path(app.srcdir) / "tutorials").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(converted(notebook), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Run after Sphinx-Gallery, whose handler of this event has the priority 500."""
    app.connect("builder-inited", convert_all, priority=900)
    return {"parallel_read_safe": True}

"""Extracts answers from the cells of a notebook, for teachers who let students work in one.

Only text is read: no cell is run, and none is parsed as Python here, where a hostile one could do harm.
"""

from __future__ import annotations

import json
import re

from minirnn.learn.grading.archive import Unreadable

IMPORT = re.compile(r"^(?:import|from)[ \t]+\w.*$", re.MULTILINE)


def code_cells(data: bytes) -> list[str]:
    """The texts of the code cells of a notebook (nbformat 3 or 4); lines for IPython alone become comments.

    Raises
    ------
    Unreadable
        If it is not a notebook.
    """
    try:
        book = json.loads(data.decode("utf-8", errors="replace"))
        sheets = book.get("worksheets", [book])
        cells = [cell for sheet in sheets for cell in sheet["cells"] if cell.get("cell_type") == "code"]
        texts = [joined(cell["source"] if "source" in cell else cell["input"]) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"is not a readable notebook ({type(error).__name__})") from None
    return [re.sub(r"^([ \t]*)([%!?])", r"\1# \2", text, flags=re.MULTILINE) for text in texts]


def joined(source: object) -> str:
    """The source of a cell, which is a text or a list of lines."""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    if not isinstance(source, str):
        raise TypeError(source)
    return source


def answer_in(cells: list[str], function: str) -> str | None:
    """The answer to the exercise that asks for `function`: all imports, and the last cell that defines it."""
    defines = re.compile(rf"^def\s+{re.escape(function)}\s*\(", re.MULTILINE)
    found = [cell for cell in cells if defines.search(cell)]
    if not found:
        return None
    there = set(IMPORT.findall(found[-1]))
    imports = dict.fromkeys(line for cell in cells for line in IMPORT.findall(cell) if line not in there)
    return "\n".join([*imports, "", found[-1]]) + "\n"

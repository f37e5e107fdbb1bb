"""Finds a user's own cell from ``FILE.py:name``, the form in which commands name it.

`cell_in` runs the file and finds the cell. `definition` describes the cell in lines of text, which are saved with a
trained model. They show later whether the file has changed.
"""

from __future__ import annotations

import os
import sys
import tokenize
import traceback
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from minirnn.arguments.messages import meant, shown
from minirnn.arguments.user_error import UserError, describe
from minirnn.cells.cell import Formulas
from minirnn.cells.expr import CellError, Expr
from minirnn.cells.text import write
from minirnn.cells.trace import Step
from minirnn.nn.own.decorator import Cell

FORM = "FILE.py:name"


def names_a_file(text: str) -> bool:
    """Whether `text` names a cell in a file. No other name in the commands has a colon, a slash or the ending .py."""
    return any(sign in text for sign in (":", "/", os.sep)) or text.endswith(".py")


def split(text: str) -> tuple[str, str]:
    """The file and the name of the cell in it. The name is empty if only a file was given."""
    file, _, name = text.rpartition(":")
    return (text, "") if not file or os.sep in name or "/" in name or name.endswith(".py") else (file, name)


def absolute(text: str) -> str:
    """The same with an absolute path. Text that does not name a file is returned unchanged."""
    if not names_a_file(text):
        return text
    file, name = split(text)
    return f"{os.path.abspath(file)}:{name}" if name else os.path.abspath(file)


def title(text: str) -> str:
    """The title of a cell: the name of its function, or of its file if only that was given."""
    if not names_a_file(text):
        return text
    file, name = split(text)
    return name or Path(file).stem


def checked_name(what: str, given: str | None, saved: str) -> str:
    """The cell for a saved model. It is `given` for a user's own cell, because only the user may name files to run.

    Raises UserError if only one of `saved` and `given` is a user's own cell. `what` describes the saved object.
    """
    if names_a_file(saved) and (given is None or not names_a_file(given)):
        raise UserError(
            f"{what} has a custom cell, which was {saved!r}\na file runs only if you name it: add --cell {FORM}"
        )
    if given is not None and names_a_file(given) and not names_a_file(saved):
        raise UserError(f"{what} has no custom cell: leave --cell {given} out")
    return saved if given is None else given


def cell_in(text: str) -> Cell:
    """The cell that ``FILE.py:name`` names, or without a name the only cell of the file.

    The file runs as with ``python FILE.py``, so it can import modules next to it, but its ``__name__`` is not
    ``"__main__"``. Raises UserError if there is no such file, it has an error (with the line), or it has no such cell.
    The message lists its cells.
    """
    file, name = split(text)
    found = names_in(file, source_of(file))
    cells = [n for n, value in found.items() if isinstance(value, Cell)]
    there = f"it has {', '.join(cells)}" if cells else "it has no cell: @cell(states=..) above a function makes one"
    if not name:
        if len(cells) != 1:
            raise UserError(f"{file}: which cell?\n  expected {FORM}; {there}")
        return found[cells[0]]
    value = found.get(name)
    if isinstance(value, Cell):
        return value
    if name in found and callable(value) and not isinstance(value, type):
        raise UserError(f"{file}: {name} is a function, not a cell\n  expected @cell(states=..) above it; {there}")
    if name in found:
        raise UserError(f"{file}: {name} is a {type(value).__name__}, not a cell\n  {there}")
    raise UserError(f"{file}: it defines no {shown(name)}\n  {there}{meant(name, cells)}")


def source_of(file: str) -> str:
    try:
        with tokenize.open(file) as opened:  # in the encoding that the file declares
            return opened.read()
    except FileNotFoundError:
        near = meant(file, [f"{file}.py"]) if os.path.exists(f"{file}.py") else ""
        raise UserError(f"there is no file {file}\n  expected {FORM}{near}") from None
    except OSError as error:
        raise UserError(f"{describe(error)}\n  expected {FORM}") from None
    except (UnicodeDecodeError, SyntaxError) as error:
        raise UserError(f"{file}: {error}\n  expected Python source") from None


@lru_cache(maxsize=16)
def names_in(file: str, source: str) -> dict[str, Any]:
    """The global names of a file after it has run. Raises UserError, with the line, if it fails."""
    path = os.path.abspath(file)
    module = ModuleType(Path(path).stem)
    module.__file__ = path
    before = list(sys.path)
    sys.path.insert(0, os.path.dirname(path))
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SyntaxError as error:
        where = "" if error.lineno is None else f", line {error.lineno}"
        raise UserError(f"{error.filename or file}{where}: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # any exception is an error in the user's file
        lines = [n for frame, n in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
        place = f"{file}, line {lines[-1]}" if lines else file
        if isinstance(error, CellError):  # it already names the line of the step
            raise UserError(str(error) if path in str(error) else f"{place}: {error}") from None
        raise UserError(f"{place}: {type(error).__name__}: {error}") from None
    finally:
        sys.path[:] = before
    return dict(vars(module))


def definition(cell: Formulas) -> list[str]:
    """The definition of a cell as text: its parameters, and a line for each named value.

    Cells with equal lines have the same parameters in the same order and the same outputs, whatever else is in the
    file.
    """
    step: Step = cell.step
    gates = ", ".join([*step.positional, *(["*", *step.vectors] if step.vectors else [])])
    lines = [f"({gates}) -> {', '.join(step.user_states)}; output {step.output}"]
    lines += [f"{n} = {value!r}" for n, value in {**step.constants, **step.masked}.items() if value is not None]
    named = [e for e in step.nodes if e in step.names and e.op != "input"]
    return lines + [f"{step.names[e]} = {formula(step, e)}" for e in named]


def formula(step: Step, e: Expr) -> str:
    """The right side of a line of `definition`."""
    cuts: dict[Expr, str] = {}
    for m in step.cuts:
        v = write(m.args[0], step.names, inline=cuts)
        cuts[m] = f"{m.op}({v}, {m.value})" if isinstance(m.value, str) and m.op == "product" else f"{m.op}({v})"
    return cuts[e] if e in cuts else write(e, step.names, top=True)


def changed(before: list[str], now: list[str]) -> str:
    """The difference in the first line that differs, as text; empty if there is none."""
    for a, b in zip(before, now, strict=False):
        if a != b:
            return f"it was {a}, and is {b}"
    more = before[len(now) :] or now[len(before) :]
    return f"{'no longer has' if len(before) > len(now) else 'now has'} {more[0]}" if more else ""

"""A cell by where it is written, ``FILE.py:name``: how commands name a cell of the user's own.

`cell_in` runs the file and finds the cell. `definition` says what the cell computes in lines of text, so that what was
trained with a cell can tell later whether the file still says the same.
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

from minirnn.cells.cell import Formulas
from minirnn.cells.expr import CellError, Expr
from minirnn.cells.text import write
from minirnn.cells.trace import Step
from minirnn.messages import meant, shown
from minirnn.nn.own_cell import Cell
from minirnn.user_error import UserError, describe

FORM = "FILE.py:name"


def names_a_file(text: str) -> bool:
    """Whether `text` names a cell in a file: nothing else that commands know has a colon, a slash or the ending .py."""
    return any(sign in text for sign in (":", "/", os.sep)) or text.endswith(".py")


def split(text: str) -> tuple[str, str]:
    """The file, and the name of the cell in it; empty if only a file was given."""
    file, _, name = text.rpartition(":")
    return (text, "") if not file or os.sep in name or "/" in name or name.endswith(".py") else (file, name)


def absolute(text: str) -> str:
    """The same, leading there from any folder; what names no file stays as it is."""
    if not names_a_file(text):
        return text
    file, name = split(text)
    return f"{os.path.abspath(file)}:{name}" if name else os.path.abspath(file)


def title(text: str) -> str:
    """What a cell is called: the name of the function, or of the file where only that was given."""
    if not names_a_file(text):
        return text
    file, name = split(text)
    return name or Path(file).stem


def checked_name(what: str, given: str | None, saved: str) -> str:
    """The cell of something that was saved with one: `given` for an own cell, since only the user names files to run.

    Raises
    ------
    UserError
        `saved` is an own cell and `given` names none, or the other way round; `what` says of what.
    """
    if names_a_file(saved) and (given is None or not names_a_file(given)):
        raise UserError(
            f"{what} has an own cell, which was {saved!r}\na file runs only if you name it: add --cell {FORM}"
        )
    if given is not None and names_a_file(given) and not names_a_file(saved):
        raise UserError(f"{what} has no own cell: leave --cell {given} out")
    return saved if given is None else given


def cell_in(text: str) -> Cell:
    """The cell that ``FILE.py:name`` names; without a name, the only one of the file.

    The file runs as ``python FILE.py`` would run it, so it can import what lies next to it; but its ``__name__`` is not
    ``"__main__"``.

    Raises
    ------
    UserError
        There is no such file, an error is in it (with the line), or it has no such cell; those that it has are listed.
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
        raise UserError(f"{file}: {name} is a function, and no cell\n  expected @cell(states=..) above it; {there}")
    if name in found:
        raise UserError(f"{file}: {name} is a {type(value).__name__}, and no cell\n  {there}")
    raise UserError(f"{file}: there is no {shown(name)} in it\n  {there}{meant(name, cells)}")


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
    """What the names of a file stand for after it has run; UserError, with the line, if it cannot."""
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
    except BaseException as error:  # whatever it is, it is in the user's file
        lines = [n for frame, n in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
        place = f"{file}, line {lines[-1]}" if lines else file
        if isinstance(error, CellError):  # names the line of the step by itself
            raise UserError(str(error) if path in str(error) else f"{place}: {error}") from None
        raise UserError(f"{place}: {type(error).__name__}: {error}") from None
    finally:
        sys.path[:] = before
    return dict(vars(module))


def definition(cell: Formulas) -> list[str]:
    """What a cell computes: its parameters, and a line for each value that has a name.

    Cells with equal lines have the same parameters in the same order, and the same outputs, whatever the file looks
    like around them.
    """
    step: Step = cell.step
    gates = ", ".join([*step.positional, *(["*", *step.vectors] if step.vectors else [])])
    lines = [f"({gates}) -> {', '.join(step.given_states)}; output {step.output}"]
    lines += [f"{n} = {value!r}" for n, value in {**step.constants, **step.masked}.items() if value is not None]
    named = [e for e in step.nodes if e in step.names and e.op != "input"]
    return lines + [f"{step.names[e]} = {formula(step, e)}" for e in named]


def formula(step: Step, e: Expr) -> str:
    """The right side of a line of `definition`."""
    cuts: dict[Expr, str] = {}
    for m in step.cuts:
        v = write(m.args[0], step.names, inline=cuts)
        cuts[m] = f"{m.op}({v})"
    return cuts[e] if e in cuts else write(e, step.names, top=True)


def changed(before: list[str], now: list[str]) -> str:
    """What is different, in the first line that is; empty if nothing is."""
    for a, b in zip(before, now, strict=False):
        if a != b:
            return f"it was {a}, and is {b}"
    more = before[len(now) :] or now[len(before) :]
    return f"{'no longer has' if len(before) > len(now) else 'now has'} {more[0]}" if more else ""

"""``minirnn learn`` checks the current exercise whenever it is saved; a key gives a hint, or the next exercise."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from minirnn.learn import text
from minirnn.learn.check import check
from minirnn.learn.course import CourseError, Entry, Tree, digest
from minirnn.learn.sandbox.system_locks import FORKS, NOTE
from minirnn.machine.computer import python, this_program

KEYS = "save the file to check it again   h hint   n next   p previous   q quit"


def watch(tree: Tree, out: Any = None) -> None:
    """Run until the student leaves, or all exercises are passed.

    Raises
    ------
    CourseError
        If the package watchfiles is missing.
    """
    out = out or sys.stdout
    try:
        from watchfiles import watch as changes
    except ImportError:
        raise CourseError(
            "the package watchfiles is missing\n"
            f"  {python()} -m pip install 'minirnn[learn]', or check by hand: {this_program()} check ex01"
        ) from None

    entries = list(tree.course.entries.values())
    entry = tree.current()
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the watch silently, whatever it is doing
        while entry is not None:
            checked = digest(tree.file(entry))
            run(tree, entry, out)
            if (deed := wait(tree, entry, checked, changes, out)) == "quit":
                return
            if deed in ("next", "previous"):
                at = entries.index(entry) + (1 if deed == "next" else -1)
                entry = entries[min(max(at, 0), len(entries) - 1)]
        print("All exercises are passed.", file=out)


CLEAR = "\033[H\033[2J\033[3J"
"""Moves the cursor to the upper left corner, and clears the screen and the scrollback."""


def clear(out: Any) -> None:
    """Clear the terminal `out`."""
    if os.name == "nt":  # not every Windows terminal supports the sequence
        os.system("cls")
    else:
        print(CLEAR, end="", file=out)


def width(out: Any) -> int:
    """The width of the terminal, up to what is easy to read; the default width where there is none."""
    return min(text.WIDTH, shutil.get_terminal_size((text.WIDTH + 2, 24)).columns - 2) if out.isatty() else text.WIDTH


def run(tree: Tree, entry: Entry, out: Any) -> None:
    """Check an exercise, show the result, and note whether it is passed."""
    if out.isatty():
        clear(out)
        print(f"{entry.id}  {entry.title}: checking", file=out, flush=True)
    result = check(tree.course, entry, tree.file(entry))
    tree.note_passed(entry, result.passed)
    if out.isatty():
        clear(out)
    done = sum(tree.passed(e) for e in tree.course.entries.values())
    print(f"\n{text.report(result)}", file=out)
    if step := text.next_step(result, tree.state["hints"].get(entry.id, 0)):
        print(step, file=out)
    if not FORKS:
        print(f"\n{NOTE}", file=out)
    print(f"\n{done} of {len(tree.course.entries)} passed.   {KEYS}", file=out, flush=True)


def wait(tree: Tree, entry: Entry, checked: str | None, changes: Any, out: Any) -> str:
    """Wait until something happens: "saved", "next", "previous" or "quit". Hints are given on the way.

    `checked` is the digest of the file that was checked, so that a file saved during the check is also noticed.
    """
    path = tree.file(entry)
    with keys() as pressed:
        for changed in changes(path.parent, yield_on_timeout=True, rust_timeout=150, debounce=50, recursive=False,
                               raise_interrupt=False):  # fmt: skip
            if any(Path(name).name == path.name for _, name in changed) or digest(path) != checked:
                return "saved"
            for key in pressed():
                if key in ("n", "p", "q"):
                    return {"n": "next", "p": "previous", "q": "quit"}[key]
                if key == "h":
                    print(f"\n{text.hint(entry, tree.note_hint(entry), width(out))}", file=out, flush=True)
    return "quit"  # Ctrl-C


@contextmanager
def keys() -> Iterator[Any]:
    """A function that returns the keys pressed since its last call without waiting. Other keys stay for the
    next call.
    """
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        yield lambda: ()
        return
    try:
        import termios
        import tty
    except ImportError:  # not a POSIX system
        yield pressed_on_windows
        return
    restore = None
    if os.isatty(descriptor):
        restore = termios.tcgetattr(descriptor)
        tty.setcbreak(descriptor, termios.TCSANOW)  # keys typed meanwhile are kept

    open_ = True

    def pressed() -> Iterator[str]:
        nonlocal open_
        while open_ and select.select([descriptor], [], [], 0)[0]:
            data = os.read(descriptor, 1)
            open_ = bool(data)
            yield data.decode(errors="ignore")

    try:
        yield pressed
    finally:
        if restore is not None:
            termios.tcsetattr(descriptor, termios.TCSANOW, restore)


def pressed_on_windows() -> Iterator[str]:
    """The keys pressed since the last call, from the Windows console; none on other systems."""
    try:
        console: Any = import_module("msvcrt")
    except ImportError:
        return
    while console.kbhit():
        yield console.getwch()

"""The command ``minirnn``: reads the command line and calls a module of `minirnn.commands`.

The exit status is 0 after success, 2 after a mistake of the user (reported on one line), 130 after Ctrl-C, 141 when the
reader of the output has gone away. A bug gives 1 and a traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from minirnn import __version__
from minirnn.arguments.messages import likely, meant
from minirnn.arguments.user_error import FULL, UserError, describe, one_line
from minirnn.devices import DeviceUnavailable
from minirnn.machine import startup
from minirnn.machine.terminal import styled

# name -> (module, what it does). A module is imported when its command is named. Missing ones are not offered.
COMMANDS = {
    "train": ("minirnn.commands.train", "train a small character model and draw its gradients"),
    "sample": ("minirnn.commands.sample", "write text with a trained model"),
    "look": ("minirnn.commands.look", "show how far gradients reach in a trained model, and which gates block them"),
    "doctor": ("minirnn.commands.doctor", "show what is installed and which devices work"),
    "explain": (
        "minirnn.commands.explain",
        "print the forward and backward formulas of an op or a custom cell, and what it saves",
    ),
    "figures": ("minirnn.commands.figures", "write the figures of the chapters to files for slides"),
    "convert": ("minirnn.commands.convert", "convert weights between the layouts of other libraries"),
    "verify": ("minirnn.commands.verify", "check every op in several independent ways"),
    "bench": ("minirnn.commands.bench", "measure the speed of the ops"),
    "learn": ("minirnn.commands.learn", "work through the exercises"),
    "check": ("minirnn.commands.check", "check an exercise"),
    "hint": ("minirnn.commands.hint", "give a hint for an exercise"),
    "show": ("minirnn.commands.show", "show an exercise, or a picture of what is wrong with the answer"),
    "reset": ("minirnn.commands.reset", "start an exercise over"),
    "grade": ("minirnn.commands.grade", "grade what students handed in"),
    "course": ("minirnn.commands.course", "show the map of a course; for teachers: copy, extend, verify, export"),
}


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that reports a mistake on one line, with a suggestion."""

    def error(self, message: str) -> NoReturn:
        complain(self.prog, f"{one_line(message)} ({self.prog} --help)")
        self.exit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            text = f"invalid choice: {value!r} (choose from {', '.join(known)}){meant(str(value), known)}"
            raise argparse.ArgumentError(action, text)

    mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Files may come before, between and after the options of a command: ``convert IN --to keras OUT``."""
        if self._subparsers is not None or self.mixing:
            return super().parse_known_args(args, namespace)
        self.mixing = True  # the method below calls this one
        return self.parse_known_intermixed_args(args, namespace)

    def hint(self, option: str) -> str:
        """A suggestion for an unknown option. Leading dashes are ignored, because all options have them."""
        known = [name[2:] for action in self._actions for name in action.option_strings if name.startswith("--")]
        word = option[2:].partition("=")[0]
        near = [name for name in known if word and name.startswith(word)] or likely(word, known)
        return f"\n  likely '--{near[0]}' is meant" if near else ""


def exists(module: str) -> bool:
    return find_spec(module) is not None


def build_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for `argv`. Only the commands that `argv` names are imported for their options."""
    parser = Parser(
        prog="minirnn",
        description="How gradients flow through recurrent networks.",
        epilog="To start: minirnn train, then minirnn sample. Options of a command: minirnn COMMAND --help",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"minirnn {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, help_text) in COMMANDS.items():
        if not exists(module):
            continue
        sub = subparsers.add_parser(name, help=help_text, description=capitalized(help_text), allow_abbrev=False)
        if name in argv:
            command: Any = import_module(module)
            command.add_arguments(sub)
            sub.set_defaults(run=command.run, parser=sub)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    args, unknown = build_parser(argv).parse_known_args(argv)
    if unknown:
        hints = [args.parser.hint(word) for word in unknown if word.startswith("--")]
        # the error names the command, not minirnn
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}{''.join(hints[:1])}")
    return args


def capitalized(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    open_streams()
    if list(argv[:1]) in ([], ["help"]):
        argv = [*argv[1:2], "--help"]
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # characters that the terminal cannot show become question marks
    try:
        try:
            args = parse(argv)
            startup.over()
            return run(args)
        finally:
            sys.stdout.flush()  # notice here, and not while Python shuts down, that the reader is gone
    except OSError as error:  # standard output: the reader is gone, or the disk is full
        # Buffered output can no longer be written. Without this, Python would complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 141
        complain("minirnn", f"standard output: {error.strerror or error}")
        return 2
    except KeyboardInterrupt:
        return 130


def open_streams() -> None:
    """Open standard streams that the shell closed (``>&-``) to nowhere, so that no other file gets their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            try:
                os.fstat(number)
            except OSError:
                os.dup2(nowhere, number)
            os.set_inheritable(number, True)
            setattr(sys, name, open(nowhere, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115


def entry() -> int:
    """The entry point `minirnn`: runs `main`. Afterwards, Ctrl-C stops nothing and does not change the exit status."""
    status = 130
    try:
        status = main()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # between two of these lines
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status


def run(args: argparse.Namespace) -> int:
    try:
        status: int = args.run(args)
        return status
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None and error.errno in FULL:  # files are named (`io.atomic.naming`)
            raise
        text = describe(error)
    except (UserError, DeviceUnavailable) as error:
        text = str(error)
    except MemoryError as error:
        text = f"not enough memory{f': {error}' if str(error) else ''}"
    complain(f"minirnn {args.command}", one_line(text))
    return 2


def complain(who: str, text: str) -> None:
    """Print one line on stderr without control characters, because names in a file may contain anything."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    with contextlib.suppress(OSError):  # if no message can be written, the exit status remains
        print(f"{styled(f'{who}:', 'red', sys.stderr)} {text}", file=sys.stderr)

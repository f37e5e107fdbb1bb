"""Ctrl-C while the command ``minirnn`` imports its modules ends the process at once, without a traceback.

`minirnn/__init__.py` imports this module before all others. If minirnn is a library in another program, it does
nothing, because that program handles Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def is_command() -> bool:
    """Whether this process was started as ``minirnn`` or ``python -m minirnn``."""
    program = sys.argv[0] if getattr(sys, "argv", None) else ""
    if program == "-m":  # the package of the module to run is being imported
        words = sys.orig_argv
        return "-mminirnn" in words or ("-m", "minirnn") in zip(words, words[1:], strict=False)
    return os.path.splitext(os.path.basename(program))[0] == "minirnn"


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(130)  # a KeyboardInterrupt during imports would leave half a module behind, and Python would complain


def begin() -> None:
    """From now on, Ctrl-C ends the process if it is the command."""
    # If a shell has put the process into the background, Ctrl-C is ignored, and stays so.
    if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        try:  # noqa: SIM105  contextlib is not imported yet
            signal.signal(signal.SIGINT, _end)
        except ValueError:  # not the main thread
            pass


def over() -> None:
    """From now on, Ctrl-C raises KeyboardInterrupt, as usual."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin()

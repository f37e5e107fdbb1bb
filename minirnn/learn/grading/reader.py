"""The process that reads one submission for `reading`, within limits and locks. It imports no course and no exercise.

Its standard input is the pickled request. Its answer is a line break, which says that it has begun, and JSON.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minirnn.learn.grading import collecting, tokens

SECONDS, MEGABYTES = 20, 1024
"""The limits for reading one submission."""


def main() -> None:
    """Answer the request of the judge."""
    status = 1
    try:
        what, *arguments = pickle.load(sys.stdin.buffer)
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
        bound([os.fspath(one) for one in arguments if isinstance(one, Path)])
        sys.stdout.buffer.write(answer(what, *arguments))
        sys.stdout.buffer.flush()
        status = 0
    finally:
        os._exit(status)


def answer(what: str, *arguments: Any) -> bytes:
    """The answer to a request, as JSON."""
    work: dict[str, Callable[..., Any]] = {
        "collect": collecting.collect,
        "folders": collecting.folders_of_a_class,
        "words": tokens.words_of,
    }
    found = work[what](*arguments)
    if what == "collect":
        found = asdict(found)
        found["files"] = {id: base64.b64encode(data).decode() for id, data in found["files"].items()}
    return json.dumps(found).encode()


def bound(submissions: list[str], ways: Collection[str] = ("landlock", "seccomp")) -> None:
    """Lock this process in all ways that the system has. It reads the submissions and Python's files, but no others,
    and writes no file. Its limits are added to what it already uses. It keeps the rights of its user, even root's,
    because it must read files that others own.
    """
    from minirnn.learn.sandbox.locks import landlock, limits, privileges, seccomp  # which Windows lacks

    limits.limit(SECONDS, addresses() + MEGABYTES, file_bytes=0, processes=None, more=0)
    privileges.hide()
    if "landlock" in ways:
        landlock.lock([*landlock.of_python(), *submissions])
    if "seccomp" in ways:
        seccomp.lock()


def addresses() -> int:
    """Megabytes of addresses that this process has (on Linux)."""
    import resource

    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() >> 20
    except OSError:
        return 0

"""The process that reads one submission for `reading`, within limits and locks. It imports no course and no exercise.

Its standard input is the request, as JSON. Its answer is a line break, which says that it has begun, and JSON.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minirnn.learn.grading import collecting, tokens
from minirnn.learn.grading.collecting import Wanted

SECONDS, MEGABYTES = 20, 1024
"""The limits for reading one submission."""


def main() -> None:
    """Answer the request of the judge."""
    status = 1
    try:
        what, *arguments = json.load(sys.stdin.buffer, object_hook=restored)
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()
        bound([os.fspath(one) for one in arguments if isinstance(one, Path)])
        sys.stdout.buffer.write(answer(what, *arguments))
        sys.stdout.buffer.flush()
        status = 0
    finally:
        os._exit(status)


def asking(request: Any) -> bytes:
    """A request as JSON."""
    return json.dumps(request, default=stored).encode()


def stored(value: Wanted | Path | bytes) -> dict[str, str]:
    """What JSON lacks, as texts."""
    if isinstance(value, Wanted):
        return asdict(value)
    return {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else {"folder": os.fspath(value)}


def restored(value: dict[str, str]) -> Wanted | Path | bytes:
    """What `stored` made texts of."""
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    return Path(value["folder"]) if "folder" in value else Wanted(**value)


def answer(what: str, *arguments: Any) -> bytes:
    """The answer to a request, as JSON."""
    work: dict[str, Callable[..., Any]] = {
        "collect": collecting.collect,
        "parts": collecting.parts_of_a_class,
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

"""The process that reads submissions for `reading`: it forks for each request, and the fork has limits and locks.

It imports no course and no exercise. A request is eight bytes with its length, and JSON (`encoded`). The answer
is eight bytes and JSON, or eight bytes alone if the fork ended before.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from minirnn.learn.grading import collecting, tokens
from minirnn.learn.grading.handed import Handed

SECONDS, MEGABYTES = 20, 1024
"""The limits for reading one submission."""
MOST_TOLD = 64 << 20
"""The most bytes of a fork's answer."""


def encoded(*request: Any) -> bytes:
    """A request as JSON. Bytes, paths and `Wanted` become dicts with one entry, which `decoded` turns back."""
    return json.dumps(request, default=_plain).encode()


def _plain(value: bytes | Path | collecting.Wanted) -> dict[str, Any]:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return {"path": os.fspath(value)} if isinstance(value, Path) else {"wanted": asdict(value)}


def decoded(request: bytes) -> list[Any]:
    """The request that `encoded` wrote."""
    return json.loads(request, object_hook=_meant)


def _meant(entry: dict[str, Any]) -> Any:
    match [*entry.items()]:
        case [("bytes", text)]:
            return base64.b64decode(text)
        case [("path", text)]:
            return Path(text)
        case [("wanted", fields)]:
            return collecting.Wanted(**fields)
    return entry


def answer(what: str, *arguments: Any) -> bytes:
    """The answer to a request, as JSON."""
    work: dict[str, Callable[..., Any]] = {
        "collect": collected,
        "folders": collecting.folders_of_a_class,
        "words": tokens.words_of,
    }
    return json.dumps(work[what](*arguments)).encode()


def collected(
    submission: Path | bytes, wanted: list[collecting.Wanted], notebooks: bool, inside: str
) -> dict[str, Any]:
    handed = collecting.collect(submission, wanted, notebooks, inside)
    files = {id: base64.b64encode(data).decode() for id, data in handed.files.items()}
    return dict(files=files, notes=handed.notes, reasons=handed.reasons, problem=handed.problem, hints=handed.hints)


def as_handed(told: dict[str, Any]) -> Handed:
    """The submission that `collected` encoded."""
    files = {id: base64.b64decode(data) for id, data in told["files"].items()}
    return Handed(files, tuple(told["notes"]), told["reasons"], told["problem"], told["hints"])


def main() -> None:
    """Serve the judge until it closes the pipe."""
    from minirnn.learn.sandbox.locks import landlock, limits, privileges, seccomp  # noqa: F401  so that no fork does

    asked, told = sys.stdin.buffer, sys.stdout.buffer
    while len(head := asked.read(8)) == 8:
        request = asked.read(struct.unpack("<Q", head)[0])
        reply = forked(request)
        told.write(struct.pack("<Q", len(reply)) + reply)
        told.flush()


def forked(request: bytes) -> bytes:
    """The answer of a fork; empty if the fork ended early."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            alone_with(into)
            what, *arguments = decoded(request)
            bound([os.fspath(one) for one in arguments if isinstance(one, Path)])
            with os.fdopen(into, "wb") as pipe:
                pipe.write(answer(what, *arguments))
            status = 0
        except MemoryError:
            pass
        finally:
            os._exit(status)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        reply = pipe.read(MOST_TOLD + 1)
    if len(reply) > MOST_TOLD:
        os.kill(pid, signal.SIGKILL)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return reply if ended == 0 and len(reply) <= MOST_TOLD else b""


def alone_with(pipe: int) -> None:
    """Keep the pipe and close all other descriptors, so that a fork can only report on its own submission."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(nothing, number)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, 256)


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

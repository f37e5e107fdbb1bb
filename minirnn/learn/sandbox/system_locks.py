"""Which protections this platform lacks when it runs an answer, in sentences for the grader."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

START = Path(__file__).with_name("start.py")
FORKS = hasattr(os, "fork")
"""Whether processes can be forked here. Without fork there are no locks, and answers run in `unlocked`."""
NOTE = (
    "Note: this system cannot lock an answer in, and limits only its time by the clock: check only what you wrote"
    " yourself."
)


@dataclass(frozen=True)
class Locks:
    """The locks that a system has.

    Attributes
    ----------
    namespaces : bool
        A process can have its own namespaces.
    scratch : bool
        It can have its own memory as its only place to write.
    landlock : int
        The version of Landlock; 0 if there is none.
    seccomp : bool
        System calls can be filtered.
    """

    namespaces: bool = False
    scratch: bool = False
    landlock: int = 0
    seccomp: bool = False


@functools.cache
def locks() -> Locks:
    """The locks of this system, tested in a separate process."""
    if not FORKS:
        return Locks()
    command = [sys.executable, "-I", str(START), "probe"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", start_new_session=True)  # no Ctrl-C for it
    try:
        return Locks(**json.loads(done.stdout))
    except (ValueError, TypeError):
        return Locks()


def in_force(found: Locks | None = None) -> str:
    """The locks of this system, or of another one, in words: ``namespaces, a filter of system calls, Landlock 6``."""
    found = locks() if found is None else found
    names = {
        "namespaces": found.namespaces,
        "bounded scratch": found.scratch,
        "a filter of system calls": found.seccomp,
    }
    there = [name for name, is_there in names.items() if is_there]
    return ", ".join([*there, *([f"Landlock {found.landlock}"] if found.landlock else [])]) or "none"


def decisive(found: Locks | None = None) -> list[str]:
    """The missing locks that are needed to keep files safe from an answer; empty if all are there."""
    found = locks() if found is None else found
    there = {"Landlock (Linux 5.13 or newer)": found.landlock, "the filter of system calls": found.seccomp}
    return [name for name, is_there in there.items() if not is_there]


def protection(found: Locks | None = None) -> list[str]:
    """What an answer can do here that locks would prevent, one sentence each; empty if all locks are there.

    Parameters
    ----------
    found : Locks, optional
        The locks of another system; by default those of this one.
    """
    found = locks() if found is None else found
    if found == Locks():
        system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, "this system")
        return [
            f"{system} has no locks for processes: an answer that wants to can read what your account can, open"
            " connections and start processes that stay; "
            + ("grade in a container or a virtual machine that holds nothing else" if FORKS else "grade on Linux")
        ]
    said = []
    if not found.landlock:
        said.append(
            "Landlock is missing: an answer that wants to can read what your account can, the solutions and the hidden"
            " seed too; use Linux 5.13 or newer with Landlock, or a container that holds nothing else"
        )
    if 0 < found.landlock < 3 and not found.seccomp:
        said.append(
            f"Landlock is of version {found.landlock}, and system calls cannot be filtered: an answer can empty any"
            " file that your account can write; Linux 6.2 or newer has version 3"
        )
    if 0 < found.landlock < 6:
        by = " and ".join(
            name for name, there in (("namespaces", found.namespaces), ("seccomp", found.seccomp)) if there
        )
        if not by:
            said.append(
                f"Landlock is of version {found.landlock} and nothing else is there: an answer can send signals to your"
                " processes and connect to them; Linux 6.12 or newer has version 6"
            )
    if not found.seccomp:
        said.append(
            "system calls cannot be filtered here: an answer can start processes (they are ended with it) and ask the"
            " kernel for things that no exercise needs"
        )
    if not found.namespaces:
        said.append(
            "namespaces are not allowed here: an answer sees the numbers of other processes, and may write no file;"
            " to allow them: sysctl kernel.unprivileged_userns_clone=1, or"
            " sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    elif not found.scratch:
        said.append("memory cannot be mounted here: an answer may write no file")
    return said

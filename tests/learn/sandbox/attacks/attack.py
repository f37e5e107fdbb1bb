"""Runs a hostile answer without the audit hook, so that only the system's locks protect, and checks what it leaves
behind.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from minirnn.learn import check as checking
from minirnn.learn.result import Result
from minirnn.learn.sandbox import templates
from minirnn.learn.sandbox.parent import WAYS, Child
from minirnn.learn.sandbox.system_locks import locks
from tests.learn.answers import RIGHT, body, checked

EVERY_WAY = {
    "all": WAYS - {"hook"},
    "no namespaces": frozenset({"landlock", "seccomp"}),
    "namespaces alone": frozenset({"namespaces"}),
}
"""Locks to attack. The hook is omitted, because it would end the attack before it reaches them."""
HELPERS = """
import ctypes, os, signal, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def deed(name, what):
    try:
        done = what()
    except BaseException as error:
        print('refused', name, type(error).__name__)
    else:
        print('refused' if done == -1 else 'DONE', name, ctypes.get_errno() if done == -1 else done)
"""


def needs(*names: str) -> None:
    """Skip the test if the system does not support these locks."""
    found = locks()
    if missing := [name for name in names if not getattr(found, name)]:
        pytest.skip(f"this system has no {' and no '.join(missing)}")


class Attack:
    """A running hostile answer with some locks.

    Attributes
    ----------
    tried, done : list of str
        The actions that it tried, and those that succeeded.
    """

    def __init__(self, folder: Path, ways: frozenset[str], code: str, hidden: bool = False, **limits: float) -> None:
        folders: list[str] = []

        class Watched(Child):
            def __init__(self, *arguments: object, **named: object) -> None:
                super().__init__(*arguments, **named)  # type: ignore[arg-type]
                folders.append(str(self.folder))

        Watched.ways = ways
        checking.Child, kept = Watched, checking.Child  # type: ignore[misc]
        try:
            text = body("ex05", f"{textwrap.dedent(code)}\n{RIGHT}")
            self.result: Result = checked(folder, "ex05", HELPERS + text, hidden=hidden, **limits)
        finally:
            checking.Child = kept  # type: ignore[misc]
        self.folders = folders
        printed = self.result.prints + self.result.hidden_prints
        lines = printed.splitlines()
        self.tried = [line for line in lines if line.startswith(("DONE", "refused"))]
        self.done = [line.removeprefix("DONE ") for line in lines if line.startswith("DONE")]
        assert not self.left(), f"processes are left: {self.left()}"
        assert not any(Path(folder).exists() for folder in folders)

    def held(self) -> bool:
        """Whether it tried something, all of it failed, and its right answer still arrived."""
        assert self.tried, self.result.message
        assert self.done == []
        return self.result.passed

    def left(self) -> list[int]:
        """Remaining processes of the answer: forks of this process's templates that name the answer."""
        own = [template.process.pid for template in templates.kept.values()]
        return [pid for pid in forks_of(os.getpid()) if pid not in own]


def forks_of(judge: int) -> list[int]:
    """The templates of the process `judge`, and all their forks."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if str(templates.START) in command and str(judge) in command:
            found.append(int(entry.name))
    return found


@pytest.fixture
def victim():
    """A process of this user as a target of the attack."""
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(10000)"])
    yield process
    assert process.poll() is None, "the victim was ended"
    assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T", "it was stopped"
    process.kill()
    process.wait()

"""Copies of the repository: each process that tries mutants has its own, and the checkout is never changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

QUIET = ["-q", "--assert=plain", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--no-summary", "--timeout", "600"]
QUIET += ["--continue-on-collection-errors"]
LOG = ".kill_power.log"


def copy_of(root: Path, folder: Path) -> Path:
    """The files of the checkout that git knows or would add, without ignored ones. Also works without git."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root, capture_output=True, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name] if listed.returncode == 0 else plain(root)
    for name in names:
        if (root / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target)
    return folder


def plain(root: Path) -> list[str]:
    """The files of a tree without git, such as an unpacked source distribution."""
    folders = ("minirnn", "tests", "scripts", "docs", "tutorials")
    kept = [p for name in folders for p in (root / name).rglob("*")]
    found = [p.relative_to(root).as_posix() for p in [*kept, *root.glob("*")] if p.is_file()]
    return [name for name in found if "__pycache__" not in name]


def environment(tree: Path) -> dict[str, str]:
    """The environment of a process in which minirnn, also in all programs that it starts, is that of the tree."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    path = os.pathsep.join([str(tree), str(Path(__file__).parents[1])])
    cache = str(own_cache(tree))
    return {**os.environ, **threads, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "MINIRNN_CACHE": cache}


def own_cache(tree: Path) -> Path:
    """The tree's cache of compiled code, which begins as that of the user. A mutant may compile what it must not, for
    example a kernel that the rules forbid, so nothing that it compiles may stay.
    """
    from minirnn.devices.host_cpp.cache import cache_folder  # here, because a mutant's process must import its own

    users, own = cache_folder(""), tree.with_name(f"{tree.name}.cache")
    if users.is_dir() and not own.exists():
        shutil.copytree(users, own, ignore=shutil.ignore_patterns("kill_power"), copy_function=linked)
    return own


def linked(source: str, target: str) -> None:
    """The same file under another name, or a copy if the file system has no links. Compiled files never change."""
    try:
        os.link(source, target)
    except FileNotFoundError:  # another process has pruned it
        return
    except OSError:
        shutil.copy2(source, target)


def start(module: str, tree: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """One of the programs `record` and `trial`, running in a tree. Its output goes to a file there."""
    command = [sys.executable, "-m", f"mutation.{module}", *arguments]
    with (tree / LOG).open("wb") as log:
        return subprocess.Popen(
            command, cwd=tree, env=environment(tree), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )


def wait(started: Mapping[Path, subprocess.Popen[bytes]]) -> None:
    """Wait for the programs to end. If one of them fails, show its output."""
    for tree, process in started.items():
        if process.wait() not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            print((tree / LOG).read_text(encoding="utf-8", errors="replace")[-3000:], file=sys.stderr)


def collect_and(plugin: object, paths: Sequence[str]) -> int:
    """Collect the default tests in this process, without torch, and pass them to the plugin."""
    sys.modules["torch"] = None  # type: ignore[assignment]  # the numbers of torch are stored; it takes 2 s to import
    return int(pytest.main([*QUIET, *paths], plugins=[plugin]))

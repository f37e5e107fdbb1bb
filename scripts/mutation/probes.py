"""Records which segments of minirnn's functions are entered, with a copy of the package that has probes at their
starts.

`prepare` makes every process that imports minirnn from a folder run this file first, including processes that tests
start. The process of the tests collects entered segments in the set `__minirnn_hits__`, and all others write them to a
file.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__)
FIRST = ("minirnn/__init__.py", "minirnn/learn/sandbox/start.py")
"""Code that a process of the package imports or runs before anything else."""
RECORDER = "MINIRNN_KILL_POWER_RECORDER"
"""The variable with the id of the process that collects."""
HITS = "__minirnn_hits__"


def prepare(folder: Path) -> None:
    """Make every process that imports minirnn from this folder record the segments that it enters."""
    for path in filter(Path.exists, map(folder.joinpath, FIRST)):
        source = path.read_text(encoding="utf-8")
        first = next(node for node in ast.parse(source).body if not isinstance(node, ast.Expr))
        lines = source.splitlines(keepends=True)
        names = {"__name__": "probes", "__file__": str(HERE), "FOLDER": str(folder)}
        call = f"exec(compile(open({str(HERE)!r}).read(), {str(HERE)!r}, 'exec'), {names!r}); "
        lines[first.lineno - 1] = call + lines[first.lineno - 1]
        path.write_text("".join(lines), encoding="utf-8")


class Written(set[str]):
    """The segments that a process started by the tests enters. Each is written to the file at once."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.file = -1

    def add(self, key: str) -> None:
        if key not in self:
            super().add(key)
            try:
                if self.file < 0:
                    self.file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
                os.write(self.file, f"{key}\n".encode())
            except OSError:
                pass  # a locked process cannot open files


def start(folder: str) -> None:
    if hasattr(builtins, HITS):
        return
    written = Written(f"{folder}/.hits")
    if os.environ.get(RECORDER) == str(os.getpid()):
        setattr(builtins, HITS, set())
        os.register_at_fork(after_in_child=lambda: setattr(builtins, HITS, written))
    else:
        setattr(builtins, HITS, written)
        written.add("")  # opens the file before a lock may forbid it
    package = f"{folder}/minirnn/"
    original: Any = importlib.machinery.SourceFileLoader.source_to_code

    def source_to_code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        if str(path).startswith(package) and isinstance(data, bytes):
            data = probed(ast.parse(data), str(path)[len(folder) + 1 :])
        return original(self, data, path, **options)

    importlib.machinery.SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]


def probed(module: ast.Module, path: str) -> ast.Module:
    """The module with a probe at the start of each segment."""
    sys.path.insert(0, str(HERE.parents[1]))
    try:
        from mutation.mutants import blocks, functions
    finally:
        sys.path.pop(0)
    for name, function in functions(module, ""):
        if function.name == "__del__":  # it may run when everything else is already gone
            continue
        found = list(enumerate(blocks(function)))
        # from the back, so that positions stay valid
        for number, (body, place) in sorted(found, key=lambda one: -one[1][1]):
            statement = body[place]
            if place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                place, statement = 1, body[min(1, len(body) - 1)]  # after the docstring
            probe = ast.parse(f"{HITS}.add({f'{path}:{name}:{number}'!r})").body[0]
            for node in ast.walk(probe):
                if hasattr(node, "lineno"):
                    ast.copy_location(node, statement)
            body.insert(place, probe)
    return module


if "FOLDER" in globals():
    start(globals()["FOLDER"])

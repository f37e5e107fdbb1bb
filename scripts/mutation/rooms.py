"""The rooms of minirnn/, their tests, and the functions of a room whose mutants count."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from mutation.mutants import Mutant, changed
from mutation.operators import operators

DRAWN = {"ax", "axes", "figure", "fig", "axis"}
"""Names that identify drawing functions of viz. A person judges whether a picture is right, not a test."""
NO_FORMULA = ("__repr__", "extra_repr", "_repr_html_", "__str__", "__del__")
NOT_HERE = (
    "minirnn/learn/course/",
    "minirnn/devices/cuda/gpu/",
    "minirnn/learn/plugin.py",
    "minirnn/machine/startup.py",
)
"""Code that students edit, that needs a GPU, or that pytest or Python runs before the first test."""


@dataclass(frozen=True)
class Room:
    """Patterns of the files of a room below minirnn/, and the folders of its own tests."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


MORE = {
    "engine": ("tests/gradcheck/", "tests/properties/test_random_graphs.py"),
    "ops": ("tests/properties/test_corners.py",),
    "nn": ("tests/properties/test_modules.py",),
    "bench": ("tests/commands/test_bench.py",),
    "proof": ("tests/ops/test_verified.py", "tests/commands/test_verify.py"),
}
"""Tests of a room that are not in the folder of its name."""
FOLDERS = (
    "arguments machine lookup engine gradcheck autograd ops nn optim data io viz explain train bench parallel commands"
    " learn proof"
)
CALLS = "tests/hostile/test_wrong_calls.py"
ROOMS = {name: Room((f"{name}/**/*.py",), (f"tests/{name}/", *MORE.get(name, ()), CALLS)) for name in FOLDERS.split()}
ROOMS |= {
    "base": Room(("*.py",), ("tests/test_",)),
    "devices": Room(
        ("devices/*.py", "devices/cells/**/*.py", "devices/counting/**/*.py", "devices/native/**/*.py"),
        (
            *("tests/devices/test_", "tests/devices/native/", "tests/devices/cpu/sequence/"),
            *("tests/devices/counting", "tests/devices/host_cpp/", "tests/cells/test_keyed.py", CALLS),
        ),
    ),
    "cpu": Room(("devices/cpu/**/*.py",), ("tests/devices/cpu/", "tests/ops/")),
    "cuda": Room(("devices/cuda/**/*.py",), ("tests/devices/cuda/",)),
}


def tests_of(root: Path, room: str) -> list[str]:
    """The test files of a room."""
    files = (path.relative_to(root).as_posix() for path in sorted((root / "tests").rglob("test_*.py")))
    return [file for file in files if file.startswith(ROOMS[room].tests)]


def mutants(root: Path, room: str, only: str = "") -> list[Mutant]:
    """All mutants of a room whose path and function contain `only`."""
    found: list[Mutant] = []
    for path in sorted({path for pattern in ROOMS[room].files for path in (root / "minirnn").glob(pattern)}):
        name = path.relative_to(root).as_posix()
        if name.startswith(NOT_HERE):
            continue

        def wanted(function: str, node: ast.FunctionDef, name: str = name) -> bool:
            return only in f"{name} {function}" and is_tested_by_value(room, function, node)

        found += changed(name, path.read_text(encoding="utf-8"), wanted, operators)
    return found


def is_tested_by_value(room: str, name: str, function: ast.FunctionDef) -> bool:
    """Whether it computes something, and does not only draw or write text."""
    known = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    known |= {argument.arg for argument in function.args.args}
    draws = room == "viz" and bool(known & DRAWN)
    return not draws and name.rpartition(".")[2] not in NO_FORMULA

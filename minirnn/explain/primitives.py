"""The explanation of a primitive: the node that it records, with its derivative, and the code that computes it."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minirnn
from minirnn import devices, ops
from minirnn.devices.base import OPTIONAL, PRIMITIVES
from minirnn.explain.signatures import signature_lines
from minirnn.ops.primitives.declare import DECLARED

ROOT = Path(minirnn.__file__).parent
COMPUTES = {**PRIMITIVES, **OPTIONAL}
"""The primitives of a device, with descriptions."""


def primitive_lines(op: str, source: bool = False) -> Iterator[str]:
    """The lines that explain a primitive; with `source`, also the Python code of the function."""
    function: Callable[..., Any] = getattr(ops, op)
    nodes, asked, others = DECLARED[function]
    asked = tuple(name for name in asked if name in COMPUTES)
    yield f"\n== {op}: formulas ({place(function)})\n"
    if "primitives" not in function.__module__:  # its own module, which explains the formulas
        yield f"{inspect.getdoc(inspect.getmodule(function))}\n"
    for node in nodes:
        yield f"{node.__name__}: {inspect.getdoc(node) if '__doc__' in vars(node) and node.__doc__ else 'a node'}\n"
        for method in ("forward", "backward"):
            if method in vars(node):
                yield from (f"    {line}" for line in text_of(getattr(node, method)))
                yield ""
    if not nodes:
        made = f": it is composed of {', '.join(others)}" if others else ""
        yield f"It has no separate node{made}.\n"
        yield from (f"    {line}" for line in text_of(function))
    yield f"\n== {op}: arguments\n"
    yield from signature_lines(op, function)
    yield f"\n{inspect.getdoc(function)}"
    yield "\n== where it is computed\n"
    for name in asked:
        yield f"{name}: {COMPUTES[name]}"
        yield f"    NumPy  {numpy_place(name)}"
        yield from (f"    CUDA   {where}" for where in cuda_places(name))
    if not asked:
        yield f"in what it is composed of: minirnn explain {others[0]}" if others else place(function)
    if source:
        yield f"\n== {place(function)}\n"
        yield from text_of(function)


def text_of(function: Callable[..., Any]) -> list[str]:
    """The Python code of an op: its ``def``, or the line that declares it."""
    return textwrap.dedent("".join(source_of(function)[2])).splitlines()


def source_of(function: Any) -> tuple[Path, int, list[str]]:
    """The file, the line, and the text that defines a function: ``def tanh``, or ``tanh = unary(Tanh, ..)``."""
    lines, first = inspect.getsourcelines(function)
    name, path = function.__name__, inspect.getsourcefile(function)
    if not any(line.lstrip().startswith(f"def {name}(") for line in lines):  # `declare` wrote it
        module = sys.modules[function.__module__]
        written = re.compile(rf"^[\w, ]*\b{name}\b[\w, ]* = \w+\(")
        for k, line in enumerate(inspect.getsource(module).splitlines(keepends=True), start=1):
            if written.match(line):
                return Path(inspect.getsourcefile(module) or ""), k, [line]
    return Path(path or ""), first, lines


def place(function: Any) -> str:
    """The file and line of a function of minirnn; the full name of any other."""
    try:
        path, line, _ = source_of(function)
        return f"minirnn/{path.relative_to(ROOT).as_posix()}:{line}"
    except (TypeError, OSError, ValueError):  # a ufunc, or an operator of Python
        name = getattr(function, "__name__", str(function))
        module = getattr(function, "__module__", None) or ("numpy" if hasattr(function, "nin") else "")
        return f"{module.lstrip('_')}.{name}".lstrip(".")


def numpy_place(name: str) -> str:
    return place(getattr(type(devices.get("cpu")), name))


def cuda_places(name: str) -> Iterator[str]:
    """The first line of the .cu files of primitives that defines the kernel of this name."""
    defined = re.compile(rf"^(?:[A-Z_]+\({name},|.*__global__ void {name}\w*\()", re.MULTILINE)
    for path in sorted((ROOT / "devices" / "cuda" / "kernels" / "primitives").glob("*.cu")):
        text = path.read_text(encoding="utf-8")
        if found := defined.search(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"minirnn/{path.relative_to(ROOT).as_posix()}:{line}"

"""The explanation of a primitive: the node that it records, with its derivative, and the code that computes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from minirnn import devices, ops
from minirnn.devices.base import OPTIONAL, PRIMITIVES
from minirnn.explain.sources import ROOT, argument_lines, place, text_of
from minirnn.ops.primitives.declare import DECLARED

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
    yield from argument_lines(op, function)
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

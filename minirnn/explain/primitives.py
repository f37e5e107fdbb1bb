"""What is written down about a primitive: the node that it records, with its derivative, and what computes it."""

from __future__ import annotations

import dis
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minirnn
from minirnn import devices, ops
from minirnn.devices.base import OPTIONAL, PRIMITIVES
from minirnn.engine.tape import Op
from minirnn.explain.names import primitives
from minirnn.explain.signatures import signature_lines

ROOT = Path(minirnn.__file__).parent
COMPUTES = {**PRIMITIVES, **OPTIONAL}
"""Primitives of a device, and what they compute."""


def primitive_lines(op: str, source: bool = False) -> Iterator[str]:
    """The lines that explain a primitive; with `source`, the Python of the function as well."""
    function: Callable[..., Any] = getattr(ops, op)
    nodes, asked, others = parts_of(function)
    yield f"\n== {op}: formulas ({place(function)})\n"
    if "primitives" not in function.__module__:  # a module of its own, which explains the formulas
        yield f"{inspect.getdoc(inspect.getmodule(function))}\n"
    for node in nodes:
        yield f"{node.__name__}: {inspect.getdoc(node) if '__doc__' in vars(node) and node.__doc__ else 'a node'}\n"
        if "backward" in vars(node):
            yield from (f"    {line}" for line in unindented(node.backward))
            yield ""
    if not nodes:
        made = f": it is composed of {', '.join(others)}" if others else ""
        yield f"It has no node of its own{made}.\n"
        yield from (f"    {line}" for line in unindented(function))
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
        yield from unindented(function)


def parts_of(function: Callable[..., Any]) -> tuple[list[type[Op]], list[str], list[str]]:
    """The nodes that a function records, the primitives that it asks a device for, and the ops that it calls.

    They are read from the names in its code, and in the code of helpers of the same module.
    """
    nodes: dict[type[Op], None] = {}
    asked: dict[str, None] = {}
    others: dict[str, None] = {}
    waiting: list[Any] = [function]
    seen = set()
    while waiting:
        one = inspect.unwrap(waiting.pop(0))
        if one in seen or not inspect.isfunction(one):
            continue
        seen.add(one)
        asked |= dict.fromkeys(name for name in asked_of_device(one.__code__) if name in COMPUTES)
        for name in names_in(one.__code__):
            value = one.__globals__.get(name)
            for node in value.values() if isinstance(value, dict) else [value]:  # a dict: one node, some ways to run it
                kind = node if inspect.isclass(node) else type(node)
                if issubclass(kind, Op) and kind.__module__.startswith("minirnn.ops"):
                    nodes[kind] = None
                    waiting += [vars(kind)[m] for m in ("forward",) if m in vars(kind)]
            if inspect.isfunction(value) and value is not function:
                if name in primitives() and getattr(ops, name) is value:
                    others[name] = None
                elif value.__module__ == function.__module__:
                    waiting.append(value)
    return list(nodes), list(asked), list(others)


def names_in(code: Any) -> Iterator[str]:
    """Global names and attributes of a code object and of the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from names_in(constant)


def asked_of_device(code: Any) -> Iterator[str]:
    """The names of what a code object looks up in a device: ``tanh`` of ``x.device.tanh(..)``."""
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and before in ("device", "on"):
            yield instruction.argval
        names = instruction.argval  # of two variables at once, from Python 3.13 on
        before = names[-1] if isinstance(names, tuple) and names else names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from asked_of_device(constant)


def unindented(function: Any) -> list[str]:
    return textwrap.dedent(inspect.getsource(function)).splitlines()


def place(function: Any) -> str:
    """The file and line of a function of minirnn; the full name of any other."""
    try:
        path = Path(inspect.getsourcefile(function) or "").relative_to(ROOT)
        return f"minirnn/{path.as_posix()}:{inspect.getsourcelines(function)[1]}"
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

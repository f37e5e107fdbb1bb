"""The readable signature of an op: one argument per line, with the types that it really accepts."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

ARRAY = "Tensor or array"
KNOWN = {
    "dtype": "dtype",
    "device": "device or its name",
    "shape": "int, or tuple of int",
    "index": "int, slice, None, ..., or array of them",
    **dict.fromkeys(("dim", "dims", "dim0", "dim1", "axis"), "int, or tuple of int"),
    **dict.fromkeys(("num_layers", "num_units", "input_size"), "int"),
}
"""The types of arguments with these names, if neither annotation nor docstring states them."""


def signature_lines(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """``name(``, the arguments with types and defaults, and the result; several outputs are named."""
    signature = inspect.signature(function)
    documented = documented_types(inspect.getdoc(function) or "")
    yield f"{name}("
    before: inspect.Parameter | None = None
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and (before is None or before.kind not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)):
            yield "    *,"
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        default = "" if p.default is p.empty else f" = {p.default!r}"
        yield f"    {star}{p.name}: {type_of(p, documented)}{default},"
        before = p
    yield f") -> {returned(function, signature)}"


def type_of(p: inspect.Parameter, documented: dict[str, str]) -> str:
    """The type of a parameter: its annotation if that is informative, otherwise from its docstring."""
    annotation = str(p.annotation) if p.annotation is not p.empty else "Any"
    if "Any" not in annotation:
        return annotation.replace("Axes", "int | tuple[int, ...] | None")
    said = documented.get(p.name, "")
    if said.startswith("(") and not said.startswith("(Tensor"):  # a shape
        return f"{ARRAY} {said}"
    return said or KNOWN.get(p.name) or annotation.replace("Any", ARRAY)


def documented_types(docstring: str) -> dict[str, str]:
    """The text after ``name :`` in the section Parameters of a numpydoc docstring, without "optional"."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", docstring, flags=re.DOTALL | re.MULTILINE)
    found = {}
    for names, said in re.findall(r"^(\*{0,2}\w[\w*, ]*?) : (.+)$", section[1] if section else "", flags=re.MULTILINE):
        for name in names.split(","):
            found[name.strip().lstrip("*")] = re.sub(r",? *optional\b", "", said).replace("array_like", "array").strip()
    return found


def returned(function: Callable[..., Any], signature: inspect.Signature) -> str:
    """The annotation of the result; for a named tuple also its fields."""
    if signature.return_annotation is signature.empty:
        return ARRAY
    annotation = str(signature.return_annotation).replace("Any", ARRAY)
    kind = getattr(sys.modules.get(function.__module__), annotation, None)
    fields = getattr(kind, "_fields", None)
    return f"{annotation}({', '.join(fields)})" if fields else annotation

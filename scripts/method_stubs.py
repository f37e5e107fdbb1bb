"""Writes minirnn/engine/methods.pyi: the methods that ops and others attach to Tensor, for editors and type checkers.

    python scripts/method_stubs.py

A test compares the file with what this script would write.
"""

from __future__ import annotations

import builtins
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minirnn
from minirnn import Tensor

PATH = Path(minirnn.__file__).parent / "engine" / "methods.pyi"
HEAD = '''"""The methods that ops and others attach to `Tensor`. Written by scripts/method_stubs.py: do not edit."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.engine.tensor import Tensor

Axes = int | tuple[int, ...] | Sequence[int] | None

class ValuesAndIndices(NamedTuple):
    """`minirnn.ops.primitives.extremes.ValuesAndIndices`: this floor cannot import it."""

    values: Tensor
    indices: Tensor

class Methods:
    """Arithmetic, indexing and what computes; each is explained at the op of its name."""

'''


OTHERS = ("minirnn.engine.tensor", "minirnn.engine.copies")
"""Methods of these modules are in the class itself, or do not disturb any type checker."""


def attached() -> dict[str, Any]:
    """The attributes that are attached to the class: operators first, then methods."""
    found = {
        name: value
        for name, value in vars(Tensor).items()
        if inspect.isfunction(getattr(value, "fget", value)) and function_of(value).__module__ not in OTHERS
    }
    return dict(sorted(found.items(), key=lambda item: (not item[0].startswith("__"), item[0])))


def function_of(value: Any) -> Callable[..., Any]:
    return value.fget if isinstance(value, property) else value


def stubs() -> Iterator[str]:
    methods = attached()
    hidden = "|".join(name for name in methods if isinstance(getattr(builtins, name, None), type))
    for name, value in methods.items():
        signature = inspect.signature(function_of(value))
        parameters = list(signature.parameters.values())[1:]
        if name.startswith("__r") and signature.return_annotation is signature.empty:  # written by `declare`
            parameters, signature = [_other("Any")], signature.replace(return_annotation="Tensor")
        if name in ("__eq__", "__ne__"):
            parameters = [_other("object")]
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        line = str(signature.replace(parameters=[own] if isinstance(value, property) else [own, *parameters]))
        line = re.sub(r"(: |-> )'([^']*)'", r"\1\2", line)  # annotations are strings
        line = re.sub(
            rf"(?<=[ \[])({hidden})(?=[,\])| ]|$)", r"builtins.\1", line
        )  # inside the class, `int` is a method
        if isinstance(value, property):
            yield "    @property"
        yield f"    def {name}{line}: ..." + ("  # type: ignore[override]" if name in ("__eq__", "__ne__") else "")


def _other(annotation: str) -> inspect.Parameter:
    return inspect.Parameter("other", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)


def text() -> str:
    """The file in ruff's layout."""
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PATH), "-"]
    written = HEAD + "\n".join(stubs()) + "\n"
    return subprocess.run(ruff, input=written, capture_output=True, text=True, encoding="utf-8", check=True).stdout


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")

"""The signature of a function, the file and the line that define it, and its text."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import minirnn

ROOT = Path(minirnn.__file__).parent


def argument_lines(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """The arguments with their defaults, the outputs by name if there are several, and the docstring."""
    signature = inspect.signature(function)
    outputs = getattr(getattr(sys.modules[function.__module__], signature.return_annotation, None), "_fields", ())
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    text = f"{name}{inspect.Signature(plain)}" + (f" -> {', '.join(outputs)}" if outputs else "")
    yield from textwrap.wrap(text, 118, subsequent_indent="    ")
    yield f"\n{inspect.getdoc(function)}"


def text_of(function: Callable[..., Any]) -> list[str]:
    """The Python code of an op: its ``def``, or the line that declares it."""
    return textwrap.dedent("".join(source_of(function)[2])).splitlines()


def source_of(function: Any) -> tuple[Path, int, list[str]]:
    """The file, the line, and the text that defines a function: ``def tanh``, or ``tanh = unary(Tanh, ..)``."""
    function = inspect.unwrap(function)
    lines, first = inspect.getsourcelines(function)
    code = getattr(function, "__code__", None)
    name, path = code.co_name if code else function.__name__, inspect.getsourcefile(function)  # of a synonym, the op's
    if not any(line.lstrip().startswith(f"def {name}(") for line in lines):  # `declare` wrote it
        module = sys.modules[function.__module__]
        written = re.compile(rf"^[\w, ]*\b{name}\b[\w, ]* = \w+\(")
        for k, line in enumerate(inspect.getsource(module).splitlines(keepends=True), start=1):
            if written.match(line):
                return Path(inspect.getsourcefile(module) or ""), k, [line]
    return Path(path or ""), first, lines


def location(function: Any) -> tuple[str, int]:
    """The file of a function of minirnn, from the folder of the package on, and its line."""
    path, line, _ = source_of(function)
    return path.relative_to(ROOT).as_posix(), line


def place(function: Any) -> str:
    """The file and line of a function of minirnn; the full name of any other."""
    try:
        path, line = location(function)
        return f"minirnn/{path}:{line}"
    except (TypeError, OSError, ValueError):  # a ufunc, or an operator of Python
        name = getattr(function, "__name__", str(function))
        module = getattr(function, "__module__", None) or ("numpy" if hasattr(function, "nin") else "")
        return f"{module.lstrip('_')}.{name}".lstrip(".")

"""The public names of minirnn with their signatures, one per line, as in tests/public_names.txt.

    python scripts/public_names.py            # print them
    python scripts/public_names.py --write    # store them, after an intended change

A name is public if it is in the `__all__` of a module listed here, or a method or property of such a class whose name
has no underscore in front. `docs/stability.md` says what the project promises about them.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minirnn.lookup.pointers import Elsewhere

STORED = Path(__file__).parents[1] / "tests" / "public_names.txt"
MODULES = (
    *("minirnn", "minirnn.autograd", "minirnn.backends", "minirnn.cuda", "minirnn.cudnn_rnn", "minirnn.data"),
    *("minirnn.devices", "minirnn.gradcheck", "minirnn.io"),
    *("minirnn.io.finder", "minirnn.io.layouts", "minirnn.nn", "minirnn.nn.functional", "minirnn.nn.init"),
    *("minirnn.nn.utils", "minirnn.nn.utils.rnn", "minirnn.ops", "minirnn.optim", "minirnn.optim.lr_scheduler"),
    *("minirnn.parallel", "minirnn.parallel.executors", "minirnn.utils", "minirnn.proof", "minirnn.viz"),
)
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def default(value: Any) -> str:
    """A default as it is written in a call; ``...`` if it cannot be written."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, tuple):
        inside = ", ".join(map(default, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return getattr(value, "__name__", "...")


def signature(called: Any) -> str:
    """Its parameters and defaults without types; empty for an exception, whose parameters are Python's."""
    if isinstance(called, type) and issubclass(called, BaseException):
        return ""
    found = inspect.signature(called)
    plain = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else Literal(default(p.default)))
        for p in found.parameters.values()
    ]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


class Literal:
    """Text that `str(signature)` shows as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def members(cls: type, listed: set[type]) -> Iterator[tuple[str, str]]:
    """The public methods and properties that a class doesn't have from another listed class or another package."""
    others = [base for base in cls.__mro__[1:] if base in listed]
    for name in sorted(n for n in dir(cls) if not n.startswith("_")):
        value = inspect.getattr_static(cls, name)
        home = next(base for base in cls.__mro__ if name in vars(base))
        inherited = any(inspect.getattr_static(base, name, None) is value for base in others)
        if inherited or isinstance(value, Elsewhere) or not home.__module__.startswith("minirnn"):
            continue
        if isinstance(value, (classmethod, staticmethod)):
            yield name, signature(getattr(cls, name))
        else:
            yield name, signature(value) if inspect.isroutine(value) else ""


def lines() -> list[str]:
    """Every public name with its signature, sorted."""
    found: dict[str, Any] = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        found |= {f"{module_name}.{name}": getattr(module, name) for name in module.__all__}
    listed = {value for value in found.values() if isinstance(value, type)}
    described: set[type] = set()
    result = []
    for name, value in sorted(found.items()):
        if inspect.ismodule(value):
            continue
        own = isinstance(value, type) and value.__module__.startswith("minirnn")
        result.append(name + (signature(value) if callable(value) and (own or not isinstance(value, type)) else ""))
        if own and value not in described:
            described.add(value)
            result += [f"{name}.{member}{text}" for member, text in members(value, listed)]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the names in tests/public_names.txt")
    text = "\n".join(lines()) + "\n"
    if parser.parse_args().write:
        STORED.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

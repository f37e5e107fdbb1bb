"""Imports the modules of a package when one of their names is first used.

``import minirnn`` should take only a quarter of a second, and few programs use every module. For a name that a module
does not have, Python calls its ``__getattr__`` (PEP 562). The one made here imports the right module and stores the
value, so it is called once per name. ``dir()``, ``help()`` and ``from minirnn import *`` see no difference. Neither do
type checkers, because the package also imports the names under ``if TYPE_CHECKING:``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from minirnn.lookup.pointers import NotHere


def imported_later(package: str, rooms: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    rooms : mapping of str to str
        Name -> the module that has it. If the path of the module ends in the name, the value is the module itself, else
        the attribute.
    """

    def find(name: str) -> Any:
        if name not in rooms:
            text = f"module {package!r} has no attribute {name!r}"
            raise NotHere(text, name, package.partition(".")[2], sys.modules[package])
        module = import_module(rooms[name])
        value = module if rooms[name].endswith(f".{name}") else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *rooms})

    return find, names

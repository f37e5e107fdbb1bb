"""Names of a package whose modules are imported when somebody first asks for one of them.

``import minirnn`` shall take a quarter of a second, and few programs use every room. Python calls the ``__getattr__``
of a module for a name that it does not have (PEP 562); the one made here imports the room, keeps what it finds, and is
not asked again. ``dir()``, ``help()``, ``from minirnn import *`` and type checkers see no difference, the latter since
the package imports the names under ``if TYPE_CHECKING:`` as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from minirnn.pointers import NotHere


def imported_later(package: str, rooms: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    rooms : mapping of str to str
        Name -> the module in which it is found: the module itself if that ends in the name, else its attribute.
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

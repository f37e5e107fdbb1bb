"""What torch's names are called here, or why they do not exist: one table for messages and for the documentation.

`pointers.txt` is the table. A row has one name or several; after `` : `` comes what to write instead, after `` ! `` why
there is nothing. ``*`` represents any letters, and ``cuda.graph`` is the name ``graph`` of that module alone. Names
that are not in the table are searched for in other modules of minirnn (``torch.clone`` is ``t.clone()``), or recognized
by their ending: ``xxx_`` writes into a Tensor, ``xxx_copy`` copies a view. The site has the table as a
page; the last part has names of earlier versions of minirnn. A ``__getattr__`` would slow down every access to a
Tensor, so `attach` makes each name an attribute of the class that raises an AttributeError.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOMS: tuple[str, ...] = (
    "ops",
    "nn.functional",
    "nn",
    "optim",
    "optim.lr_scheduler",
    "nn.utils",
    "nn.utils.rnn",
    "nn.init",
)
ROOMS += ("autograd", "autograd.function", "data", "io", "cuda", "random")


class Row(NamedTuple):
    """One row of the table."""

    names: list[str]
    here: bool  # whether `answer` says what to write, and not why there is nothing
    answer: str


@cache
def table() -> dict[str, list[Row]]:
    """The rows of `pointers.txt` under their headings."""
    found: dict[str, list[Row]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            rows = found.setdefault(line[2:], [])
        elif line:
            names, sign, answer = line.partition(" : ")
            if not sign:
                names, _, answer = line.partition(" ! ")
            rows.append(Row(names.split(), bool(sign), answer))
    return found


OLD = "Names of minirnn 1"
"""The heading of names that earlier versions had."""


def _in_table(name: str, place: str) -> Row | None:
    rows = [row for part in table().values() for row in part]
    for wanted in (f"{place}.{name}", f"{place.rpartition('.')[2]}.{name}", name):
        for row in rows:
            if wanted in row.names:
                return row
    return None


def _in_families(name: str) -> Row | None:
    for row in (row for part in table().values() for row in part):
        for family in row.names:
            if "*" in family and re.fullmatch(family.replace("*", ".*"), name):
                return row
    return None


def _elsewhere(name: str) -> str:
    """The name with the module of minirnn that has it in front, or "" if no module has it."""
    top = sys.modules["minirnn"]
    if name in dir(top):
        return f"mr.{name}"
    if hasattr(top.Tensor, name):
        return f"t.{name}(...)" if callable(getattr(top.Tensor, name)) else f"t.{name}"
    for room in ROOMS:
        module = import_module(f"minirnn.{room}")
        value = getattr(module, name, None) if name in getattr(module, "__all__", vars(module)) else None
        if getattr(value, "__module__", "").startswith("minirnn"):
            return f"mr.{room}.{name}"
    return ""


def answer(name: str, place: str = "") -> tuple[str, bool]:
    """The answer for a public name of torch, and whether it says what to write. For other names it is ("", False).

    Parameters
    ----------
    name : str
        The name, such as "addmm".
    place : str
        Where the user looked for it: "" for minirnn, "nn.functional", "Tensor", ...
    """
    row = _in_table(name, place)
    if row is not None:
        return row.answer, row.here
    if there := _elsewhere(name):
        return there, True
    base = name[:-1] if name.endswith("_") and not name.endswith("__") else ""
    if base and (found := answer(base, place))[0]:
        value, here = found
        plain = not here or value.startswith("t[")
        return found if plain else (f"t.copy_(value), with the value of {base}: {value}", True)
    base = name.removesuffix("_copy")
    if base != name and (found := answer(base, place))[0]:
        return f"{found[0]}, then .clone()" if found[1] else found[0], found[1]
    row = _in_families(name)
    if row is not None:
        return row.answer, row.here
    if name in sys.stdlib_module_names:
        return f"import {name}", True
    import typing

    return (f"from typing import {name}", True) if hasattr(typing, name) else ("", False)


def pointer(name: str, place: str = "") -> str:
    """A line for an error message about a name of torch, or "" if nothing is known about it."""
    found, here = answer(name, place) if name[:1] != "_" else ("", False)
    if not found:
        return ""
    if any(f"{place}.{name}".lstrip(".") in row.names for row in table().get(OLD, [])):
        return f"\n  minirnn does not have {name}; {'write ' * here}{found}"
    return f"\n  instead of torch's {name}: {found}" if here else f"\n  minirnn does not have torch's {name}: {found}"


class NotHere(AttributeError):
    """Raised for an unknown attribute. The pointer is searched for only when the message is read, so ``hasattr`` is
    fast.
    """

    def __init__(self, text: str, name: str, place: str, owner: Any) -> None:
        super().__init__(text, name, place)
        self.obj, self.name = owner, name

    def __str__(self) -> str:
        text, name, place = self.args
        return text + pointer(name, place)


PATHS = {
    "minirnn.backends": "minirnn.lookup.backends",
    "minirnn.backends.cudnn": "minirnn.lookup.backends",
    "minirnn.cuda": "minirnn.lookup.cuda",
    "minirnn.cudnn_rnn": "minirnn.ops.cudnn_rnn.objects",
    "minirnn.nn.own_layer": "minirnn.nn.own.layer",
    "minirnn.random": "minirnn.engine.random",
    "minirnn.utils": "minirnn.lookup.utils",
    "minirnn.utils.checkpoint": "minirnn.autograd",
    "minirnn.utils.data": "minirnn.data",
}
"""Public paths, most of them torch's -> the modules that they mean."""


class Imports:
    """A finder that Python asks for modules of minirnn that no other finder has found, also in ``from minirnn.nn import
    name``. For a path of `PATHS`, it is also the loader, which finds the module already made.
    """

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # not that of its second path

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module of another path. For a name of torch, raises ModuleNotFoundError, which says what to write."""
        if fullname in PATHS:
            return ModuleSpec(fullname, cls(import_module(PATHS[fullname])))  # type: ignore[arg-type]
        room, _, name = fullname.rpartition(".")
        if room.partition(".")[0] == "minirnn" and (line := pointer(name, room.partition(".")[2])):
            raise ModuleNotFoundError(f"cannot import {name!r} from {room!r}{line}")
        return None


class Elsewhere:
    """An attribute that does not exist here. Reading it raises an AttributeError that says what to write."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        text = f"{owner.__name__!r} object has no attribute {self.name!r}"
        raise NotHere(text, self.name, "Tensor", owner if instance is None else instance)


def attach(owner: type) -> None:
    """Make imports and a class raise the errors of the table, and the class those for its methods with ``_``."""
    sys.meta_path.append(Imports)
    named = {name for part in table().values() for row in part for name in row.names}
    named = {name for name in named if (name[0].islower() or name == "H") and name.isidentifier()}
    there = {*dir(owner)}
    own = {name for name in there if name[0] != "_" and callable(getattr(owner, name))}
    for name in named.union([f"{name}_" for name in named | own if name[-1] != "_"]) - there:
        setattr(owner, name, Elsewhere(name))

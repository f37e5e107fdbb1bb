"""Sequential, ModuleList and ModuleDict: containers of modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, repeat
from typing import Any, Self

from minirnn.arguments.messages import shown
from minirnn.nn.items import Items, Row, Table
from minirnn.nn.module import Module
from minirnn.ops.primitives.declare import accepts


class _Modules(Items):
    _one, _many = "module", "modules"

    def _items(self) -> dict[str, Any]:
        # None may be an element, as in torch
        return {
            name: value
            for name, value in vars(self).items()
            if isinstance(value, Module) or (value is None and name.isdecimal())
        }

    def _item(self, value: Any) -> Any:
        if value is not None and not isinstance(value, Module):
            raise TypeError(f"{type(self).__name__}: got a {type(value).__name__}\n  expected a Module")
        return value

    def _enter(self, name: str, item: Any) -> None:
        self.register_module(name, item)


class _ModuleRow(_Modules, Row):
    def _items_of(self, values: Any) -> list[Any]:
        if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
            raise TypeError(f"{type(self).__name__}: got {shown(values)}\n  expected a list of modules")
        return [self._item(value) for value in values]

    def append(self, module: Any) -> Self:  # torch's name for the argument
        """Append a module; returns itself."""
        return super().append(module)

    @accepts(sequential="modules")
    def extend(self, modules: Iterable[Any]) -> Self:
        """Append several modules; returns itself."""
        return super().extend(modules)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index if isinstance(index, slice) else self._place(index, len(modules))]
        self._renumber(modules)

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before the one at `index`, like ``list.insert``. Names become numbers."""
        modules = list(self)
        try:
            modules.insert(index, self._item(module))
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.insert: {error}\n  expected an integer and a Module") from None
        self._renumber(modules)


class Sequential(_ModuleRow):
    """A list of modules that calls each with the output of the previous one: torch.nn.Sequential.

    ::

        net = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.1), nn.Linear(5, 2))
        net[0], net[-1], net[:2], len(net)         # a slice is a Sequential again
        nn.Sequential({"up": nn.Linear(3, 5), "down": nn.Linear(5, 2)}).down

    Parameters
    ----------
    modules
        The modules, or one dict (OrderedDict) of them, by name.

    Raises
    ------
    TypeError
        Something is not a module.
    ValueError
        A name is empty, has a dot, or is the name of a method.
    """

    def __init__(self, *modules: Any) -> None:
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.register_module(name, self._item(module))
        else:
            self.extend(modules)

    def forward(self, input: Any) -> Any:
        """The output of the last module, or the input if there are no modules."""
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index: int | slice | str) -> Any:
        items = self._items()
        if isinstance(index, slice):
            return type(self)(dict(list(items.items())[index]))
        if isinstance(index, str) and index in items:  # torch only accepts numbers
            return items[index]
        return list(items.values())[self._place(index, len(items))]

    def __setitem__(self, index: int | str, module: Module) -> None:
        if isinstance(index, str) and index in self._items():
            setattr(self, index, self._item(module))
        else:
            super().__setitem__(index, module)  # type: ignore[index]

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before the one at `index`; returns itself. Names become numbers."""
        if isinstance(index, int) and not -len(self) <= index <= len(self):
            raise IndexError(f"Sequential.insert: index is {index}\n  expected {-len(self)} .. {len(self)}")
        super().insert(index, module)
        return self

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise TypeError(f"Sequential + {type(other).__name__}\n  expected two Sequential")
        return Sequential(*self, *other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*chain.from_iterable(repeat(list(self), self._times(times))))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend(list(self) * (self._times(times) - 1))

    def _times(self, times: Any) -> int:
        if isinstance(times, bool) or not isinstance(times, int):
            raise TypeError(f"Sequential * {type(times).__name__}\n  expected an integer")
        if times < 1:
            raise ValueError(f"Sequential * {times}\n  expected 1 or more")
        return times


class ModuleList(_ModuleRow):
    """A list of modules whose parameters are found: torch.nn.ModuleList. (A plain list also works in minirnn.)

    Parameters
    ----------
    modules : iterable of Module, optional

    Raises
    ------
    TypeError
        Something is not a module.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *self._items_of(other)])


class ModuleDict(_Modules, Table):
    """A dict of modules whose parameters are found: torch.nn.ModuleDict.

    Parameters
    ----------
    modules : mapping of str to Module, or iterable of pairs, optional

    Raises
    ------
    TypeError
        Something is not a module, or a name is not a string.
    ValueError
        A name is empty, has a dot, or is the name of a method such as "keys".
    """

    def __init__(self, modules: Any = None) -> None:
        if modules is not None:
            self.update(modules)

    def update(self, modules: Any) -> None:  # type: ignore[override]
        """Add the modules of a mapping or of pairs (name, module). Modules with the same names are replaced."""
        super().update(modules)

    def __setitem__(self, key: str, module: Module) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"ModuleDict: {shown(key)} is a {type(module).__name__}\n  expected a Module")
        self.register_module(key, module)

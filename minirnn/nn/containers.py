"""Sequential, ModuleList and ModuleDict: containers of modules.

Modules are attributes of the container under their numbers or names, so that all methods of `Module` reach them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from itertools import chain, repeat
from operator import index as index_of
from typing import Any, Self

from minirnn.arguments.messages import shown
from minirnn.arguments.names import accepts
from minirnn.engine.tensor import Tensor
from minirnn.nn.module import Module


class _Modules(Module):
    """A container of modules, in the order in which they were added."""

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

    def _set_items(self, items: Iterable[tuple[str, Any]]) -> None:
        """Replace all modules at once."""
        items = list(items)
        for name in self._items():
            del vars(self)[name]
        vars(self).update(items)

    def __len__(self) -> int:
        return len(self._items())


class _ModuleRow(_Modules):
    """A container of modules by number."""

    def _items_of(self, values: Any) -> list[Any]:
        if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
            raise TypeError(f"{type(self).__name__}: got {shown(values)}\n  expected a list of modules")
        return [self._item(value) for value in values]

    def _place(self, index: Any, end: int) -> int:
        """The index as a number 0 .. end - 1. Raises TypeError if it is not an integer, IndexError if out of range."""
        try:
            place = index_of(index)
        except TypeError:
            raise TypeError(
                f"{type(self).__name__}: index is {shown(index)}\n  expected an integer or a slice"
            ) from None
        if not -end <= place < end:
            raise IndexError(f"{type(self).__name__}: index is {place}\n  expected {-end} .. {end - 1}")
        return place % end

    def _renumber(self, items: Iterable[Any]) -> None:
        self._set_items((str(k), item) for k, item in enumerate(items))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items().values())

    def __getitem__(self, index: Any) -> Any:
        items = list(self)
        if isinstance(index, slice):
            return type(self)(items[index])  # type: ignore[call-arg]
        return items[self._place(index, len(items))]

    def __setitem__(self, index: Any, module: Any) -> None:
        names = list(self._items())
        setattr(self, names[self._place(index, len(names))], self._item(module))

    def append(self, module: Any) -> Self:
        """Append a module; returns itself."""
        number = len(self)
        while str(number) in vars(self):  # the name is taken
            number += 1
        self.register_module(str(number), self._item(module))
        return self

    @accepts(sequential="modules")
    def extend(self, modules: Iterable[Any]) -> Self:
        """Append several modules; returns itself."""
        for module in self._items_of(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    @accepts(key="index")
    def pop(self, index: int) -> Any:
        """Remove the module at `index` and return it."""
        modules = list(self)
        module = modules.pop(self._place(index, len(modules)))
        self._renumber(modules)
        return module

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

    Raises TypeError if something is not a module, and ValueError if a name is empty, has a dot, or is the name of a
    method.

    Parameters
    ----------
    modules
        The modules, or one dict (OrderedDict) of them, by name.
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
            super().__setitem__(index, module)

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

    Raises TypeError if something is not a module.

    Parameters
    ----------
    modules : iterable of Module, optional
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *self._items_of(other)])


class ModuleDict(_Modules, MutableMapping[str, Any]):
    """A dict of modules whose parameters are found: torch.nn.ModuleDict.

    Raises TypeError if something is not a module, or a name is not a string, and ValueError if a name is empty, has a
    dot, or is the name of a method such as "keys".

    Parameters
    ----------
    modules : mapping of str to Module, or iterable of pairs, optional
    """

    __eq__ = object.__eq__  # modules are compared by identity
    __hash__ = object.__hash__

    def __init__(self, modules: Any = None) -> None:
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        items = self._items()
        if key not in items:
            raise KeyError(f"ModuleDict has no {shown(key)}; it has {shown(list(items))}")
        return items[key]

    def __setitem__(self, key: str, module: Module) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"ModuleDict: {shown(key)} is a {type(module).__name__}\n  expected a Module")
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        self[key]
        delattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items())

    def update(self, modules: Any) -> None:  # type: ignore[override]
        """Add the modules of a mapping or of pairs (name, module). Modules with the same names are replaced."""
        pairs = modules.items() if isinstance(modules, Mapping) else modules
        if not isinstance(pairs, Iterable) or isinstance(pairs, (str, Tensor, Module)):
            raise TypeError(f"ModuleDict: got a {type(modules).__name__}\n  expected a dict of modules, or pairs")
        pairs = list(pairs)
        for k, pair in enumerate(pairs):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(f"ModuleDict: element {k} is {shown(pair)}\n  expected a pair (name, module)")
        for name, module in pairs:
            self[name] = module

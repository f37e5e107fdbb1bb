"""Base classes of the containers, which hold modules or parameters like a list or a dict.

Items are attributes of the container under their numbers or names, so that all methods of `Module` reach them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from operator import index as index_of
from typing import Any, Self

from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor
from minirnn.nn.module import Module
from minirnn.ops.primitives.declare import accepts


class Items(Module):
    """A container of items, in the order in which they were added."""

    _one: str  # singular and plural of an item in messages
    _many: str

    def _items(self) -> dict[str, Any]:
        """The items by name."""
        raise NotImplementedError

    def _item(self, value: Any) -> Any:
        """A value as an item. Raises TypeError if it cannot be one."""
        raise NotImplementedError

    def _enter(self, name: str, item: Any) -> None:
        """Make an item the attribute `name`. Raises TypeError or ValueError if the name cannot be used."""
        raise NotImplementedError

    def _set_items(self, items: Iterable[tuple[str, Any]]) -> None:
        """Replace all items at once."""
        items = list(items)
        for name in self._items():
            del vars(self)[name]
        vars(self).update(items)

    def __len__(self) -> int:
        return len(self._items())


class Row(Items):
    """A container of items by number."""

    def _items_of(self, values: Any) -> list[Any]:
        """The items of a list. Raises TypeError if it is not a list."""
        raise NotImplementedError

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

    def __getitem__(self, index: int | slice) -> Any:
        items = list(self)
        if isinstance(index, slice):
            return type(self)(items[index])  # type: ignore[call-arg]
        return items[self._place(index, len(items))]

    def __setitem__(self, index: int, value: Any) -> None:
        names = list(self._items())
        setattr(self, names[self._place(index, len(names))], self._item(value))

    def append(self, value: Any) -> Self:
        """Append an item; returns itself."""
        number = len(self)
        while str(number) in vars(self):  # the name is taken
            number += 1
        self._enter(str(number), self._item(value))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Append several items; returns itself."""
        for item in self._items_of(values):
            self.append(item)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    @accepts(key="index")
    def pop(self, index: int) -> Any:
        """Remove the item at `index` and return it."""
        items = list(self)
        item = items.pop(self._place(index, len(items)))
        self._renumber(items)
        return item


class Table(Items, MutableMapping[str, Any]):
    """A container of items by name."""

    __eq__ = object.__eq__  # modules are compared by identity
    __hash__ = object.__hash__

    def __getitem__(self, key: str) -> Any:
        items = self._items()
        if key not in items:
            raise KeyError(f"{type(self).__name__} has no {shown(key)}; it has {shown(list(items))}")
        return items[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._enter(key, self._item(value))

    def __delitem__(self, key: str) -> None:
        self[key]
        delattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items())

    def update(self, values: Any) -> None:  # type: ignore[override]
        """Add the items of a mapping or of pairs (name, item). Items with the same names are replaced."""
        pairs = values.items() if isinstance(values, Mapping) else values
        if not isinstance(pairs, Iterable) or isinstance(pairs, (str, Tensor, Module)):
            raise TypeError(
                f"{type(self).__name__}: got a {type(values).__name__}\n  expected a dict of {self._many}, or pairs"
            )
        pairs = list(pairs)
        for k, pair in enumerate(pairs):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(
                    f"{type(self).__name__}: element {k} is {shown(pair)}\n  expected a pair (name, {self._one})"
                )
        for name, value in pairs:
            self[name] = value

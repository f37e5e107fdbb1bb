"""ParameterList and ParameterDict: containers of parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from minirnn.engine.tensor import Tensor
from minirnn.nn.items import Items, Row, Table
from minirnn.nn.parameter import Parameter


class _Parameters(Items):
    _one, _many = "parameter", "Parameters"

    def _items(self) -> dict[str, Parameter]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Parameter)}

    def _item(self, value: Any) -> Parameter:
        """A Parameter for a Parameter (unchanged), a Tensor or an array."""
        if isinstance(value, Parameter):
            return value
        if not isinstance(value, (Tensor, np.ndarray)):
            raise TypeError(
                f"{type(self).__name__}: got a {type(value).__name__}\n  expected a Parameter, a Tensor or an array"
            )
        return Parameter(value)

    def _enter(self, name: str, item: Parameter) -> None:
        self.register_parameter(name, item)

    def extra_repr(self) -> str:
        lines = [f"({name}): Parameter of shape {p.shape}, {p.dtype}" for name, p in self._items().items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {line}" for line in self.extra_repr().splitlines())
        return f"{type(self).__name__}({lines}\n)" if lines else f"{type(self).__name__}()"


class ParameterList(_Parameters, Row):
    """A list of parameters: torch.nn.ParameterList. (Parameters in a plain list are also found.)

    Parameters
    ----------
    values : iterable of Parameter, Tensor or array, optional
        Tensors and arrays become Parameters.

    Raises
    ------
    TypeError
        Something is neither.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        if values is not None:
            self.extend(values)

    def _items_of(self, values: Any) -> list[Parameter]:
        if not isinstance(values, Iterable) or isinstance(values, (str, Tensor)):
            raise TypeError(f"ParameterList: got a {type(values).__name__}\n  expected a list of Parameters")
        return [self._item(value) for value in values]

    def pop(self, index: int = -1) -> Parameter:
        """Remove the parameter at `index` and return it."""
        return super().pop(index)


class ParameterDict(_Parameters, Table):
    """A dict of parameters: torch.nn.ParameterDict.

    Parameters
    ----------
    parameters : mapping of str to Parameter, Tensor or array, or iterable of pairs, optional
        Tensors and arrays become Parameters.

    Raises
    ------
    TypeError
        Something is neither, or a name is not a string.
    ValueError
        A name is empty, has a dot, or is the name of a method such as "keys".
    """

    def __init__(self, parameters: Any = None) -> None:
        if parameters is not None:
            self.update(parameters)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._items())

    def setdefault(self, key: str, default: Any = None) -> Parameter:
        """The parameter of a name. If there is none, `default` is added under this name."""
        if key not in self:
            self[key] = default
        return self[key]

    def copy(self) -> ParameterDict:
        """A new dict with the same parameters."""
        return type(self)(OrderedDict(self._items()))

    def popitem(self) -> tuple[str, Parameter]:
        """Remove the last parameter and return its name and the parameter. Raises KeyError if there is none."""
        if not len(self):
            raise KeyError("ParameterDict is empty")
        key = list(self)[-1]
        return key, self.pop(key)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with `default` for each of the names."""
        return type(self)(OrderedDict.fromkeys(keys, default))

    def update(self, parameters: Any) -> None:  # type: ignore[override]
        """Add the parameters of a mapping or of pairs (name, parameter). Parameters with the same names are replaced.

        As in torch, parameters of a plain dict are added sorted by name, those of an OrderedDict in its order.
        """
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, (OrderedDict, Table))
        super().update(sorted(parameters.items()) if plain else parameters)

    def __or__(self, other: Any) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: Any) -> ParameterDict:
        merged = type(self)(other)
        merged.update(self)
        return merged

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

"""Module: parameters with names, saved and loaded by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from minirnn import html
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor
from minirnn.nn.loading import check_names, check_values
from minirnn.nn.parameter import Parameter


class Module:
    """Base class of everything that has parameters.

    A subclass assigns `Parameter` and `Module` objects to its attributes and defines ``forward``. They are found by
    looking at the attributes, also inside lists, tuples and dicts; their names are the paths to them::

        class Net(nn.Module):
            def __init__(self):
                self.layers = [nn.Linear(3, 5), nn.Linear(5, 2)]

        [name for name, _ in Net().named_parameters()]
        # ['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias']

    An attribute that is a plain Tensor is a constant: it is neither trained nor saved.

    Attributes
    ----------
    training : bool
        Whether `Dropout` drops; set by `train` and `eval`.
    """

    training: bool = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What ``module(...)`` computes."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward()\n  expected a subclass that does")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    # ---- what is inside

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside, in the order in which they were assigned."""
        return ((name, value) for name, value in _members(vars(self)) if isinstance(value, Module))

    def modules(self) -> Iterator[Module]:
        """This module and all inside it, each once."""
        found: dict[Module, None] = {}
        todo = [self]
        while todo:
            module = todo.pop()
            if module not in found:
                found[module] = None
                todo += reversed([child for _, child in module.named_children()])
        return iter(found)

    def named_parameters(self, *, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Names and parameters, this module's and those of the modules inside.

        A parameter with several names comes once, under the first, or, without `remove_duplicate`, under each.
        """
        seen: set[Parameter] = set()
        for name, parameter in self._walk("", ()):
            if not remove_duplicate or parameter not in seen:
                seen.add(parameter)
                yield name, parameter

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, each once: what an optimizer takes."""
        return (parameter for _, parameter in self.named_parameters())

    def _walk(self, prefix: str, above: tuple[Module, ...]) -> Iterator[tuple[str, Parameter]]:
        for name, value in _members(vars(self)):
            if isinstance(value, Parameter):
                yield prefix + name, value
            elif value is not self and value not in above:  # a child may know its parent
                yield from value._walk(f"{prefix}{name}.", (*above, self))

    # ---- saving and loading

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all values by name, for `minirnn.io.checkpoint.save` and `load_state_dict`."""
        return {name: p.numpy().copy() for name, p in self.named_parameters(remove_duplicate=False)}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Set the values of all parameters by name. On an error nothing is changed.

        Parameters
        ----------
        state : mapping of str to array_like
            Arrays or Tensors of the parameters' shapes, of any floating dtype; the parameters keep theirs.
        strict : bool
            Whether missing and unexpected names are an error. A wrong shape always is.

        Returns
        -------
        missing, unexpected : list of str
            Names without a value, and names without a parameter; both empty if `strict`.

        Raises
        ------
        TypeError
            If `state` is no mapping, or a value is not of a floating dtype.
        ValueError
            If a shape or, if `strict`, a name does not fit. The message lists all of them and the likely cause.
        """
        own = dict(self.named_parameters(remove_duplicate=False))
        missing, unexpected = check_names(type(self).__name__, list(own), state, strict)
        values = check_values({name: p for name, p in own.items() if name in state}, state)
        for name, value in values.items():
            own[name].assign(value)
        return missing, unexpected

    # ---- switches

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all inside it to training (or, with False, to evaluation); returns itself."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """``train(False)``."""
        return self.train(False)

    def to(self, device: str | Device) -> Self:
        """Bring all parameters to a device, in place; returns itself. Optimizers stay valid if made afterwards."""
        for parameter in self.parameters():
            parameter.move(device)
        return self

    def zero_grad(self) -> None:
        """Forget all gradients: ``grad`` becomes None."""
        for parameter in self.parameters():
            parameter.grad = None

    # ---- printing

    def extra_repr(self) -> str:
        """The settings shown between the parentheses of ``repr``."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        head = [self.extra_repr()] if self.extra_repr() else []
        return "\n  ".join([f"{type(self).__name__}(", *head, *lines]) + "\n)"

    def _repr_html_(self) -> str:
        rows = [(name, p._repr_html_()) for name, p in self.named_parameters()]
        total = sum(p.size for _, p in self.named_parameters())
        return html.block(repr(self)) + html.table([*rows, ("in all", f"{total:,} numbers")])


def _members(container: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The parameters and modules among named values, also inside lists, tuples and dicts."""
    for name, value in container.items():
        if isinstance(value, (Parameter, Module)):
            yield str(name), value
        elif isinstance(value, (list, tuple, dict)) and not isinstance(value, Tensor):
            inside = value if isinstance(value, dict) else dict(enumerate(value))
            for path, member in _members(inside):
                yield f"{name}.{path}", member

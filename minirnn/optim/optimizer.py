"""What all optimizers share: their parameters, what they remember of each, saving and loading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops import check


class Optimizer:
    """What SGD and Adam share: the parameters, and what is remembered for each of them.

    Parameters
    ----------
    parameters : iterable of Tensor
        Leaves that require gradients, usually ``module.parameters()``.
    settings
        Numbers such as ``lr``, kept as attributes; they may be changed between steps.

    Raises
    ------
    TypeError
        `parameters` are no Tensors.
    ValueError
        There are no parameters, one comes twice or is no leaf, or a setting is out of range.
    """

    settings: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that `state_dict` saves."""

    remembered: ClassVar[tuple[str, ...]] = ()
    """Names of what is kept for each parameter once it was changed: ints, and arrays of its shape."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        name = type(self).__name__
        self.parameters = tensors_of(name, parameters)
        if not self.parameters:
            raise ValueError(
                f"{name}: no parameters\n  expected at least one\n"
                "  likely an iterator that was used up, or a module whose parameters are no nn.Parameter"
            )
        for k, p in enumerate(self.parameters):
            if p.op is not None:
                raise ValueError(f"{name}: parameter {k} was made by {p.op.name}\n  expected a leaf: detach() it first")
        if len(set(self.parameters)) < len(self.parameters):
            raise ValueError(f"{name}: a parameter comes twice\n  expected each once, or it would be changed twice")
        self.memory: list[dict[str, Any]] = [{} for _ in self.parameters]

    def zero_grad(self) -> None:
        """Forget the gradients: ``grad`` becomes None."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Change every parameter that has a gradient; the others stay as they are."""
        with no_grad():
            for p, memory in zip(self.parameters, self.memory, strict=True):
                if p.grad is not None:
                    p.assign(self.updated(p, p.grad.detach(), memory))

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any]) -> Tensor:
        """The new value of a parameter `p` with the gradient `g`; `memory` is kept for it between steps."""
        raise NotImplementedError

    # ---- saving and loading

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on, flat: the settings, and "k.step" (int), "k.m" (array), ... of parameter k.

        Arrays are copies; the rest are Python numbers, and "optimizer", the name of the class.
        """
        state: dict[str, Any] = {"optimizer": type(self).__name__}
        state.update({name: getattr(self, name) for name in self.settings})
        for k, memory in enumerate(self.memory):
            for name, value in memory.items():
                state[f"{k}.{name}"] = value.numpy().copy() if isinstance(value, Tensor) else value
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was called. On an error nothing is changed.

        Raises
        ------
        ValueError
            The state is incomplete, or belongs to another optimizer or to parameters of other shapes.
        """
        where = f"{type(self).__name__}.load_state_dict"
        if not isinstance(state, Mapping):
            raise TypeError(f"{where}: got a {type(state).__name__}\n  expected a dict, as of state_dict()")
        if state.get("optimizer") != type(self).__name__:
            raise ValueError(f"{where}: got the state of {state.get('optimizer')}\n  expected {type(self).__name__}")
        memory: list[dict[str, Any]] = [{} for _ in self.parameters]
        for key in state.keys() - {"optimizer", *self.settings}:
            number, _, name = key.partition(".")
            if name not in self.remembered or not number.isdecimal() or int(number) >= len(memory):
                raise ValueError(
                    f"{where}: unexpected {key}\n"
                    f"  expected numbers below {len(memory)}, that of the parameters, and {', '.join(self.remembered)}"
                )
            p, value = self.parameters[int(number)], state[key]
            if name == "step":
                value = check.integer(where, key, value, 1)
            else:
                if np.shape(value) != p.shape:
                    raise ValueError(
                        f"{where}: {key} has shape {np.shape(value)}\n  expected {p.shape}, that of its parameter\n"
                        "  likely parameters in another order, or of another model"
                    )
                value = tensor(value, device=p.device, dtype=p.dtype)
            memory[int(number)][name] = value
        missing = [name for name in self.settings if name not in state]
        missing += [f"{k}.{name}" for k, m in enumerate(memory) if m for name in self.remembered if name not in m]
        if missing:
            raise ValueError(f"{where}: missing {', '.join(missing)}\n  expected all that state_dict() returned")
        before = [getattr(self, name) for name in self.settings]
        try:
            self.configure(*[state[name] for name in self.settings])
        except (TypeError, ValueError):
            self.configure(*before)
            raise
        self.memory = memory

    configure: Callable[..., None]
    """Check the settings, which are given in their order, and make them attributes."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={getattr(self, name)}" for name in self.settings)
        return f"{type(self).__name__}({len(self.parameters)} parameters, {settings})"


def tensors_of(name: str, parameters: Any) -> list[Tensor]:
    """The parameters as a list. Raises TypeError if they are something else than Tensors."""
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        what = "one Tensor" if isinstance(parameters, Tensor) else f"a {type(parameters).__name__}"
        raise TypeError(f"{name}: parameters is {what}\n  expected a list of Tensors, or module.parameters()")
    found = list(parameters)
    for k, p in enumerate(found):
        if not isinstance(p, Tensor):
            hint = "\n  likely named_parameters() in the place of parameters()" if isinstance(p, tuple) else ""
            raise TypeError(f"{name}: parameter {k} is a {type(p).__name__}\n  expected a Tensor{hint}")
    return found


def at_least_zero(optimizer: str, name: str, value: Any) -> float:
    """The setting `name` of an optimizer, a number that must not be negative."""
    value = check.number(optimizer, name, value)
    if value < 0:
        raise ValueError(f"{optimizer}: {name} is {value}\n  expected 0 or more")
    return value

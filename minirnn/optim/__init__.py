"""Optimizers: SGD and Adam, and clipping of gradients.

An optimizer changes parameters by `Tensor.assign`, so the tape notices when a backward pass would still need the old
values. Results equal torch's to rounding. The arithmetic is done by ops, on whatever device the parameters are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, tensor
from minirnn.messages import shown
from minirnn.ops import check
from minirnn.ops.primitives import sqrt

__all__ = ["SGD", "Adam", "Optimizer", "clip_grad_norm_"]


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
        If `parameters` are no Tensors.
    ValueError
        If there are none, one comes twice, one is no leaf, or a setting is out of range.
    """

    settings: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that `state_dict` saves."""

    remembered: ClassVar[tuple[str, ...]] = ()
    """Names of what is kept for each parameter once it was changed: ints, and arrays of its shape."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        name = type(self).__name__
        self.parameters = _tensors(name, parameters)
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
        """All that is needed to go on, flat: the settings, and for parameter k "k.step" (int), "k.m" (array), ...

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
            If the state is of another optimizer or of parameters of other shapes, or incomplete.
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
    """Check the settings, given in their order, and make them attributes."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={getattr(self, name)}" for name in self.settings)
        return f"{type(self).__name__}({len(self.parameters)} parameters, {settings})"


class SGD(Optimizer):
    """Gradient descent, with momentum (Polyak 1964) or Nesterov's form of it (Sutskever et al. 2013).

    ::

        g = grad + weight_decay * p
        m = g in the first step, then momentum * m + g              # with momentum > 0
        p = p - lr * (g + momentum * m if nesterov else m)          # without momentum: p - lr * g

    Parameters
    ----------
    parameters : iterable of Tensor
    lr : float
        Step size, 0 or more.
    momentum : float
        0 or more; 0 is plain gradient descent.
    weight_decay : float
        0 or more.
    nesterov : bool
        Needs momentum.
    """

    settings = ("lr", "momentum", "weight_decay", "nesterov")
    remembered = ("m",)

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(parameters)
        self.configure(lr, momentum, weight_decay, nesterov)

    def configure(self, lr: float, momentum: float, weight_decay: float, nesterov: bool) -> None:
        self.lr = _at_least_zero("SGD", "lr", lr)
        self.momentum = _at_least_zero("SGD", "momentum", momentum)
        self.weight_decay = _at_least_zero("SGD", "weight_decay", weight_decay)
        self.nesterov = check.flag("SGD", "nesterov", nesterov)
        if self.nesterov and self.momentum == 0:
            raise ValueError("SGD: nesterov without momentum\n  expected momentum above 0, usually 0.9")

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any]) -> Tensor:
        if self.weight_decay:
            g = g + self.weight_decay * p
        if self.momentum:
            m = memory["m"] = self.momentum * memory["m"] + g if "m" in memory else g
            g = g + self.momentum * m if self.nesterov else m
        return p - self.lr * g


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015), as in torch: eps is added after the bias correction.

    ::

        g = grad + weight_decay * p
        m = beta1 * m + (1 - beta1) * g                  v = beta2 * v + (1 - beta2) * g * g        # both start at 0
        p = p - lr * (m / (1 - beta1**step)) / (sqrt(v / (1 - beta2**step)) + eps)

    Parameters
    ----------
    parameters : iterable of Tensor
    lr : float
        Step size, 0 or more: about how far each number moves in one step.
    betas : (float, float)
        How much of the means m and v is kept each step; 0 <= beta < 1.
    eps : float
        0 or more.
    weight_decay : float
        0 or more.
    """

    settings = ("lr", "beta1", "beta2", "eps", "weight_decay")
    remembered = ("step", "m", "v")

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"Adam: betas is {shown(betas)}\n  expected a pair of numbers")
        self.configure(lr, *betas, eps, weight_decay)

    def configure(self, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float) -> None:
        self.lr = _at_least_zero("Adam", "lr", lr)
        self.beta1, self.beta2 = _at_least_zero("Adam", "beta1", beta1), _at_least_zero("Adam", "beta2", beta2)
        if self.beta1 >= 1 or self.beta2 >= 1:
            raise ValueError(f"Adam: betas are {beta1} and {beta2}\n  expected 0 <= beta < 1")
        self.eps = _at_least_zero("Adam", "eps", eps)
        self.weight_decay = _at_least_zero("Adam", "weight_decay", weight_decay)

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any]) -> Tensor:
        if self.weight_decay:
            g = g + self.weight_decay * p
        step = memory["step"] = memory.get("step", 0) + 1
        m = (1 - self.beta1) * g
        v = (1 - self.beta2) * (g * g)
        if step > 1:
            m = self.beta1 * memory["m"] + m
            v = self.beta2 * memory["v"] + v
        memory["m"], memory["v"] = m, v
        # The corrections are Python numbers: two products on small scalars instead of two more on whole arrays.
        scale = self.lr / (1 - self.beta1**step)
        return p - scale * m / (sqrt(v) * (1 / math.sqrt(1 - self.beta2**step)) + self.eps)


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Shrink all gradients together so that their norm, taken as one vector, is at most `max_norm`.

    Parameters
    ----------
    parameters : iterable of Tensor
        Those without a gradient are passed over.
    max_norm : float
        Above 0; ``math.inf`` only measures.

    Returns
    -------
    float
        The norm before. If it is NaN or infinite, the gradients are left as they are: look at it before a step.

    Notes
    -----
    torch divides by norm + 1e-6, minirnn by the norm.

    Raises
    ------
    ValueError
        If `max_norm` is not above 0.
    """
    max_norm = check.number("clip_grad_norm_", "max_norm", max_norm, finite=False)
    if max_norm <= 0:
        raise ValueError(f"clip_grad_norm_: max_norm is {max_norm}\n  expected above 0")
    with no_grad():
        owned = [(p, p.grad.detach()) for p in _tensors("clip_grad_norm_", parameters) if p.grad is not None]
        norm = math.sqrt(sum(_sum_of_squares(g) for _, g in owned))
        if math.isfinite(norm) and norm > max_norm:
            for p, g in owned:
                p.grad = g * (max_norm / norm)
    return norm


def _tensors(name: str, parameters: Any) -> list[Tensor]:
    """The parameters as a list. Raises TypeError if they are something else."""
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        what = "one Tensor" if isinstance(parameters, Tensor) else f"a {type(parameters).__name__}"
        raise TypeError(f"{name}: parameters is {what}\n  expected a list of Tensors, or module.parameters()")
    found = list(parameters)
    for k, p in enumerate(found):
        if not isinstance(p, Tensor):
            hint = "\n  likely named_parameters() in the place of parameters()" if isinstance(p, tuple) else ""
            raise TypeError(f"{name}: parameter {k} is a {type(p).__name__}\n  expected a Tensor{hint}")
    return found


def _sum_of_squares(g: Tensor) -> float:
    if g.dtype == np.float16:
        g = g.astype(np.float32)  # the square of 256 has no place in float16
    return float((g * g).sum())


def _at_least_zero(optimizer: str, name: str, value: Any) -> float:
    value = check.number(optimizer, name, value)
    if value < 0:
        raise ValueError(f"{optimizer}: {name} is {value}\n  expected 0 or more")
    return value

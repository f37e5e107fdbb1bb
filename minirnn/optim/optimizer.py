"""The base of all optimizers: parameters in groups, the state of each parameter, steps, and copies of all of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tape import enable_grad, mode
from minirnn.engine.tensor import Tensor, leaf, next_seq, tensor
from minirnn.optim import state
from minirnn.optim.groups import groups_of, mismatch, parameters_of
from minirnn.optim.settings import at_least_zero, declare, setting

Params = Iterable[Tensor] | Iterable[dict[str, Any]]
"""Parameters, or groups: dicts with "params" and their own settings."""


@dataclass_transform(eq_default=False, field_specifiers=(setting,))
class Optimizer:
    """Base class of SGD, Adam and the others: parameters in groups, and the state of each parameter.

    Raises TypeError if `params` are not Tensors, and ValueError if there are no parameters, one is given twice or is
    not a leaf, or a setting is out of range.

    Parameters
    ----------
    params : iterable of Tensor, or of dict
        Leaves that require gradients, usually ``module.parameters()``; or groups, dicts with "params" and their own
        settings, such as ``{"params": head.parameters(), "lr": 0.1}``.
    defaults : dict
        The settings of groups that do not give their own.

    Attributes
    ----------
    param_groups : list of dict
        "params" and the settings of each group, under torch's names. Values written there are used from the next
        step on.
    state : dict
        Maps a parameter to its state, under torch's names: an int "step", and Tensors of its shape.
    defaults : dict
        The settings of groups that do not give their own.
    parameters : list of Tensor
        The parameters of all groups.
    lr, momentum, ...
        Settings are also attributes. Reading one reads the first group, and writing one writes to all groups.

    Notes
    -----
    A subclass declares its settings (`setting`) and computes new values (`updated`), or defines ``step``.
    """

    _settings: ClassVar[dict[str, Callable[[str, str, Any], Any]]] = {}
    """Each setting, and a function (optimizer, name, value) that returns the value, or raises if it is invalid."""

    _remembered: ClassVar[dict[str, str]] = {}
    """The state that is kept for each changed parameter: torch's name -> the letter in formulas and files."""

    _needed: ClassVar[tuple[str, ...]] = ()
    """Those of `_remembered` that every changed parameter has; the others depend on the settings."""

    _one_vector: ClassVar[bool] = False
    """Whether the state of the first parameter is that of all of them, as one vector."""

    lr: float = setting(at_least_zero, default=0.001)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declare(cls, Optimizer.__init__)

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if not isinstance(defaults, dict):
            raise TypeError(f"{type(self).__name__}: defaults is {shown(defaults)}\n  expected a dict of settings")
        self.defaults = self._checked(defaults)
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self.steps_done = 0
        self.schedules: list[Any] = []  # those of lr_scheduler that write its step sizes
        for group in groups_of(type(self).__name__, params):
            self.add_param_group(group)

    # ---- groups

    @property
    def parameters(self) -> list[Tensor]:
        """The parameters of all groups, in their order."""
        return [p for group in self.param_groups for p in group["params"]]

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Train more parameters: a dict with "params" and the settings that differ from the defaults.

        Raises the errors of the constructor, also if a parameter is in another group. Nothing is changed then.
        """
        name = type(self).__name__
        if not isinstance(param_group, Mapping):
            raise TypeError(f"{name}: param_group is a {type(param_group).__name__}\n  expected a dict with 'params'")
        parameters = parameters_of(name, param_group)
        group = self._checked({**self.defaults, **param_group, "params": parameters})
        there = set(self.parameters)
        if any(p in there for p in parameters):
            raise ValueError(
                f"{name}: a parameter is in two groups\n  expected each once, or it would be changed twice"
            )
        self.param_groups.append(group)

    def _checked(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """A group with its settings checked and converted; other entries are unchanged."""
        name = type(self).__name__
        return {k: self._settings[k](name, k, v) if k in self._settings else v for k, v in group.items()}

    # ---- steps

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients: ``grad`` becomes None, or zeros with ``set_to_none=False`` where there was one."""
        set_to_none = check.flag(type(self).__name__, "set_to_none", set_to_none)
        for p in self.parameters:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad = tensor(np.zeros(p.grad.shape, p.grad.dtype), device=p.grad.device)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Raises ValueError or TypeError if a gradient has another shape, dtype or device than its parameter. Nothing is
        changed then.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients again before the step.

        Returns
        -------
        What `closure` returned, or None.
        """
        loss = None
        if closure is not None:
            if not callable(closure):
                raise TypeError(f"{type(self).__name__}: closure is {shown(closure)}\n  expected a function, or None")
            with enable_grad():
                loss = closure()
        due = [(p, p.grad, group) for group in self.param_groups for p in group["params"] if p.grad is not None]
        for p, g, _ in due:
            a, da = p.array, g.array
            same = da.dtype is a.dtype or da.dtype == a.dtype
            if not same or g.device is not p.device or da.shape != a.shape:
                k = next(k for k, other in enumerate(self.parameters) if other is p)
                raise mismatch(type(self).__name__, f"parameter {k}", p, g)
        memories = self.state
        outer, mode.enabled = mode.enabled, False
        try:  # not `with no_grad()`: a Ctrl-C could come before the first line of its __exit__
            for p, g, group in due:
                memory = memories[p]
                for value in memory.values():
                    if value.__class__ is Tensor:
                        if value.device is not p.device or value.array.dtype != p.array.dtype:
                            state.follow(p, memory)
                        break
                if g.requires_grad:  # true for everything that was recorded
                    g = g.detach()
                new = self.updated(p, g, memory, group).array
                if new.dtype is p.array.dtype and new.shape == p.array.shape:
                    p.array, p.seq = new, next_seq()  # what `assign` does, without its checks
                else:
                    p.assign(leaf(p.device, new))
        finally:
            mode.enabled = outer
        self.steps_done += 1
        return loss

    def updated(self, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]) -> Tensor:
        """The new value of a parameter `p` with the gradient `g`; `memory` is kept for it between steps."""
        raise NotImplementedError(f"{type(self).__name__} defines no updated()\n  expected a subclass that does")

    # ---- saving and loading

    def state_dict(self, *, layout: str = "flat") -> dict[str, Any]:
        """Everything needed to continue, as a dict.

        Parameters
        ----------
        layout : "flat" or "torch"
            "flat": "optimizer", the name of the class; "param_groups", as torch has them; and "k.step" (int), "k.m"
            (array), ... of parameter k. Everything except the arrays has JSON types, so a checkpoint can hold it.
            "torch": what the optimizer of this name in torch loads (this needs torch).

        Returns
        -------
        dict
            Arrays are copies.
        """
        check.choice(f"{type(self).__name__}.state_dict", "layout", layout, ("flat", "torch"))
        return state.flat(self) if layout == "flat" else state.for_torch(self)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Return to the point at which `state_dict` was called, here or in torch. On an error nothing is changed.

        Raises TypeError if it is not a dict, or holds something other than numbers and arrays, and ValueError if the
        state is incomplete, or belongs to another optimizer or to parameters of other shapes.
        """
        groups, memory = state.read(self, state_dict)
        for group, settings in zip(self.param_groups, groups, strict=True):
            members = group["params"]
            group.clear()
            group.update(settings | {"params": members})
        self.state = defaultdict(dict, memory)

    def __getstate__(self) -> dict[str, Any]:
        """The contents of a copy or a pickle, which share only the parameters with this optimizer."""
        memory = [{k: _host(v) for k, v in self.state[p].items()} if p in self.state else {} for p in self.parameters]
        groups = [{**group, "params": list(group["params"])} for group in self.param_groups]
        rest = {k: v for k, v in vars(self).items() if k not in ("state", "param_groups", "schedules")}
        return {**rest, "param_groups": groups, "memory": memory}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        memory = saved["memory"]
        vars(self).update({k: v for k, v in saved.items() if k != "memory"})
        self.state, self.schedules = defaultdict(dict), []
        for p, values in zip(self.parameters, memory, strict=True):
            if values:
                self.state[p] = {
                    k: tensor(v, device=p.device) if isinstance(v, np.ndarray) else v for k, v in values.items()
                }

    def __repr__(self) -> str:
        shown_groups = []
        for group in self.param_groups:
            own = {k: v for k, v in group.items() if k != "params" and v is not None}
            settings = ", ".join(f"{name}={value}" for name, value in own.items() if value is not False)
            shown_groups.append(f"{len(group['params'])} parameters, {settings}")
        return f"{type(self).__name__}({'; '.join(shown_groups)})"


def with_decay(p: Tensor, g: Tensor, group: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """A parameter and its gradient after ``maximize`` and ``weight_decay`` of their group are applied."""
    if group["maximize"]:
        g = -g
    decay = group["weight_decay"]
    if decay and group.get("decoupled_weight_decay"):
        p = (1 - group["lr"] * decay) * p
    elif decay:
        g = g + decay * p
    return p, g


def _host(value: Any) -> Any:
    return value.numpy().copy() if isinstance(value, Tensor) else value

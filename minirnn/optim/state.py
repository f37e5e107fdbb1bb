"""Writes and reads the state of an optimizer as a dict, either flat, for files, or in torch's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor, tensor
from minirnn.optim.settings import HasGroups, only_default

Memory = dict[Tensor, dict[str, Any]]
NOT_SETTINGS = ("params", "param_names")  # torch's groups may have names
NUMBERS = ("mu_product", "eta", "mu", "t", "H_diag")
"""The entries of the state that are floats."""
COUNTS = ("step", "n_iter", "func_evals")
"""Those that are integers."""


def follow(parameter: Tensor, memory: dict[str, Any]) -> None:
    """Move the Tensors in `memory` to the device and dtype of `parameter`, since ``module.to(...)`` may change them."""
    for name, value in memory.items():
        if isinstance(value, Tensor) and (value.device is not parameter.device or value.dtype != parameter.dtype):
            memory[name] = tensor(value, device=parameter.device, dtype=parameter.dtype)


def groups_of(optimizer: HasGroups) -> list[dict[str, Any]]:
    """The groups with indices instead of parameters, as torch writes them."""
    packed, first = [], 0
    for group in optimizer.param_groups:
        n = len(group["params"])
        settings = {name: value for name, value in group.items() if name != "params"}
        packed.append(deepcopy(settings) | {"params": list(range(first, first + n))})
        first += n
    return packed


def remembered(optimizer: HasGroups) -> Iterator[tuple[int, str, Any]]:
    """Yields the index of a parameter, torch's name for the value, and the value; arrays are copies."""
    for k, p in enumerate(optimizer.parameters):
        for name, value in optimizer.state.get(p, {}).items():
            yield k, name, value.numpy().copy() if isinstance(value, Tensor) else value


def flat(optimizer: HasGroups) -> dict[str, Any]:
    groups = [
        {name: list(value) if isinstance(value, tuple) else value for name, value in group.items()}  # JSON has lists
        for group in groups_of(optimizer)
    ]
    state: dict[str, Any] = {"optimizer": type(optimizer).__name__, "param_groups": groups}
    for k, name, value in remembered(optimizer):
        state[f"{k}.{optimizer._remembered.get(name, name)}"] = value
    return state


def for_torch(optimizer: HasGroups) -> dict[str, Any]:
    import torch

    state: dict[int, dict[str, Any]] = {}
    for k, name, value in remembered(optimizer):
        is_array = isinstance(value, np.ndarray)
        state.setdefault(k, {})[name] = torch.from_numpy(value) if is_array else torch.tensor(float(value))
    return {"state": state, "param_groups": groups_of(optimizer)}


def read(optimizer: HasGroups, state: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Memory]:
    """The settings of each group and the memory of each parameter, from any layout. The optimizer is not changed."""
    name = type(optimizer).__name__
    where = f"{name}.load_state_dict"
    if not isinstance(state, Mapping):
        raise TypeError(f"{where}: got a {type(state).__name__}\n  expected a dict, as of state_dict()")
    torchs = "optimizer" not in state and "state" in state and "param_groups" in state
    if not torchs and state.get("optimizer") != name:
        raise ValueError(f"{where}: got the state of {state.get('optimizer')}\n  expected {name}")
    if "param_groups" not in state:
        raise ValueError(f"{where}: missing param_groups\n  expected all that state_dict() returned")
    entries = _of_torch(where, state["state"]) if torchs else _of_flat(optimizer, state)
    memory = _memory(where, optimizer, entries)
    return _groups(where, optimizer, state["param_groups"]), memory


def _groups(where: str, optimizer: HasGroups, groups: Any) -> list[dict[str, Any]]:
    """The settings of each group, checked."""
    own = optimizer.param_groups
    if not isinstance(groups, (list, tuple)) or not all(isinstance(group, Mapping) for group in groups):
        raise TypeError(f"{where}: param_groups is a {type(groups).__name__}\n  expected a list of dicts")
    if len(groups) != len(own):
        raise ValueError(f"{where}: got {len(groups)} groups\n  expected {len(own)}")
    found = []
    for k, (group, mine) in enumerate(zip(groups, own, strict=True)):
        n = len(group.get("params", ()))
        if n != len(mine["params"]):
            raise ValueError(
                f"{where}: group {k} has {n} parameters\n  expected {len(mine['params'])}\n"
                "  likely parameters of another model"
            )
        settings = {name: value for name, value in group.items() if name not in NOT_SETTINGS}
        # Versions of torch have different switches, and those between implementations have no meaning here.
        switches = {name: value for name, value in optimizer.defaults.items() if isinstance(value, bool | None)}
        settings |= {name: value for name, value in switches.items() if optimizer._settings[name] is only_default}
        settings = switches | settings
        missing = [name for name in optimizer.defaults if name not in settings]
        if missing:
            raise ValueError(
                f"{where}: missing {', '.join(missing)} in group {k}\n  expected all that state_dict() returned\n"
                "  likely the state of another optimizer"
            )
        try:
            found.append(deepcopy(optimizer._checked(settings)))
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace(type(optimizer).__name__, where, 1)) from None
    return found


Entries = list[tuple[str, Any, str, Any]]
"""The entries of a state: the word for it in messages, the number of its parameter, torch's name, the value."""


def _of_flat(optimizer: HasGroups, state: Mapping[str, Any]) -> Entries:
    names = {letter: name for name, letter in optimizer._remembered.items()}
    entries: Entries = []
    for key, value in state.items():
        number, _, letter = str(key).partition(".")
        whole = number.isascii() and number.isdecimal()
        if key not in ("optimizer", "param_groups"):
            entries.append((str(key), int(number) if whole else number, names.get(letter, ""), value))
    return entries


def _of_torch(where: str, state: Any) -> Entries:
    if not isinstance(state, Mapping) or not all(isinstance(values, Mapping) for values in state.values()):
        raise TypeError(f"{where}: state is a {type(state).__name__}\n  expected a dict of dicts")
    return [
        (f"{name} in state[{number!r}]", number, name, value)
        for number, values in state.items()
        for name, value in values.items()
        if value is not None  # torch's older SGD keeps None where there is no momentum
    ]


def _memory(where: str, optimizer: HasGroups, entries: Entries) -> Memory:
    """The memory of each parameter, if it has all entries that a step needs."""
    parameters, memory = optimizer.parameters, Memory()
    for key, number, name, value in entries:
        known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(parameters)
        if not known or name not in optimizer._remembered:
            torchs = known and name and key.startswith(str(name))
            below = f"numbers below {len(parameters)}, that of the parameters, and "
            expected = ", ".join(optimizer._remembered if torchs else optimizer._remembered.values())
            raise ValueError(
                f"{where}: unexpected {key}\n  expected {'' if torchs else below}{expected}\n"
                "  likely the state of another optimizer"
            )
        p = parameters[number]
        memory.setdefault(p, {})[name] = _value(where, key, name, value, None if optimizer._one_vector else p.shape, p)
    for k, p in enumerate(parameters):
        if missing := [name for name in optimizer._needed if p in memory and name not in memory[p]]:
            keys = ", ".join(f"{k}.{optimizer._remembered[name]} ({name})" for name in missing)
            raise ValueError(f"{where}: missing {keys}\n  expected all that state_dict() returned")
    return memory


def _value(where: str, key: str, name: str, value: Any, shape: Any, p: Tensor) -> Any:
    """A remembered value: an int, a float, or a Tensor of a shape (None: any) on the device of its parameter."""
    for method in ("detach", "cpu"):  # of torch
        value = getattr(value, method)() if hasattr(value, method) else value
    if name in COUNTS or name in NUMBERS:
        if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
            if np.shape(value) != () or np.asarray(value).dtype.kind not in "fiu":
                raise TypeError(f"{where}: {key} has shape {np.shape(value)}\n  expected one number")
            value = np.asarray(value).item()
        if name in NUMBERS:
            return check.number(where, key, value)
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            value = int(value)
        return check.integer(where, key, value, 0)
    if shape is not None and np.shape(value) != shape:
        raise ValueError(
            f"{where}: {key} has shape {np.shape(value)}\n  expected {p.shape}, that of its parameter\n"
            "  likely parameters in another order, or of another model"
        )
    return tensor(value if isinstance(value, Tensor) else np.asarray(value), device=p.device, dtype=p.dtype)

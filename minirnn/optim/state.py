"""Writes and reads the state of an optimizer as a dict, either flat, for files, or in torch's layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from minirnn import check
from minirnn.engine.tensor import Tensor, tensor
from minirnn.optim.settings import HasGroups, only_default

Memory = dict[Tensor, dict[str, Any]]
NOT_SETTINGS = ("params", "param_names")
NUMBERS = ("mu_product", "eta", "mu")
"""The entries of the state that are floats."""


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
        state[f"{k}.{optimizer.remembered.get(name, name)}"] = value
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
    if "optimizer" not in state and "state" in state and "param_groups" in state:
        values = _of_torch(where, optimizer, state["state"])
        return _groups(where, optimizer, state["param_groups"]), values
    if state.get("optimizer") != name:
        raise ValueError(f"{where}: got the state of {state.get('optimizer')}\n  expected {name}")
    rest = {key: value for key, value in state.items() if key != "optimizer"}
    if "param_groups" not in rest:
        raise ValueError(f"{where}: missing param_groups\n  expected all that state_dict() returned")
    groups = rest.pop("param_groups")
    return _groups(where, optimizer, groups), _of_flat(where, optimizer, rest)


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
        settings |= {name: value for name, value in switches.items() if optimizer.settings[name] is only_default}
        settings = switches | settings
        missing = [name for name in optimizer.defaults if name not in settings]
        if missing:
            raise ValueError(
                f"{where}: missing {', '.join(missing)} in group {k}\n  expected all that state_dict() returned\n"
                "  likely the state of another optimizer"
            )
        try:
            found.append(deepcopy(optimizer.checked(settings)))
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace(type(optimizer).__name__, where, 1)) from None
    return found


def _of_flat(where: str, optimizer: HasGroups, entries: Mapping[str, Any]) -> Memory:
    parameters, letters = optimizer.parameters, optimizer.remembered
    names = {letter: name for name, letter in letters.items()}
    memory: Memory = {}
    for key, value in entries.items():
        number, _, letter = str(key).partition(".")
        if letter not in names or not (number.isascii() and number.isdecimal()) or int(number) >= len(parameters):
            raise ValueError(
                f"{where}: unexpected {key}\n"
                f"  expected numbers below {len(parameters)}, that of the parameters, and {', '.join(names)}"
            )
        p = parameters[int(number)]
        memory.setdefault(p, {})[names[letter]] = _value(where, key, names[letter], value, p)
    return _complete(where, optimizer, memory, lambda k, name: f"{k}.{letters[name]}")


def _of_torch(where: str, optimizer: HasGroups, entries: Any) -> Memory:
    parameters = optimizer.parameters
    if not isinstance(entries, Mapping) or not all(isinstance(values, Mapping) for values in entries.values()):
        raise TypeError(f"{where}: state is a {type(entries).__name__}\n  expected a dict of dicts")
    memory: Memory = {}
    for number, values in entries.items():
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(parameters):
            raise ValueError(f"{where}: unexpected state[{number!r}]\n  expected numbers below {len(parameters)}")
        p = parameters[number]
        for name, value in values.items():
            if name not in optimizer.remembered:
                raise ValueError(
                    f"{where}: unexpected {name} in state[{number}]\n  expected {', '.join(optimizer.remembered)}\n"
                    "  likely the state of another optimizer"
                )
            if value is not None:  # torch's older SGD keeps None where there is no momentum
                memory.setdefault(p, {})[name] = _value(where, f"state[{number}][{name!r}]", name, value, p)
    return _complete(where, optimizer, memory, lambda k, name: f"{name} in state[{k}]")


def _value(where: str, key: str, name: str, value: Any, p: Tensor) -> Any:
    """A remembered value: an int, a float, or a Tensor on the device of its parameter."""
    for method in ("detach", "cpu"):  # of torch
        value = getattr(value, method)() if hasattr(value, method) else value
    if name == "step" or name in NUMBERS:
        if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
            if np.shape(value) != () or np.asarray(value).dtype.kind not in "fiu":
                raise TypeError(f"{where}: {key} has shape {np.shape(value)}\n  expected one number")
            value = np.asarray(value).item()
        if name in NUMBERS:
            return check.number(where, key, value)
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            value = int(value)
        return check.integer(where, key, value, 0)
    if np.shape(value) != p.shape:
        raise ValueError(
            f"{where}: {key} has shape {np.shape(value)}\n  expected {p.shape}, that of its parameter\n"
            "  likely parameters in another order, or of another model"
        )
    return tensor(value if isinstance(value, Tensor) else np.asarray(value), device=p.device, dtype=p.dtype)


def _complete(where: str, optimizer: HasGroups, memory: Memory, label: Any) -> Memory:
    """`memory`, if it has all entries that a step needs for each of its parameters."""
    always = [name for name in optimizer.remembered if name in optimizer.needed]
    missing = [
        label(k, name)
        for k, p in enumerate(optimizer.parameters)
        if p in memory
        for name in always
        if name not in memory[p]
    ]
    if missing:
        raise ValueError(f"{where}: missing {', '.join(missing)}\n  expected all that state_dict() returned")
    return memory

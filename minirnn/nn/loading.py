"""Checks of `Module.load_state_dict`: names and shapes that do not fit, and the likely cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import commonprefix
from typing import Any

import numpy as np

from minirnn.arguments.host_array import floats, whole
from minirnn.engine.tensor import Tensor

_SHOWN = 6
_GATES = {1: "a plain RNN", 3: "a GRU", 4: "an LSTM"}


def check_names(module: str, own: Sequence[str], state: Any, strict: bool) -> tuple[list[str], list[str]]:
    """The missing and the unexpected names. Raises ValueError if there are any and `strict`."""
    if not isinstance(state, Mapping):
        raise TypeError(
            f"load_state_dict: got a {type(state).__name__}\n  expected a dict of name -> array, as of state_dict()"
            + ("\n  likely all that io.checkpoint.load returned: its first part" if isinstance(state, tuple) else "")
        )
    missing = [name for name in own if name not in state]
    unexpected = [str(name) for name in state if name not in own]
    if strict and (missing or unexpected):
        wrong = [f"missing {_listed(missing)}"] * bool(missing) + [f"unexpected {_listed(unexpected)}"] * bool(
            unexpected
        )
        raise ValueError(
            f"load_state_dict: {'; '.join(wrong)}\n"
            f"  expected the names of {module}: {_listed(own)}\n"
            f"  {_cause(own, list(map(str, state)), missing, unexpected)}"
        )
    return missing, unexpected


def check_values(parameters: Mapping[str, Tensor], state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The values as arrays. Raises ValueError or TypeError if one does not fit."""
    values, wrong, causes = {}, [], []
    for name, parameter in parameters.items():
        what = f"load_state_dict: {name}"
        value = floats(what, state[name]) if parameter.dtype.kind == "f" else whole(what, state[name])
        if value.shape != parameter.shape:
            wrong.append(f"{name} has shape {value.shape}, expected {parameter.shape}")
            causes.append(
                _gates_cause(name, value.shape, parameter.shape) or _shape_cause(value.shape, parameter.shape)
            )
        values[name] = value
    if wrong:
        raise ValueError(f"load_state_dict: {_listed(wrong, '; ')}\n  {causes[0]}")
    return values


def _listed(names: Sequence[str], comma: str = ", ") -> str:
    more = len(names) - _SHOWN
    return comma.join(names[:_SHOWN]) + (f"{comma}and {more} more" if more > 0 else "")


def _cause(own: Sequence[str], given: Sequence[str], missing: Sequence[str], unexpected: Sequence[str]) -> str:
    for longer, shorter, text in (
        (given, own, "the values were saved from a larger module: cut the prefix {!r} off their names"),
        (own, given, "the values were saved from the inner module: load them there, or put {!r} before their names"),
    ):
        prefix = commonprefix(list(longer))
        prefix = prefix[: prefix.rfind(".") + 1]
        if prefix and {name.removeprefix(prefix) for name in longer} == set(shorter):
            return f"likely {text.format(prefix)}"
    from difflib import get_close_matches  # imported only after a mistake, because it takes time

    for name in unexpected:
        if close := get_close_matches(name, missing, 1, 0.8):
            return f"likely {name} is another spelling of {close[0]}"
    return "likely saved from another model; strict=False loads the names that fit"


def _gates_cause(name: str, got: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The likely cause, if weights of another cell with the same number of units would have this shape, else ""."""
    if name.rpartition(".")[2].startswith(("weight_ih", "weight_hh", "bias_ih", "bias_hh")) and got[1:] == expected[1:]:
        for gates, kind in _GATES.items():
            for own, own_kind in _GATES.items():
                if got and gates != own and got[0] * own == expected[0] * gates:
                    return f"likely the weights of {kind} (gates: {gates}); expected those of {own_kind} (gates: {own})"
    return ""


def _shape_cause(got: tuple[int, ...], expected: tuple[int, ...]) -> str:
    if len(got) == 2 and got[::-1] == expected:
        return "likely transposed: torch and minirnn's Linear keep (outputs, inputs), TensorFlow (inputs, outputs)"
    if sorted(got) == sorted(expected):
        return "likely axes in another order"
    if len(got) != len(expected):
        return "likely another layer, or one that was flattened or split"
    return "likely saved from a model of another size"


def refuse_other_gru(module: str, state: Any, reset: str) -> None:
    """Raise ValueError if `state` holds the weights of a GRU whose reset gate acts elsewhere.

    `reset` is the position of the module's reset gate: "before" or "after" the matrix product.
    """
    if not isinstance(state, Mapping):
        return
    names = {str(name).rpartition(".")[2] for name in state}
    before = {"w_ru", "w_c"} <= names
    after = any(name.startswith("weight_hh") for name in names) and not before
    if (before and reset == "after") or (after and reset == "before"):
        kinds = {"before": "GRUBlockCell, reset before the product", "after": "torch and cuDNN, reset after it"}
        other = "before" if reset == "after" else "after"
        raise ValueError(
            f"load_state_dict: these are weights of another kind of network ({kinds[other]})\n"
            f"  expected those of {module} ({kinds[reset]} if a GRU)\n"
            "  the reset gate of a GRU acts before the matrix product or after it; in general no weights make the two"
            " equal"
        )

"""Results of torch.nn.functional, stored in tests/golden/losses, and the same calls of minirnn.nn.functional."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from tests.compare import assert_close

FOLDER = Path(__file__).parents[2] / "golden" / "losses"
TOLERANCE = (1e-11, "float64: ten digits, and one more for numbers of order 1")


def cases(*functions: str) -> list[Any]:
    """The names of all stored cases of some functions, as (function, case)."""
    found = []
    for name in functions:
        with np.load(FOLDER / f"{name}.npz") as stored:
            found += [(name, key.removesuffix("|out")) for key in stored.files if key.endswith("|out")]
    assert found
    return found


@cache
def stored_of(function: str) -> dict[str, np.ndarray]:
    """The whole golden file of a function, read once. The arrays are read-only."""
    with np.load(FOLDER / f"{function}.npz") as stored:
        arrays = dict(stored)
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def case(function: str, name: str) -> dict[str, Any]:
    """One case: `in` and `grad` by argument, `said`, `out` and `cotangent`."""
    stored = stored_of(function)
    parts = {key.removeprefix(f"{name}|"): array for key, array in stored.items() if key.startswith(f"{name}|")}
    return {
        "in": {key[3:]: value for key, value in parts.items() if key.startswith("in|")},
        "grad": {key[5:]: value for key, value in parts.items() if key.startswith("grad|")},
        "said": json.loads(str(parts["said"])),
        "out": parts["out"],
        "cotangent": parts.get("cotangent"),
    }


def inputs_of(stored: dict[str, Any], device: str) -> dict[str, mr.Tensor]:
    return {
        key: mr.tensor(value, requires_grad=key in stored["grad"], device=device) for key, value in stored["in"].items()
    }


def assert_is_stored(y: mr.Tensor, inputs: dict[str, mr.Tensor], stored: dict[str, Any]) -> None:
    """Fail unless value and gradients agree with torch's."""
    assert y.dtype == stored["out"].dtype
    assert_close(y, stored["out"], *TOLERANCE)
    names = list(stored["grad"])
    if names:
        for key, g in zip(names, mr.grad(y, [inputs[k] for k in names], stored["cotangent"]), strict=True):
            assert_close(g, stored["grad"][key], *TOLERANCE, what=f"gradient of {key}")


def replay(function: str, name: str, device: str) -> None:
    """The call as in torch, with the arguments by name, on a device."""
    stored = case(function, name)
    inputs = inputs_of(stored, device)
    y = getattr(mr.nn.functional, function)(**inputs, **stored["said"])
    assert y.device == device
    assert_is_stored(y, inputs, stored)


def check_derivatives(function: str, name: str) -> None:
    """First and second derivatives against differences in three random directions, without torch."""
    stored = case(function, name)
    names = list(stored["grad"])
    rest = {key: value for key, value in stored["in"].items() if key not in names}

    def call(*values: mr.Tensor) -> mr.Tensor:
        return getattr(mr.nn.functional, function)(**dict(zip(names, values, strict=True)), **rest, **stored["said"])

    assert mr.gradcheck(call, [stored["in"][key] for key in names], order=2, max_entries=0, directions=3)

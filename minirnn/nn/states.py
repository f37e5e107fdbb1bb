"""Checks of the inputs and states of recurrent modules, and the named parts of an LSTM's state.

TensorFlow writes the state of an LSTM as (c, h), torch as (h, c). Both parts have the same shape, so exchanging them
raises no error. A named pair is therefore read by its names, whichever module made it. Only a pair without names is
read in the order of the module that receives it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minirnn.arguments import check
from minirnn.devices.base import Device
from minirnn.engine import html
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.fused import zeros


@html.shows_outputs
class LSTMState(NamedTuple):
    """State of LSTMBlockCell and LSTMBlockFusedCell, in TensorFlow's order (torch has h first: `LSTMHidden`)."""

    c: Tensor
    """(B, H), the cell state, called ``cs`` by the ops."""
    h: Tensor
    """(B, H), the output."""


@html.shows_outputs
class LSTMHidden(NamedTuple):
    """State of LSTM and LSTMCell, in torch's order (TensorFlow has c first: `LSTMState`)."""

    h: Tensor
    """(L*D, B, P) of LSTM, (B, H) of LSTMCell: the output."""
    c: Tensor
    """(L*D, B, H) of LSTM, (B, H) of LSTMCell: the cell state."""


_LETTERS = {"h": "h", "h_0": "h", "h_n": "h", "hx": "h", "c": "c", "c_0": "c", "c_n": "c", "cx": "c", "cs": "c"}


def lstm_pair(module: str, name: str, value: Any, order: str) -> tuple[Any, Any]:
    """The parts of an LSTM's state in `order`, "hc" or "ch". They are read by name if `value` has names, else in order.

    Raises TypeError if `value` is not a pair, or its names are not those of h and c.
    """
    pair = f"({order[0]}, {order[1]})"
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        parts = {_LETTERS.get(field): part for field, part in value._asdict().items()}
        if len(value) != 2 or parts.keys() != {"h", "c"}:
            raise TypeError(
                f"{module}: {name} is a {type(value).__name__} with the fields {', '.join(value._asdict())}\n"
                f"  expected fields h and c, which are read by name, or a plain pair {pair}"
            )
        return parts[order[0]], parts[order[1]]
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        what = f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (tuple, list)) else "")
        raise TypeError(
            f"{module}: {name} is {what}\n  expected the pair {pair}, or a state with the fields h and c\n"
            "  one Tensor is what RNN and GRU take"
        )
    first, second = value
    return first, second


def check_place(module: str, name: str, t: Tensor, dtype: Any, device: Device) -> None:
    """Raise TypeError unless `t` has the dtype of the parameters, ValueError unless it is on their device."""
    if t.dtype != dtype:
        raise TypeError(f"{module}: {name} has dtype {t.dtype}, the parameters have {dtype}\n  expected one dtype")
    if t.device is not device:
        raise ValueError(
            f"{module}: {name} is on {t.device}, the parameters are on {device}\n  expected one device\n"
            f"  move it by {name}.to({device.name!r}), or the module by .to({t.device.name!r})"
        )


def exchanged(module: str, numbers: tuple[str, str]) -> str:
    """The likely cause when an input is as wide as there are units."""
    return (
        f"likely its two numbers were exchanged: {module}({', '.join(numbers)}); "
        "TensorFlow's cells take the units first, torch's the inputs"
    )


def inputs(module: str, x: Any, letters: str, I: int, H: int, like: Tensor) -> Tensor:
    """`x` as a Tensor with the axes `letters` (such as ``"T B I"``), the last of which has the size `I`.

    Arrays are moved to the device of `like`, the parameters. `H` serves to detect a cell whose two sizes were
    exchanged.
    """
    if not isinstance(x, Tensor):
        x = as_tensor(x, device=like.device)
    sizes = check.rank(module, "inputs", x.shape, letters)
    note = exchanged(module, ("num_units", "input_size")) if sizes[-1] == H != I else ""
    check.shape(module, "inputs", x.shape, letters.replace(" ", ", "), (*sizes[:-1], I), "input_size", note)
    return x


def state(module: str, name: str, value: Any, B: int, H: int, like: Tensor) -> Tensor:
    """A state (B, H), zeros if None. Raises ValueError for another shape."""
    if value is None:
        return zeros((B, H), like)
    if isinstance(value, tuple):
        raise TypeError(
            f"{module}: {name} is a tuple of {len(value)}\n  expected (B, H) = {(B, H)}\n"
            "  a pair (c, h) is what LSTMBlockCell takes, (h, c) what LSTMCell takes"
        )
    if not isinstance(value, Tensor):
        value = as_tensor(value, device=like.device)
    source = f"inputs with B = {B} and num_units or hidden_size = {H}"
    note = "likely the state of nn.LSTM or nn.GRU, (L*D, B, H): take one layer of it" if value.ndim == 3 else ""
    check.shape(module, name, value.shape, "B, H", (B, H), source, note)
    return value

"""Argument checks of the CudnnRNN ops; TensorFlow leaves several of these to chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from minirnn.devices.base import Array, Device
from minirnn.engine.tensor import Tensor, tensor
from minirnn.host_array import floats, integers
from minirnn.ops import check
from minirnn.ops.cudnn_rnn import params_check
from minirnn.ops.cudnn_rnn.dropout import dropout_mask
from minirnn.ops.cudnn_rnn.network import Call, masks_in_reserve, reserve_belongs_to, reserve_size
from minirnn.ops.cudnn_rnn.params import DIRECTIONS, GATES, INPUT_MODES, Network
from minirnn.ops.primitives import transpose


@dataclass(frozen=True)
class Arguments:
    """The checked arguments of a call, time-major."""

    call: Call
    inputs: list[Tensor]
    """x, h0, (c0,) params"""
    masks: list[Array] | None


def to_time_major(t: Tensor, time_major: bool) -> Tensor:
    """Exchange the first two axes of a batch-major array (and back)."""
    return t if time_major else transpose(t, (1, 0, 2))


@lru_cache(maxsize=256)
def _network(rnn_mode: str, L: int, H: int, I: int, direction: str, input_mode: str, num_proj: int, op: str) -> Network:
    """The same Network for the same arguments: its layout is worked out once, not at every call."""
    return Network(rnn_mode, L, H, I, direction, input_mode, num_proj, op=op)


def check_forward(
    op: str,
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    lengths: Any,
    attributes: dict[str, Any],
    dropout_masks: Any = None,
    training: bool = True,
) -> Arguments:
    """Check what forward and backward ops have in common."""
    rnn_mode = params_check.choice(op, "rnn_mode", attributes["rnn_mode"], GATES)
    direction = params_check.choice(op, "direction", attributes["direction"], DIRECTIONS)
    params_check.choice(op, "input_mode", attributes["input_mode"], INPUT_MODES)
    dropout = check.number(op, "dropout", attributes["dropout"])
    if not 0 <= dropout <= 1:
        raise ValueError(f"{op}: dropout is {dropout}\n  expected 0 .. 1, the probability of a zero")
    seeds = [check.integer(op, name, attributes[name], -(2**63), 2**64 - 1) for name in ("seed", "seed2")]
    time_major = check.flag(op, "time_major", attributes["time_major"])

    lstm = rnn_mode == "lstm"
    named = {"input": input, "input_h": input_h, **({"input_c": input_c} if lstm else {}), "params": params}
    x, h, *rest = check.tensors(op, **named)
    params = rest[-1]
    tb = "T B" if time_major else "B T"
    check.rank(op, "input", x.shape, f"{tb} I")
    lb = "L*D B" if time_major else "B L*D"
    check.rank(op, "input_h", h.shape, f"{lb} P")
    x, h = to_time_major(x, time_major), to_time_major(h, time_major)
    T, B, I = x.shape
    LD, _, P = h.shape
    for letter, size in (("T", T), ("B", B), ("I", I)):
        check.positive(op, letter, size, f"input, time-major {x.shape}")
    D = DIRECTIONS[direction]
    note = ""
    if time_major and h.shape[1] == T != B:
        cure = "pass time_major=False" if op.endswith("_v3") else "input must be (T, B, I)"
        note = f"likely batch-first: {cure}"
    letters = "L*D, B, P" if time_major else "B, L*D, P"
    _shape(op, "input_h", h, letters, (LD, B, P), f"input {x.shape}, time-major", time_major, note)
    if LD == 0 or LD % D:
        raise ValueError(
            f"{op}: input_h has {LD} pseudo-layers, direction is {direction!r}\n"
            f"  expected L*D of them with D = {D}, so a multiple of {D}"
        )
    H = P
    num_proj = attributes["num_proj"]
    if lstm:
        c = rest[0]
        check.rank(op, "input_c", c.shape, f"{lb} H")
        c = to_time_major(c, time_major)
        H = c.shape[2]
        _shape(op, "input_c", c, letters.replace("P", "H"), (LD, B, H), f"input_h {h.shape}, time-major", time_major)
        if num_proj == 0 and H != P:
            raise ValueError(
                f"{op}: input_h has width {P}, input_c has width {H}\n"
                "  expected equal widths without a projection (P = H)\n  likely num_proj is missing"
            )
    check.positive(op, "H", H, "input_c" if lstm else "input_h")
    num_proj = check.integer(op, "num_proj", num_proj, 0)
    net = _network(rnn_mode, LD // D, H, I, direction, attributes["input_mode"], num_proj, op)
    if net.P != P:
        raise ValueError(f"{op}: input_h has width {P}\n  expected P = num_proj = {net.P}")
    if params.shape != (net.size,):
        net.check_params(op, params)  # raises, with an explanation
    inputs = [x, h, c, params] if lstm else [x, h, params]
    steps = sequence_lengths(op, lengths, T, B)

    masks = _given_masks(op, dropout_masks, net, T, B, time_major, x) if dropout_masks is not None else None
    if not training:
        masks = None
    elif masks is None and dropout > 0 and net.L > 1:
        shape = (T, B, D * P)
        masks = [
            x.device.asarray(dropout_mask(shape, dropout, layer, *seeds).astype(x.dtype)) for layer in range(net.L - 1)
        ]
    return Arguments(Call(net, T, B, steps, masks is not None), inputs, masks)


def check_backprop(
    op: str,
    arguments: Arguments,
    attributes: dict[str, Any],
    output: Any,
    states: Sequence[Any],
    gradients: Sequence[Any],
    reserve_space: Any,
) -> tuple[Arguments, list[Tensor], Array | None]:
    """Check the rest of a Backprop op: the call with its masks, [output, gradients ...], the reserve space."""
    call, inputs, _ = arguments.call, arguments.inputs, arguments.masks
    net, x = call.net, inputs[0]
    time_major, lstm = attributes["time_major"], net.rnn_mode == "lstm"
    sizes = {
        "output": (call.T, call.B, net.D * net.P),
        "output_h": (net.L * net.D, call.B, net.P),
        "output_c": (net.L * net.D, call.B, net.H),
    }
    letters = {"output": "T, B, D*P", "output_h": "L*D, B, P", "output_c": "L*D, B, H"}
    named = dict(zip(sizes, (output, *states), strict=True))
    named |= {f"{name}_backprop": g for name, g in zip(sizes, gradients, strict=True)}
    if not lstm:  # their cell states are dummies
        named = {name: value for name, value in named.items() if not name.startswith("output_c")}
    checked = dict(zip(named, check.tensors(op, input=x, **named)[1:], strict=True))
    for name, t in checked.items():
        kind = name.removesuffix("_backprop")
        check.rank(op, name, t.shape, letters[kind].replace(",", ""))
        t = checked[name] = to_time_major(t, time_major)
        _shape(op, name, t, letters[kind], sizes[kind], f"input {x.shape}, time-major", time_major)

    reserve = check.tensors(op, input=x, reserve_space=reserve_space)[1]
    check.rank(op, "reserve_space", reserve.shape, "n")
    if reserve.shape == (0,):  # of a call with is_training=False: nothing was kept, and nothing was dropped
        kept, masks = None, None
        call = Call(net, call.T, call.B, call.lengths, False)
    else:
        call, kept = _reserve(op, x.device, call, reserve, checked["output"]), reserve.array
        masks = masks_in_reserve(x.device, call, kept)
    tensors = [checked["output"], checked["output_backprop"], checked["output_h_backprop"]]
    if lstm:
        tensors.append(checked["output_c_backprop"])
    return Arguments(call, inputs, masks), tensors, kept


def _reserve(op: str, device: Device, call: Call, reserve: Tensor, output: Tensor) -> Call:
    """The call that made `reserve`: with dropout masks in it or without, by its size."""
    calls = [Call(call.net, call.T, call.B, call.lengths, dropping) for dropping in (call.dropping, not call.dropping)]
    for candidate in calls if call.net.L > 1 else calls[:1]:
        if reserve.shape == (reserve_size(device, candidate),):
            if not reserve_belongs_to(device, candidate, reserve.array, output.array):
                raise ValueError(
                    f"{op}: reserve_space was not made by the call that returned this output\n"
                    "  expected output and reserve_space of one forward call\n"
                    "  likely the reserve_space of an earlier step"
                )
            return candidate
    raise ValueError(
        f"{op}: reserve_space has shape {reserve.shape}\n"
        f"  expected ({reserve_size(device, calls[0])},), as the forward call on {device} returns it\n"
        "  likely that of another call, mode or device"
    )


def _shape(
    op: str,
    name: str,
    t: Tensor,
    letters: str,
    expected: tuple[int, ...],
    source: str,
    time_major: bool,
    note: str = "",
) -> None:
    """check.shape for an array that was made time-major: the message shows it as the user gave it."""
    if t.shape != expected:
        swap = (lambda s: s) if time_major else (lambda s: (s[1], s[0], *s[2:]))
        raise ValueError(
            f"{op}: {name} has shape {swap(t.shape)}\n  expected ({letters}) = {swap(expected)}, from {source}"
            + (f"\n  {note}" if note else "")
        )


def sequence_lengths(op: str, lengths: Any, T: int, B: int) -> np.ndarray | None:
    """sequence_lengths as int64 (B,), each 1 .. T; None if all are T."""
    if lengths is None:
        return None
    found = integers(f"{op}: sequence_lengths", lengths)
    if found.shape != (B,):
        cause = ""
        if found.shape == (T,):
            cause = "\n  likely time and batch of the input are exchanged"
        elif found.ndim == 2:
            cause = "\n  likely a mask: its sum over time gives the lengths"
        raise ValueError(f"{op}: sequence_lengths has shape {found.shape}\n  expected (B,) = ({B},){cause}")
    for b, length in enumerate(found.tolist()):
        if not 1 <= length <= T:
            raise ValueError(
                f"{op}: sequence_lengths[{b}] is {length}\n  expected 1 .. {T} (T)"
                + ("\n  an empty sequence has no last step; leave it out of the batch" if length == 0 else "")
            )
    return None if (found == T).all() else found.astype(np.int64)


def _given_masks(op: str, masks: Any, net: Network, T: int, B: int, time_major: bool, x: Tensor) -> list[Array]:
    """dropout_masks (L-1, T, B, D*P), already scaled, as arrays of the device; batch-major: (L-1, B, T, D*P)."""
    found = floats(f"{op}: dropout_masks", masks)
    first, second = (T, B) if time_major else (B, T)
    expected = (net.L - 1, first, second, net.D * net.P)
    if found.shape != expected:
        letters = "L-1, T, B, D*P" if time_major else "L-1, B, T, D*P"
        raise ValueError(f"{op}: dropout_masks has shape {found.shape}\n  expected ({letters}) = {expected}")
    if not time_major:
        found = found.transpose(0, 2, 1, 3)
    return [tensor(m, device=x.device, dtype=x.dtype).array for m in found]

"""Argument checks of the CudnnRNN ops. TensorFlow does not make several of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import floats, integers
from minirnn.devices.base import Device
from minirnn.engine import operands
from minirnn.engine.tensor import Tensor, tensor
from minirnn.ops.cudnn_rnn import reserve
from minirnn.ops.cudnn_rnn.params import DIRECTIONS, GATES, INPUT_MODES, Network
from minirnn.ops.cudnn_rnn.zoneout import Zoneout, zoneout_by_layer
from minirnn.ops.primitives import transpose

Shape = tuple[int, ...]


class Attributes(NamedTuple):
    """The user's arguments that describe a network, without its arrays. V1 and V2 are V3 with its defaults."""

    rnn_mode: Any
    input_mode: Any
    direction: Any
    dropout: Any
    seed: Any
    seed2: Any
    num_proj: Any = 0
    time_major: Any = True


class Arguments(NamedTuple):
    """The checked arguments of a call, time-major."""

    net: Network
    inputs: list[Tensor]
    """x, h0, (c0,) params"""
    lengths: np.ndarray | None
    zoneout: Zoneout | None
    """The user's zoneout masks, by layer."""


def to_time_major(ts: Sequence[Tensor], time_major: bool) -> Sequence[Tensor]:
    """Exchange the first two axes of batch-major arrays (and back)."""
    return ts if time_major else [transpose(t, (1, 0, 2)) for t in ts]


def check_forward(
    op: str, inputs: Sequence[Any], sequence_lengths: Any, attributes: Attributes, zoneout_masks: Any
) -> Arguments:
    """Check the arguments that forward and backward ops share. `inputs` are input, input_h, input_c, params."""
    input, input_h, input_c, params = inputs
    lstm = isinstance(attributes.rnn_mode, str) and attributes.rnn_mode == "lstm"
    cell = {"input_c": input_c} if lstm else {}
    ts = operands.tensors(op, input=input, input_h=input_h, **cell, params=params)
    net = _network(op, *attributes, *[t.array.shape for t in ts])
    *states, buffer = ts
    x, *states = to_time_major(states, attributes.time_major)
    T, B, _ = x.array.shape
    lengths = steps_of(op, sequence_lengths, T, B)
    z = None if zoneout_masks is None else zoneout_by_layer(op, zoneout_masks, net, T, B, attributes.time_major, x)
    return Arguments(net, [x, *states, buffer], lengths, z)


@operands.remembered
def _network(
    op: str,
    rnn_mode: Any,
    input_mode: Any,
    direction: Any,
    dropout: Any,
    seed: Any,
    seed2: Any,
    num_proj: Any,
    time_major: Any,
    *shapes: Shape,
) -> Network:
    """The network that the attributes and the shapes of input, input_h, (input_c,) params describe."""
    check.choice(op, "rnn_mode", rnn_mode, GATES)
    check.choice(op, "direction", direction, DIRECTIONS)
    check.choice(op, "input_mode", input_mode, INPUT_MODES)
    check.number(op, "dropout", dropout, 0, 1, ", the probability of a zero")
    for name, value in (("seed", seed), ("seed2", seed2)):
        check.integer(op, name, value, -(2**63), 2**64 - 1)
    check.flag(op, "time_major", time_major)

    tb, lb = ("T B", "L*D B") if time_major else ("B T", "B L*D")
    check.rank(op, "input", shapes[0], f"{tb} I")
    check.rank(op, "input_h", shapes[1], f"{lb} P")
    if rnn_mode == "lstm":
        check.rank(op, "input_c", shapes[2], f"{lb} H")
    x, h, *c = (shape if time_major else (shape[1], shape[0], shape[2]) for shape in shapes[:-1])
    T, B, I = x
    LD, _, P = h
    for letter, size in (("T", T), ("I", I)):
        check.positive(op, letter, size, f"input, time-major {x}")
    D = DIRECTIONS[direction]
    note = ""
    if time_major and h[1] == T != B:
        cure = "pass time_major=False" if op.endswith("_v3") else "input must be (T, B, I)"
        note = f"likely batch-first: {cure}"
    letters = "L*D, B, P" if time_major else "B, L*D, P"
    _shape(op, "input_h", h, letters, (LD, B, P), f"input {x}, time-major", time_major, note)
    if LD == 0 or LD % D:
        raise ValueError(
            f"{op}: input_h has {LD} pseudo-layers, direction is {direction!r}\n"
            f"  expected L*D of them with D = {D}, so a multiple of {D}"
        )
    H = c[0][2] if c else P
    if c:
        source = f"input_h {h}, time-major"
        _shape(op, "input_c", c[0], letters.replace("P", "H"), (LD, B, H), source, time_major)
        if num_proj == 0 and H != P:
            raise ValueError(
                f"{op}: input_h has width {P}, input_c has width {H}\n"
                "  expected equal widths without a projection (P = H)\n  likely num_proj is missing"
            )
    check.positive(op, "H", H, "input_c" if c else "input_h")
    net = _described(op, rnn_mode, LD // D, H, I, direction, input_mode, check.integer(op, "num_proj", num_proj, 0))
    if net.P != P:
        raise ValueError(f"{op}: input_h has width {P}\n  expected P = num_proj = {net.P}")
    net.check_params(op, shapes[-1])
    return net


@lru_cache(maxsize=256)
def _described(
    op: str, rnn_mode: str, L: int, H: int, I: int, direction: str, input_mode: str, num_proj: int
) -> Network:
    """The Network of these sizes. It is cached, so its regions are computed once for all T and B."""
    return Network(rnn_mode, L, H, I, direction, input_mode, num_proj, op=op)


def check_backprop(
    op: str,
    arguments: Arguments,
    time_major: bool,
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    reserve_space: Any,
) -> tuple[list[Tensor], list[Tensor], reserve.Contents | None]:
    """The checked outputs and gradients of a Backprop op, time-major, and the contents of its reserve space.

    The contents are None if the forward call saved nothing.
    """
    net, x = arguments.net, arguments.inputs[0]
    T, B, _ = x.shape
    sizes = {"output": (T, B, net.D * net.P), "output_h": (net.L * net.D, B, net.P)}
    letters = {"output": "T, B, D*P", "output_h": "L*D, B, P", "output_c": "L*D, B, H"}
    if net.rnn_mode == "lstm":  # the cell states of other modes are dummies
        sizes["output_c"] = (net.L * net.D, B, net.H)
    names = [*sizes, *(f"{name}_backprop" for name in sizes)]
    given = dict(zip(names, [*outputs[: len(sizes)], *gradients[: len(sizes)]], strict=True))
    found = dict(zip(names, operands.tensors(op, input=x, **given)[1:], strict=True))
    for name, t in found.items():
        kind = name.removesuffix("_backprop")
        check.rank(op, name, t.shape, letters[kind].replace(",", ""))
        (t,) = to_time_major([t], time_major)
        found[name] = t
        _shape(op, name, t.shape, letters[kind], sizes[kind], f"input {x.shape}, time-major", time_major)
    tensors = list(found.values())

    if isinstance(reserve_space, reserve.ReserveSpace) and reserve_space.device is x.device:
        contents = reserve_space.contents_for(net, arguments.zoneout is not None, found["output"].array)
        if contents is not None:
            return tensors[: len(sizes)], tensors[len(sizes) :], contents
    _, space = operands.tensors(op, input=x, reserve_space=reserve_space)
    check.rank(op, "reserve_space", space.shape, "n")
    contents = None if space.shape == (0,) else _contents(op, arguments, space, found["output"])
    return tensors[: len(sizes)], tensors[len(sizes) :], contents


def of_another_call(op: str, device: Device, shape: Sequence[int]) -> ValueError:
    """The error for a reserve space of this shape, which belongs to another call."""
    return ValueError(
        f"{op}: reserve_space has shape {tuple(shape)}\n"
        f"  expected the one that the forward call on {device} returned with this output\n"
        "  likely that of another call, mode or device"
    )


def _contents(op: str, arguments: Arguments, space: Tensor, output: Tensor) -> reserve.Contents:
    """The contents of a reserve space. Raises ValueError unless the call that returned this output made it."""
    device = space.device
    try:
        found = reserve.cut(device, arguments.net, arguments.zoneout is not None, space.array, output.array)
    except ValueError:
        raise of_another_call(op, device, space.shape) from None
    if not reserve.belongs_to(device, space.array, output.array):
        raise ValueError(
            f"{op}: reserve_space was not made by the call that returned this output\n"
            "  expected output and reserve_space of one forward call\n"
            "  likely the reserve_space of an earlier step"
        )
    return found


def _shape(
    op: str,
    name: str,
    sizes: Shape,
    letters: str,
    expected: Shape,
    source: str,
    time_major: bool,
    note: str = "",
) -> None:
    """check.shape for an array that was made time-major. The message shows the shape in the user's layout."""
    if sizes != expected:
        swap = (lambda s: s) if time_major else (lambda s: (s[1], s[0], *s[2:]))
        raise ValueError(
            f"{op}: {name} has shape {swap(sizes)}\n  expected ({letters}) = {swap(expected)}, from {source}"
            + (f"\n  {note}" if note else "")
        )


def steps_of(op: str, lengths: Any, T: int, B: int, name: str = "sequence_lengths") -> np.ndarray | None:
    """The argument `name` as int64 (B,), each 1 .. T, or None if all are T."""
    if lengths is None:
        return None
    found = lengths_of(op, lengths, T, B, name)
    return None if (found == T).all() else found


def lengths_of(op: str, lengths: Any, T: int, B: int, name: str, least: int = 1) -> np.ndarray:
    """The argument `name` as int64 (B,), each `least` .. T."""
    found = integers(f"{op}: {name}", lengths)
    if found.shape != (B,):
        cause = ""
        if found.shape == (T,):
            cause = "\n  likely time and batch of the input are exchanged"
        elif found.ndim == 2:
            cause = "\n  likely a mask: its sum over time gives the lengths"
        raise ValueError(f"{op}: {name} has shape {found.shape}\n  expected (B,) = ({B},){cause}")
    for b, length in enumerate(found.tolist()):
        if not least <= length <= T:
            raise ValueError(
                f"{op}: {name}[{b}] is {length}\n  expected {least} .. {T} (T)"
                + ("\n  an empty sequence has no last step; leave it out of the batch" if length == 0 else "")
            )
    return found.astype(np.int64)


def masks_between_layers(op: str, masks: Any, net: Network, time_major: bool, x: Tensor) -> list[Tensor]:
    """dropout_masks (L-1, T, B, D*P), already scaled, by layer; batch-major: (L-1, B, T, D*P).

    T may be 1: one mask for all steps.
    """
    T, B, _ = x.shape
    found = floats(f"{op}: dropout_masks", masks)
    first, second = (T, B) if time_major else (B, T)
    expected = (net.L - 1, first, second, net.D * net.P)
    for_all_steps = (net.L - 1, 1, B, net.D * net.P) if time_major else (net.L - 1, B, 1, net.D * net.P)
    if found.shape not in (expected, for_all_steps):
        letters = "L-1, T, B, D*P" if time_major else "L-1, B, T, D*P"
        raise ValueError(
            f"{op}: dropout_masks has shape {found.shape}\n  expected ({letters}) = {expected}; T may be 1, for one"
            " mask at all steps"
        )
    if not time_major:
        found = found.transpose(0, 2, 1, 3)
    return [tensor(m, device=x.device, dtype=x.dtype) for m in found]

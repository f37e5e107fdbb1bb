"""Cases of the CudnnRNN family: all modes, directions, input modes, depths, projections, lengths, dropout, zoneout.

Weights have the size 1 / sqrt(width of the product). For `rnn_relu` the inputs are drawn again until no pre-activation
is near the kink at 0, where rounding alone would switch a gradient on or off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import tensor
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.case import Arrays, Case, Kinks
from minirnn.proof.tolerance import ACTIVATION, Count

T, B, I, H, P = 4, 3, 5, 6, 4
LENGTHS = (2, 4, 3)
DROPOUT, SEED = 0.5, 3
"""The masks for dropout consist of 0 and 2, those for zoneout of 0, 1/4 and 1, which every dtype holds exactly."""
LARGE = ("rnn_tanh", "gru", "lstm")
KINK = 0.01
"""The smallest distance of an operand of relu from 0."""
ELEMENTWISE = {"rnn_relu": 4, "rnn_tanh": 3 + ACTIVATION, "gru": 8 + 2 * ACTIVATION, "lstm": 5 + 2 * ACTIVATION}
ZONED = 4
"""Roundings of ``z * old + (1 - z) * new``."""
PROJECTED = [*((mode, 0) for mode in ELEMENTWISE), ("lstm", P)]
"""All modes, and a network with a projection."""
DIRECTIONS = ("unidirectional", "bidirectional")
OUTPUTS = ("output", "output_h", "output_c")
GRADIENTS = ("input_backprop", "input_h_backprop", "input_c_backprop", "params_backprop")


def cases() -> Iterator[Case]:
    """All cases of the CudnnRNN ops."""
    for net in networks():
        for ragged in (False, True):
            for dropping in (False, True)[: net.L]:
                yield forward("cudnn_rnn_v3", net, ragged, dropping, quick=is_quick(net) and ragged and dropping)
    for mode, direction in product(ELEMENTWISE, DIRECTIONS):
        net = Network(mode, 2, H, I, direction)
        for op in ("cudnn_rnn", "cudnn_rnn_v2"):
            yield forward(op, net, False, True, quick=mode == "gru" and net.D == 1)
        yield backprop("cudnn_rnn_backprop_v3", net, True, quick=mode == "gru" and net.D == 1)
        if (net.D == 2) == (mode in ("lstm", "rnn_relu")):  # the older versions are the same code: one direction each
            yield backprop("cudnn_rnn_backprop", net, False, quick=mode == "gru")
            yield backprop("cudnn_rnn_backprop_v2", net, False, quick=mode == "gru")
    yield backprop("cudnn_rnn_backprop_v3", Network("lstm", 2, H, I, "bidirectional", num_proj=P), True)
    for mode in LARGE:
        yield forward("cudnn_rnn_v3", Network(mode, 1, 67, 19), True, False, sizes=(3, 5))
        yield forward("cudnn_rnn_v3", Network(mode, 1, 1, 1), False, False, sizes=(1, 1))
        yield forward("cudnn_rnn_v3", Network(mode, 1, H, I), False, False, sizes=(40, 2))
        yield forward("cudnn_rnn_v3", Network(mode, 1, H, I, "bidirectional"), True, False, time_major=False)
    for (mode, proj), direction in product(PROJECTED, DIRECTIONS):
        for L, ragged in ((1, False), (2, True)):
            net = Network(mode, L, H, I, direction, num_proj=proj)
            yield zoneout(net, ragged, quick=net.D == 2 and L == 2 and (mode != "lstm" or proj > 0))
        yield zoneout(Network(mode, 1, H, H, direction, "skip_input", proj), True)
        yield variational(Network(mode, 3, H, I, direction, num_proj=proj), quick=mode == "gru")


def networks() -> Iterator[Network]:
    """Every combination of mode, direction, input mode, depth and projection."""
    input_modes = (("linear_input", I), ("skip_input", H), ("auto_select", H))
    for (mode, proj), direction, (input_mode, width), L in product(PROJECTED, DIRECTIONS, input_modes, (1, 2)):
        yield Network(mode, L, H, width, direction, input_mode, proj)


def is_quick(net: Network) -> bool:
    """One network of each mode, with all features of the mode."""
    largest = net.L == 2 and net.D == 2 and net.input_mode == "linear_input"
    return largest and (net.rnn_mode != "lstm" or net.num_proj > 0)


def name_of(net: Network) -> str:
    """The name of a network as a variant of the table."""
    layers = "1 layer" if net.L == 1 else f"{net.L} layers"
    projection = ", projection" if net.num_proj else ""
    return f"{net.rnn_mode} {net.direction} {net.input_mode}, {layers}{projection}"


def forward(
    op: str,
    net: Network,
    ragged: bool,
    dropping: bool,
    sizes: tuple[int, int] = (T, B),
    time_major: bool = True,
    quick: bool = False,
    variant: str = "",
    **masks: Any,
) -> Case:
    """A forward op, with gradients through the tape. `masks` are passed in, and `variant` describes them."""
    T, B = sizes
    lengths = lengths_of(ragged, T, B)
    words = [f"T={T} B={B} I={net.I} H={net.H}", *["ragged"] * ragged, *["dropout"] * dropping]
    words += [] if time_major else ["batch-major"]
    count = forward_count(net, T)
    if "zoneout_masks" in masks:
        count += Count(ZONED * T * net.L, f"{ZONED} T L", T * net.L, "T L")
    return Case(
        op,
        name_of(net) + variant,
        " ".join(words),
        partial(call, op, net, lengths, dropping, time_major, **masks),
        partial(draw, net, T, B, time_major, lengths, **masks),
        OUTPUTS if net.rnn_mode == "lstm" else OUTPUTS[:2],
        count,
        count + backward_count(net, T, B),
        step=0.0 if net.input_mode == "auto_select" else step_of(net),  # that is one of the other two input modes
        second_order=quick,
        quick=quick,
    )


def lengths_of(ragged: bool, T: int, B: int) -> np.ndarray | None:
    """Lengths of B sequences, up to T and unordered; None if all have T steps."""
    return np.array([1 + (b + 1) % T for b in range(B)]) if ragged else None


def zoneout(net: Network, ragged: bool, quick: bool = False) -> Case:
    """A forward op with zoneout (Krueger et al. 2017): a mask for each element, one row for all, or a number."""
    rng = np.random.default_rng(7)
    zh: Any = 0.25
    zc: Any = 0.5
    if net.L > 1:
        zh, zc = (rng.choice([0, 0.25, 1], (net.L * net.D, T, B, width)) for width in (net.P, net.H))
    elif net.skip:
        zh, zc = (rng.choice([0, 0.25, 1], (1, 1, B, width)) for width in (net.P, net.H))
    masks = (zh, zc) if net.rnn_mode == "lstm" else zh
    case = forward("cudnn_rnn_v3", net, ragged, False, quick=quick, variant=", zoneout", zoneout_masks=masks)
    return replace(case, quick=quick or (net.L < net.D and net.rnn_mode in ("gru", "lstm")))


def variational(net: Network, quick: bool = False) -> Case:
    """A forward op with one dropout mask for all steps (Gal and Ghahramani 2016)."""
    masks = np.random.default_rng(8).choice([0.0, 2.0], (net.L - 1, 1, B, net.D * net.P))
    variant = ", one dropout mask for all steps"
    return forward("cudnn_rnn_v3", net, True, False, quick=quick, variant=variant, dropout_masks=masks)


def backprop(op: str, net: Network, ragged: bool, quick: bool = False) -> Case:
    """A raw Backprop op, as a function of the inputs of the forward op and of the gradients of its outputs."""
    lengths = np.array(LENGTHS) if ragged else None
    count = forward_count(net, T) + backward_count(net, T, B)
    return Case(
        op,
        name_of(net),
        f"T={T} B={B} I={net.I} H={net.H}" + (" ragged" if ragged else "") + " dropout",
        partial(call_backprop, op, net, lengths),
        partial(draw_backprop, net, lengths),
        GRADIENTS if net.rnn_mode == "lstm" else (*GRADIENTS[:2], GRADIENTS[3]),
        count,
        count.twice(),
        step=step_of(net),
        quick=quick,
    )


def step_of(net: Network) -> float:
    """The step of central differences; for relu it is small enough to stay on one side of the kink."""
    return 1e-4 if net.rnn_mode == "rnn_relu" else 1e-3


# ---- roundings


def forward_count(net: Network, T: int) -> Count:
    """Every layer takes T steps, each a product with the input, one with the state, and one with a projection."""
    width = max(net.in_size(layer) for layer in range(net.L)) + net.P + (net.H if net.num_proj else 0)
    step = ELEMENTWISE[net.rnn_mode]
    formula = "T L (in + P + H + {})" if net.num_proj else "T L (in + P + {})"
    return Count(T * net.L * (width + step), formula.format(step), 3 * T * net.L, "3 T L")


def backward_count(net: Network, T: int, B: int) -> Count:
    """Every layer goes T steps back, each with a product of G*H summands; weights add up over T and B."""
    width = net.G * net.H + (net.P if net.num_proj else 0)
    formula = f"T L ({net.G}H{' + P' if net.num_proj else ''} + 16) + T B"
    return Count(T * net.L * (width + 16) + T * B, formula, 8 * T * net.L, "8 T L")


# ---- calls


def split(net: Network, inputs: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """x, h, c (None unless lstm) and params."""
    x, h, *rest = inputs
    return (x, h, rest[0], rest[1]) if net.rnn_mode == "lstm" else (x, h, None, rest[0])


def options_of(net: Network, op: str, dropping: bool) -> dict[str, Any]:
    """The attributes of a call."""
    options: dict[str, Any] = {"rnn_mode": net.rnn_mode, "input_mode": net.input_mode, "direction": net.direction}
    if dropping:
        options |= {"dropout": DROPOUT, "seed": SEED}
    if op.endswith("v3"):
        options["num_proj"] = net.num_proj
    return options


def call(
    op: str, net: Network, lengths: np.ndarray | None, dropping: bool, time_major: bool, *inputs: Any, **masks: Any
) -> Any:
    """Call a forward op and return the float outputs of the mode. `masks` are passed in."""
    options = options_of(net, op, dropping) | masks
    x, h, c, params = split(net, inputs)
    if op == "cudnn_rnn_v3":
        T, B = x.shape[:2] if time_major else x.shape[1::-1]
        steps = np.full(B, T) if lengths is None else lengths
        y = ops.cudnn_rnn_v3(x, h, c, params, steps, time_major=time_major, **options)
    else:
        y = getattr(ops, op)(x, h, c, params, **options)
    return y[: 3 if c is not None else 2]


def call_backprop(op: str, net: Network, lengths: np.ndarray | None, *inputs: Any) -> Any:
    """Call a Backprop op after its forward op and return the gradients of the mode."""
    n = len(inputs) // 2 + 1
    x, h, c, params = split(net, inputs[:n])
    dy, dh, *dc = inputs[n:]
    T, B = x.shape[:2]
    options = options_of(net, op, net.L > 1)
    steps = () if op[-1] != "3" else (np.full(B, T) if lengths is None else lengths,)
    with no_grad():
        y = getattr(ops, op.replace("_backprop", ""))(x, h, c, params, *steps, **options)
    states = (dc[0],) if dc else (tensor(np.zeros(0, x.dtype), device=x.device),)
    found = getattr(ops, op)(x, h, c, params, *steps, *y[:3], dy, dh, *states, *y[3:], **options)
    return found if c is not None else (found[0], found[1], found[3])


# ---- inputs


def draw(
    net: Network,
    T: int,
    B: int,
    time_major: bool,
    lengths: np.ndarray | None,
    rng: np.random.Generator,
    **masks: Any,
) -> Arrays:
    """input, input_h(, input_c) and params; for relu they are drawn again until no pre-activation is near 0."""
    while True:
        states = (net.L * net.D, B)
        found = {"input": rng.standard_normal((T, B, net.I)), "input_h": 0.5 * rng.standard_normal((*states, net.P))}
        if net.rnn_mode == "lstm":
            found["input_c"] = rng.standard_normal((*states, net.H))
        found["params"] = np.concatenate([draw_region(net, region.name, region.shape, rng) for region in regions(net)])
        if net.rnn_mode != "rnn_relu" or distance_of_kink(net, lengths, found, masks) > KINK:
            break
    if not time_major:
        found = {name: a.swapaxes(0, 1) if a.ndim == 3 else a for name, a in found.items()}
    return found


def regions(net: Network) -> list[Any]:
    """The regions of the parameter buffer in their order."""
    listed = [region for layer in net.layers for region in layer[:5] if region is not None]
    return sorted(listed, key=lambda region: region.offset)


def draw_region(net: Network, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """The values of a region, flat."""
    if name.startswith("b") and net.rnn_mode == "rnn_relu":  # most units clearly on or off
        return rng.choice([-1, 1], shape) * rng.uniform(0.4, 0.8, shape)
    scale = 0.3 if name.startswith("b") else shape[1] ** -0.5
    return (rng.standard_normal(shape) * scale).ravel()


def distance_of_kink(net: Network, lengths: np.ndarray | None, inputs: Arrays, masks: dict[str, Any]) -> float:
    """The smallest absolute pre-activation, with and without dropout, for any lengths."""
    device = Kinks()
    for dropping in (False, True)[: net.L]:
        with no_grad():
            tensors = [tensor(a, device=device) for a in inputs.values()]
            call("cudnn_rnn_v3", net, lengths, dropping, True, *tensors, **masks)
    return device.nearest


def draw_backprop(net: Network, lengths: np.ndarray | None, rng: np.random.Generator) -> Arrays:
    """The inputs of the forward op, and a gradient for each of its outputs."""
    found = draw(net, T, B, True, lengths, rng)
    found["output_backprop"] = rng.standard_normal((T, B, net.D * net.P))
    found["output_h_backprop"] = rng.standard_normal((net.L * net.D, B, net.P))
    if net.rnn_mode == "lstm":
        found["output_c_backprop"] = rng.standard_normal((net.L * net.D, B, net.H))
    return found

"""cuDNN: the parameter buffer of the CudnnRNN ops, and TensorFlow's canonical lists of its pieces.

    cudnn.params       params (n,)
    tf.canonical       weights_0, weights_1, ... (H, in), (H, P), (P, H)      biases_0, biases_1, ... (H,)

Order and offsets: `minirnn.ops.cudnn_rnn.params`; gates i, f, n, o and r, z, n, two biases. With input_mode
"skip_input" layer 0 has no input matrices; they are read as identities, and only identities can be left out on
the way back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from minirnn.io.layouts import groups
from minirnn.io.layouts.base import Arrays, Layout
from minirnn.io.layouts.gates import CUDNN_GATES
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights
from minirnn.io.layouts.settings import Settings, missing
from minirnn.ops.cudnn_rnn.params import DIRECTIONS, GATES, Network


class CudnnParams(Layout):
    name = "cudnn.params"
    gates = CUDNN_GATES
    projection = True

    def own(self, arrays: Arrays) -> dict[str, str]:
        named = [key for key, a in arrays.items() if groups.leaf(key)[1] == "params" and a.ndim == 1]
        return {key: groups.leaf(key)[0] for key in named}

    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        named = self.own(arrays)
        if len(named) != 1:
            raise ValueError(f"convert: {self.name}: got {', '.join(arrays)}\n  expected one array called params, (n,)")
        params = arrays[next(iter(named))]
        for name in ("rnn_mode", "num_layers", "num_units", "input_size"):
            if getattr(settings, name) is None:
                raise missing(self.name, name, "the buffer is one row of numbers without any sizes")
        net = network(settings)
        if params.size < net.L:  # a list of so many layers might not fit into memory
            raise ValueError(
                f"convert: {self.name}: num_layers is {net.L}\n  expected fewer than {params.size}, the size of params"
            )
        if params.shape != (net.size,):
            raise ValueError(
                f"convert: {self.name}: params has shape {params.shape}\n  expected (n,) = ({net.size},) for"
                f" {net.rnn_mode}, L {net.L}, H {net.H}, I {net.I}, {net.direction}, {net.input_mode},"
                f" num_proj {net.num_proj}\n"
                "  likely another direction, input_mode or size; real cuDNN may also have added padding"
            )
        return from_buffer(net, params)

    def write(self, weights: NetworkWeights, settings: Settings) -> tuple[dict[str, np.ndarray], Settings]:
        net, params = to_buffer(self.name, weights, settings)
        return {"params": params}, Settings(input_mode="skip_input" if net.skip else "linear_input")


class Canonical(Layout):
    name = "tf.canonical"
    gates = CUDNN_GATES
    projection = True

    def own(self, arrays: Arrays) -> dict[str, str]:
        return {key: "" for key in arrays if re.fullmatch(r"(weights|biases)_\d+", key)}

    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        weights, biases = (
            [arrays[key] for key in sorted(self.own(arrays), key=groups.natural) if key.startswith(name)]
            for name in ("weights", "biases")
        )
        pieces = weights + biases
        fitting = {net: None for net in possible(weights, biases) if agrees(net, settings)}
        if len(fitting) != 1:
            found = "; ".join(
                f"{net.rnn_mode} with {net.L} layer(s), {net.direction}, I {net.I}, H {net.H}, P {net.P}"
                for net in fitting
            )
            raise ValueError(
                f"convert: {self.name}: {len(weights)} weights and {len(biases)} biases fit "
                + (f"several networks: {found}" if fitting else "no network that agrees with what is known")
                + "\n  expected one; give rnn_mode, num_layers and direction (--rnn-mode, --num-layers, --direction)"
            )
        return from_buffer(next(iter(fitting)), np.concatenate([a.reshape(-1) for a in pieces]))

    def write(self, weights: NetworkWeights, settings: Settings) -> tuple[dict[str, np.ndarray], Settings]:
        net, params = to_buffer(self.name, weights, settings)
        arrays = {f"weights_{k}": region.of(params) for k, region in enumerate(net.weights)}
        arrays |= {f"biases_{k}": region.of(params) for k, region in enumerate(net.biases)}
        return arrays, Settings(input_mode="skip_input" if net.skip else "linear_input")


def network(settings: Settings) -> Network:
    """The network that the settings describe; settings that are not given have defaults."""
    known = settings.known()
    names = ("rnn_mode", "num_layers", "num_units", "input_size", "direction", "input_mode", "num_proj")
    return Network(**{name: known[name] for name in names if name in known}, op="convert")


def possible(weights: list[np.ndarray], biases: list[np.ndarray]) -> Iterator[Network]:
    """All networks whose canonical pieces have these sizes (and, where pieces are matrices, these shapes)."""
    if not weights or not biases or not biases[0].size:
        return
    H = biases[0].size
    I = weights[0].size // H
    for rnn_mode, gates in GATES.items():
        for direction, D in DIRECTIONS.items():
            G, num_proj = len(gates), 0
            L = len(biases) // (2 * G * D)
            if L == 0:
                continue
            if len(weights) != len(biases):
                if rnn_mode != "lstm" or len(weights) <= 2 * G:
                    continue
                num_proj = weights[2 * G].size // H
                if not 0 < num_proj < H:
                    continue
            net = Network(
                rnn_mode, L, H, I or H, direction, "linear_input" if I else "skip_input", num_proj, op="convert"
            )
            regions = [*net.weights, *net.biases]
            pieces = [*weights, *biases]
            if (len(net.weights), len(net.biases)) == (len(weights), len(biases)) and all(
                a.size == r.size and (a.ndim == 1 or a.shape == r.shape) for a, r in zip(pieces, regions, strict=True)
            ):
                yield net


def agrees(net: Network, settings: Settings) -> bool:
    """Whether the sizes of a network agree with the known ones."""
    known = settings.known()
    sizes = {name: value for name, value in vars(net).items() if name in known and name != "input_mode"}
    return all(known[name] == value for name, value in sizes.items())


def from_buffer(net: Network, params: np.ndarray) -> NetworkWeights:
    """The weights in a buffer; those W that skip_input leaves out become identities."""
    identity = np.tile(np.eye(net.H, dtype=params.dtype), (net.G, 1))
    layers = tuple(LayerWeights(identity if p.W is None else p.W, p.R, p.bW, p.bR, p.Wp) for p in net.slices(params))
    return NetworkWeights(net.rnn_mode, layers, net.D, "reset_after" if net.rnn_mode == "gru" else None)


def to_buffer(layout: str, weights: NetworkWeights, settings: Settings) -> tuple[Network, np.ndarray]:
    """The parameter buffer of some weights; biases that they lack are zeros in it."""
    net = weights.network(settings.input_mode or "linear_input")
    params = np.zeros(net.size, weights.layers[0].W.dtype)
    identity = np.tile(np.eye(net.H), (net.G, 1))
    for own, layer in zip(net.slices(params), weights.layers, strict=True):
        if own.W is None and not np.array_equal(layer.W, identity):
            raise ValueError(
                f"convert: {layout}: input_mode {net.input_mode!r} leaves out the input matrices of layer 0\n"
                "  expected identities there, got others; use input_mode='linear_input' (--input-mode linear_input)"
            )
        for name in ("W", "R", "Wp", "bW", "bR"):
            source, target = getattr(layer, name), getattr(own, name)
            if source is not None and target is not None:
                target[...] = source
    return net, params

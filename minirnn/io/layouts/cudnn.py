"""cuDNN: the parameter buffer of the CudnnRNN ops.

    cudnn.params       params (n,)

Order and offsets: `minirnn.ops.cudnn_rnn.params`; gates i, f, n, o and r, z, n, two biases. With input_mode
"skip_input" layer 0 has no input matrices; they are read as identities, and only identities can be left out on
the way back.
"""

from __future__ import annotations

import numpy as np

from minirnn.io.layouts import groups
from minirnn.io.layouts.base import Arrays, Layout
from minirnn.io.layouts.gates import CUDNN_GATES
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights
from minirnn.io.layouts.settings import Settings, missing
from minirnn.ops.cudnn_rnn.params import Network


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
        known = settings.known()
        names = ("rnn_mode", "num_layers", "num_units", "input_size", "direction", "input_mode", "num_proj")
        net = Network(**{name: known[name] for name in names if name in known}, op="convert")
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
        identity = np.tile(np.eye(net.H, dtype=params.dtype), (net.G, 1))
        parts = net.slices(params)
        layers = tuple(LayerWeights(identity if p.W is None else p.W, p.R, p.bW, p.bR, p.Wp) for p in parts)
        return NetworkWeights(net.rnn_mode, layers, net.D, "reset_after" if net.rnn_mode == "gru" else None)

    def write(self, weights: NetworkWeights, settings: Settings) -> tuple[dict[str, np.ndarray], Settings]:
        """The buffer; biases that the weights lack are zeros in it."""
        net = weights.network(settings.input_mode or "linear_input")
        params = np.zeros(net.size, weights.layers[0].W.dtype)
        identity = np.tile(np.eye(net.H), (net.G, 1))
        for own, layer in zip(net.slices(params), weights.layers, strict=True):
            if own.W is None and not np.array_equal(layer.W, identity):
                raise ValueError(
                    f"convert: {self.name}: input_mode {net.input_mode!r} leaves out the input matrices of layer 0\n"
                    "  expected identities there, got others; use input_mode='linear_input' (--input-mode linear_input)"
                )
            for name in ("W", "R", "Wp", "bW", "bR"):
                source, target = getattr(layer, name), getattr(own, name)
                if source is not None and target is not None:
                    target[...] = source
        return {"params": params}, Settings(input_mode="skip_input" if net.skip else "linear_input")

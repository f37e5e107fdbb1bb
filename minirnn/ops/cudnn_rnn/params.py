"""The parameter buffer of the CudnnRNN ops: its size, and the place of each weight matrix and bias.

One 1-D array, C order, no padding. Pseudo-layer p = l*D + d is direction d of layer l; in(l) = I for l = 0, else D*P::

    for p in 0 .. L*D-1:   W_g of every gate g, then R_g of every g, then Wp (with a projection)     all matrices first
    for p in 0 .. L*D-1:   bW_g of every g, then bR_g of every g                                     then all biases

    W_g [H, in(l)]   R_g [H, P]   Wp [P, H]   bW_g, bR_g [H]        P = num_proj if there is a projection, else H
    gates: lstm i, f, n, o; gru r, z, n; rnn_tanh and rnn_relu one without a name

Since the gates of one W (R, bW, bR) are neighbors, they can also be read as one stacked matrix [G*H, in] without a
copy: exactly the arrays of `torch.nn`. With input_mode "skip_input" (x enters every gate unchanged, I = H) layer 0 has
no W. Number of elements::

    n = D*G*H*I (0 if skip) + (L-1)*D*G*H*(D*P) + L*D*G*H*P + L*D*num_proj*H + 2*L*D*G*H

The ops that cut the buffer into single matrices and join it again are in `canonical`. Source: TensorFlow's
CudnnRNNParamsSize; real cuDNN may insert padding, this layout does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from minirnn.arguments import check
from minirnn.devices.base import Device, Weights
from minirnn.engine.op import Op
from minirnn.engine.outputs import record_many
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import or_zeros
from minirnn.ops.primitives import concat

GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("i", "f", "n", "o"), "gru": ("r", "z", "n")}
"""rnn_mode -> its gates, in the order of the buffer."""
DIRECTIONS = {"unidirectional": 1, "bidirectional": 2}
INPUT_MODES = ("linear_input", "auto_select", "skip_input")


class Region(NamedTuple):
    """A part of the buffer: ``params[offset : offset + size].reshape(shape)``."""

    name: str
    offset: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    def of(self, params: Any) -> Any:
        """This part of a 1-D array or Tensor; for a NumPy array a view."""
        return params[self.offset : self.offset + self.size].reshape(self.shape)


@dataclass(frozen=True)
class Network:
    """A network of the CudnnRNN family, and the layout of its parameter buffer.

    Raises ValueError for an unknown string, a size below 1, "skip_input" with I != H, or a projection without lstm or
    not below H, and TypeError for a size that is not an integer (bool and float included) or a mode that is not a
    string.

    Parameters
    ----------
    rnn_mode : {"lstm", "gru", "rnn_tanh", "rnn_relu"}
    num_layers, num_units, input_size : int
        L, H, I: Python or NumPy integers or integer arrays of shape ().
    direction : {"unidirectional", "bidirectional"}
    input_mode : {"linear_input", "skip_input", "auto_select"}
        "auto_select" means "skip_input" if I == H (num_units, also with a projection), else "linear_input".
    num_proj : int
        Width of h, 0 < num_proj < H, lstm only; 0 for no projection.
    op : str
        The name of the caller, which begins error messages.
    """

    rnn_mode: str
    num_layers: int
    num_units: int
    input_size: int
    direction: str = "unidirectional"
    input_mode: str = "linear_input"
    num_proj: int = 0
    op: InitVar[str] = "cudnn_rnn"

    def __post_init__(self, op: str) -> None:
        check.choice(op, "rnn_mode", self.rnn_mode, GATES)
        check.choice(op, "direction", self.direction, DIRECTIONS)
        check.choice(op, "input_mode", self.input_mode, INPUT_MODES)
        for name in ("num_layers", "num_units", "input_size"):
            object.__setattr__(self, name, check.integer(op, name, getattr(self, name), 1))  # a plain int
        object.__setattr__(self, "num_proj", projection(op, self.rnn_mode, self.H, self.num_proj))
        if self.input_mode == "skip_input" and self.I != self.H:
            raise ValueError(
                f"{op}: input_mode is 'skip_input', input_size is {self.I}, num_units is {self.H}\n"
                "  expected I = H: without input matrices, x is added to every gate as it is"
            )

    @cached_property
    def L(self) -> int:
        return self.num_layers

    @cached_property
    def H(self) -> int:
        return self.num_units

    @cached_property
    def I(self) -> int:  # noqa: E743
        return self.input_size

    @cached_property
    def D(self) -> int:
        """Directions."""
        return DIRECTIONS[self.direction]

    @cached_property
    def G(self) -> int:
        """Gates."""
        return len(GATES[self.rnn_mode])

    @cached_property
    def P(self) -> int:
        """Width of h."""
        return self.num_proj or self.num_units

    @cached_property
    def skip(self) -> bool:
        """Whether layer 0 has no input matrices."""
        return self.input_mode == "skip_input" or (self.input_mode == "auto_select" and self.I == self.H)

    @cached_property
    def inputs(self) -> int:
        """The number of input arrays: x, h0, (c0,) params."""
        return 4 if self.rnn_mode == "lstm" else 3

    def in_size(self, layer: int) -> int:
        """Width of the input of `layer`: in(l)."""
        return self.I if layer == 0 else self.D * self.P

    @cached_property
    def layers(self) -> tuple[Weights, ...]:
        """The stacked regions of each pseudo-layer p. W and Wp may be None."""
        GH, offset = self.G * self.H, 0

        def take(name: str, *shape: int) -> Region:
            nonlocal offset
            region = Region(name, offset, shape)
            offset += region.size
            return region

        matrices = []
        for p in range(self.L * self.D):
            layer, where = p // self.D, self._where(p)
            W = None if self.skip and layer == 0 else take(f"W of {where}", GH, self.in_size(layer))
            R = take(f"R of {where}", GH, self.P)
            matrices.append((W, R, take(f"Wp of {where}", self.P, self.H) if self.num_proj else None))
        biases = [
            (take(f"bW of {self._where(p)}", GH), take(f"bR of {self._where(p)}", GH)) for p in range(self.L * self.D)
        ]
        return tuple(Weights(*m, *b) for m, b in zip(matrices, biases, strict=True))

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """All existing regions in one tuple, in the order of the pseudo-layers."""
        return tuple(region for layer in self.layers for region in layer[:5] if region is not None)

    def slices(self, params: Any) -> list[Weights]:
        """The same regions of a buffer, as writable views of a NumPy array or Tensors on the tape."""
        return [Weights(*(None if r is None else r.of(params) for r in regions[:5])) for regions in self.layers]

    @cached_property
    def size(self) -> int:
        """Number of elements n of the buffer."""
        end = self.layers[-1].bR
        return int(end.offset + end.size)

    @cached_property
    def weights(self) -> tuple[Region, ...]:
        """The canonical matrices. With skip_input, those of layer 0 are [H, 0]."""
        found: list[Region] = []
        for p, (W, R, Wp, *_) in enumerate(self.layers):
            W = W or Region(f"W of {self._where(p)}", R.offset, (self.G * self.H, 0))
            found += [*self._per_gate(W), *self._per_gate(R), *([Wp] if Wp else [])]
        return tuple(found)

    @cached_property
    def biases(self) -> tuple[Region, ...]:
        """The canonical bias vectors [H]."""
        return tuple(b for layer in self.layers for bias in (layer.bW, layer.bR) for b in self._per_gate(bias))

    def _per_gate(self, stacked: Region) -> Iterator[Region]:
        matrix, _, place = stacked.name.partition(" ")
        for k, gate in enumerate(GATES[self.rnn_mode]):
            offset = stacked.offset + k * (stacked.size // self.G)
            yield Region(f"{matrix}{'_' if gate else ''}{gate} {place}", offset, (self.H, *stacked.shape[1:]))

    def _where(self, p: int) -> str:
        return f"layer {p // self.D}" + ("" if self.D == 1 else (", forward", ", reverse")[p % self.D])

    def check_params(self, op: str, shape: tuple[int, ...]) -> None:
        """Raise ValueError unless `shape`, the shape of the buffer, is (n,)."""
        sizes = f"L = {self.L}, H = {self.H}, I = {self.I}, P = {self.P}"
        note = f"likely another input_mode (here {'no W' if self.skip else 'with W'} in layer 0), direction or mode"
        check.shape(op, "params", shape, "n", (self.size,), f"{self.direction} {self.rnn_mode} with {sizes}", note)


def cudnn_rnn_params_size(
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> int:
    """Number of elements of the parameter buffer: n in the formula of this module.

    `dropout`, `seed`, `seed2` and `name` are accepted as in TensorFlow, and ignored. The errors are those of `Network`.
    """
    op = "cudnn_rnn_params_size"
    unused(op, dropout, seed, seed2)
    return Network(rnn_mode, num_layers, num_units, input_size, direction, input_mode, num_proj, op=op).size


def projection(op: str, rnn_mode: str, num_units: int, num_proj: Any) -> int:
    """The attribute num_proj: 0 (none), or for lstm 1 .. H-1."""
    P = check.integer(op, "num_proj", num_proj, 0, meaning="; 0 means no projection")
    if P and rnn_mode != "lstm":
        raise ValueError(
            f"{op}: num_proj is {P} with rnn_mode {rnn_mode!r}\n  expected 0\n  only 'lstm' has a projection of h"
        )
    if num_units <= P:
        raise ValueError(
            f"{op}: num_proj is {P}, num_units is {num_units}\n"
            "  expected num_proj < num_units, or 0 for no projection\n"
            "  a projection makes h narrower than the cell state (P < H)"
        )
    return P


def unused(op: str, dropout: Any, seed: Any, seed2: Any) -> None:
    """Check attributes of TensorFlow's parameter ops that do not affect the layout."""
    check.number(op, "dropout", dropout, 0, 1, ", the probability of a zero")
    for name, value in (("seed", seed), ("seed2", seed2)):
        check.integer(op, name, value, low=-(2**63), high=2**63 - 1)


# ---- splitting the buffer: no other module reads it in an op


class Unpack(Op):
    """y_k = region k of the buffer        the gradient of the buffer: those of all regions, one after the other"""

    arithmetic = True  # joining gradients also works on bare arrays
    reads_inputs = False

    def __init__(self, device: Device, regions: Sequence[Region]) -> None:
        self.device = device
        self.regions = regions
        self.order = sorted(range(len(regions)), key=lambda k: regions[k].offset)

    def backward(self, dy: Any, y: Sequence[Any], params: Any) -> tuple[Any]:
        if isinstance(params, Tensor):  # this gradient will be differentiated again
            return (concat([or_zeros(dy[k], y[k]).reshape(-1) for k in self.order]),)
        flat = []
        for k in self.order:
            g, size = dy.get(k), (self.regions[k].size,)
            flat.append(self.device.full(size, 0, params.dtype) if g is None else self.device.reshape(g, size))
        return (self.device.concatenate(flat, 0),)


def unpack(params: Tensor, regions: Sequence[Region]) -> list[Tensor]:
    """The regions, which cover the whole buffer (n,), as one node; views of the buffer if the device has views."""
    device, buffer = params.device, params.array
    arrays = [device.reshape(device.getitem(buffer, (slice(r.offset, r.offset + r.size),)), r.shape) for r in regions]
    return record_many(Unpack(device, regions), device, arrays, (params,))


def unpack_weights(net: Network, params: Tensor) -> list[Weights]:
    """The weights of each direction of each layer, gates stacked."""
    pieces = iter(unpack(params, net.regions))
    return [Weights(*[None if r is None else next(pieces) for r in layer[:5]]) for layer in net.layers]

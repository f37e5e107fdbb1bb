"""A whole CudnnRNN network on arrays: the layers, what stands between them, and the reserve space.

The device computes one layer at a time (`rnn_sequence`, `rnn_sequence_grad`); this module hands the output of each
layer on to the next one and keeps in one flat array, the reserve space, what the backward pass needs:

====================  =================================  ==========================================================
part                  elements                           what
====================  =================================  ==========================================================
``layer l``           ``rnn_sequence_reserve_layout``    what the device's kernel keeps of layer l
``output of l``       T * B * D*P, for l < L-1           output of layer l before dropout
``mask after l``      T * B * D*P, for l < L-1           its dropout mask, if there is dropout (B * D*P if one mask
                                                         serves all steps)
``zoneout``           1, with zoneout                    1: tells such a reserve space from one without zoneout
``sample``            16                                 elements of ``output``: tells a stale reserve space
====================  =================================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minirnn.devices.base import Array, Device
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.cudnn_rnn.zoneout import Zoneout

SAMPLE = 16


class Call(NamedTuple):
    """One call of the network: what the arrays do not say."""

    net: Network
    T: int
    B: int
    lengths: np.ndarray | None = None
    mask_steps: int = 0
    """How many steps a dropout mask between the layers has: T, or 1 if one serves all steps; 0: there are none."""

    zoneout: Zoneout | None = None
    """For each layer what decides how much of the old state stays; None: no zoneout."""

    def mask_shape(self) -> tuple[int, int, int]:
        """The shape of a dropout mask."""
        return self.mask_steps, self.B, self.net.D * self.net.P


class Part(NamedTuple):
    """A named stretch of the reserve space."""

    name: str
    offset: int
    size: int


def reserve_layout(device: Device, call: Call) -> dict[str, Part]:
    """The parts of the reserve space by name, in order. Without kernels it holds the masks and the sample alone."""
    kept = device.rnn_sequence_reserve_layout if has_kernels(device, call) else None
    return _reserve_layout(kept, call.net, call.T, call.B, call.mask_steps, call.zoneout is not None)


def has_kernels(device: Device, call: Call) -> bool:
    """Whether the device's kernels can compute this call."""
    return "rnn_sequence" in device.kernels and (call.zoneout is None or "zoneout" in device.kernel_options)


@lru_cache(maxsize=256)
def _reserve_layout(
    kept: Callable[..., Any] | None, net: Network, T: int, B: int, mask_steps: int, zoneout: bool
) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    offset, outputs = 0, T * B * net.D * net.P

    def add(name: str, size: int) -> None:
        nonlocal offset
        parts[name] = Part(name, offset, size)
        offset += size

    for layer in range(net.L):
        if kept is not None:
            add(f"layer {layer}", sum(prod(shape) for _, shape in _kept_of(kept, net, T, B, layer, zoneout)))
            if layer < net.L - 1:
                add(f"output of {layer}", outputs)
        if layer < net.L - 1 and mask_steps:
            add(f"mask after {layer}", mask_steps * B * net.D * net.P)
    if zoneout:
        add("zoneout", 1)
    add("sample", SAMPLE)
    return parts


def kernel_layout(device: Device, call: Call, layer: int) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of what the device's kernel keeps of one layer."""
    kept = device.rnn_sequence_reserve_layout
    return _kept_of(kept, call.net, call.T, call.B, layer, call.zoneout is not None)


def _kept_of(
    kept: Callable[..., Any], net: Network, T: int, B: int, layer: int, zoneout: bool
) -> list[tuple[str, tuple[int, ...]]]:
    sizes = T, B, net.in_size(layer), net.H, net.P, net.D
    more = {"zoneout": True} if zoneout else {}
    return list(kept(net.rnn_mode, *sizes, net.num_proj > 0, layer == 0 and net.skip, **more))


def reserve_size(device: Device, call: Call) -> int:
    """Elements of the reserve space of a training call."""
    return reserve_layout(device, call)["sample"].offset + SAMPLE


def _weights(device: Device, net: Network, buffer: Array, layer: int) -> list[tuple[Array | None, ...]]:
    """W, R, Wp, bW, bR of both directions of a layer, as views of the parameter buffer or of its gradient."""
    found = []
    for regions in net.layers[layer * net.D : (layer + 1) * net.D]:
        found.append(tuple([None if r is None else device.view(buffer, r.offset, r.shape) for r in regions]))
    return found


def _states(device: Device, net: Network, layer: int, *arrays: Array | None) -> list[Array | None]:
    """The part (D, B, ..) that belongs to a layer, of states (L*D, B, ..) or their gradients."""
    if net.L == 1:
        return list(arrays)
    part = (slice(layer * net.D, (layer + 1) * net.D),)
    return [None if a is None else device.getitem(a, part) for a in arrays]


def _joined(device: Device, parts: Sequence[Array]) -> Array:
    """The states of all layers (L*D, B, ..)."""
    return parts[0] if len(parts) == 1 else device.concatenate(parts, 0)


def forward_network(
    device: Device, call: Call, inputs: Sequence[Array], masks: Sequence[Array] | None, training: bool
) -> tuple[Sequence[Array], Array | None]:
    """y (T, B, D*P), h_n (L*D, B, P), for lstm c_n (L*D, B, H); and the reserve space if training.

    `inputs` are x, h0, (c0,) params.
    """
    if call.B == 0:
        return _of_no_sequence(device, call, inputs[0].dtype, training)
    net, mode = call.net, call.net.rnn_mode
    y, h0, *c0, params = inputs
    shape = (call.T, call.B, net.D * net.P)
    reserve, parts = None, {}
    if training:
        parts = reserve_layout(device, call)
        reserve = device.empty((parts["sample"].offset + SAMPLE,), y.dtype)
    h_n, c_n = [], []
    for layer in range(net.L):
        h, c = _states(device, net, layer, h0, c0[0] if c0 else None)
        saved = None
        if reserve is not None:
            part = parts[f"layer {layer}"]
            saved = device.view(reserve, part.offset, (part.size,))
        weights = _weights(device, net, params, layer)
        more = {} if call.zoneout is None else {"zoneout": call.zoneout[layer]}
        y, h, c = device.rnn_sequence(
            y, h, c, weights, saved, rnn_mode=mode, lengths=call.lengths, training=training, **more
        )
        h_n.append(h)
        c_n.append(c)
        if layer < net.L - 1:
            if reserve is not None:
                device.assign(device.view(reserve, parts[f"output of {layer}"].offset, shape), y)
            if masks is not None:
                if reserve is not None:
                    at = parts[f"mask after {layer}"].offset
                    device.assign(device.view(reserve, at, call.mask_shape()), masks[layer])
                y = device.multiply(y, masks[layer])
    if reserve is not None:
        _sign(device, parts, reserve, y)
    outputs = [y, _joined(device, h_n)]
    return [*outputs, _joined(device, c_n)] if c0 else outputs, reserve


def _of_no_sequence(
    device: Device, call: Call, dtype: np.dtype[Any], training: bool
) -> tuple[Sequence[Array], Array | None]:
    """What `forward_network` returns for a batch of 0: empty arrays, without asking a kernel."""
    net, states = call.net, call.net.L * call.net.D
    shapes = [(call.T, 0, net.D * net.P), (states, 0, net.P)] + [(states, 0, net.H)] * (net.rnn_mode == "lstm")
    reserve = device.full((reserve_size(device, call),), 0, dtype) if training else None
    return [device.empty(shape, dtype) for shape in shapes], reserve


def backward_network(
    device: Device, call: Call, arrays: Sequence[Array], reserve: Array, need_dx: bool
) -> Sequence[Array]:
    """Gradients of x (empty if nobody needs it), h0, (c0,) params.

    `arrays` are x, h0, (c0,) params, the output, and the gradients of y, h_n(, c_n).
    """
    net, n = call.net, call.net.inputs
    x, h0, *c0, params = arrays[:n]
    if call.B == 0:  # the parameters were used by no sequence
        return [device.full(a.shape, 0, a.dtype) for a in arrays[:n]]
    y, dy, dh_n, *dc_n = arrays[n:]
    shape = (call.T, call.B, net.D * net.P)
    parts = reserve_layout(device, call)
    dparams = device.empty(params.shape, params.dtype)
    dh0: list[Any] = [None] * net.L
    dc0: list[Any] = [None] * net.L
    below = mask = None
    for layer in reversed(range(net.L)):
        layer_input = x
        if layer > 0:
            below = device.view(reserve, parts[f"output of {layer - 1}"].offset, shape)
            if call.mask_steps:
                mask = device.view(reserve, parts[f"mask after {layer - 1}"].offset, call.mask_shape())
            layer_input = below if mask is None else device.multiply(below, mask)
        states, gradients = (h0, c0[0] if c0 else None), (dh_n, dc_n[0] if c0 else None)
        part = parts[f"layer {layer}"]
        dy, dh0[layer], dc0[layer] = device.rnn_sequence_grad(
            layer_input,
            *_states(device, net, layer, *states),
            _weights(device, net, params, layer),
            device.view(reserve, part.offset, (part.size,)),
            y,
            dy,
            *_states(device, net, layer, *gradients),
            _weights(device, net, dparams, layer),
            rnn_mode=net.rnn_mode,
            lengths=call.lengths,
            need_dx=layer > 0 or need_dx,
            **({} if call.zoneout is None else {"zoneout": call.zoneout[layer]}),
        )
        if layer > 0:
            if mask is not None:
                dy = device.multiply(dy, mask)
            y = below
    dx = device.full((0,), 0, dparams.dtype) if dy is None else dy
    return [dx, _joined(device, dh0), *([_joined(device, dc0)] if c0 else []), dparams]


def reserve_of_composition(device: Device, call: Call, output: Array, masks: Sequence[Array] | None) -> Array:
    """The reserve space of a device without kernels."""
    parts = reserve_layout(device, call)
    reserve = device.empty((parts["sample"].offset + SAMPLE,), output.dtype)
    for layer, mask in enumerate(masks or ()):
        device.assign(device.view(reserve, parts[f"mask after {layer}"].offset, call.mask_shape()), mask)
    _sign(device, parts, reserve, output)
    return reserve


def _sign(device: Device, parts: dict[str, Part], reserve: Array, output: Array) -> None:
    """Fill the parts of the reserve space that say which call it belongs to."""
    if "zoneout" in parts:
        device.assign(device.view(reserve, parts["zoneout"].offset, (1,)), 1)
    device.assign(device.view(reserve, parts["sample"].offset, (SAMPLE,)), sample_of(device, output))


def masks_in_reserve(device: Device, call: Call, reserve: Array) -> list[Array] | None:
    """The dropout masks that the forward pass kept."""
    if not call.mask_steps:
        return None
    parts = reserve_layout(device, call)
    return [device.view(reserve, parts[f"mask after {k}"].offset, call.mask_shape()) for k in range(call.net.L - 1)]


def sample_of(device: Device, output: Array) -> Array:
    """16 elements of an output, half of them of step 0, which exists in every sequence. Zeros for a batch of 0."""
    if 0 in output.shape:
        return device.full((SAMPLE,), 0, output.dtype)
    return device.getitem(output, _sample_index(*output.shape))


@lru_cache(maxsize=256)
def _sample_index(T: int, B: int, width: int) -> tuple[np.ndarray, ...]:
    first = np.linspace(0, B * width - 1, SAMPLE // 2).astype(np.int64)
    spread = np.linspace(0, T * B * width - 1, SAMPLE // 2).astype(np.int64)
    k = np.concatenate([first, spread])
    return k // (B * width), k // width % B, k % width


def reserve_belongs_to(device: Device, call: Call, reserve: Array, output: Array) -> bool:
    """Whether the reserve space was made by the call that returned `output` (to the last bit of 16 samples)."""
    kept = device.to_numpy(device.view(reserve, reserve_layout(device, call)["sample"].offset, (SAMPLE,)))
    return bool(np.array_equal(kept, device.to_numpy(sample_of(device, output)), equal_nan=True))

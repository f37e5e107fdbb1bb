"""CudnnRNN, CudnnRNNV2 and CudnnRNNV3 and their Backprop ops, as users call them.

What they compute stands at the package, `minirnn.ops.cudnn_rnn`. Each function hands all of its arguments on as they
came, by ``locals()``; they are checked in `check`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minirnn import check, html
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.cudnn_rnn.check import check_backprop, check_forward, to_time_major
from minirnn.ops.cudnn_rnn.nodes import CudnnRNN, CudnnRNNBackprop, run_network
from minirnn.ops.fused import zeros


@html.shows_outputs
class CudnnRNNOutput(NamedTuple):
    """Outputs of `cudnn_rnn`."""

    output: Tensor
    output_h: Tensor
    output_c: Tensor
    reserve_space: Tensor


@html.shows_outputs
class CudnnRNNV2Output(NamedTuple):
    """Outputs of `cudnn_rnn_v2` and `cudnn_rnn_v3`."""

    output: Tensor
    output_h: Tensor
    output_c: Tensor
    reserve_space: Tensor
    host_reserved: Tensor


@html.shows_outputs
class CudnnRNNBackpropOutput(NamedTuple):
    """Outputs of `cudnn_rnn_backprop`, `_v2` and `_v3`, each of the shape of its input."""

    input_backprop: Tensor
    input_h_backprop: Tensor
    input_c_backprop: Tensor
    params_backprop: Tensor


def _forward(
    op: str,
    *,
    is_training: Any,
    dropout: Any,
    seed: Any,
    seed2: Any,
    name: Any,
    sequence_lengths: Any = None,
    **arguments: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Output, output_h, output_c and reserve_space of all three forward ops: V1 and V2 are V3 with its defaults.

    `name` is ignored.
    """
    training = check.flag(op, "is_training", is_training)
    time_major = arguments.get("time_major", True)
    net, inputs, masks, zoneout = check_forward(op, dropout=dropout, seed=seed, seed2=seed2, **arguments)
    if not training:
        dropout, masks = 0.0, None
    found, kept = run_network(
        op,
        net,
        inputs,
        sequence_lengths,
        masks=masks,
        dropout=dropout,
        seeds=(int(seed), int(seed2)),
        zoneout=zoneout,
        keep=training,
    )
    output, output_h, *output_c = to_time_major(found, time_major)
    reserve = zeros((0,), output) if kept is None else leaf(output.device, kept)
    return output, output_h, output_c[0] if output_c else zeros((0,), output), reserve


def _host_reserved(is_training: bool, like: Tensor) -> Tensor:
    """Two numbers of cuDNN's choice of algorithm; here zeros, and ignored."""
    return leaf(like.device, like.device.full((2 if is_training else 0,), 0, np.int8))


def cudnn_rnn(
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    is_training: bool = True,
    dropout_masks: Any = None,
    zoneout_masks: Any = None,
    name: str | None = None,
) -> CudnnRNNOutput:
    """A network of recurrent layers over whole sequences, as one node.

    The formulas, forward and backward, are in the docstring of `minirnn.ops.cudnn_rnn`, the package.

    Parameters
    ----------
    input : (T, B, I)
    input_h : (L*D, B, H)
        State before the first step (for the reverse direction: before step T - 1), layer by layer, forward first.
    input_c : (L*D, B, H)
        Cell state, lstm only; ignored in the other modes and may then be None.
    params : (n,)
        Parameter buffer; see `cudnn_rnn_params_size`, `cudnn_rnn_canonical_to_params`.
    rnn_mode : {"lstm", "gru", "rnn_tanh", "rnn_relu"}
    input_mode : {"linear_input", "skip_input", "auto_select"}
        With skip_input the first layer has no input matrices: x is added to every gate as it is (needs I = H);
        auto_select means that if I = H.
    direction : {"unidirectional", "bidirectional"}
    dropout : float
        Probability, 0 .. 1, that an element of a layer's output is set to 0 on its way to the next layer; the others
        are scaled by ``1 / (1 - dropout)``. Never after the last layer, so without effect if L = 1.
    seed, seed2 : int
        Together they determine the masks (`dropout`): the same seeds, the same masks, on every device.
    is_training : bool
        False: no dropout, and nothing is kept. Gradients work all the same (cuDNN refuses them); they cost another
        forward pass.
    dropout_masks : (L-1, T, B, D*H) or (L-1, 1, B, D*H), optional
        Masks to use instead, already scaled. Those with one step serve all steps alike (variational dropout, Gal and
        Ghahramani 2016).
    zoneout_masks : number or (L*D, T, B, H); for lstm a pair of them, for h and for c; optional
        Zoneout (Krueger et al. 2017; `minirnn.ops.cudnn_rnn.zoneout`): ``h = zh * h' + (1 - zh) * h_new`` at each step,
        the same with zc for c. Any axis may be 1; None in a pair is 0. They act as they are given, whatever
        `is_training` says: masks of 0 and 1 in training, in evaluation their expectation.
    name : str, optional
        TensorFlow's name for the node. It is accepted, so that calls written for TensorFlow work, and ignored.

    All float arrays of one dtype: float16 (computed in float32), float32 or float64. L follows from `input_h`.

    Returns
    -------
    CudnnRNNOutput
        ``output (T, B, D*H)``; ``output_h (L*D, B, H)``; ``output_c``, the same for lstm and (0,) otherwise;
        ``reserve_space``, 1-D: what `cudnn_rnn_backprop` needs, linear in T (its parts: `network`), or (0,).
        Gradients flow into input, input_h, input_c and params from output, output_h and output_c.

    Raises
    ------
    TypeError
        If dtypes differ or are not floating, or an attribute is of the wrong type.
    ValueError
        If a shape does not fit, a size other than B is 0, or an attribute is unknown or out of range.
    """
    return CudnnRNNOutput(*_forward("cudnn_rnn", **locals()))


def cudnn_rnn_v2(
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    is_training: bool = True,
    dropout_masks: Any = None,
    zoneout_masks: Any = None,
    name: str | None = None,
) -> CudnnRNNV2Output:
    """`cudnn_rnn` with one more output: ``host_reserved``, int8 (2,) when training and (0,) otherwise.

    cuDNN keeps its choice of algorithm there; here it is zeros, and `cudnn_rnn_backprop_v2` ignores it.
    """
    result = _forward("cudnn_rnn_v2", **locals())
    return CudnnRNNV2Output(*result, _host_reserved(is_training, result[0]))


def cudnn_rnn_v3(
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    sequence_lengths: Any,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    is_training: bool = True,
    time_major: bool = True,
    dropout_masks: Any = None,
    zoneout_masks: Any = None,
    name: str | None = None,
) -> CudnnRNNV2Output:
    """`cudnn_rnn_v2` for sequences of different lengths, with an optional projection and either order of axes.

    Parameters
    ----------
    sequence_lengths : (B,) integers, 1 .. T, in any order
        Past its end a sequence keeps its state and gives output 0; nothing there is read, in either pass. The reverse
        direction starts at the last valid step.
    num_proj : int
        lstm only: 0, or P < H. Then h is ``m Wp'``, P wide; input_h and output_h are (L*D, B, P), output is (T, B,
        D*P).
    time_major : bool
        False: the first two axes of *all* arrays are exchanged: input (B, T, I), states (B, L*D, ..), output (B, T,
        D*P), dropout_masks (L-1, B, T, D*P), zoneout_masks (L*D, B, T, ..).

    The other parameters, returns and errors: as `cudnn_rnn` and `cudnn_rnn_v2`.
    """
    result = _forward("cudnn_rnn_v3", **_with_lengths("cudnn_rnn_v3", locals()))
    return CudnnRNNV2Output(*result, _host_reserved(is_training, result[0]))


def _with_lengths(op: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a V3 op, which needs lengths. Raises TypeError without them."""
    if arguments["sequence_lengths"] is None:
        raise TypeError(f"{op}: sequence_lengths is None\n  expected integers (B,), each 1 .. T")
    return arguments


def _backprop(
    op: str,
    *,
    output: Any,
    output_h: Any,
    output_c: Any,
    output_backprop: Any,
    output_h_backprop: Any,
    output_c_backprop: Any,
    reserve_space: Any,
    name: Any,
    host_reserved: Any = None,
    sequence_lengths: Any = None,
    **arguments: Any,
) -> CudnnRNNBackpropOutput:
    """All three Backprop ops; `host_reserved` and `name` are ignored."""
    time_major = arguments.get("time_major", True)
    checked = check_forward(op, **arguments)
    # The masks come from the reserve space, not from the seeds.
    outputs = output, output_h, output_c
    gradients = output_backprop, output_h_backprop, output_c_backprop
    dropping = arguments["dropout"] > 0
    call, masks, tensors, reserve = check_backprop(
        op, checked, sequence_lengths, time_major, dropping, outputs, gradients, reserve_space
    )
    forward = CudnnRNN(call, masks, keep=True)
    forward.reserve = reserve
    if reserve is None:
        with no_grad():
            forward(*checked.inputs)
    *states, dparams = CudnnRNNBackprop(forward)(*checked.inputs, *tensors)
    dx, dh, *dc = to_time_major(states, time_major)
    return CudnnRNNBackpropOutput(dx, dh, dc[0] if dc else zeros((0,), dx), dparams)


def cudnn_rnn_backprop(
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    output: Any,
    output_h: Any,
    output_c: Any,
    output_backprop: Any,
    output_h_backprop: Any,
    output_c_backprop: Any,
    reserve_space: Any,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    zoneout_masks: Any = None,
    name: str | None = None,
) -> CudnnRNNBackpropOutput:
    """The gradient of `cudnn_rnn`: backpropagation through time, layers and directions.

    Parameters
    ----------
    input, input_h, input_c, params, rnn_mode, input_mode, direction, dropout, seed, seed2, zoneout_masks
        The arguments that `cudnn_rnn` was given.
    output, output_h, output_c, reserve_space
        What it returned with is_training=True. The dropout masks are taken from `reserve_space`. (With the (0,) of
        is_training=False the forward pass is repeated.)
    output_backprop, output_h_backprop, output_c_backprop
        Gradients of output, output_h and (lstm) output_c.
    name : str, optional
        TensorFlow's name for the node. It is accepted, so that calls written for TensorFlow work, and ignored.

    Returns
    -------
    CudnnRNNBackpropOutput
        ``input_backprop, input_h_backprop, input_c_backprop, params_backprop``, each of the shape of its input;
        input_c_backprop is (0,) unless lstm. All can be differentiated again (through the composition of the network).

    Raises
    ------
    TypeError, ValueError
        The same as `cudnn_rnn` raises; ValueError also if `reserve_space` has the wrong size or was not made with
        this `output`.
    """
    return _backprop("cudnn_rnn_backprop", **locals())


def cudnn_rnn_backprop_v2(
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    output: Any,
    output_h: Any,
    output_c: Any,
    output_backprop: Any,
    output_h_backprop: Any,
    output_c_backprop: Any,
    reserve_space: Any,
    host_reserved: Any,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    zoneout_masks: Any = None,
    name: str | None = None,
) -> CudnnRNNBackpropOutput:
    """The gradient of `cudnn_rnn_v2`. `host_reserved` is accepted and ignored; otherwise as `cudnn_rnn_backprop`."""
    return _backprop("cudnn_rnn_backprop_v2", **locals())


def cudnn_rnn_backprop_v3(
    input: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    sequence_lengths: Any,
    output: Any,
    output_h: Any,
    output_c: Any,
    output_backprop: Any,
    output_h_backprop: Any,
    output_c_backprop: Any,
    reserve_space: Any,
    host_reserved: Any,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    time_major: bool = True,
    zoneout_masks: Any = None,
    name: str | None = None,
) -> CudnnRNNBackpropOutput:
    """The gradient of `cudnn_rnn_v3`; otherwise as `cudnn_rnn_backprop_v2`.

    What stands at padding in `output_backprop` is ignored; `input_backprop` is 0 there.
    """
    return _backprop("cudnn_rnn_backprop_v3", **_with_lengths("cudnn_rnn_backprop_v3", locals()))

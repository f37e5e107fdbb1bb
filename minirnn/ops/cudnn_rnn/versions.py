"""CudnnRNN, CudnnRNNV2 and CudnnRNNV3 and their Backprop ops, as users call them.

The formulas are in the package `minirnn.ops.cudnn_rnn`, and the implementation is in `calls`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minirnn.engine import html
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.cudnn_rnn.calls import backprop_call, forward_call
from minirnn.ops.cudnn_rnn.check import Attributes


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


def _lengths(op: str, sequence_lengths: Any) -> Any:
    """The lengths, which a V3 op needs. Raises TypeError if they are None."""
    if sequence_lengths is None:
        raise TypeError(f"{op}: sequence_lengths is None\n  expected integers (B,), each 1 .. T")
    return sequence_lengths


def _host_reserved(is_training: bool, like: Tensor) -> Tensor:
    """Zeros in place of the two numbers in which cuDNN stores its choice of algorithm. They are ignored."""
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
    """A network of recurrent layers over whole sequences.

    The formulas, forward and backward, are in the docstring of `minirnn.ops.cudnn_rnn`, the package. Raises TypeError
    if dtypes differ or are not floating, or an attribute is of the wrong type, and ValueError if a shape does not fit,
    a size other than B is 0, or an attribute is unknown or out of range.

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
        Together they determine the masks (`dropout`). The same seeds give the same masks on every device.
    is_training : bool
        If False, there is no dropout, and nothing is saved for the backward pass. Gradients still work (cuDNN refuses
        them), but need another forward pass.
    dropout_masks : (L-1, T, B, D*H) or (L-1, 1, B, D*H), optional
        Masks to use instead, already scaled. Masks with one step are used for all steps (variational dropout, Gal and
        Ghahramani 2016).
    zoneout_masks : number or (L*D, T, B, H); for lstm a pair of them, for h and for c; optional
        Zoneout (Krueger et al. 2017; `minirnn.ops.cudnn_rnn.zoneout`): ``h = zh * h' + (1 - zh) * h_new`` at each step,
        the same with zc for c. Any axis may be 1; None in a pair is 0. `is_training` does not change them: pass masks
        of 0 and 1 in training, and their expectation in evaluation.

    All float arrays of one dtype: float16 (computed in float32), float32 or float64. L follows from `input_h`.

    Returns
    -------
    CudnnRNNOutput
        ``output (T, B, D*H)``; ``output_h (L*D, B, H)``; ``output_c``, the same for lstm and (0,) otherwise;
        ``reserve_space``, 1-D: what `cudnn_rnn_backprop` needs, linear in T (its parts: `network`), or (0,).
        Gradients flow into input, input_h, input_c and params from output, output_h and output_c.
    """
    inputs = input, input_h, input_c, params
    attributes = Attributes(rnn_mode, input_mode, direction, dropout, seed, seed2)
    return CudnnRNNOutput(
        *forward_call("cudnn_rnn", inputs, None, attributes, is_training, dropout_masks, zoneout_masks)
    )


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

    cuDNN stores its choice of algorithm there. Here it is zeros, and `cudnn_rnn_backprop_v2` ignores it.
    """
    inputs = input, input_h, input_c, params
    attributes = Attributes(rnn_mode, input_mode, direction, dropout, seed, seed2)
    found = forward_call("cudnn_rnn_v2", inputs, None, attributes, is_training, dropout_masks, zoneout_masks)
    return CudnnRNNV2Output(*found, _host_reserved(is_training, found[0]))


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
        Past its end, a sequence keeps its state and its output is 0. Values there are not read in either pass. The
        reverse direction starts at the last valid step.
    num_proj : int
        lstm only: 0, or P < H. Then h is ``m Wp'``, P wide; input_h and output_h are (L*D, B, P), output is (T, B,
        D*P).
    time_major : bool
        False: the first two axes of *all* arrays are exchanged: input (B, T, I), states (B, L*D, ..), output (B, T,
        D*P), dropout_masks (L-1, B, T, D*P), zoneout_masks (L*D, B, T, ..).

    The other parameters, returns and errors: as `cudnn_rnn` and `cudnn_rnn_v2`.
    """
    inputs, lengths = (input, input_h, input_c, params), _lengths("cudnn_rnn_v3", sequence_lengths)
    attributes = Attributes(rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj, time_major)
    found = forward_call("cudnn_rnn_v3", inputs, lengths, attributes, is_training, dropout_masks, zoneout_masks)
    return CudnnRNNV2Output(*found, _host_reserved(is_training, found[0]))


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

    Raises the errors of `cudnn_rnn`, and ValueError if `reserve_space` has the wrong size or was not made with this
    `output`.

    Parameters
    ----------
    input, input_h, input_c, params, rnn_mode, input_mode, direction, dropout, seed, seed2, zoneout_masks
        The arguments of the call of `cudnn_rnn`.
    output, output_h, output_c, reserve_space
        The results of that call with is_training=True. The dropout masks are in `reserve_space`. (With the (0,) of
        is_training=False, the forward pass is repeated.)
    output_backprop, output_h_backprop, output_c_backprop
        Gradients of output, output_h and (lstm) output_c.

    Returns
    -------
    CudnnRNNBackpropOutput
        ``input_backprop, input_h_backprop, input_c_backprop, params_backprop``, each of the shape of its input;
        input_c_backprop is (0,) unless lstm. All can be differentiated again (through the composition of the network).
    """
    inputs, outputs = (input, input_h, input_c, params), (output, output_h, output_c)
    gradients = output_backprop, output_h_backprop, output_c_backprop
    attributes = Attributes(rnn_mode, input_mode, direction, dropout, seed, seed2)
    return CudnnRNNBackpropOutput(
        *backprop_call("cudnn_rnn_backprop", inputs, None, outputs, gradients, reserve_space, attributes, zoneout_masks)
    )


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
    inputs, outputs = (input, input_h, input_c, params), (output, output_h, output_c)
    gradients = output_backprop, output_h_backprop, output_c_backprop
    attributes = Attributes(rnn_mode, input_mode, direction, dropout, seed, seed2)
    return CudnnRNNBackpropOutput(
        *backprop_call(
            "cudnn_rnn_backprop_v2", inputs, None, outputs, gradients, reserve_space, attributes, zoneout_masks
        )
    )


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

    Values at padding in `output_backprop` are ignored; `input_backprop` is 0 there.
    """
    op, lengths = "cudnn_rnn_backprop_v3", _lengths("cudnn_rnn_backprop_v3", sequence_lengths)
    inputs, outputs = (input, input_h, input_c, params), (output, output_h, output_c)
    gradients = output_backprop, output_h_backprop, output_c_backprop
    attributes = Attributes(rnn_mode, input_mode, direction, dropout, seed, seed2, num_proj, time_major)
    return CudnnRNNBackpropOutput(
        *backprop_call(op, inputs, lengths, outputs, gradients, reserve_space, attributes, zoneout_masks)
    )

"""Conversion between the parameter buffer of the CudnnRNN ops and its matrices and bias vectors.

The canonical form is a list of all matrices and a list of all bias vectors, in the order of the buffer::

    weights   for p in 0 .. L*D-1:  W_g [H, in(l)] of every gate g, R_g [H, P] of every g, Wp [P, H] with a projection
    biases    for p in 0 .. L*D-1:  bW_g [H] of every gate g, bR_g [H] of every g

that is 2*G*L*D matrices (+ L*D with a projection) and 2*G*L*D vectors. Under "skip_input" the matrices W_g of layer 0
stay in the list, as [H, 0]. Both ops only move elements, so gradients flow through them unchanged, to any order.

Offsets and sizes are those of `params`. Source: TensorFlow's CudnnRNNParamsToCanonical and
CudnnRNNCanonicalToParams, V1 and V2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minirnn.arguments import check
from minirnn.engine import operands
from minirnn.engine.tensor import Tensor
from minirnn.ops.cudnn_rnn.params import Network, Region, unpack, unused
from minirnn.ops.primitives import concat


class CanonicalOutput(NamedTuple):
    """Outputs of `cudnn_rnn_params_to_canonical`: the matrices and the bias vectors, in the order of the buffer."""

    weights: list[Tensor]
    biases: list[Tensor]


def cudnn_rnn_params_to_canonical(
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    params: Any,
    *,
    num_params: int | None = None,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> CanonicalOutput:
    """The matrices and bias vectors of a parameter buffer (without a copy on the cpu device).

    Raises ValueError for a wrong size, mode or count, or if `params` is not (n,), and TypeError if `params` is not a
    floating array, or a size is not an integer.

    Parameters
    ----------
    num_layers, num_units, input_size : int
        L, H, I.
    params : (n,) array_like or Tensor, float16, float32 or float64
    num_params : int, optional
        Length of each list, 2*G*L*D. Checked when given.
    rnn_mode, input_mode, direction : str
        See `minirnn.ops.cudnn_rnn.params.Network`.
    dropout, seed, seed2
        TensorFlow's; they change nothing.

    Returns
    -------
    weights, biases : list of Tensor
        Shapes: see the head of this module.
    """
    op = "cudnn_rnn_params_to_canonical"
    unused(op, dropout, seed, seed2)
    net = Network(rnn_mode, num_layers, num_units, input_size, direction, input_mode, 0, op=op)
    _check_counts(op, net, num_params=num_params)
    return _cut(op, net, params)


def cudnn_rnn_params_to_canonical_v2(
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    params: Any,
    *,
    num_params_weights: int | None = None,
    num_params_biases: int | None = None,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> CanonicalOutput:
    """`cudnn_rnn_params_to_canonical` for networks that may have a projection, with a count for each list.

    num_params_weights = 2*G*L*D (+ L*D with a projection), num_params_biases = 2*G*L*D; checked when given.
    """
    op = "cudnn_rnn_params_to_canonical_v2"
    unused(op, dropout, seed, seed2)
    net = Network(rnn_mode, num_layers, num_units, input_size, direction, input_mode, num_proj, op=op)
    _check_counts(op, net, num_params_weights=num_params_weights, num_params_biases=num_params_biases)
    return _cut(op, net, params)


def cudnn_rnn_canonical_to_params(
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    weights: Any,
    biases: Any,
    *,
    num_params: int | None = None,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Tensor:
    """The parameter buffer of these matrices and bias vectors.

    Raises ValueError for a wrong size, mode, number of pieces or number of elements of a piece, and TypeError if a size
    is not an integer, or a piece is not a floating array or has another dtype than the others.

    Parameters
    ----------
    num_layers, num_units, input_size : int
        L, H, I.
    weights, biases : list of array_like or Tensor
        The canonical form, with one dtype for all. As in TensorFlow, only the number of elements of each piece is
        checked, so a matrix may be flat.
    num_params : int, optional
        Length of each list, 2*G*L*D. Checked when given.
    rnn_mode, input_mode, direction : str
        See `minirnn.ops.cudnn_rnn.params.Network`.
    dropout, seed, seed2
        TensorFlow's; they change nothing.

    Returns
    -------
    params : (n,) Tensor
    """
    op = "cudnn_rnn_canonical_to_params"
    unused(op, dropout, seed, seed2)
    net = Network(rnn_mode, num_layers, num_units, input_size, direction, input_mode, 0, op=op)
    _check_counts(op, net, num_params=num_params)
    return _join(op, net, weights, biases)


def cudnn_rnn_canonical_to_params_v2(
    num_layers: Any,
    num_units: Any,
    input_size: Any,
    weights: Any,
    biases: Any,
    *,
    num_params_weights: int | None = None,
    num_params_biases: int | None = None,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    name: str | None = None,
) -> Tensor:
    """`cudnn_rnn_canonical_to_params` for networks that may have a projection, with a count for each list.

    num_params_weights = 2*G*L*D (+ L*D with a projection), num_params_biases = 2*G*L*D; checked when given.
    """
    op = "cudnn_rnn_canonical_to_params_v2"
    unused(op, dropout, seed, seed2)
    net = Network(rnn_mode, num_layers, num_units, input_size, direction, input_mode, num_proj, op=op)
    _check_counts(op, net, num_params_weights=num_params_weights, num_params_biases=num_params_biases)
    return _join(op, net, weights, biases)


def _check_counts(op: str, net: Network, **counts: int | None) -> None:
    """Check the lengths of the two lists if they are given. Only the matrices of V2 may include projections."""
    for name, given in counts.items():
        expected = net.biases if name == "num_params_biases" else net.weights
        more = " + L*D (projection)" if net.num_proj and expected is net.weights else ""
        if given is not None and check.integer(op, name, given, 1) != len(expected):
            raise ValueError(f"{op}: {name} is {given}\n  expected 2*G*L*D{more} = {len(expected)}")


def _cut(op: str, net: Network, params: Any) -> CanonicalOutput:
    """The pieces of a buffer."""
    (params,) = operands.tensors(op, params=params)
    net.check_params(op, params.shape)
    found = unpack(params, (*net.weights, *net.biases))
    return CanonicalOutput(found[: len(net.weights)], found[len(net.weights) :])


def _join(op: str, net: Network, weights: Any, biases: Any) -> Tensor:
    """The buffer of all pieces."""
    named: dict[str, Any] = {}
    regions: list[Region] = []
    for name, value, expected in (("weights", weights, net.weights), ("biases", biases, net.biases)):
        if isinstance(value, (Tensor, str)) or not isinstance(value, Sequence):
            raise TypeError(
                f"{op}: {name} is a {type(value).__name__}\n  expected a list of arrays, in canonical order"
            )
        if len(value) != len(expected):
            raise ValueError(
                f"{op}: {name} has {len(value)} pieces\n  expected {len(expected)}: one for each gate of"
                f" {net.L} layers and {net.D} direction{'s' if net.D > 1 else ''}, input and recurrent side"
                + (", and the projections" if net.num_proj and name == "weights" else "")
            )
        named |= {f"{name}[{k}]": t for k, t in enumerate(value)}
        regions += expected
    tensors = operands.tensors(op, **named)
    for name, t, region in zip(named, tensors, regions, strict=True):
        if t.size != region.size:  # a piece may be flat
            hint = "\n  skip_input: layer 0 has no input matrices" if 0 in region.shape else ""
            raise ValueError(
                f"{op}: {name} has shape {t.shape}, {t.size} elements\n  expected {region.size}: {region.name},"
                f" {region.shape}, or as many elements in another shape{hint}"
            )
    return concat([t.reshape(-1) for t in tensors])  # regions follow each other without gaps, in this order

"""Regularization of recurrent layers: the options of `RNN`, `GRU` and `LSTM`, and the masks of one call.

``u_k`` are random numbers, uniform in 0 .. 1; [a] is 1 where a is true, else 0; p is the option's value::

    dropout         what layer l hands to layer l+1:   y * [u >= p] / (1 - p)      (torch's, fresh at every element)
    input_dropout   what enters the first layer:       x * [u >= p] / (1 - p)      (Keras' ``dropout``)
    variational     both of these with one mask (B, width) for all steps           (Gal and Ghahramani 2016)
    weight_dropout  every layer and direction:         weight_hh * [u >= p] / (1 - p)   (Merity et al. 2018)
    zoneout         every layer, direction and step:   h = z * h' + (1 - z) * h_new     (Krueger et al. 2017)
                    lstm also:                         c = z * c' + (1 - z) * c_new     its own z = [u < p]

where ``h_new, c_new`` are the cell's results for the states ``h', c'`` before the step (see
`minirnn.ops.cudnn_rnn.zoneout`, also for the gradients). All options act in training. In evaluation, the layer is the
plain one, except for zoneout, where z is its expectation p. Gradients flow through the masks. With `weight_dropout`
they reach the raw ``weight_hh``, which the optimizer updates and a state dict holds.

The names: ``dropout`` has torch's meaning. ``variational`` is named after the paper's title; AWD-LSTM calls it
LockedDropout. ``weight_dropout`` is AWD-LSTM's WeightDrop, the DropConnect of Wan et al. 2013 on the recurrent weights.
Keras' ``recurrent_dropout``, a mask on h' itself, is not supported. Dropping weights instead does not change the cell,
so the fused kernels can compute it.

Each option in use draws two 32-bit seeds from the public random stream (`minirnn.manual_seed`), in this order:
`weight_dropout`, `input_dropout`, `dropout` (if there are two layers or more), `zoneout`. The counter-based generator
of `minirnn.ops.cudnn_rnn.dropout` makes each mask from its seeds. The stream number is 0 for the input, l for the
output of layer l, k = l*D + d for the weights and for the z of h of direction d of layer l, and L*D + k for the z of
its c. One seed therefore gives the same masks on every device and in every dtype.
"""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.devices.base import Weights
from minirnn.engine import random
from minirnn.engine.tensor import Tensor
from minirnn.ops.cudnn_rnn.dropout import mask_like
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.cudnn_rnn.zoneout import Zoneout, drawn_zoneout, expected_zoneout

Probabilities = tuple[float, float]

DOCS = """input_dropout : float
        Probability of a zero in the input of the first layer in training. torch does not have this option and the
        following ones. Their formulas, sources and order of drawing are in `minirnn.nn.regularization`.
    variational : bool
        Whether `dropout` and `input_dropout` draw one mask (B, width) for all steps (Gal and Ghahramani 2016) instead
        of one for each step.
    weight_dropout : float
        Probability in training that a recurrent weight is 0 for a whole call. The others are scaled by
        ``1 / (1 - weight_dropout)``. Gradients reach the raw ``weight_hh`` through the mask, and a state dict holds the
        raw weights (weight drop: Merity et al. 2018).
    zoneout : float, or for LSTM a pair (of h, of c)
        Probability that a unit keeps its old state in a step of training. In evaluation the state is the mean of old
        and new with this weight (Krueger et al. 2017). A single number is used for h and c, which have separate
        masks."""
"""The text about the options in the docstrings of the layers."""


def probability(name: str, what: str, value: Any, meaning: str = "the probability of a zero") -> float:
    """`value` as a float. Raises TypeError if it is not a number, ValueError outside 0 .. 1."""
    return check.number(name, what, value, 0, 1, f", {meaning}")


def probabilities_of_zoneout(name: str, rnn_mode: str, zoneout: Any) -> Probabilities:
    """The probabilities for h and for c, which is 0 unless lstm."""
    meaning = "the probability that a unit keeps its state"
    lstm = rnn_mode == "lstm"
    if isinstance(zoneout, (tuple, list)):
        if not lstm or len(zoneout) != 2:
            expected = "a number or a pair (of h, of c)" if lstm else "one number: only LSTM has a second state, c"
            raise TypeError(f"{name}: zoneout is {shown(zoneout)}\n  expected {expected}")
        p_h, p_c = (probability(name, f"zoneout[{k}]", p, meaning) for k, p in enumerate(zoneout))
        return p_h, p_c
    p = probability(name, "zoneout", zoneout, meaning)
    return p, p if lstm else 0.0


def checked_zoneout(name: str, rnn_mode: str, zoneout: Any) -> Any:
    """The option as the layer stores it. Raises TypeError or ValueError for a wrong one."""
    kept = zoneout if probabilities_of_zoneout(name, rnn_mode, zoneout) != (0, 0) else 0.0
    return tuple(kept) if isinstance(kept, list) else kept


def zoneout_of_call(net: Network, zoneout: Any, training: bool, x: Tensor) -> Zoneout:
    """New masks for each layer or, in evaluation, their expectations."""
    p_h, p_c = probabilities_of_zoneout(net.rnn_mode, net.rnn_mode, zoneout)
    T, B, _ = x.shape
    return drawn_zoneout(net, T, B, p_h, p_c, new_seeds(), x) if training else expected_zoneout(net, p_h, p_c)


def new_seeds() -> tuple[int, int]:
    """Two seeds from the public random stream."""
    seed, seed2 = random.generator().integers(0, 2**32, 2)
    return int(seed), int(seed2)


def with_masks(weights: list[Weights], p: float) -> list[Weights]:
    """The weights, with each recurrent matrix times its own scaled mask: first R, then those of products."""
    seeds, found = new_seeds(), []
    for k, own in enumerate(weights):
        R = None if own.R is None else dropped_weight(own.R, p, k, seeds)
        first = len(weights) + k * len(own.U)
        found.append(own._replace(R=R, U=[dropped_weight(u, p, first + j, seeds) for j, u in enumerate(own.U)]))
    return found


def dropped_weight(A: Tensor, p: float, stream: int, seeds: tuple[int, int]) -> Tensor:
    """A matrix multiplied by its scaled mask, which is made with this stream number."""
    return A * mask_like(A, A.shape, p, stream, *seeds)


def dropped_input(x: Tensor, p: float, variational: bool) -> Tensor:
    """x (T, B, I) multiplied by its scaled mask."""
    T, B, width = x.shape
    return x * mask_like(x, (1 if variational else T, B, width), p, 0, *new_seeds())

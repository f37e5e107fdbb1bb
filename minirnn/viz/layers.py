"""Values of an `nn.LSTM`, `nn.GRU`, `nn.RNN` or a layer of a custom cell: gates and states by name, and Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.nn.microscope import CANDIDATE, Opened, Values, opened
from minirnn.ops import concat, unbind
from minirnn.viz.steps import state_jacobians


class LayerValues(NamedTuple):
    """The values in a layer; result of `layer_values`.

    Attributes
    ----------
    gates : dict of str to ndarray
        Named values of sigmoid and tanh, (T, B, H).
    states : dict of str to ndarray
        States after each step, (T, B, H); the output is (T, B, P).
    candidates : tuple of str
        The names whose values are results of a tanh, from -1 to 1.
    unlimited : tuple of str
        The names of states without limits.
    """

    gates: dict[str, np.ndarray]
    states: dict[str, np.ndarray]
    candidates: tuple[str, ...]
    unlimited: tuple[str, ...]


def layer_values(layer: Any, x: Any, *, reverse: bool = False, index: int = -1) -> LayerValues:
    """Gates and states of a layer for the input x, by name. In a custom cell, these are the names in its function.

    `gate_map` draws those of one sequence, ``found.gates[name][:, 0]``. Dropout is off and masks have their mean
    values.

    Parameters
    ----------
    layer : nn.LSTM, nn.GRU, nn.RNN or a layer of a custom cell
    x : (T, B, I), or (B, T, I) if the layer is batch_first
    reverse : bool
        Whether to return the direction that reads from the end.
    index : int
        Which of its L layers, from 0; -1 is the last.

    Returns
    -------
    LayerValues
    """
    one, p = chosen("layer_values", layer, index, reverse)
    xs = steps_of("layer_values", one, x)
    with no_grad():
        steps = one.trace(xs, one.zeros(xs[0].shape[0])).steps[p]
    kinds = {n: one.limits[n] for n in (*one.gates, *one.states)}
    return LayerValues(
        {n: np.stack([v.gates[n].numpy() for v in steps]) for n in one.gates},
        {n: np.stack([v.states[n].numpy() for v in steps]) for n in one.states},
        tuple(n for n, limits in kinds.items() if limits == CANDIDATE),
        tuple(n for n, limits in kinds.items() if limits is None),
    )


def layer_jacobians(layer: Any, x: Any, *, index: int = -1, reverse: bool = False) -> np.ndarray:
    """Jacobians of all states after the last step with respect to those before each step.

    Steps are counted in the order in which the direction reads them. The input of the layer is held fixed.

    Parameters
    ----------
    layer : nn.LSTM, nn.GRU, nn.RNN or a layer of a custom cell
    x : (T, I)
        One sequence.
    index, reverse
        The layer and direction, as in `layer_values`.

    Returns
    -------
    ndarray, (T+1, n, n)
        ``[t, j, k]`` = d states_T[j] / d states_t[k], with all states concatenated to n numbers. An output that is not
        a state but that the next step reads comes last.
    """
    one, p = chosen("layer_jacobians", layer, index, reverse)
    xs = read_by(one, p, steps_of("layer_jacobians", one, x, one_sequence=True))
    ends = np.cumsum([one.width(n) for n in one.carried]).tolist()
    parts = list(zip(one.carried, [0, *ends], ends, strict=False))

    def step(t: int, state: Tensor) -> Tensor:
        after = one.step(p, xs[t], {n: state[None, a:b] for n, a, b in parts}).states
        return concat([after[n][0] for n in one.carried], 0)

    zero = np.zeros(ends[-1], xs[0].dtype)
    return state_jacobians(step, tensor(zero, device=xs[0].device), len(xs))


def chosen(function: str, layer: Any, index: int, reverse: bool) -> tuple[Opened, int]:
    """The opened layers, and the number p = l*D + d of the chosen one."""
    one = opened(layer, function)
    index = check.integer(function, "index", index, -one.L, one.L - 1) % one.L
    if reverse and one.D == 1:
        raise ValueError(f"{function}: reverse=True, but the layer has one direction\n  expected bidirectional=True")
    return one, index * one.D + bool(reverse)


def read_by(one: Opened, p: int, xs: list[Tensor]) -> list[Tensor]:
    """What layer p reads, in the order in which it reads, if the lowest layer reads xs."""
    below = p // one.D * one.D
    if below:
        with no_grad():
            steps = one.trace(xs, one.zeros(xs[0].shape[0])).steps[below - one.D : below]
        xs = [concat([v.output for v in both], 1) for both in zip(*steps, strict=True)]
    return xs[::-1] if p % one.D else xs


def inside_of(one: Opened, p: int, xs: Sequence[Tensor]) -> list[Values]:
    """The values of layer p at each step that it reads, from a zero state."""
    found: list[Values] = []
    before = {n: s[p] for n, s in zip(one.states, one.zeros(xs[0].shape[0]), strict=True)}
    for x in xs:
        found.append(one.step(p, x, before))
        before = found[-1].states
    return found


def steps_of(function: str, one: Opened, x: Any, one_sequence: bool = False) -> list[Tensor]:
    """The T steps (B, I) of x."""
    like = next(one.layer.parameters())
    x = as_tensor(x, device=like.device)
    I = one.layer.input_size
    letters = "(T, I)" if one_sequence else "(B, T, I)" if one.layer.batch_first else "(T, B, I)"
    if x.ndim != (2 if one_sequence else 3) or x.shape[-1] != I or 0 in x.shape:
        raise ValueError(f"{function}: x has shape {x.shape}\n  expected {letters} with I = {I}")
    x = x.detach().to(like.device).astype(like.dtype)
    if one_sequence:
        return [row[None] for row in unbind(x)]
    return list(unbind(x, 1 if one.layer.batch_first else 0))

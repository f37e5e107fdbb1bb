"""Values of a layer for pictures: gates and states by name, Jacobians, and paths between states.

The functions accept an `nn.LSTM` or a layer of a custom cell. All but `layer_paths` also accept `nn.GRU` and
`nn.RNN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.cells.expr import Expr
from minirnn.engine.backward import grad
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.nn.microscope import CANDIDATE, Opened, Values, opened
from minirnn.ops import concat, unbind
from minirnn.ops.sequence.compose import FUNCTIONS, evaluate
from minirnn.viz.paths import cell_paths
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


def layer_paths(layer: Any, x: Any, *, index: int = -1, reverse: bool = False) -> dict[str, np.ndarray]:
    """Split d c_t / d c_{t-1} of one sequence into its paths, for `path_strengths`.

    For a custom cell, c is its first state that is not the output, or the only one. A path is named after the last
    value that it goes through: a gate that reads h (the name of the function's parameter), a `product` or a function
    of all units, or another state before the step. Without any, it is called ``directly``. For an `nn.LSTM`, the result
    is that of `cell_paths`.

    Parameters
    ----------
    layer : nn.LSTM or a layer of a custom cell
    x : (T, I)
        One sequence, T at least 2.
    index, reverse
        The layer and direction, as in `layer_values`. Steps are counted in the order in which it reads them.

    Returns
    -------
    dict
        Name of the path -> (T-1, H, H), ``[t-1, k, j]`` = d c_t[j] / d c_{t-1}[k] along it. Their sum is the Jacobian.
    """
    one, p = chosen("layer_paths", layer, index, reverse)
    xs = read_by(one, p, steps_of("layer_paths", one, x, one_sequence=True))
    if len(xs) < 2:
        raise ValueError("layer_paths: x has 1 step\n  expected (T, I), T at least 2")
    if one.own:
        return own_paths(one, p, xs)
    if layer.net.rnn_mode != "lstm" or one.P != one.H or layer.zoneout:
        raise TypeError(
            f"layer_paths: got a {type(layer).__name__}\n  expected an nn.LSTM without projection and zoneout, or a "
            "layer of a custom cell"
        )
    values = inside_of(one, p, xs)
    i, f, n, o, c = (np.concatenate([{**v.gates, **v.states}[name].numpy() for v in values]) for name in "ifnoc")
    return cell_paths(i, c, f, o, n, layer.weights(p).R.numpy().T, gate_order="ifco")


def own_paths(one: Opened, p: int, xs: Sequence[Tensor]) -> dict[str, np.ndarray]:
    """`layer_paths` for a custom cell.

    All functions of a step except products act on each unit separately, so their derivatives are diagonals (T, H). For
    all steps at once, a derivative is one gradient of a sum.
    """
    cell, (_, R, Wp, _, _, U, vectors) = one.cell, one.layer.weights(p)
    T, H, of, after = len(xs), one.H, one.memory, dict(zip(one.cell.order, one.cell.after, strict=True))
    with no_grad():
        before = {n: s[p] for n, s in zip(one.states, one.zeros(1), strict=True)}
        inside: list[dict[Expr, Any]] = []
        for x in xs:
            inside.append(one.inside(p, x, before))
            before = one.step(p, x, before).states
    inputs = [*cell.gates.values(), *cell.states.values(), *cell.masks.values()]
    given = {e: leaf([found[e] for found in inside], H) for e in [*inputs, *cell.cuts]}
    given |= {e: tensor(double(v), device="cpu") for e, v in zip(cell.vectors.values(), vectors, strict=True)}
    of_units = {m: double(U[k]) for m, k in cell.matrix_of.items()}

    def mixing(m: Expr) -> np.ndarray:
        """(H, H), or (T, H, H): the derivative of a product, or of a function of all units, by its operand."""
        if m in of_units:
            return of_units[m]
        v = leaf([found[m.args[0]] for found in inside], H)
        row = grad(FUNCTIONS[m.op](v).sum() + 0 * v.sum(), v).numpy()
        return np.repeat(row[:, None], H, axis=1)

    def slopes(values: dict[Expr, Any], target: Expr, leaves: Sequence[Expr]) -> dict[Expr, np.ndarray]:
        """The diagonals (T, H) of d target / d leaf."""
        found = evaluate(cell, values, ())[target]
        if target in leaves:
            return {e: np.full((T, H), float(e is target)) for e in leaves}
        if not isinstance(found, Tensor) or not found.requires_grad:
            return {e: np.zeros((T, H)) for e in leaves}
        return {e: g.numpy() for e, g in zip(leaves, grad(found.sum(), [values[e] for e in leaves]), strict=True)}

    def totals(values: dict[Expr, Any], seeds: dict[Expr, np.ndarray], targets: Sequence[Expr]) -> list[Any]:
        """d target / d c of each target, by the last leaf on the path: {leaf: (T, H, H)}."""
        through = dict(seeds)
        for m in cell.cuts:
            leaves = list(through)
            parts = slopes(values, m.args[0], leaves)
            through[m] = mixing(m) @ sum(parts[e][:, :, None] * through[e] for e in leaves)
        leaves = list(through)
        return [{e: d[:, :, None] * through[e] for e, d in slopes(values, t, leaves).items()} for t in targets]

    # within step t-1: the dependence of the states after it on c
    c = after[of]
    values = {**given, c: leaf([found[c] for found in inside], H)}
    eye = np.broadcast_to(np.eye(H), (T, H, H))
    follows = {
        n: sum(parts.values()) for n, parts in zip(after, totals(values, {c: eye}, list(after.values())), strict=True)
    }
    if Wp is not None:
        follows[cell.output] = double(Wp) @ follows[cell.output]
    # within step t: from the states before it
    last = {n: np.concatenate([d[:1], d[:-1]]) for n, d in follows.items()}
    seeds = {cell.states[n]: d for n, d in last.items() if d.shape[1] == H}
    if R is not None:
        gates = [n for n in cell.gates if n[0] in "zh"]
        rows = double(R).reshape(len(gates), H, one.P)
        seeds |= {cell.gates[n]: rows[k] @ last[cell.output] for k, n in enumerate(gates)}
    (parts,) = totals(given, seeds, [c])
    names = {e: n for n, e in cell.gates.items()} | {e: f"state {n}" for n, e in cell.states.items()}
    names[cell.states[of]] = "directly"
    names |= {m: f"{m.op} {1 + [k for k in cell.cuts if k.op == m.op].index(m)}" for m in cell.cuts}
    found = {names[e]: part[1:].transpose(0, 2, 1) for e, part in parts.items()}
    return {"directly": found["directly"]} | {n: a for n, a in found.items() if n == "directly" or a.any()}


def leaf(rows: Sequence[Tensor], H: int) -> Tensor:
    """A leaf with the values of all steps, (T, H), for differentiation; zeros for an output that is projected."""
    arrays = [np.zeros((1, H)) if 1 < row.shape[-1] < H else np.broadcast_to(row.numpy(), (1, H)) for row in rows]
    return tensor(np.concatenate(arrays).astype(np.float64), requires_grad=True, device="cpu")


def double(t: Tensor) -> np.ndarray:
    return t.numpy().astype(np.float64)


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

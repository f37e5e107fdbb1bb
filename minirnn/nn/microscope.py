"""Opens a recurrent layer: computes the same values step by step, with a named node for each value.

`nn.LSTM`, `nn.GRU`, `nn.RNN` and layers of own cells compute a whole sequence as one node. To look at a gate, or at the
gradient of a state in the middle of the sequence, open the layer. `opened` returns the same interface for all of them.
Dropout is off and masks have their mean values, as in evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn.cells.expr import Expr
from minirnn.engine.tensor import Tensor, tensor
from minirnn.nn.own.keyed import KeyedCellLayer
from minirnn.nn.own.layer import CellLayer
from minirnn.nn.stack import Stack
from minirnn.ops import concat, expand_dims, stack
from minirnn.ops.cudnn_rnn.cells import CELLS
from minirnn.ops.fused import zeros
from minirnn.ops.sequence.compose import evaluate, inputs_of_step, states_after

Limits = tuple[float, float] | None
GATE, CANDIDATE = (0.0, 1.0), (-1.0, 1.0)


class Values(NamedTuple):
    """The values of one step of one direction of one layer."""

    output: Tensor
    """(B, P)"""
    states: dict[str, Tensor]
    """States after the step, (B, H), and the output, (B, P), which need not be a state."""
    gates: dict[str, Tensor]
    """Named values of sigmoid and tanh, (B, H) each."""


class Seen(NamedTuple):
    """All values that a layer computes for a sequence."""

    steps: list[list[Values]]
    """The T steps of each pseudo-layer p = l*D + d, in order of t."""
    output: list[Tensor]
    """The output of each of the T steps, (B, D*P)."""
    state: tuple[Tensor, ...]
    """The states after the last step, (L*D, B, width) each."""


class Opened:
    """A recurrent layer step by step.

    Attributes
    ----------
    layer : Module
    own : bool
        Whether it is a layer of a user's own cell. Gates and states have their names in the cell's function.
    cell : Step
        One step, traced.
    states : tuple of str
        Names of the states, in the order in which they are passed and returned.
    output : str
        Name of the output, which need not be a state.
    memory : str
        The state that serves as the memory: the first that is not the output, if there is one.
    limits : dict of str to (float, float) or None
        The limits of each gate and state, or None if there are none.
    """

    def __init__(self, layer: Any) -> None:
        self.layer, self.own = layer, isinstance(layer, CellLayer)
        formulas = layer.cell if isinstance(layer, CellLayer) else CELLS[layer.net.rnn_mode]
        cell = self.cell = formulas.step
        self.L, self.D, self.H, self.P = layer.num_layers, layer.D, layer.hidden_size, layer.P
        self.states, self.output = tuple(cell.user_states), cell.output
        kinds = {e: {"sigmoid": GATE, "tanh": CANDIDATE}.get(e.op) for e in cell.nodes}
        after = dict(zip(cell.order, cell.after, strict=True))
        self.named = {cell.names[e]: e for e in cell.nodes if e in cell.names and kinds[e] and e not in cell.after}
        self.limits = {n: kinds[e] for n, e in self.named.items()}
        if self.own:
            self.limits |= {n: kinds.get(after[n]) for n in self.states}
        else:
            self.states = self.states[::-1]  # torch has h first
            self.limits |= dict.fromkeys(self.states)
            self.limits["h"] = None if after["h"].op == "relu" or self.P < self.H else CANDIDATE

    @property
    def memory(self) -> str:
        return next((n for n in self.states if n != self.output), self.states[0])

    @property
    def gates(self) -> list[str]:
        return [n for n in self.limits if n not in self.states]

    @property
    def carried(self) -> tuple[str, ...]:
        """The values that a step reads from the previous one: the states, and an output that is read through R."""
        through_R = not self.cell.read and any(n[0] in "zh" for n in self.cell.gates)
        return (*self.states, self.output) if through_R else self.states

    def width(self, state: str) -> int:
        """The size of the last axis of a state."""
        return self.P if state == self.output else self.H

    def zeros(self, B: int) -> tuple[Tensor, ...]:
        """The state before the first step: (L*D, B, width) each. Zeros, unless the layer begins with others."""
        if self.own:
            return tuple(self.layer.first_state(n, B).detach() for n in self.states)
        like = next(self.layer.parameters())
        shapes = [(self.L * self.D, B, self.width(n)) for n in self.states]
        return tuple(tensor(np.zeros(shape, like.dtype), device=like.device) for shape in shapes)

    def run(self, x: Tensor, state: Sequence[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Run the layer itself: x (T, B, I) and the state before -> the output and the state after."""
        single = self.own and self.L * self.D == 1  # in this case, the layer's states are (B, width)
        given = [s[0] if single else s for s in state]
        y, last = self.layer(x, given if len(given) > 1 else given[0])
        states = (last,) if len(given) == 1 else last
        return y, tuple(expand_dims(s, 0) if single else s for s in states)

    def inside(self, p: int, x: Tensor, before: Mapping[str, Tensor]) -> dict[Expr, Any]:
        """All values of one step of pseudo-layer p, including its inputs."""
        cell, weights, B = self.cell, self.layer.weights(p), x.shape[0]
        states = [before[n] if n in before else zeros((B, self.P), x) for n in cell.order]
        rates = [self.layer.mean_mask(n) for n in cell.masks]
        masks = [tensor(np.full((B, self.H), rate, x.dtype), device=x.device) for rate in rates]
        return evaluate(cell, inputs_of_step(cell, x, states, weights, masks), weights.U)

    def step(self, p: int, x: Tensor, before: Mapping[str, Tensor]) -> Values:
        """One step of pseudo-layer p."""
        found, cell, weights = self.inside(p, x, before), self.cell, self.layer.weights(p)
        after = dict(zip(cell.order, states_after(cell, found, weights, x.shape[0], self.H), strict=True))
        z = getattr(self.layer, "zoneout", 0.0)
        for n, rate in zip("hc", z if isinstance(z, tuple) else (z, z), strict=True):
            if rate and n in after:  # in evaluation, zoneout takes the weighted mean of old and new
                after[n] = rate * before[n] + (1 - rate) * after[n]
        return Values(after[self.output], after, {n: found[e] for n, e in self.named.items()})

    def trace(self, xs: Sequence[Tensor], state: Sequence[Tensor]) -> Seen:
        """The same as `run` in evaluation, but step by step: x (B, I) of T steps and the state before -> all values."""
        T, outputs = len(xs), list(xs)
        steps: list[list[Values]] = []
        ends: list[dict[str, Tensor]] = []
        for layer in range(self.L):
            found: list[list[Values]] = []
            for d in range(self.D):
                p = layer * self.D + d
                before = {n: s[p] for n, s in zip(self.states, state, strict=True)}
                own: list[Any] = [None] * T
                for t in reversed(range(T)) if d else range(T):
                    own[t] = self.step(p, outputs[t], before)
                    before = own[t].states
                found.append(own)
                ends.append(before)
            steps += found
            both = zip(*found, strict=True)  # both directions for each step
            outputs = [v[0].output if self.D == 1 else concat([one.output for one in v], 1) for v in both]
        return Seen(steps, outputs, tuple(stack([end[n] for end in ends]) for n in self.states))


def opened(layer: Any, name: str = "opened") -> Opened:
    """A recurrent layer step by step.

    Raises TypeError if `layer` cannot be opened. `name` is the name of the caller in the message.
    """
    if not isinstance(layer, Stack):
        raise TypeError(
            f"{name}: got a {type(layer).__name__}\n  expected an nn.LSTM, nn.GRU, nn.RNN or a layer of a custom cell"
        )
    if isinstance(layer, KeyedCellLayer):
        raise TypeError(f"{name}: {layer.name} has keys\n  expected a cell without keys, whose states are (B, H)")
    return Opened(layer)

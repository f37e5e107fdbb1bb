"""Layers of a cell with keys, whose states may be matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.cells.keyed import KeyedPlan
from minirnn.devices.base import Weights
from minirnn.engine.tensor import Tensor, tensor
from minirnn.nn.functional import linear
from minirnn.nn.own.layer import CellLayer
from minirnn.ops.primitives import concat, stack, where
from minirnn.ops.sequence.keyed import KeyedLayer
from minirnn.ops.sequence.layer import keep_for

REFUSED = {
    "proj_size": "multiply the output by a Linear layer",
    "weight_dropout": "it has no recurrent matrix",
    "masks": "drop out the output of the layer",
}
"""Arguments of `CellLayer` that a cell with keys does not have."""


class KeyedCellLayer(CellLayer):
    """Layers of a user's own cell with keys. ``my_cell.layer(...)`` creates it.

    Its parameters are those of `CellLayer` but proj_size, weight_dropout and masks.

    Attributes
    ----------
    weight_ih : Parameter, (rows, I)
        Rows: the gates in the order of the cell's arguments, H rows for ``x_NAME``, N for ``k_NAME``, 1 for ``s_NAME``.
    bias : Parameter, (rows,)

    A learned parameter of the cell is (H,), or has the shape of its annotation: (H, N), (N,) or (). States have the
    shapes that the cell's formulas give them, after the axis B.
    """

    def __init__(self, cell: Any, input_size: int, hidden_size: int, num_layers: int = 1, **options: Any) -> None:
        for n, instead in REFUSED.items():
            if options.get(n):
                raise ValueError(f"{cell.__name__}: {n} is {shown(options[n])}, and the cell has keys\n  {instead}")
        super().__init__(cell, input_size, hidden_size, num_layers, **options)

    # ---- parameters

    @property
    def plan(self) -> KeyedPlan:  # type: ignore[override]
        """The plan for devices."""
        return self.cell.keyed_plan()

    def _shapes(self, p: int) -> dict[str, tuple[int, ...]]:
        plan, H, step = self.plan, self.hidden_size, self.cell.step
        rows = plan.starts(plan.gates, H)[-1]
        shapes = {"weight_ih": (rows, self.input_size if p < self.D else self.D * H), "bias": (rows,)}
        shapes |= {f"initial_{n}": self._place(n)[2] for n in self.learned}
        return self._with_learned(shapes, {n: plan.shape(e, H) for n, e in step.vectors.items()})

    def _place(self, n: str, p: int = 0) -> tuple[str, int, tuple[int, ...]]:
        plan, H, order = self.plan, self.hidden_size, self.cell.step.gate_order
        if n in order:
            k = order.index(n)
            return "bias", plan.starts(plan.gates, H)[k], (plan.width(plan.gates[k], H),)
        if n in self.states_given:
            return f"initial_{n}", 0, plan.shape(self.cell.step.states[n], H)
        return n, 0, self._shapes(p)[n]

    def weights(self, k: int) -> Weights:
        """The weights of pseudo-layer k = l*D + d."""
        own = {n: getattr(self, full) for n, full in self._names[k].items()}
        learned = tuple(own[n] for n in self.cell.step.vectors)
        return Weights(own["weight_ih"], None, None, own["bias"], None, (), learned)

    # ---- the call

    def forward(self, input: Any, states: Any = None, lengths: Any = None, masks: Any = None) -> tuple[Tensor, Any]:
        """Run over whole sequences. Raises TypeError or ValueError if a shape, dtype or length does not fit.

        Parameters
        ----------
        input : (T, B, I), or (B, T, I) with batch_first, or (T, I)
        states : Tensor, or a tuple of one for each state of the cell, optional
            Before the first step, (B, H, N), (B, H), (B, N) or (B,), as the cell's formulas have it; with a first axis
            L*D for several layers or two directions. Zeros by default. Named states are read by their names.
        lengths : (B,) integers, 1 .. T, optional
            In any order. Past its end, a sequence keeps its states and its output is 0. Values there are not read.
        masks : None

        Returns
        -------
        output : (T, B, D*H)
        states : Tensor, or a named tuple of one for each state of the cell
            After the last step.
        """
        if masks:
            raise ValueError(f"{self.name}: got masks, and the cell has keys\n  expected none")
        x, batched, steps = self._read(input, self.batch_first, lengths)
        before = self._keyed_states(states, batched, x)
        y, weights, between = self._dropped(x)
        ends: list[list[Tensor]] = []
        for l in range(self.num_layers):
            found = [
                self._direction(y, [s[p] for s in before], weights[p], steps, bool(p % self.D))
                for p in range(l * self.D, (l + 1) * self.D)
            ]
            y = found[0][0] if self.D == 1 else concat([own for own, _ in found], 2)
            ends += [after for _, after in found]
            if between is not None and l < self.num_layers - 1:
                y = y * between[l]
        after = dict(zip(self.plan.state_names, [stack(s) for s in zip(*ends, strict=True)], strict=True))
        return self._returned(y, after, batched)

    def _direction(
        self, x: Tensor, states: Sequence[Tensor], weights: Weights, lengths: np.ndarray | None, reverse: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """y (T, B, H) and the states after the last step."""
        T, B, _ = x.shape
        steps = np.arange(T)[:, None]
        ends = np.full(B, T) if lengths is None else lengths
        order = np.where(steps < ends, ends - 1 - steps, steps), np.arange(B)[None]  # backward, padding stays
        if lengths is not None:  # values at padding must not reach the weights as 0 * NaN
            x = where(tensor((steps < ends)[:, :, None], device=x.device), x, 0.0)
        inputs = [linear(x[order] if reverse else x, weights.W, weights.bW), *states, *weights.vectors]
        y, *after = KeyedLayer(self.plan, self.hidden_size, lengths, keep_for(inputs))(*inputs)
        return y[order] if reverse else y, after

    def _keyed_states(self, given: Any, batched: bool, x: Tensor) -> list[Tensor]:
        """The states before the first step in the order of the plan, (L*D, B, ..) each."""
        count, H, by_name, found = self.num_layers * self.D, self.hidden_size, self._by_name(given), []
        for n, e in zip(self.plan.state_names, self.plan.states, strict=True):
            if by_name[n] is None:
                found.append(self.first_state(n, x.shape[1]))
                continue
            own = [letter for axis, letter in (("u", "H"), ("k", "N")) if axis in e.axes]
            full = count, x.shape[1], *self.plan.shape(e, H)
            found.append(self._state(n, by_name[n], own, full, batched, x))
        return found

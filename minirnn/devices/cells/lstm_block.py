"""The cell of BlockLSTM as formulas, for devices that compute it from its plan."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from minirnn.cells.cell import Formulas
from minirnn.cells.expr import apply
from minirnn.cells.plan import Plan


def sigmoid(x: Any) -> Any:
    return apply("sigmoid", x)


def tanh(x: Any) -> Any:
    return apply("tanh", x)


def plain(z_i: Any, z_ci: Any, z_f: Any, z_o: Any, cs: Any, h: Any) -> Any:
    i, ci, f, o = sigmoid(z_i), tanh(z_ci), sigmoid(z_f), sigmoid(z_o)
    cs = i * ci + f * cs
    co = tanh(cs)
    h = o * co
    return cs, h


def clipped(z_i: Any, z_ci: Any, z_f: Any, z_o: Any, cs: Any, h: Any, *, cell_clip: Any = 3.0) -> Any:
    i, ci, f, o = sigmoid(z_i), tanh(z_ci), sigmoid(z_f), sigmoid(z_o)
    cs = apply("clip", i * ci + f * cs, -cell_clip, cell_clip, straight_through=True)
    co = tanh(cs)
    h = o * co
    return cs, h


def peephole(z_i: Any, z_ci: Any, z_f: Any, z_o: Any, cs: Any, h: Any, *, wci: Any, wcf: Any, wco: Any) -> Any:
    i, ci, f = sigmoid(z_i + wci * cs), tanh(z_ci), sigmoid(z_f + wcf * cs)
    cs = i * ci + f * cs
    o = sigmoid(z_o + wco * cs)  # the new cs
    co = tanh(cs)
    h = o * co
    return cs, h


def peephole_clipped(
    z_i: Any, z_ci: Any, z_f: Any, z_o: Any, cs: Any, h: Any, *, wci: Any, wcf: Any, wco: Any, cell_clip: Any = 3.0
) -> Any:
    i, ci, f = sigmoid(z_i + wci * cs), tanh(z_ci), sigmoid(z_f + wcf * cs)
    cs = apply("clip", i * ci + f * cs, -cell_clip, cell_clip, straight_through=True)
    o = sigmoid(z_o + wco * cs)  # the new cs, already clipped
    co = tanh(cs)
    h = o * co
    return cs, h


@lru_cache
def plan_of(use_peephole: bool, clips: bool) -> Plan:
    """The plan with or without peepholes and a clip, whose bound is its constant `cell_clip`."""
    if clips:
        return Formulas(peephole_clipped if use_peephole else clipped, ("cs", "h")).plan()
    return Formulas(peephole if use_peephole else plain, ("cs", "h")).plan()

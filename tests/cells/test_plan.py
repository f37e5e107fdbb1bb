"""What a plan says: counts, names, constants. `tests/devices/cpu/sequence/test_step.py` runs the plans.

Tests `minirnn/cells/plan.py` and `minirnn/cells/derive.py`.
"""

from math import inf

import numpy as np
import pytest

from minirnn import cell, clip, sigmoid, softplus, sqrt, tanh, unit_mean, where
from minirnn.cells.expr import Expr
from minirnn.devices.cells.header import header
from minirnn.devices.cpu.sequence.step import function_of, text_of
from minirnn.ops.cudnn_rnn.cells import lstm, rnn_tanh
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import lstm_block, lstm_block_peephole
from tests.cells.with_torch import CELLS, gallery
from tests.devices.cells.own_layers import multiplicative, residual


@cell(states=("h",))
def normalized(z_a, h, *, g, b, eps=1e-5):
    mean = unit_mean(z_a)
    centered = z_a - mean
    h = tanh(centered / sqrt(unit_mean(centered * centered) + eps) * g + b) + 0.5 * h
    return h


@cell(states=("c", "h"))
def zoned(z_i, z_n, z_o, c, h, mask_c, mask_h=0.1):
    new = clip(sigmoid(z_i) * c + tanh(z_n), -0.5, 0.5, straight_through=True)
    out = where(z_o > c, softplus(z_o), abs(c) ** 3 / (1 + c * c)) * tanh(new)
    return mask_c * c + (1 - mask_c) * new, mask_h * h + (1 - mask_h) * out


@cell(states=("old", "h"))
def delayed(z_a, old, h):
    return h, tanh(z_a + 0.3 * old)


MADE_UP = {"normalized": normalized, "zoned": zoned, "delayed": delayed}
ALL = {n: gallery(n) for n in CELLS} | MADE_UP | {"multiplicative": multiplicative, "residual": residual}


def test_counts_are_those_of_the_form() -> None:
    plan = ALL["gru_block"].plan()
    counts = plan.of_both, plan.of_x, plan.of_h, plan.states, plan.saved, plan.vectors, plan.products
    assert counts == (2, 1, 0, 1, 3, 0, 1)
    assert (plan.reads_before, plan.reads_after, plan.carries) == (0b1, 0, True)
    assert [len(stages) for stages in (plan.forward, plan.backward)] == [2, 2]
    assert (plan.cuts[0].forward, plan.cuts[0].backward) == (0, 0)
    lstm = ALL["lstm"].plan()
    assert (lstm.of_both, lstm.states, lstm.reads_before, lstm.reads_after, lstm.carries) == (4, 2, 0b01, 0, False)
    peephole = ALL["peephole_lstm"].plan()
    assert (peephole.vectors, peephole.reads_before, peephole.reads_after) == (3, 0b01, 0b01)
    assert ALL["normalized"].plan().means == 2
    assert ALL["zoned"].plan().masks == 2


@pytest.mark.parametrize("name", ALL)
def test_names_of_a_stage_are_unique(name: str) -> None:
    for stage in (*ALL[name].plan().forward, *ALL[name].plan().backward):
        names = [line.name for line in (*stage.loads, *stage.statements)]
        assert len(names) == len(set(names))
        assert all(n.isidentifier() and n.isascii() for n in names)


def test_equal_cells_have_one_fingerprint_whatever_their_constants_are() -> None:
    """Constants are arguments of a kernel, so other values need no other code."""
    first, again = gallery("cornn").plan(), gallery("cornn").plan()
    assert first.fingerprint == again.fingerprint
    other = gallery("cornn").with_constants(dt=0.2).plan()
    assert other.fingerprint == first.fingerprint and other.constants != first.constants
    assert header(other) == header(first)
    assert len({own.plan().fingerprint for own in ALL.values()}) == len(ALL)


def test_a_plan_names_what_a_step_saves() -> None:
    plan = lstm_block_peephole.plan()
    assert plan.value_names == ("i", "ci", "f", "o", "co")
    assert [plan.names[e] for e in plan.saved_values] == list(plan.value_names)
    stores = {plan.names[s.value]: s.place.index for s in plan.forward[0].stores if s.place.array == "saved"}
    assert list(stores) == list(plan.value_names) and list(stores.values()) == list(range(5))
    assert lstm.plan().value_names == ("i", "f", "n", "o")  # tanh_c is computed again
    assert gru_block.plan().value_names == ("r", "u", "c") and rnn_tanh.plan().value_names == ()
    assert "h" not in lstm.plan(True).value_names


def test_other_constants_keep_a_backward_pass_by_hand() -> None:
    """And a clip at infinite bounds is not computed."""
    other = lstm_block.with_constants(forget_bias=0.5)
    assert other.by_hand == lstm_block.by_hand and other.backward_formulas() == lstm_block.backward_formulas()
    assert other.step.constants == {"forget_bias": 0.5, "cell_clip": 3.0}
    endless = lstm_block.with_constants(cell_clip=inf)
    assert endless.by_hand == lstm_block.by_hand
    assert "cs = i * ci + f * cs_prev" in endless.forward_formulas().splitlines()
    assert not [e for e in endless.step.nodes if e.op in ("clip", "straight_through")]
    assert endless.plan().fingerprint != lstm_block.plan().fingerprint


def test_a_clip_at_one_infinite_bound_is_computed() -> None:
    @cell(states="h")
    def half(z_a, h, *, low=-inf):
        h = clip(z_a + 0.5 * h, low, 1)
        return h

    assert half.forward_formulas() == "h = clip(z_a + 0.5 * h_prev, low, 1)"


def test_a_clip_that_gradients_pass_is_written_as_its_call() -> None:
    @cell(states="h")
    def limited(z_a, h):
        h = clip(z_a + h, -1, 1, straight_through=True)
        return h

    assert limited.forward_formulas() == "h = clip(z_a + h_prev, -1, 1, straight_through=True)"
    text = text_of(limited.plan(), False)
    assert "    h = clip(z_a + h_prev, -1, 1, straight_through=True)\n" in text
    np.testing.assert_array_equal(
        function_of(limited.plan(), False)(np.array([0.4, 3.0]), np.array([0.1, 1.0]))[0], [0.5, 1]
    )
    assert "clip(z_a + h_prev, real(-1), real(1))" in header(limited.plan())


def test_every_value_of_a_plan_is_a_symbol() -> None:
    for stage in ALL["lem"].plan().backward:
        assert all(isinstance(line.value, Expr) for line in (*stage.loads, *stage.statements, *stage.stores))

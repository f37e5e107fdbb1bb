"""Which rung of the CudnnRNN ladder is chosen, why, and that every plan fits the device it was made for."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.sequence import cost
from minirnn.devices.cuda.launch.sequence import plan as plans
from minirnn.devices.cuda.launch.sequence.barrier_plan import barrier_plan
from minirnn.devices.cuda.launch.sequence.choice import H200, RUNGS, Choice, choose, rung_from_environment
from minirnn.devices.cuda.launch.sequence.plan import CHUNK, BackwardPlan, ForwardPlan, plan_of
from minirnn.devices.cuda.launch.sequence.sizes import GATES, Gates, Sizes

A100 = replace(H200, compute_capability=(8, 0), multiprocessors=108, shared_bytes_per_block=163 << 10)
T4 = replace(H200, compute_capability=(7, 5), multiprocessors=40, shared_bytes_per_block=64 << 10)
PASCAL = replace(H200, compute_capability=(6, 1))
SLICE = replace(H200, multiprocessors=7)  # of a GPU that several users share
SIMULATED = replace(H200, simulated=True, shared_bytes_per_block=48 << 10)


def sizes(mode: str, T: int, B: int, H: int, P: int = 0, D: int = 1, itemsize: int = 4) -> Sizes:
    return Sizes(mode, T, B, H, P or H, D, itemsize)


TABLE = [
    # device, sizes, forward, backward, a word of the reason for forward
    (H200, sizes("lstm", 256, 1, 256), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 256, 30, 256), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("gru", 256, 100, 64), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 16, 512), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 100, 64, 1024), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 1024, 8, 2048), "steps", "steps", "shared memory"),
    (H200, sizes("rnn_tanh", 1024, 8, 2048), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 16, 512, D=2), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 16, 512, itemsize=8), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 1, 128, itemsize=8), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("gru", 128, 1, 170, itemsize=8), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 28, 64, D=2), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 127, 512), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 128, 512), "steps", "steps", "128 rows"),
    (H200, sizes("lstm", 1, 1, 256), "steps", "steps", "one step"),
    (H200, sizes("lstm", 128, 16, 512, P=100), "steps", "steps", "projection"),
    (A100, sizes("lstm", 256, 1, 256), "persistent", "persistent", "fit on the chip"),
    (A100, sizes("gru", 128, 16, 512), "persistent", "persistent", "fit on the chip"),
    (T4, sizes("gru", 128, 16, 512), "persistent", "persistent", "fit on the chip"),
    (T4, sizes("gru", 128, 16, 1024), "steps", "steps", "26 per block"),
    (T4, sizes("gru", 128, 16, 256), "persistent", "persistent", "fit on the chip"),
    (PASCAL, sizes("gru", 128, 16, 256), "steps", "steps", "compute capability 7.0"),
    (SLICE, sizes("gru", 128, 16, 64), "persistent", "persistent", "fit on the chip"),
    (SLICE, sizes("gru", 128, 16, 256), "steps", "persistent", "38 per block"),
    (SIMULATED, sizes("lstm", 5, 2, 4), "steps", "steps", "simulator"),
]


def name_of(row: Any) -> str:
    s = row[1]
    return f"sm{row[0].compute_capability}-{s.mode}-{s.T},{s.B},{s.H},{s.P}-D{s.D}-{s.itemsize}"


@pytest.mark.parametrize("row", TABLE, ids=name_of)
def test_the_table(row: tuple[Limits, Sizes, str, str, str]) -> None:
    limits, layer, forward, backward, word = row
    found = choose(layer, limits)
    assert found.rung == forward, found
    assert word in found.reason
    assert choose(layer, limits, backward=True).rung == backward
    assert (found.plan is None) == (found.rung == "steps")


def test_a_rung_that_is_asked_for_is_taken_wherever_it_can_be_had() -> None:
    small, large, projected = sizes("lstm", 1, 500, 32), sizes("lstm", 9, 9, 2048), sizes("lstm", 9, 9, 60, P=7)
    for limits in (H200, SIMULATED):
        for backward in (False, True):
            assert choose(small, limits, backward, "steps") == Choice("steps", "asked for")
            plan = plan_of(small, limits, backward)
            assert not isinstance(plan, str)
            assert choose(small, limits, backward, "persistent") == Choice("persistent", "asked for", plan)
            plain = barrier_plan(small, limits, backward)
            assert choose(small, limits, backward, "barrier") == Choice("barrier", "asked for", plain)
            found = choose(projected, limits, backward, "persistent")
            assert found.rung == "steps"
            assert found.reason.startswith("persistent was asked for, but with a projection a step has two products")
    found = choose(large, H200, wanted="persistent")
    assert found.rung == "steps"
    assert found.reason.startswith("persistent was asked for, but its weights do not fit on the chip: ")
    assert found.reason.endswith("; so the lowest rung")
    own = choose(replace(small, own=Gates(4)), H200, wanted="barrier")
    assert own.rung == "steps" and own.reason.startswith("barrier was asked for, but the plain kernel of one launch is")
    with pytest.raises(ValueError, match="no rung 'fast'.*\n.*steps, barrier, persistent, auto\n.*MINIRNN_CUDNN_RNN"):
        choose(small, H200, wanted="fast")


def test_zoneout_takes_the_lowest_rung_and_says_why() -> None:
    small = sizes("lstm", 9, 4, 32)
    for limits in (H200, SIMULATED):
        for backward in (False, True):
            found = choose(small, limits, backward, zoneout=True)
            assert found == Choice(
                "steps", "zoneout needs masks at each step, which the kernels of one launch do not read"
            )
            assert choose(small, limits, backward, "steps", zoneout=True) == Choice("steps", "asked for")
            wanted = choose(small, limits, backward, "persistent", zoneout=True)
            assert wanted == Choice("steps", f"persistent was asked for, but {found.reason}")


def test_the_variable_names_a_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in RUNGS:
        monkeypatch.setenv("MINIRNN_CUDNN_RNN", text)
        assert rung_from_environment() == text
    for text in ("auto", ""):
        monkeypatch.setenv("MINIRNN_CUDNN_RNN", text)
        assert rung_from_environment() is None
    monkeypatch.delenv("MINIRNN_CUDNN_RNN")
    assert rung_from_environment() is None
    monkeypatch.setenv("MINIRNN_CUDNN_RNN", "quick")
    with pytest.raises(ValueError, match="no rung 'quick'"):
        rung_from_environment()


MANY = [
    (limits, sizes(mode, 9, B, H, D=D, itemsize=itemsize))
    for limits in (H200, A100, T4, SLICE, SIMULATED)
    for mode in GATES
    for itemsize in (4, 8)
    for D in (1, 2)
    for B in (1, 3, 8, 60)
    for H in (1, 5, 31, 33, 128, 200, 256, 333, 512, 777, 1024, 1056, 1500, 2048)
]


def test_forward_plans_cover_all_units_and_fit() -> None:
    found = [(limits, s, plan) for limits, s in MANY if isinstance(plan := plan_of(s, limits, False), ForwardPlan)]
    assert len(found) > 500
    for limits, s, plan in found:
        units = 2 * plan.warps // plan.parts  # of a block
        assert (plan.columns - 1) * units < s.H <= plan.columns * units and plan.blocks == plan.columns * plan.groups
        assert (plan.groups - 1) * plan.batch < s.B <= plan.groups * plan.batch  # no group is empty
        assert plan.blocks * s.D <= limits.multiprocessors  # one block each: all are resident
        assert plan.parts * plan.chunks * CHUNK >= s.H * s.itemsize
        assert plan.shared <= limits.shared_bytes_per_block
        beyond = plan.warps * 2 * s.G * (plan.chunks - plan.kept)
        totals = plan.parts * plan.rows * (units + 2) * s.G * s.itemsize
        assert plan.shared >= (plan.rows * plan.chunks * plan.parts + beyond) * CHUNK + totals
        assert plan.rows * units <= 32 * plan.warps <= 256 and plan.rows in (1, 2, 4, 8) and plan.kept <= plan.chunks
        assert s.H % plan.piece == 0 and plan.piece * s.itemsize in (s.itemsize, 16)
        assert registers(s, plan.kept, 2 * s.G, 16 // s.itemsize) <= 255


@pytest.mark.slow
def test_backward_plans_cover_the_whole_table_and_fit() -> None:
    found = [(limits, s, plan) for limits, s in MANY if isinstance(plan := plan_of(s, limits, True), BackwardPlan)]
    assert len(found) > 500
    for limits, s, plan in found:
        units = plan.outputs * plan.warps  # of a column
        assert (plan.columns - 1) * units < s.H <= plan.columns * units
        assert (plan.groups - 1) * plan.batch < s.B <= plan.groups * plan.batch
        assert plan.blocks == plan.columns * plan.slices * plan.groups
        assert plan.slice % plan.piece == s.H % plan.piece == 0
        assert (plan.slices - 1) * plan.slice < s.H <= plan.slices * plan.slice  # no slice is empty
        assert plan.blocks * s.D <= limits.multiprocessors
        assert plan.chunks == ceil(s.G * plan.slice * s.itemsize / CHUNK)
        assert plan.shared <= limits.shared_bytes_per_block
        assert plan.warps <= 8 and plan.rows in (1, 2, 4, 8) and plan.kept <= plan.chunks
        assert registers(s, plan.kept, plan.outputs, 1) <= 255


def registers(s: Sizes, kept: int, rows_of_weights: int, rows: int) -> int:
    """The least that a thread needs: weights and sums. (`test_nvcc.py` checks the total.)"""
    return 4 * kept * rows_of_weights + rows * rows_of_weights * s.itemsize // 4


def test_a_plan_does_not_depend_on_what_does_not_matter() -> None:
    assert plan_of(sizes("lstm", 5, 4, 512), H200, False) == plan_of(sizes("lstm", 900, 4, 512), H200, False)
    large = replace(H200, memory_bytes=1, name="other", threads_per_block=1024)
    assert choose(sizes("lstm", 5, 4, 512), H200) == choose(sizes("lstm", 5, 4, 512), large)


def test_groups_of_the_batch_divide_what_is_gathered() -> None:
    whole, parts = (plans.forward_in(sizes("lstm", 9, 64, 512), H200, groups) for groups in (1, 4))
    assert isinstance(whole, ForwardPlan) and isinstance(parts, ForwardPlan)
    assert (parts.groups, parts.batch, parts.gathered) == (4, 16, whole.gathered // 4)
    assert plan_of(sizes("lstm", 9, 64, 512), H200, False) == parts  # fewer bytes, the same multiplications
    table, tables = (plans.backward_in(sizes("lstm", 9, 64, 512), H200, groups) for groups in (1, 4))
    assert isinstance(table, BackwardPlan) and isinstance(tables, BackwardPlan)
    assert tables.gathered < table.gathered


@pytest.mark.parametrize("B", [1, 3, 8, 14])
def test_a_batch_of_less_than_two_tiles_stays_together(B: int) -> None:
    for backward in (False, True):
        plan = plan_of(sizes("lstm", 9, B, 256), H200, backward)
        assert not isinstance(plan, str) and (plan.groups, plan.batch) == (1, B)


@pytest.mark.parametrize(
    ("capability", "single", "double"),
    [
        ((7, 0), 64, 32),
        ((7, 5), 64, 2),
        ((8, 0), 64, 32),
        ((8, 6), 128, 2),
        ((8, 9), 128, 2),
        ((9, 0), 128, 64),
        ((12, 0), 128, 2),
    ],
)
def test_lanes_of_a_multiprocessor(capability: tuple[int, int], single: int, double: int) -> None:
    assert (cost.lanes(capability, 4), cost.lanes(capability, 8)) == (single, double)


def test_weights_that_stay_in_the_l2_cache() -> None:
    limits = replace(H200, l2_bytes=50 << 20)
    assert cost.weights_stay_in_l2(4 << 20, limits) is True
    assert cost.weights_stay_in_l2(26 << 20, limits) is False
    assert cost.weights_stay_in_l2(4 << 20, replace(H200, l2_bytes=0)) is None

"""Which rung of the ladder is chosen, why, and that every layout fits the device it was made for.

Tests `minirnn/devices/cuda/launch/sequence/choice.py`, `minirnn/devices/cuda/launch/sequence/layout.py` and
`minirnn/devices/cuda/launch/sequence/sizes.py`.
"""

from dataclasses import replace
from math import ceil
from typing import Any

import pytest

from minirnn import cell, sigmoid, tanh
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.sequence import layout as layouts
from minirnn.devices.cuda.launch.sequence.choice import H200, RUNGS, Choice, choose, rung_from_environment, step_time
from minirnn.devices.cuda.launch.sequence.layout import (
    CHUNK,
    BackwardLayout,
    ForwardLayout,
    barrier_layout,
    layout_of,
)
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.ops.cudnn_rnn.cells import CELLS, lstm_zoned_c, plan_of
from minirnn.ops.gru_block.cells import gru_block
from tests.cells.with_torch import CELLS as CELLS_OF_GALLERY
from tests.cells.with_torch import gallery
from tests.devices.cuda.machine_code.variants import UNITWISE

A100 = replace(H200, compute_capability=(8, 0), multiprocessors=108, shared_bytes_per_block=163 << 10)
T4 = replace(H200, compute_capability=(7, 5), multiprocessors=40, shared_bytes_per_block=64 << 10)
PASCAL = replace(H200, compute_capability=(6, 1))
SLICE = replace(H200, multiprocessors=7)  # of a GPU that several users share
SIMULATED = replace(H200, simulated=True, shared_bytes_per_block=48 << 10)


def sizes(mode: str, T: int, B: int, H: int, P: int = 0, D: int = 1, itemsize: int = 4) -> Sizes:
    return Sizes(plan_of(mode, P > 0), T, B, H, P or H, D, itemsize)


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
    (H200, sizes("lstm", 128, 250, 512), "persistent", "persistent", "fit on the chip"),
    (H200, sizes("lstm", 128, 350, 512), "steps", "steps", "multiplies faster"),
    (H200, sizes("lstm", 128, 128, 1024), "steps", "steps", "multiplies faster"),
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
    return f"sm{row[0].compute_capability}-{s.plan.name}-{s.T},{s.B},{s.H},{s.P}-D{s.D}-{s.itemsize}"


@pytest.mark.parametrize("row", TABLE, ids=name_of)
def test_the_table(row: tuple[Limits, Sizes, str, str, str]) -> None:
    limits, layer, forward, backward, word = row
    found = choose(layer, limits)
    assert found.rung == forward, found
    assert word in found.reason
    assert choose(layer, limits, backward=True).rung == backward
    assert (found.layout is None) == (found.rung == "steps")


def test_products_on_tensor_cores_are_left_to_the_library_at_fewer_units_and_rows() -> None:
    """With TF32, and with float16, which is computed in it: at B = 64, from somewhere between 512 and 1024 units."""
    for B, H, rung in ((1, 64, "persistent"), (32, 256, "persistent"), (64, 512, "persistent"), (64, 1024, "steps")):
        layer = sizes("lstm", 100, B, H)
        assert choose(layer, H200, precision="tf32").rung == rung
        assert choose(layer, H200).rung == "persistent"
        assert choose(layer, replace(T4, multiprocessors=132, shared_bytes_per_block=227 << 10)).rung == "persistent"
    wide = sizes("lstm", 100, 32, 512, itemsize=8)
    assert choose(wide, H200, precision="tf32") == choose(wide, H200)
    half = replace(H200, multiprocessors=66)
    assert step_time("steps", layer, H200, "tf32") < step_time("steps", layer, half, "tf32")


def test_a_rung_that_is_asked_for_is_taken_wherever_it_can_be_had() -> None:
    small, large, projected = sizes("lstm", 1, 500, 32), sizes("lstm", 9, 9, 2048), sizes("lstm", 9, 9, 60, P=7)
    for limits in (H200, SIMULATED):
        for backward in (False, True):
            assert choose(small, limits, backward, "steps") == Choice("steps", "asked for")
            layout = layout_of(small, limits, backward)
            assert not isinstance(layout, str)
            assert choose(small, limits, backward, "persistent") == Choice("persistent", "asked for", layout)
            plain = barrier_layout(small, limits, backward)
            assert choose(small, limits, backward, "barrier") == Choice("barrier", "asked for", plain)
            found = choose(projected, limits, backward, "persistent")
            assert found.rung == "steps"
            assert found.reason.startswith("persistent was asked for, but with a projection a step has two products")
    found = choose(large, H200, wanted="persistent")
    assert found.rung == "steps"
    assert found.reason.startswith("persistent was asked for, but its weights do not fit on the chip: ")
    assert found.reason.endswith("; so the lowest rung")
    with pytest.raises(ValueError, match="no rung 'fast'.*\n.*steps, barrier, persistent, auto\n.*MINIRNN_CUDNN_RNN"):
        choose(small, H200, wanted="fast")


def test_a_cell_that_no_kernel_of_one_launch_can_hold_takes_the_lowest_rung_and_says_why() -> None:
    @cell(states="h")
    def indrnn(x_a: Any, h: Any, *, u: Any) -> Any:
        return tanh(x_a + u * h)

    @cell(states="h")
    def only_h(h_a: Any, h: Any) -> Any:
        return tanh(h_a) + h

    @cell(states="h")
    def five_gates(z_a: Any, z_b: Any, z_c: Any, z_d: Any, z_e: Any, h: Any) -> Any:
        return tanh(z_a) * sigmoid(z_b) + tanh(z_c) * sigmoid(z_d) + z_e

    projected = lstm_zoned_c.plan(True)
    for plan, rungs, reason in (
        (projected, RUNGS[1:], "with a projection"), (gru_block.plan(), RUNGS[1:], "products or means inside"),
        (indrnn.plan(), RUNGS[1:], "no gate of the cell reads h"),
        (only_h.plan(), RUNGS[1:], "no gate of the cell reads x"),
        (five_gates.plan(), RUNGS[2:], "5 gates of the cell read h"),
    ):  # fmt: skip
        layer = Sizes(plan, 9, 4, 32, 32, 1, 4)  # with a projection of any width
        for rung in rungs:
            for backward in (False, True):
                found = choose(layer, H200, backward, rung)
                assert found.rung == "steps" and found.reason.startswith(f"{rung} was asked for, but ")
                assert reason in found.reason and found.layout is None
    assert choose(Sizes(five_gates.plan(), 9, 4, 32, 32, 1, 4), H200, wanted="barrier").rung == "barrier"


@pytest.mark.parametrize("limits", [H200, PASCAL, SIMULATED], ids=lambda limits: limits.name)
def test_units_that_do_not_read_each_other_take_one_launch_on_every_gpu(limits: Limits) -> None:
    for name in CELLS_OF_GALLERY:
        plan = gallery(name).plan()
        assert Sizes(plan, 9, 4, 32, 32, 1, 4).coupled == (name not in UNITWISE)
        for backward, T in ((False, 1), (False, 90), (True, 90)):
            found = choose(Sizes(plan, T, 4, 32, 32, 1, 4), limits, backward)
            assert (found.rung == "unitwise") == (name in UNITWISE) and (found.layout is None or found.rung in RUNGS)
        assert choose(Sizes(plan, 9, 4, 32, 32, 1, 4), limits, wanted="steps").rung == "steps"
    projected = gallery("sru").plan(True)
    assert choose(Sizes(projected, 9, 4, 32, 8, 1, 4), limits).rung == "steps"


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
    for mode in CELLS
    for itemsize in (4, 8)
    for D in (1, 2)
    for B in (1, 3, 8, 60)
    for H in (1, 5, 31, 33, 128, 200, 256, 333, 512, 777, 1024, 1056, 1500, 2048)
]


def test_forward_layouts_cover_all_units_and_fit() -> None:
    found = [(limits, s, one) for limits, s in MANY if isinstance(one := layout_of(s, limits, False), ForwardLayout)]
    assert len(found) > 500
    for limits, s, one in found:
        units = 2 * one.warps // one.parts  # of a block
        assert (one.columns - 1) * units < s.H <= one.columns * units and one.blocks == one.columns * one.groups
        assert (one.groups - 1) * one.batch < s.B <= one.groups * one.batch  # no group is empty
        assert one.blocks * s.D <= limits.multiprocessors  # one block each: all are resident
        assert one.parts * one.chunks * CHUNK >= s.H * s.itemsize
        assert one.shared <= limits.shared_bytes_per_block
        beyond = one.warps * 2 * s.G * (one.chunks - one.in_registers)
        totals = one.parts * one.rows * (units + 2) * s.G * s.itemsize
        assert one.shared >= (one.rows * one.chunks * one.parts + beyond) * CHUNK + totals
        assert one.rows * units <= 32 * one.warps <= 256 and one.rows in (1, 2, 4, 8) and one.in_registers <= one.chunks
        assert s.H % one.piece == 0 and one.piece * s.itemsize in (s.itemsize, 16)
        assert registers(s, one.in_registers, 2 * s.G, 16 // s.itemsize) <= 255


@pytest.mark.slow
def test_backward_layouts_cover_the_whole_table_and_fit() -> None:
    found = [(limits, s, one) for limits, s in MANY if isinstance(one := layout_of(s, limits, True), BackwardLayout)]
    assert len(found) > 500
    for limits, s, one in found:
        units = one.outputs * one.warps  # of a column
        assert (one.columns - 1) * units < s.H <= one.columns * units
        assert (one.groups - 1) * one.batch < s.B <= one.groups * one.batch
        assert one.blocks == one.columns * one.slices * one.groups
        assert one.slice % one.piece == s.H % one.piece == 0
        assert (one.slices - 1) * one.slice < s.H <= one.slices * one.slice  # no slice is empty
        assert one.blocks * s.D <= limits.multiprocessors
        assert one.chunks == ceil(s.G * one.slice * s.itemsize / CHUNK)
        assert one.shared <= limits.shared_bytes_per_block
        assert one.warps <= 8 and one.rows in (1, 2, 4, 8) and one.in_registers <= one.chunks
        assert registers(s, one.in_registers, one.outputs, 1) <= 255


def registers(s: Sizes, kept: int, rows_of_weights: int, rows: int) -> int:
    """The least that a thread needs: weights and sums. (`test_nvcc.py` checks the total.)"""
    return 4 * kept * rows_of_weights + rows * rows_of_weights * s.itemsize // 4


def test_groups_of_the_batch_divide_what_is_gathered() -> None:
    whole, parts = (layouts.forward_in(sizes("lstm", 9, 64, 512), H200, groups) for groups in (1, 4))
    assert isinstance(whole, ForwardLayout) and isinstance(parts, ForwardLayout)
    assert (parts.groups, parts.batch, parts.gathered) == (4, 16, whole.gathered // 4)
    assert layout_of(sizes("lstm", 9, 64, 512), H200, False) == parts  # fewer bytes, the same multiplications
    table, tables = (layouts.backward_in(sizes("lstm", 9, 64, 512), H200, groups) for groups in (1, 4))
    assert isinstance(table, BackwardLayout) and isinstance(tables, BackwardLayout)
    assert tables.gathered < table.gathered


@pytest.mark.parametrize("B", [1, 3, 8, 14])
def test_a_batch_of_less_than_two_tiles_stays_together(B: int) -> None:
    for backward in (False, True):
        layout = layout_of(sizes("lstm", 9, B, 256), H200, backward)
        assert isinstance(layout, ForwardLayout | BackwardLayout) and (layout.groups, layout.batch) == (1, B)


def test_the_rank_counts_weights_outside_registers_then_multiplications_then_messages() -> None:
    one = layouts.forward_of(sizes("lstm", 9, 64, 1024), H200, 4, 2)
    assert isinstance(one, ForwardLayout) and one.in_registers == one.chunks == 4
    assert one.rank() == (0, 8 * 2 * 4 * 4, one.gathered)  # warps, units, gates, chunks
    beyond = layouts.forward_of(sizes("lstm", 9, 64, 1024), H200, 4, 2, held=3)
    assert isinstance(beyond, ForwardLayout) and beyond.rank() == (8 * 2 * 4, *one.rank()[1:])

"""Plans of the rung on tensor cores: every weight has a place, and all blocks fit on the device at once."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

from minirnn.devices.cuda.launch.cudnn_rnn import tensor_plan
from minirnn.devices.cuda.launch.cudnn_rnn.choice import H200
from minirnn.devices.cuda.launch.cudnn_rnn.plan import Sizes
from minirnn.devices.cuda.launch.cudnn_rnn.tensor_plan import OPERANDS, TensorBackwardPlan, TensorPlan

A100 = replace(H200, compute_capability=(8, 0), multiprocessors=108, shared_bytes_per_block=163 << 10)
SMALL = replace(H200, multiprocessors=20, shared_bytes_per_block=99 << 10)


def layer(mode: str, B: int, H: int, D: int = 1, operand: str = "float16", P: int = 0) -> Sizes:
    return Sizes(mode, 9, B, H, P or H, D, 4, operand)


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_every_weight_has_a_place_and_all_blocks_are_there_at_once(mode: str, operand: str) -> None:
    found = 0
    for limits in (H200, A100, SMALL):
        for H in (1, 7, 33, 64, 250, 512, 700, 1024, 1500, 2048):
            for B in (1, 8, 9, 64, 130):
                for D in (1, 2):
                    sizes = layer(mode, B, H, D, operand)
                    there, back = tensor_plan.forward(sizes, limits), tensor_plan.backward(sizes, limits)
                    for plan in (there, back):
                        if isinstance(plan, str):
                            continue
                        found += 1
                        assert plan.at_once(D) <= limits.multiprocessors
                        assert plan.shared <= limits.shared_bytes_per_block
                        assert 1 <= plan.kept <= plan.chunks and plan.kept * plan.tiles * 8 <= tensor_plan.HELD
                        assert plan.rows * plan.units % 32 == 0 and 32 * plan.warps % plan.units == 0
                    if isinstance(there, TensorPlan):
                        assert there.columns * there.units >= H > (there.columns - 1) * there.units
                        assert there.tiles * 16 >= sizes.G * there.units
                        each = 2 if operand == "float16" else 1
                        assert there.length * each >= H and there.operand == operand
                    if isinstance(back, TensorBackwardPlan):
                        assert back.columns * back.units >= H > (back.columns - 1) * back.units
                        assert back.slices * back.slice >= H > (back.slices - 1) * back.slice  # none is empty
                        assert back.length >= sizes.G * back.slice
                        assert back.operand == ("tf32" if operand == "float16" else operand)
    assert found > 300


def test_the_layers_of_the_goals_have_plans() -> None:
    """Four units a block at H = 512, eight at 1024; the backward table has eight slices."""
    for operand in OPERANDS:
        for B, H, units in ((16, 512, 4), (64, 512, 4), (32, 1024, 8)):
            plan, back = (p(layer("lstm", B, H, 1, operand), H200) for p in (tensor_plan.forward, tensor_plan.backward))
            assert isinstance(plan, TensorPlan) and isinstance(back, TensorBackwardPlan)
            assert (plan.units, plan.blocks, back.slices, back.blocks) == (units, 128, 8, 128)


def test_what_a_step_takes_is_counted_from_the_sizes() -> None:
    B, H = 16, 512
    plan = tensor_plan.forward(layer("lstm", B, H), H200)
    assert isinstance(plan, TensorPlan)
    step = plan.per_step(B, 1)
    assert step["mma"] == 4 * H * H * B // (16 * 8 * 16)  # each weight and each row once, nothing is padding
    assert step["reads"] == 128 * B * H * 2 // 512 and step["mma"] == plan.products_a_read * step["reads"]
    assert (step["sent"], step["gathered"]) == (B * H * 2, 128 * B * H * 2)
    back = tensor_plan.backward(layer("lstm", B, H), H200)
    assert isinstance(back, TensorBackwardPlan)
    step, shares = back.per_step(B, 1), 4 * B * H * back.slices
    assert step["mma"] == 4 * H * H * B // (16 * 8 * 8)  # TF32
    assert (step["sent"], step["gathered"]) == (4 * B * 4 * H + shares, 16 * 4 * B * 4 * H + shares)
    words = plan.describe(1)
    assert "128 blocks of 8 warps, 4 units each; operands float16, 16 registers of weights a lane" in words
    assert "16 columns of 32 units by 8 slices" in back.describe(1)


@pytest.mark.parametrize(
    "sizes, limits, word",
    [
        (layer("lstm", 4, 64, operand=""), H200, "not float64"),
        (replace(layer("lstm", 4, 64), itemsize=8), H200, "not float64"),
        (layer("lstm", 4, 64), replace(H200, compute_capability=(7, 5)), "compute capability 8.0"),
        (layer("lstm", 4, 64, D=2), replace(H200, multiprocessors=1), "2 directions need a multiprocessor each"),
        (layer("lstm", 4, 4096), H200, "units"),
        (layer("lstm", 4, 2048, operand="tf32"), H200, "do not fit on the chip"),
    ],
)
def test_without_a_plan_there_is_a_reason(sizes: Sizes, limits: object, word: str) -> None:
    found = tensor_plan.forward(sizes, limits)  # type: ignore[arg-type]
    assert isinstance(found, str) and word in found
    assert isinstance(tensor_plan.backward(sizes, limits), str)  # type: ignore[arg-type]


def test_a_block_has_as_few_units_as_let_all_run_at_once() -> None:
    for H, D in ((512, 1), (528, 1), (529, 1), (512, 2)):
        plan = tensor_plan.forward(layer("gru", 4, H, D), H200)
        assert isinstance(plan, TensorPlan)
        assert plan.units == 4 or ceil(H / (plan.units // 2)) * D > H200.multiprocessors

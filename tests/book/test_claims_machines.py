"""What the chapters on libraries and hardware say about their figures and numbers, seen in them. Tests `tutorials/`.

`test_NN_...` is about chapter NN, whose names it gets after the chapter has run (`chapters.py`).
"""

from types import SimpleNamespace

import numpy as np
import pytest

import minirnn as mr
from minirnn.parallel.costs import ring

pytestmark = pytest.mark.slow


@pytest.fixture
def simulated() -> None:
    if reason := mr.devices.available()["cuda-sim"]:
        pytest.skip(reason)


# ---- 14. One node or many


def test_14_the_gradients_are_equal_and_the_tapes_are_not(chapter: SimpleNamespace) -> None:
    assert chapter.worst < 1e-5
    assert chapter.boxes["composed"] > 20 and chapter.boxes["fused"] == 2
    assert "as 25 calls of primitives" in chapter.__doc__ and chapter.composed.total("forward").calls == 25


def test_14_fusion_saves_calls_and_bytes_and_no_arithmetic(chapter: SimpleNamespace) -> None:
    ratios = chapter.ratios
    assert 0.98 < ratios["flops"] < 1.02 and 4 < ratios["calls"] < 4.5 and 1.5 < ratios["bytes"] < 2


def test_14_a_clipped_state_lets_its_gradient_through(chapter: SimpleNamespace) -> None:
    assert chapter.y.cs.item() == 3.0 and chapter.x.grad.item() != 0


# ---- 15. Whose gates are these?


def test_15_only_one_order_gives_the_outputs_and_some_others_are_similar(chapter: SimpleNamespace) -> None:
    assert chapter.apart[0] == 0 and (chapter.apart[1:] > 1e-3).all()
    assert chapter.wrong.max() > 0.8 and chapter.wrong.min() < 0


def test_15_the_order_is_found_from_a_known_output_and_only_from_a_right_one(chapter: SimpleNamespace) -> None:
    assert chapter.finding.status == chapter.found.status == "found" != chapter.nothing.status
    assert "gates i, f, n, o" in str(chapter.finding) and "gates i, o, f, n" in str(chapter.found)


# ---- 16. The opaque buffer


def test_16_weights_come_first_and_layer_1_reads_both_directions(chapter: SimpleNamespace) -> None:
    is_bias = [name.startswith("b") for name in chapter.names]
    assert is_bias == sorted(is_bias) and sum(is_bias) == 32
    H, I = chapter.H, chapter.I
    assert chapter.weights[0].shape == (H, I) and chapter.weights[16].shape == (H, 2 * H)
    assert chapter.offsets[32] == chapter.total - 2 * 2 * 4 * H * chapter.L  # 2 D G H L


def test_16_the_round_trip_is_exact_and_a_gradient_arrives_in_its_block(chapter: SimpleNamespace) -> None:
    assert np.array_equal(chapter.back.numpy(), chapter.params)
    assert list(chapter.touched) == list(range(chapter.offsets[1], chapter.offsets[2]))


# ---- 17. Your own cell


def test_17_the_derived_gradient_is_proven(chapter: SimpleNamespace) -> None:
    assert chapter.proof


def test_17_patience_reaches_the_first_step(chapter: SimpleNamespace) -> None:
    share = chapter.share
    assert 4e-3 < share["slow 0 .. 4"] < 6e-3 and max(share["slow = 0"], share["GRU"]) < 1e-10


def test_17_the_reach_does_not_predict_who_learns_first(chapter: SimpleNamespace) -> None:
    end, first, share = chapter.end, chapter.first, chapter.share
    assert end["LSTM"] > 0.15 and all(error < 0.05 for name, error in end.items() if name != "LSTM")
    assert share["LSTM"] > 1e4 * share["GRU"] and 0 < first["GRU"] < first["slow = 0"] < first["slow 0 .. 4"]


# ---- 18. A CUDA kernel with no GPU


def test_18_the_simulator_names_the_thread_and_the_mistake(simulated: None, chapter: SimpleNamespace) -> None:
    assert "thread (36,0,0) of block (1,0,0)" in chapter.no_guard and "byte 400" in chapter.no_guard
    assert "never written" in chapter.no_barrier and "thread (0,0,0)" in chapter.no_barrier
    assert chapter.barrier == "no complaint"
    assert "race" in chapter.half and "thread (32,0,0)" in chapter.half


def test_18_sectors_and_rounds(simulated: None, chapter: SimpleNamespace) -> None:
    assert (len(chapter.coalesced.data["sectors"]), len(chapter.strided.data["sectors"])) == (4, 32)
    assert chapter.worst.data["words"].max() == 32 and chapter.padded.bank_conflicts(3) == [1]


def test_18_the_kernel_computes_what_numpy_does(simulated: None, chapter: SimpleNamespace) -> None:
    assert np.allclose(chapter.on_cpu.h.numpy(), chapter.simulated.h.numpy(), atol=1e-14)


# ---- 19. From one launch per step to a persistent kernel


def test_19_launches_per_step(simulated: None, chapter: SimpleNamespace) -> None:
    assert chapter.per_step["from primitives"] == 15 and chapter.per_step["one fused cell per step"] == 5
    assert chapter.launches["inputs of all steps at once"] == [2 * n + 1 for n in chapter.lengths]


def test_19_one_launch_needs_a_barrier_and_all_blocks(simulated: None, chapter: SimpleNamespace) -> None:
    assert chapter.driver.launches == 1 and chapter.error < 1e-5
    assert chapter.wrong.any() and "deadlock" in chapter.report


def test_19_the_rungs_agree_with_fewer_launches(simulated: None, chapter: SimpleNamespace) -> None:
    assert max(chapter.differences.values()) < 1e-12
    few = {"steps, recorded": 2, "barrier": 2, "persistent": 2}
    assert chapter.sixteen == {"from primitives": 240, "steps": 33} | few
    assert [n for n, _ in chapter.found.values()] == [33, 2, 2, 2]


def test_19_who_is_limited_by_memory(simulated: None, chapter: SimpleNamespace) -> None:
    intensity, ridge = chapter.intensity, chapter.r / chapter.w
    assert 0.45 < intensity["steps, B = 1"] < 0.5 and intensity["steps, B = 8"] < ridge
    assert min(intensity["persistent, B = 1"], intensity["steps, B = 64"]) > ridge
    assert np.isclose(intensity["persistent, B = 1"], intensity["steps, B = 64"])
    bounds = chapter.roof.data["bound"]
    assert (bounds[:2] < chapter.r).all() and (bounds[2:] == chapter.r).all()


# ---- 20. Many hands


def test_20_weights_make_the_sum_of_the_parts_right(chapter: SimpleNamespace) -> None:
    right = chapter.gradient(chapter.whole)
    assert chapter.distance(chapter.found[0], right) < 1e-13 and chapter.distance(chapter.wrong[0], right) > 0.01
    assert all(np.array_equal(g, chapter.found[0]) for g in chapter.found)
    errors = chapter.errors
    assert max(errors["weighted by characters"]) < 1e-12
    assert errors["weighted by sequences"][0] < 1e-12 and errors["weighted by sequences"][-1] > 0.1


def test_20_messages_leave_during_the_pass(chapter: SimpleNamespace) -> None:
    assert chapter.ends["layers"] < chapter.ends["one node"]
    begins = [e.begin for e in chapter.early if e.name.startswith("bucket")]
    assert begins[0] == min(begins) < chapter.backward.end


def test_20_a_single_message_waits_for_the_whole_pass(chapter: SimpleNamespace) -> None:
    assert chapter.counts == sorted(chapter.counts, reverse=True)
    assert chapter.counts[0] == len(chapter.parameters) and chapter.counts[-1] == 1
    whole = chapter.seconds + ring(chapter.ranks, chapter.total, chapter.network)
    assert chapter.finished[-1] >= 1e3 * whole - 0.5 or chapter.complete[-1].begin < chapter.backward.end


def test_20_costs_against_ranks(chapter: SimpleNamespace) -> None:
    data = chapter.shown[3].data
    assert data["parameter server"][-1] > 100 * data["ring"][-1] and data["ring"][-1] > data["halving"][-1]
    assert (np.diff(chapter.computed) < 0).all() and (np.diff(chapter.messages) > 0).all()
    assert chapter.messages[-1] > chapter.computed[-1]


# ---- 21. Addition is not associative


def test_21_orders_differ_in_the_last_bits(chapter: SimpleNamespace) -> None:
    assert chapter.left != chapter.right and abs(chapter.left - chapter.right) < 2e-16
    assert all(0.05 < share < 0.6 for share in chapter.share_equal.values())
    assert chapter.size["in pairs"] < chapter.size["8 ranks"] < chapter.size["1 rank"]


def test_21_runs_that_differ_in_one_bit_move_apart_and_equal_ones_do_not(chapter: SimpleNamespace) -> None:
    assert np.array_equal(chapter.alone, chapter.again)
    assert chapter.apart[-1] > 100 * np.spacing(np.float32(0.25))


def test_21_the_tree_gives_the_same_bits_on_any_number_of_ranks(chapter: SimpleNamespace) -> None:
    for histories in chapter.runs.values():
        assert all(np.array_equal(history, chapter.runs[1][0]) for history in histories)

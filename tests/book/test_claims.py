"""The statements of the chapters about their figures and numbers, checked in them. Tests `tutorials/`.

`test_NN_...` is about chapter NN, whose names it gets after the chapter has run (`chapters.py`). The chapters on
libraries and hardware are in `test_claims_machines.py`. Single sentences are bound to values in `bound/`
(`sentences.py`).
"""

from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.slow


# ---- 1. The tape


def test_01_h_is_used_three_times_and_gets_the_sum(chapter: SimpleNamespace) -> None:
    labels = [label.split("\n")[0] for label in chapter.picture.data["labels"]]
    assert [labels[a] for a, _ in chapter.picture.data["edges"]].count("h = Tanh") == 3
    h = chapter.h.item()
    assert sorted(np.concatenate(chapter.shares_of_h)) == sorted([1.0, h, h])


def test_01_a_nudge_agrees_and_a_second_loss_adds_up(chapter: SimpleNamespace) -> None:
    assert abs(chapter.first - chapter.slope) < 1e-3
    slope_of_second = (1 - np.tanh(0.9) ** 2) * 2.0  # tanh'(x w + b) x
    assert np.isclose(chapter.w.grad.item(), chapter.first + slope_of_second)


# ---- 2. Trust, but difference


def test_02_gradcheck_finds_both_mistakes(chapter: SimpleNamespace) -> None:
    assert chapter.found_wrong and chapter.found_swapped
    y = np.tanh(np.linspace(-3, 3, 100))
    assert ((1 - y) * (1 - y * y) > 0).all()


def test_02_equal_weights_do_not_see_exchanged_rows(chapter: SimpleNamespace) -> None:
    for weights in (np.ones((2, 1)), np.array([[0.3], [-1.2]])):
        assert np.allclose(*chapter.gradient(weights)) == (weights == 1).all()


# ---- 3. One step, then many


def test_03_R_is_used_at_every_step(chapter: SimpleNamespace) -> None:
    labels = [label.split("\n")[0] for label in chapter.picture.data["labels"]]
    assert [labels[a] for a, _ in chapter.picture.data["edges"]].count("R") == chapter.T == 6


def test_03_the_program_gives_the_gradients_of_the_tape(chapter: SimpleNamespace) -> None:
    assert np.allclose(chapter.dW, chapter.W.grad.numpy(), atol=1e-12)
    assert np.allclose(chapter.dR, chapter.R.grad.numpy(), atol=1e-12)
    assert np.allclose(chapter.shares.sum(axis=0), chapter.dR, atol=1e-12)


def test_03_the_first_term_is_zero_and_the_last_is_twice_any_other(chapter: SimpleNamespace) -> None:
    lengths = np.linalg.norm(chapter.shares, axis=(1, 2))
    assert lengths[0] == 0 and lengths[-1] > 2 * lengths[:-1].max()


def test_03_a_fiftieth_is_left_after_five_steps(chapter: SimpleNamespace) -> None:
    R = chapter.R.numpy()
    assert np.allclose(R @ R.T, 0.9**2 * np.eye(chapter.H))  # it keeps lengths, times 0.9
    assert (np.diff(chapter.norms[0]) > 0).all() and 40 < chapter.norms[0, -1] / chapter.norms[0, 0] < 60


def test_03_the_fused_op_has_the_same_gradient(chapter: SimpleNamespace) -> None:
    assert chapter.difference < 1e-5


# ---- 4. Why gradients vanish and explode


def test_04_the_skewed_matrix_stretches_first_and_shrinks_later(chapter: SimpleNamespace) -> None:
    assert np.allclose(chapter.norms["normal"], 0.7 ** np.arange(21))
    skewed = chapter.norms["not normal"]
    assert skewed.max() > 2 and skewed[-1] < 0.1
    assert np.allclose(skewed[20] / skewed[19], 0.7, atol=0.05)  # with the same slope


# ---- 6. Two GRUs with one name


def test_06_the_same_weights_give_other_states(chapter: SimpleNamespace) -> None:
    assert (chapter.difference > 0.05).all()
    assert all(min(apart) > 0.05 for apart in chapter.apart.values())


def test_06_they_agree_in_two_special_cases(chapter: SimpleNamespace) -> None:
    assert chapter.with_one_r < 1e-12 and chapter.with_diagonal < 1e-12


def test_06_weights_of_the_other_one_are_refused(chapter: SimpleNamespace) -> None:
    assert chapter.refused is not None


def test_06_an_open_update_gate_keeps_the_old_state(chapter: SimpleNamespace) -> None:
    assert np.array_equal(chapter.kept.h.numpy(), chapter.h)


# ---- 8. What a cut loses


def test_08_the_bias_grows_with_memory_and_shrinks_with_the_window(chapter: SimpleNamespace) -> None:
    lost = np.array(list(chapter.lost.values()))
    assert (np.diff(lost, axis=0) > 0).all() and (np.diff(lost, axis=1) < 0).all()
    zero, one, three = lost[:, chapter.pieces.index(32)]
    assert 0.03 < zero < 0.045 and 0.085 < one < 0.115 and 0.7 < three < 0.8


def test_08_the_losses_do_not_depend_on_the_window(chapter: SimpleNamespace) -> None:
    assert all(np.allclose(ratios, 1, rtol=1e-5) for ratios in chapter.losses.values())


def test_08_shorter_windows_end_at_a_larger_weight_and_those_of_the_lag_nowhere(chapter: SimpleNamespace) -> None:
    *found, shortest = chapter.ends.values()
    assert list(chapter.ends) == [None, 40, 20, 10, chapter.n] and shortest is None
    assert found == sorted(found) and abs(found[0] - np.sqrt(chapter.n / (chapter.n + 1))) < 1e-3
    assert (chapter.mean_gradient(chapter.r, K=chapter.n) < 0).all()


# ---- 9. Real batches


def test_09_padding_of_nan_changes_no_bit(chapter: SimpleNamespace) -> None:
    assert all(np.array_equal(a, b) for a, b in zip(chapter.of_clean, chapter.of_dirty, strict=True))
    past = chapter.past
    assert (chapter.dx[past] == 0).all() and (chapter.output[past] == 0).all() and (chapter.dx[~past] != 0).all()


def test_09_the_gradient_runs_against_each_direction(chapter: SimpleNamespace) -> None:
    forward, backward = chapter.arriving.values()
    assert (np.diff(forward) > 0).all() and (np.diff(backward) < 0).all()


def test_09_only_the_longest_sequence_can_be_reversed_with_the_rectangle(chapter: SimpleNamespace) -> None:
    assert chapter.same == [n == chapter.T for n in chapter.lengths]


def test_09_an_output_depends_on_its_sequence_up_to_its_end(chapter: SimpleNamespace) -> None:
    reached, past = chapter.reached, chapter.past
    assert (reached[past] == 0).all() and (reached[:, 1] == 0).all()
    longer = chapter.lengths > 2
    assert (reached[:, longer][~past[:, longer]] > 0).all()


# ---- 10. A model from beginning to end


def test_10_temperature_varies_what_is_written(chapter: SimpleNamespace) -> None:
    different = [len(set(chapter.write(temperature))) for temperature in (0.3, 0.8, 1.5)]
    assert different[0] < different[1] < different[2]


# ---- 11. From the last state to attention


def test_11_the_last_state_holds_four_symbols_and_attention_all(chapter: SimpleNamespace) -> None:
    of_last = dict(zip(chapter.n_symbols, chapter.accuracy["last state"], strict=True))
    assert of_last[4] > 0.9 > of_last[8] > of_last[16] and of_last[16] < 0.66
    assert min(chapter.accuracy["attention"]) > 0.95


def test_11_attention_looks_at_the_right_place(chapter: SimpleNamespace) -> None:
    assert np.allclose(chapter.weights.sum(axis=1), 1)
    assert np.abs(chapter.places - np.arange(12)[::-1]).max() <= 1


def test_11_the_gradient_is_hundreds_of_times_as_long(chapter: SimpleNamespace) -> None:
    assert chapter.heard["attention"][0] > 100 * chapter.heard["last state"][0]


def test_11_one_wrong_symbol_spoils_only_the_weak_model(chapter: SimpleNamespace) -> None:
    result = chapter.result
    lost = {name: (result[name, "with the teacher"] - result[name, "alone"]).mean() for name in chapter.models}
    wrong = {name: result[name, "teacher, one wrong symbol"] for name in chapter.models}
    assert lost["last state"] > 0.1 > lost["attention"] > 0
    assert wrong["last state"][5:].max() < 0.3 and wrong["attention"][4] < 0.5 and wrong["attention"][-3:].min() > 0.9


# ---- 12. What dropout may touch


def test_12_a_fresh_mask_cuts_and_zoneout_does_not(chapter: SimpleNamespace) -> None:
    zeros = {place: (sizes == 0).mean() for place, sizes in chapter.maps.items()}
    assert zeros["none"] == zeros["zoneout"] == 0 and min(zeros["c"], zeros["c, one mask"]) > 0.2
    dropped = (chapter.maps["c, one mask"][:, :-1] == 0).all(axis=1)  # the same units at every step
    assert 0 < dropped.sum() < chapter.H and (chapter.maps["c, one mask"][~dropped] > 0).all()


def test_12_what_is_left_of_the_direction(chapter: SimpleNamespace) -> None:
    first = {place: cosines[0] for place, cosines in chapter.cosines.items()}
    assert min(first[place] for place in ("input", "h", "zoneout")) > 0.4 > first["weights"] > 0.1
    assert abs(first["c"]) < 0.05 and chapter.lengths["c, one mask"][0] > 1e5
    assert 0.7**-40 - 1 > 1e6


# ---- 13. Gradients of gradients


def test_13_the_product_is_a_difference_of_gradients(chapter: SimpleNamespace) -> None:
    assert chapter.error < 1e-6
    product = chapter.hessian_times(chapter.sharpest)
    assert np.linalg.norm(product - chapter.curvature * chapter.sharpest) < 0.01 * chapter.curvature


def test_13_clipping_by_value_turns_the_gradient(chapter: SimpleNamespace) -> None:
    assert chapter.turned < 0.5


def test_13_memory_follows_the_formula(chapter: SimpleNamespace) -> None:
    more = np.array(chapter.by_segment) - [256 / K + 2 * K for K in chapter.segments]
    assert (more > 0).all() and (more < 20).all()  # the work in progress
    assert np.allclose(np.diff(chapter.everything) / np.diff(chapter.lengths), 2, atol=0.05)
    more = np.array(chapter.checkpoints) - 2 * np.sqrt(2 * np.array(chapter.lengths))
    assert (more > 0).all() and (more < 20).all()

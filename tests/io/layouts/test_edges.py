"""Edge cases of layouts: arrays that are read or rejected, and the messages.

Tests `minirnn/io/layouts/`.
"""

from typing import Any

import numpy as np
import pytest

from minirnn.io import convert, convert_weights
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights
from minirnn.io.layouts.registry import LAYOUTS, guess
from tests.io.layouts.cases import H, I, Kind, in_layout, start

LSTM, GRU = Kind("lstm", None, 1, 1), Kind("gru", "reset_after", 1, 1)


def zeros(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}


def refused(arrays: dict[str, np.ndarray], source: str, match: str, **settings: Any) -> None:
    with pytest.raises(ValueError, match=match):
        convert(arrays, "torch.nn", source=source, **settings)


@pytest.mark.parametrize("kind", [LSTM, GRU], ids=["CuDNNLSTM", "CuDNNGRU"])
def test_weights_of_keras_cudnn_layers_are_those_of_the_plain_layers(rng: np.random.Generator, kind: Kind) -> None:
    """CuDNNLSTM gives cuDNN the memory of each (in, H) matrix, and cuDNN reads it as (H, in)."""
    _, arrays, _ = start(rng, kind)
    W, R = arrays["weight_ih_l0"], arrays["weight_hh_l0"]  # torch: rows of i f g o, or r z n
    G = len(W) // H
    order = [0, 1, 2, 3] if G == 4 else [1, 0, 2]  # Keras: i f c o, or z r h

    def stored(matrix: np.ndarray) -> np.ndarray:
        gates = [np.split(matrix, G)[k] for k in order]  # (H, in) each, as cuDNN reads them
        return np.concatenate([g.reshape(-1).reshape(g.shape[1], H) for g in gates], axis=1)

    biases = [np.concatenate([np.split(arrays[n], G)[k] for k in order]) for n in ("bias_ih_l0", "bias_hh_l0")]
    keras = {"kernel": stored(W), "recurrent_kernel": stored(R), "bias": np.concatenate(biases)}
    found = convert(keras, "torch.nn", source="keras").arrays
    np.testing.assert_array_equal(found["weight_ih_l0"], W)
    np.testing.assert_array_equal(found["weight_hh_l0"], R)
    sums = [a["bias_ih_l0"] + a["bias_hh_l0"] for a in (found, arrays)]
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-6)
    if G == 3:
        np.testing.assert_array_equal(found["bias_hh_l0"], arrays["bias_hh_l0"])


# ---- torch


@pytest.mark.parametrize("name", ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"])
def test_what_a_torch_module_lacks_is_named(rng: np.random.Generator, name: str) -> None:
    _, arrays, _ = start(rng, LSTM)
    del arrays[name]
    refused(arrays, "torch.nn", f"torch.nn: there is no {name}\n")


def test_a_torch_module_without_one_direction_of_a_layer_is_refused(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, Kind("lstm", None, 2, 2))
    less = {key: a for key, a in arrays.items() if not key.endswith("l1_reverse")}
    refused({**less, "weight_ih_l2": arrays["weight_ih_l1"]}, "torch.nn", "there is no weight_ih_l1_reverse")


def test_recurrent_and_projecting_weights_of_torch_are_matrices(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, Kind("lstm", None, 1, 1, P=2))
    for wrong in (zeros(weight_hh_l0=(20,)), zeros(weight_hr_l0=(2,)), zeros(weight_hh_l0=(20, 2, 1))):
        refused(arrays | wrong, "torch.nn", r"torch.nn: weight_hh_l0 has shape .*\n  expected \(G\*H, P\)")


@pytest.mark.parametrize(("GH", "H_"), [(10, 5), (25, 5), (7, 5), (0, 5), (4, 0)])
def test_gates_are_one_or_three_or_four_times_the_units(GH: int, H_: int) -> None:
    arrays = zeros(weight_ih_l0=(GH, I), weight_hh_l0=(GH, H_))
    refused(arrays, "torch.nn", rf"torch.nn: {GH} gate rows for {H_} units\n  expected 1, 3 or 4 times as many")


# ---- Keras


def test_keras_kernels_are_matrices_and_there(rng: np.random.Generator) -> None:
    arrays = in_layout(rng, LSTM, "keras").arrays
    less = {key: a for key, a in arrays.items() if key != "kernel"}
    refused(less, "keras", r"keras: kernel is not there\n  expected \(in, G\*H\)")
    refused(
        arrays | zeros(kernel=(3, 20, 1)), "keras", r"keras: kernel has shape \(3, 20, 1\)\n  expected \(in, G\*H\)"
    )
    refused(
        arrays | zeros(recurrent_kernel=(20,)), "keras", r"recurrent_kernel has shape \(20,\)\n  expected \(H, G\*H\)"
    )


def test_keras_biases_have_a_row_for_each_sum(rng: np.random.Generator) -> None:
    lstm, gru = (in_layout(rng, kind, "keras").arrays for kind in (LSTM, GRU))
    refused(lstm | zeros(bias=(2, 20)), "keras", r"bias has shape \(2, 20\)\n  expected \(G\*H,\) = \(20,\)")
    refused(gru | zeros(bias=(3, 15)), "keras", r"bias has shape \(3, 15\)\n  expected \(2, 3\*H\) = \(2, 15\)")
    refused(gru | zeros(bias=(14,)), "keras", r"bias has shape \(14,\)\n  expected \(G\*H,\) = \(15,\)")


# ---- ONNX


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"W": (2, 20, I)}, r"W has shape \(2, 20, 3\)\n  expected \(1, 20, 3\), as R says"),
        ({"B": (1, 20)}, r"B has shape \(1, 20\)\n  expected \(1, 40\), as R says"),
        ({"P": (1, 20)}, r"P has shape \(1, 20\)\n  expected \(1, 15\), as R says"),
        ({"R": (3, 20, H), "W": (3, 20, I), "B": (3, 40)}, r"R has shape \(3, 20, 5\)\n  expected .* with D = 1 or 2"),
        ({"R": (20, H)}, "expected arrays named W, R, B, P"),
        ({"W": (20, I)}, "expected arrays named W, R, B, P"),
    ],
)
def test_onnx_arrays_are_for_one_or_two_directions(
    rng: np.random.Generator, wrong: dict[str, tuple[int, ...]], match: str
) -> None:
    refused(in_layout(rng, LSTM, "onnx").arrays | zeros(**wrong), "onnx", match)


@pytest.mark.parametrize("which", [0, 1])
def test_peepholes_of_one_direction_get_zeros_next_to_them_in_onnx(rng: np.random.Generator, which: int) -> None:
    layers = [LayerWeights(rng.standard_normal((4 * H, I)), rng.standard_normal((4 * H, H))) for _ in range(2)]
    rows = rng.standard_normal((3, H))  # wci, wcf, wco
    layers[which] = layers[which]._replace(peephole=rows)
    there = convert_weights(NetworkWeights("lstm", tuple(layers), 2), "onnx")
    assert there.arrays["P"].shape == (2, 3 * H) and there.arrays["P"].dtype == np.float64
    np.testing.assert_array_equal(there.arrays["P"][which], np.concatenate([rows[0], rows[2], rows[1]]))
    assert not there.arrays["P"][1 - which].any()
    back = convert(there.arrays, "onnx", metadata=there.metadata).weights.layers
    np.testing.assert_array_equal(back[which].peephole, rows)
    assert back[1 - which].peephole is None


# ---- TensorFlow's cells


def test_a_matrix_of_tensorflows_cells_has_rows_for_inputs(rng: np.random.Generator) -> None:
    """in + H rows with in > 0, and columns for whole gates."""
    for w, b in (((H, 4 * H), (4 * H,)), ((8, 4 * H + 1), (4 * H + 1,)), ((8, 0), (0,)), ((8, 4 * H, 1), (4 * H, 1))):
        refused(zeros(w=w, b=b), "tf.block_lstm_v2", r"expected w \(in\+H, 4\*H\), b \(4\*H,\)")
    refused(zeros(w=(8, 20), b=(21,)), "tf.block_lstm_v2", r"has w \(8, 20\), b \(21,\)")
    refused(zeros(w=(8, 20)), "tf.block_lstm_v2", r"the file has w \(8, 20\), no b\n")
    assert convert(zeros(w=(H + 1, 4 * H), b=(4 * H,)), "torch.nn", source="tf.block_lstm_v2").weights.network().I == 1
    refused(
        zeros(w=(H, H), b=(H,)), "tf.basic_rnn_cell", r"expected w \(in\+H, 1\*H\), b \(1\*H,\)", rnn_mode="rnn_tanh"
    )


@pytest.mark.parametrize("rows", [zeros(wci=(H,)), zeros(wci=(H,), wcf=(H,), wco=(H + 1,))])
def test_there_are_three_peepholes_or_none(rng: np.random.Generator, rows: dict[str, np.ndarray]) -> None:
    arrays = in_layout(rng, LSTM, "tf.block_lstm_v2").arrays
    refused(arrays | rows, "tf.block_lstm_v2", r"expected wci, wcf, wco, each \(H,\) = \(5,\), or none of them")


def test_a_file_is_guessed_by_any_of_its_layers() -> None:
    recurrent, dense = zeros(w=(8, 5), b=(5,)), zeros(kernel=(5, 7), bias=(7,))
    both = {f"rnn/{key}": a for key, a in recurrent.items()} | {f"dense/{key}": a for key, a in dense.items()}
    assert guess(both).name == "tf.basic_rnn_cell"
    for alone in (dense, zeros(w=(8, 5))):
        with pytest.raises(ValueError, match="look like no known layout"):
            guess(alone)


@pytest.mark.parametrize(
    "wrong",
    [
        {"w_ru": (H, 2 * H), "w_c": (H, H)},  # no rows for inputs
        {"w_ru": (8, 3 * H)},
        {"w_c": (8, H + 1)},
        {"w_c": (9, H)},
        {"b_ru": (3 * H,)},
        {"b_c": (H + 1,)},
        {"w_ru": (2 * H,), "w_c": (H,)},
        {"w_c": (H,)},
        {"w_ru": (8, 3 * H), "b_ru": (3 * H,)},
    ],
)
def test_tensorflows_gru_cell_has_two_gates_and_one(wrong: dict[str, tuple[int, ...]]) -> None:
    right = zeros(w_ru=(8, 2 * H), w_c=(8, H), b_ru=(2 * H,), b_c=(H,))
    assert convert(right, "keras").weights.network().I == I
    with pytest.raises(
        ValueError, match=r"have shapes .*\n  expected \(in\+H, 2\*H\), \(in\+H, H\), \(2\*H,\), \(H,\)"
    ):
        convert(right | zeros(**wrong), "keras", source="tf.gru_block_cell")


def test_tensorflows_gru_cell_has_biases() -> None:
    refused(zeros(w_ru=(8, 2 * H), w_c=(8, H)), "tf.gru_block_cell", "got w_ru, w_c\n  expected w_ru, w_c, b_ru, b_c")


# ---- names


def test_every_layout_is_called_by_its_name_or_with_its_gate_order(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, GRU)
    for name in ("keras", "keras/zrh"):
        assert convert(arrays, name).target == "keras/zrh"
    with pytest.raises(ValueError, match="keras has no gate order 'zhr'\n  expected keras/ifco, keras/zrh"):
        convert(arrays, "keras/zhr")
    with pytest.raises(ValueError, match="tf.basic_rnn_cell has no gate order 'h'\n  expected tf.basic_rnn_cell$"):
        convert(arrays, "tf.basic_rnn_cell/h")
    assert LAYOUTS["tf.basic_rnn_cell"].full_name("rnn_tanh") == "tf.basic_rnn_cell"

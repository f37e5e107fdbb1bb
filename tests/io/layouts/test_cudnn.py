from __future__ import annotations

import numpy as np
import pytest

from minirnn.io import convert
from tests.io.layouts.cases import H, I, Kind, in_layout, start

LSTM = Kind("lstm", None, 1, 1)


def same(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> bool:
    return got.keys() == expected.keys() and all(np.array_equal(got[key], expected[key]) for key in got)


def test_pieces_may_be_rows_of_numbers_but_not_matrices_that_stand_otherwise(rng: np.random.Generator) -> None:
    _, torch, _ = start(rng, LSTM)
    arrays = convert(torch, "tf.canonical").arrays
    flat = {key: a.reshape(-1) for key, a in arrays.items()}
    assert same(convert(flat, "torch.nn").arrays, torch)
    for wrong in ({key: a.T for key, a in arrays.items()}, arrays | {"weights_2": arrays["weights_2"].T}):
        with pytest.raises(ValueError, match="fit no network"):
            convert(wrong, "torch.nn", source="tf.canonical")
    with pytest.raises(ValueError, match="fit no network"):
        convert(arrays | {"weights_7": np.zeros((H, H + 1), np.float32)}, "torch.nn", source="tf.canonical")


@pytest.mark.parametrize("kind", ["weights", "biases"])
def test_only_weights_or_only_biases_are_not_a_network(rng: np.random.Generator, kind: str) -> None:
    arrays = in_layout(rng, LSTM, "tf.canonical").arrays
    rest = {key: a for key, a in arrays.items() if key.startswith(kind)}
    with pytest.raises(ValueError, match="fit no network"):
        convert(rest, "torch.nn", source="tf.canonical")
    with pytest.raises(ValueError, match="fit no network"):
        convert(arrays | {"biases_0": np.zeros(0, np.float32)}, "torch.nn", source="tf.canonical")


def test_a_missing_or_extra_piece_is_not_a_network(rng: np.random.Generator) -> None:
    arrays = in_layout(rng, LSTM, "tf.canonical").arrays
    less = {key: a for key, a in arrays.items() if key != "weights_7"}
    more = arrays | {f"biases_{k}": arrays["biases_0"] for k in range(8, 16)}
    for wrong in (less, more):
        with pytest.raises(ValueError, match="fit no network"):
            convert(wrong, "torch.nn", source="tf.canonical")


@pytest.mark.parametrize("P", [1, H - 1])
def test_projections_of_any_width_below_h_are_seen(rng: np.random.Generator, P: int) -> None:
    kind = Kind("lstm", None, 2, 1, P=P)
    _, torch, _ = start(rng, kind)
    assert same(convert(convert(torch, "tf.canonical").arrays, "torch.nn").arrays, torch)


def test_several_networks_of_one_size_are_told_apart_by_any_that_is_known(rng: np.random.Generator) -> None:
    """8 pairs of pieces: an LSTM's layer, or two of both directions or four of a plain RNN."""
    _, torch, _ = start(rng, Kind("rnn_relu", None, 4, 1))
    square = {key: (a[:, :1].repeat(H, 1) if a.ndim == 2 and a.shape[1] == I else a) for key, a in torch.items()}
    arrays = convert(square, "tf.canonical", rnn_mode="rnn_relu").arrays
    with pytest.raises(ValueError, match="fit several networks: .*rnn_relu with 4 layer.*lstm with 1 layer"):
        convert(arrays, "torch.nn", source="tf.canonical")
    assert convert(arrays, "torch.nn", rnn_mode="lstm").weights.rnn_mode == "lstm"
    with pytest.raises(ValueError, match="fit no network that agrees"):
        convert(arrays, "torch.nn", rnn_mode="lstm", num_layers=4)
    assert same(convert(arrays, "torch.nn", rnn_mode="rnn_relu").arrays, square)


def test_the_input_mode_is_that_of_the_target_and_tells_nothing_of_the_source(rng: np.random.Generator) -> None:
    _, torch, _ = start(rng, LSTM)
    identity = dict(torch, weight_ih_l0=np.tile(np.eye(H, dtype=np.float32), (4, 1)))
    for layout in ("tf.canonical", "cudnn.params"):
        whole = convert(identity, layout)
        assert whole.metadata["minirnn.input_mode"] == "linear_input"
    without = convert(identity, "tf.canonical", input_mode="skip_input")
    assert len(without.arrays) < len(convert(identity, "tf.canonical").arrays) or any(
        a.size == 0 for a in without.arrays.values()
    )
    assert same(convert(without.arrays, "torch.nn", metadata=without.metadata).arrays, identity)


def test_one_buffer_of_one_axis_is_read_whatever_folder_it_is_in(rng: np.random.Generator) -> None:
    kind = Kind("gru", "reset_after", 1, 1)
    _, torch, _ = start(rng, kind)
    params = convert(torch, "cudnn.params").arrays["params"]
    known = {"rnn_mode": "gru", "num_layers": 1, "num_units": H, "input_size": I}
    other = {"model/bias": np.zeros(3, np.float32)}
    got = convert({"model/rnn/params": params} | other, "torch.nn", source="cudnn.params", **known)
    assert same(got.arrays, torch) and got.notes == ("left out: model/bias",)
    for wrong in ({"params": params[None]}, {"a/params": params, "b/params": params}):
        with pytest.raises(ValueError, match="expected one array called params"):
            convert(wrong, "torch.nn", source="cudnn.params", **known)

"""Weight layouts: arrays named as other programs name them, guesses, and what is refused, with the reason.

Tests `minirnn/io/layouts/` and `minirnn/io/conversion.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minirnn.io import convert
from minirnn.io.layouts import LAYOUTS
from tests.io.layouts.cases import KINDS, H, I, Kind, dyadic, in_layout, layouts_of, start
from tests.slow import slow_unless

LSTM, GRU, RNN = Kind("lstm", None, 1, 1), Kind("gru", "reset_after", 1, 1), Kind("rnn_tanh", None, 1, 1)


def renamed(arrays: dict[str, np.ndarray], names: dict[str, str]) -> dict[str, np.ndarray]:
    """The arrays under other names, in another order."""
    return {names[key]: arrays[key] for key in reversed(list(names))}


# ---- guessing


@pytest.mark.parametrize("kind", slow_unless(3, KINDS), ids=str)
def test_the_layout_is_guessed_from_names_and_shapes_or_the_candidates_are_listed(
    rng: np.random.Generator, kind: Kind
) -> None:
    settings: dict[str, Any] = {"rnn_mode": kind.rnn_mode, "num_layers": kind.L, "num_units": H, "input_size": I}
    settings |= {"direction": "bidirectional" if kind.D == 2 else "unidirectional", "num_proj": kind.P}
    settings |= {"gru": kind.gru} if kind.gru else {}
    for name in layouts_of(kind):
        here = in_layout(rng, kind, name)
        if name in ("tf.lstm_block_cell", "tf.block_lstm_v2"):
            with pytest.raises(ValueError, match=r"tf\.lstm_block_cell or tf\.block_lstm_v2[\s\S]*--from"):
                convert(here.arrays, "keras", **settings)
            continue
        again = convert(here.arrays, name, **settings)
        assert again.source == here.target
        assert all(np.array_equal(again.arrays[key], here.arrays[key]) for key in here.arrays)


def test_a_passport_is_believed_before_the_names(rng: np.random.Generator) -> None:
    here = in_layout(rng, LSTM, "tf.block_lstm_v2")
    assert convert(here.arrays, "keras", metadata=here.metadata).source == "tf.block_lstm_v2/ifco"
    with pytest.raises(ValueError, match=r"source is 'keras'\n  but the file's metadata says 'tf.block_lstm_v2/ifco'"):
        convert(here.arrays, "torch.nn", source="keras", metadata=here.metadata)


# ---- names of other programs


def test_a_module_of_a_larger_torch_model_is_found_by_its_names(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, LSTM)
    model = {f"encoder.rnn.{key}": a for key, a in arrays.items()} | {"head.weight": dyadic(rng, 7, H)}
    got = convert(model, "torch.nn")
    assert got.arrays.keys() == arrays.keys()
    assert got.notes == ("left out: head.weight",)
    model |= {f"decoder.{key}": dyadic(rng, *a.shape) for key, a in arrays.items()}
    with pytest.raises(ValueError, match=r"arrays of 'decoder.', 'encoder.rnn.'[\s\S]*--prefix"):
        convert(model, "torch.nn")
    got = convert(model, "torch.nn", prefix="encoder.rnn.")
    assert all(np.array_equal(got.arrays[key], arrays[key]) for key in arrays)
    with pytest.raises(ValueError, match="no array's name begins with 'encoder.lstm.'"):
        convert(model, "torch.nn", prefix="encoder.lstm.")


def test_a_torch_cell_is_a_network_of_one_layer(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, GRU)
    cell = {key.removesuffix("_l0"): a for key, a in arrays.items()}
    assert all(np.array_equal(convert(cell, "torch.nn").arrays[key], arrays[key]) for key in arrays)


def test_keras_names_of_many_layers_are_put_in_natural_order(rng: np.random.Generator) -> None:
    kind = Kind("lstm", None, 12, 2)
    arrays = in_layout(rng, kind, "keras").arrays
    names = {}
    for key in arrays:
        _, layer, direction, name = key.replace("layer_", "layer_/", 1).split("/")
        suffix = f"_{layer}" if layer != "0" else ""
        names[key] = f"model/bidirectional{suffix}/{direction}_lstm{suffix}/lstm_cell/{name}:0"
    got = convert(renamed(arrays, names), "keras")
    assert all(np.array_equal(got.arrays[key], arrays[key]) for key in arrays)
    assert "in this order: model/bidirectional/backward_lstm/lstm_cell/" in got.notes[0]


def test_tensorflow_checkpoint_names_are_read(rng: np.random.Generator) -> None:
    arrays = in_layout(rng, LSTM, "tf.lstm_block_cell").arrays
    named = {"rnn/lstm_cell/kernel": arrays["w"], "rnn/lstm_cell/bias": arrays["b"]}
    got = convert(named, "tf.lstm_block_cell", source="tf.lstm_block_cell", forget_bias=1)
    assert all(np.array_equal(got.arrays[key], arrays[key]) for key in arrays)

    before = Kind("gru", "reset_before", 1, 1)
    arrays = in_layout(rng, before, "tf.gru_block_cell").arrays
    names = {"w_ru": "gates/kernel", "b_ru": "gates/bias", "w_c": "candidate/kernel", "b_c": "candidate/bias"}
    named = {f"rnn/gru_cell/{names[key]}": a for key, a in arrays.items()}
    got = convert(named, "tf.gru_block_cell")
    assert all(np.array_equal(got.arrays[key], arrays[key]) for key in arrays)
    exchanged = {"w_ru": arrays["w_c"], "w_c": arrays["w_ru"], "b_ru": arrays["b_c"], "b_c": arrays["b_ru"]}
    got = convert(exchanged, "tf.gru_block_cell")  # as old versions of GRUBlockCell named them
    assert all(np.array_equal(got.arrays[key], arrays[key]) for key in arrays)


def test_kernels_of_keras_are_not_taken_for_those_of_tensorflow(rng: np.random.Generator) -> None:
    arrays = in_layout(rng, RNN, "keras").arrays
    assert convert(arrays, "torch.nn", rnn_mode="rnn_tanh").source == "keras"
    dense = {"dense/kernel": np.zeros((H, 2), np.float32), "dense/bias": np.zeros(2, np.float32)}
    got = convert({f"lstm/{key}": a for key, a in arrays.items()} | dense, "keras", source="keras", rnn_mode="rnn_tanh")
    assert got.notes == ("left out: dense/kernel, dense/bias",)


# ---- features that the target lacks


def refused(arrays: dict[str, np.ndarray], to: str, match: str, **more: Any) -> None:
    with pytest.raises(ValueError, match=match):
        convert(arrays, to, **more)


@pytest.mark.parametrize("to", ["torch.nn", "cudnn.params", "tf.canonical"])
def test_a_gru_that_resets_before_is_refused_where_only_the_other_exists(rng: np.random.Generator, to: str) -> None:
    for source in ("tf.gru_block_cell", "keras", "onnx"):
        here = in_layout(rng, Kind("gru", "reset_before", 1, 1), source)
        refused(
            here.arrays,
            to,
            r"reset_before\n.*reset_after\n  in general no weights make them equal",
            metadata=here.metadata,
        )


@pytest.mark.parametrize("to", ["keras", "tf.lstm_block_cell", "tf.block_lstm_v2", "onnx"])
def test_a_projection_is_refused_where_there_is_none(rng: np.random.Generator, to: str) -> None:
    _, arrays, _ = start(rng, Kind("lstm", None, 2, 1, P=2))
    refused(arrays, to, rf"with a projection of h\n  {to} has none")


@pytest.mark.parametrize("to", ["keras", "torch.nn", "cudnn.params", "tf.canonical"])
def test_peepholes_are_refused_where_there_are_none_unless_they_are_zero(rng: np.random.Generator, to: str) -> None:
    arrays = in_layout(rng, LSTM, "tf.block_lstm_v2").arrays
    zero = {name: np.zeros(H, np.float32) for name in ("wci", "wcf", "wco")}
    convert(arrays | zero, to, source="tf.block_lstm_v2")
    some = zero | {"wco": np.array([0, 0, 0, 0, 0.5], np.float32)}
    refused(arrays | some, to, rf"peephole weights that are not zero\n  {to} has none", source="tf.block_lstm_v2")


@pytest.mark.parametrize("to", ["keras", "torch.nn", "cudnn.params", "tf.canonical", "onnx"])
def test_a_cell_clip_is_refused_where_there_is_none_unless_it_is_off(rng: np.random.Generator, to: str) -> None:
    arrays = in_layout(rng, LSTM, "tf.block_lstm_v2").arrays
    known: dict[str, Any] = {"source": "tf.block_lstm_v2"}
    refused(arrays, to, rf"run with cell_clip 3\n  {to} has none[\s\S]*--cell-clip 0", cell_clip=3.0, **known)
    convert(arrays, to, cell_clip=-1.0, **known)  # 0 and below is off
    kept = convert(arrays, "tf.lstm_block_cell", cell_clip=3.0, **known)
    assert kept.metadata["minirnn.cell_clip"] == "3.0"
    refused(kept.arrays, to, "cell_clip 3", metadata=kept.metadata)
    convert(kept.arrays, to, metadata=kept.metadata, cell_clip=0)  # the user says it was never reached


def test_skip_input_leaves_out_identities_and_nothing_else(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, GRU)
    square = dict(arrays, weight_ih_l0=dyadic(rng, 3 * H, H))
    refused(square, "cudnn.params", "expected identities there", input_mode="skip_input")
    refused(square, "tf.canonical", "expected identities there", input_mode="auto_select")
    refused(arrays, "cudnn.params", "input_size is 3, num_units is 5", input_mode="skip_input")
    identity = dict(arrays, weight_ih_l0=np.tile(np.eye(H, dtype=np.float32), (3, 1)))
    for to in ("cudnn.params", "tf.canonical"):
        there = convert(identity, to, input_mode="skip_input")
        assert there.metadata["minirnn.input_mode"] == "skip_input"
        back = convert(there.arrays, "torch.nn", metadata=there.metadata).arrays
        assert all(np.array_equal(back[key], identity[key]) for key in identity)


# ---- missing settings, and arrays that don't fit


@pytest.mark.parametrize(
    ("layout", "kind", "option"),
    [
        ("torch.nn", RNN, "--rnn-mode"),
        ("keras", RNN, "--rnn-mode"),
        ("tf.basic_rnn_cell", RNN, "--rnn-mode"),
        ("onnx", RNN, "--rnn-mode"),
        ("tf.canonical", RNN, "--rnn-mode"),
        ("onnx", GRU, "--gru"),
        ("cudnn.params", LSTM, "--rnn-mode"),
        ("tf.lstm_block_cell", LSTM, "--forget-bias"),
    ],
)
def test_what_is_not_known_is_asked_for(rng: np.random.Generator, layout: str, kind: Kind, option: str) -> None:
    arrays = in_layout(rng, kind, layout).arrays
    refused(arrays, layout, option, source=layout)


def test_a_keras_gru_without_bias_must_say_which_kind_it_is(rng: np.random.Generator) -> None:
    arrays = in_layout(rng, GRU, "keras").arrays
    del arrays["bias"]
    refused(arrays, "onnx", "--gru")
    convert(arrays, "torch.nn", gru="reset_after")
    refused(arrays, "torch.nn", "in general no weights make them equal", gru="reset_before")


def test_a_cudnn_buffer_needs_its_sizes_and_they_must_fit(rng: np.random.Generator) -> None:
    arrays = in_layout(rng, LSTM, "cudnn.params").arrays
    known: dict[str, Any] = {"rnn_mode": "lstm", "num_layers": 1, "num_units": H, "input_size": I}
    for name in known:
        less = {key: value for key, value in known.items() if key != name}
        refused(arrays, "keras", name.replace("_", "-"), **less)
    refused(
        arrays, "keras", r"params has shape \(200,\)\n  expected \(n,\) = \(400,\)", **known, direction="bidirectional"
    )
    assert convert(arrays, "keras", **known).source == "cudnn.params/ifno"


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_a_missing_array_or_a_wrong_shape_is_an_error_that_names_it(rng: np.random.Generator, layout: str) -> None:
    kind = next(k for k in (GRU, LSTM, RNN, Kind("gru", "reset_before", 1, 1)) if layout in layouts_of(k))
    here = in_layout(rng, kind, layout)
    tried = 0
    for key, a in here.arrays.items():
        for wrong in (np.zeros((*a.shape[:-1], a.shape[-1] + 1), a.dtype), a[None, None], a[..., :0]):
            with pytest.raises(ValueError, match=r"^(convert|weights): .*\n.*(expected|in the arrays)"):
                convert(here.arrays | {key: wrong}, "keras", source=layout, metadata=here.metadata)
            tried += 1
        optional = layout == "onnx" and key == "B" or layout == "keras" and key == "bias"
        if not optional:
            with pytest.raises(ValueError, match=r"^(convert|weights): "):
                rest = {k: b for k, b in here.arrays.items() if k != key}
                convert(rest, "keras", source=layout, metadata=here.metadata)
    assert tried >= 3


def test_layers_that_do_not_follow_each_other_are_an_error(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, Kind("lstm", None, 2, 1))
    refused(arrays | {"weight_ih_l1": dyadic(rng, 4 * H, H + 1)}, "keras", r"input matrix of layer 1: shape \(20, 6\)")
    gap = {key.replace("_l1", "_l2"): a for key, a in arrays.items()}
    refused(gap, "keras", "there is no weight_ih_l1")
    _, arrays, _ = start(rng, Kind("lstm", None, 1, 2))
    one_sided = in_layout(rng, Kind("lstm", None, 2, 2), "keras").arrays
    for name in ("kernel", "recurrent_kernel", "bias"):
        del one_sided[f"layer_1/backward/{name}"]
    refused(one_sided, "torch.nn", "forward and backward don't pair up")

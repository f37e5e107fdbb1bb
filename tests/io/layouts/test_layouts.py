"""Weight layouts: the results of each library with converted weights, against values of torch and TensorFlow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.io import convert
from minirnn.io.layouts.gates import reorder
from tests.each import each
from tests.io.layouts.cases import KINDS, MODES, H, I, Kind, in_layout, layouts_of, start
from tests.io.layouts.forwards import forward, run, tf_lstm
from tests.slow import slow_unless

GOLDEN = Path(__file__).parents[2] / "golden"
MODES_AND_SIZES = [(mode, size) for mode, _ in MODES for size in ("uni_l1", "uni_l2", "bi_l1", "bi_l2")]
CUDNN = [f"{mode}_{size}" for mode, size in dict.fromkeys(MODES_AND_SIZES)]
CUDNN += ["lstm_bi_l2_proj", "lstm_uni_l1_proj", "lstm_uni_l1_skip", "gru_bi_l1_skip"]
SIZES = ("rnn_mode", "num_layers", "num_units", "input_size", "direction", "num_proj", "input_mode")
# float32 data through a few steps of sums of ten products; TensorFlow's own rounding included
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


def load(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as z:
        arrays = dict(z)
    return json.loads(str(arrays.pop("attributes", "{}"))), arrays


def kind_of(case: str) -> Kind:
    """What the name of a golden file says."""
    rnn_mode = case.rpartition("_uni")[0] or case.rpartition("_bi")[0]
    gru = "reset_after" if rnn_mode == "gru" else None
    return Kind(rnn_mode, gru, 2 if "_l2" in case else 1, 2 if "_bi" in case else 1, P=2 if "proj" in case else 0)


RUNNABLE = ("torch.nn", "keras", "tf.lstm_block_cell", "tf.block_lstm_v2", "tf.basic_rnn_cell", "onnx")


@each(("case", "layout"), [(c, name) for c in CUDNN for name in layouts_of(kind_of(c)) if name in RUNNABLE])
def test_a_cudnn_buffer_converted_gives_the_outputs_of_torch(case: str, layout: str) -> None:
    attributes, a = load(f"cudnn_rnn/{case}")
    L, D, gru = attributes["num_layers"], kind_of(case).D, kind_of(case).gru
    known = {name: attributes[name] for name in SIZES}
    got = convert({"params": a["params"]}, layout, source="cudnn.params", **known)
    y = forward(layout, attributes["rnn_mode"], gru, got.arrays, L, D, a["input"], a["input_h"], a["input_c"])
    np.testing.assert_allclose(y, a["output"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", ["tf.gru_block_cell", "keras", "onnx"])
@pytest.mark.parametrize("case", ["gru_cell_plain", "gru_cell_wide"])
def test_tensorflows_gru_cell_converted_gives_tensorflows_values(case: str, layout: str) -> None:
    _, a = load(f"block_ops/{case}")
    got = convert({name: a[name] for name in ("w_ru", "w_c", "b_ru", "b_c")}, layout)
    h = forward(layout, "gru", "reset_before", got.arrays, 1, 1, a["x"][None], a["h_prev"][None], None)[0]
    np.testing.assert_allclose(h, a["h"], **TOLERANCE)


@pytest.mark.parametrize("layout", ["torch.nn", "keras", "tf.lstm_block_cell", "tf.block_lstm_v2", "onnx"])
@pytest.mark.parametrize("case", ["lstm_cell_plain", "block_lstm_full", "block_lstm_v2_full"])
def test_tensorflows_lstm_converted_gives_tensorflows_values(case: str, layout: str) -> None:
    _, a = load(f"block_ops/{case}")
    assert a["meta_n_clipped"] == 0  # so that a network without a clip computes the same
    v2 = "v2" in case
    settings = {"cell_clip": 0} if v2 else {"forget_bias": float(a["forget_bias"]), "cell_clip": 0}
    settings |= {"forget_bias": 1.0} if layout == "tf.lstm_block_cell" else {}
    source = "tf.block_lstm_v2" if v2 else "tf.lstm_block_cell"
    got = convert({"w": a["w"], "b": a["b"]}, layout, source=source, **settings)
    x, expected = (a["x"], a["h"]) if a["x"].ndim == 3 else (a["x"][None], a["h"][None])
    h = forward(layout, "lstm", None, got.arrays, 1, 1, x, a["h_prev"][None], a["cs_prev"][None])
    np.testing.assert_allclose(h, expected, **TOLERANCE)


@pytest.mark.parametrize("layout", ["tf.block_lstm_v2", "onnx"])
def test_peepholes_reach_the_layouts_that_have_them(layout: str) -> None:
    _, a = load("block_ops/lstm_cell_peephole_noclip")
    arrays = {name: a[name] for name in ("w", "b", "wci", "wcf", "wco")}
    got = convert(arrays, layout, source="tf.lstm_block_cell", forget_bias=float(a["forget_bias"]))
    h = forward(layout, "lstm", None, got.arrays, 1, 1, a["x"][None], a["h_prev"][None], a["cs_prev"][None])[0]
    np.testing.assert_allclose(h, a["h"], **TOLERANCE)
    back = convert(got.arrays, "tf.block_lstm_v2", source=layout)
    for name in ("wci", "wcf", "wco"):
        np.testing.assert_array_equal(back.arrays[name], a[name])


@pytest.mark.parametrize("kind", slow_unless(4, [k for k in KINDS if k.gru != "reset_before"]), ids=str)
def test_every_layout_computes_what_a_torch_module_computes(rng: np.random.Generator, kind: Kind) -> None:
    torch = pytest.importorskip("torch")
    name, more = {
        "lstm": ("LSTM", {"proj_size": kind.P}),
        "gru": ("GRU", {}),
        "rnn_tanh": ("RNN", {"nonlinearity": "tanh"}),
        "rnn_relu": ("RNN", {"nonlinearity": "relu"}),
    }[kind.rnn_mode]
    module = getattr(torch.nn, name)(I, H, kind.L, bidirectional=kind.D == 2, dtype=torch.float64, **more)
    x = rng.standard_normal((7, 2, I))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.6, 0.6)  # 0.6 keeps relu from running away
        expected = module(torch.from_numpy(x))[0].numpy()
    state = {key: value.numpy() for key, value in module.state_dict().items()}
    P = kind.P or H
    h0, c0 = np.zeros((kind.L * kind.D, 2, P)), np.zeros((kind.L * kind.D, 2, H))
    for layout in layouts_of(kind):
        got = convert(state, layout, rnn_mode=kind.rnn_mode)
        if layout not in ("cudnn.params", "tf.canonical"):  # these run only in cuDNN
            y = forward(layout, kind.rnn_mode, kind.gru, got.arrays, kind.L, kind.D, x, h0, c0)
            np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12, err_msg=layout)
        back = convert(got.arrays, "torch.nn", metadata=got.metadata)
        with torch.no_grad():
            module.load_state_dict({key: torch.from_numpy(a) for key, a in back.arrays.items()})
            np.testing.assert_allclose(module(torch.from_numpy(x))[0].numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.P and k.L == 1 and k.rnn_mode != "rnn_relu"], ids=str)
def test_onnxruntime_computes_the_same_with_converted_weights(rng: np.random.Generator, kind: Kind) -> None:
    onnx, ort = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    got = in_layout(rng, kind, "onnx")
    x = rng.standard_normal((7, 2, I)).astype(np.float32)
    op = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN"}[kind.rnn_mode]
    attributes: dict[str, Any] = {"hidden_size": H, "direction": "bidirectional" if kind.D == 2 else "forward"}
    if op == "GRU":
        attributes["linear_before_reset"] = int(kind.gru == "reset_after")
    node = onnx.helper.make_node(op, ["X", "W", "R", "B"], ["Y"], **attributes)
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)  # noqa: E731
    weights = [onnx.numpy_helper.from_array(a, name) for name, a in got.arrays.items()]
    graph = onnx.helper.make_graph([node], "g", [value("X")], [value("Y")], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=8)
    y = ort.InferenceSession(model.SerializeToString()).run(None, {"X": x})[0]  # (T, D, B, H)
    expected = y.transpose(0, 2, 1, 3).reshape(7, 2, -1)
    other = next(name for name in ("keras", "torch.nn") if name in layouts_of(kind))
    there = convert(got.arrays, other, metadata=got.metadata)
    zeros = np.zeros((kind.D, 2, H))
    ours = forward(other, kind.rnn_mode, kind.gru, there.arrays, 1, kind.D, x, zeros, zeros)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-5)  # float32, pre-activations up to 10


def test_minirnns_own_cells_take_converted_weights(rng: np.random.Generator) -> None:
    """LSTMBlockCell with its default forget bias, and the cuDNN op, compute what torch's formula says."""
    kind = Kind("lstm", None, 1, 1)
    _, arrays, _ = start(rng, kind, np.float64)
    x, h, c = (rng.standard_normal(s) for s in ((7, 2, I), (2, H), (2, H)))
    expected = forward("torch.nn", "lstm", None, arrays, 1, 1, x, h[None], c[None])
    a = convert(arrays, "tf.lstm_block_cell").arrays
    peephole = np.zeros(H)
    block = mr.ops.block_lstm(7, x, c, h, a["w"], peephole, peephole, peephole, a["b"], cell_clip=0.0)
    np.testing.assert_allclose(block.h.numpy(), expected, rtol=1e-12, atol=1e-12)
    params = convert(arrays, "cudnn.params").arrays["params"]
    whole = mr.ops.cudnn_rnn(x, h[None], c[None], params)
    np.testing.assert_allclose(whole.output.numpy(), expected, rtol=1e-12, atol=1e-12)


# ---- round trips


@pytest.mark.parametrize("kind", slow_unless(4, KINDS), ids=str)
def test_round_trips_between_all_pairs_are_exact(rng: np.random.Generator, kind: Kind) -> None:
    for first in layouts_of(kind):
        here = in_layout(rng, kind, first)
        for second in layouts_of(kind):
            there = convert(here.arrays, second, metadata=here.metadata)
            back = convert(there.arrays, first, metadata=there.metadata)
            assert back.metadata == here.metadata
            for mine, its in zip(here.weights.layers, back.weights.layers, strict=True):
                np.testing.assert_array_equal(mine.W, its.W)
                np.testing.assert_array_equal(mine.R, its.R)
                np.testing.assert_array_equal(mine.bias(), its.bias())
            if keeps_both_biases(second, kind) or not keeps_both_biases(first, kind):
                assert {k: a.tobytes() for k, a in back.arrays.items()} == {
                    k: a.tobytes() for k, a in here.arrays.items()
                }
            assert {k: (a.shape, a.dtype) for k, a in back.arrays.items()} == {
                k: (a.shape, a.dtype) for k, a in here.arrays.items()
            }


def keeps_both_biases(layout: str, kind: Kind) -> bool:
    return layout in ("torch.nn", "cudnn.params", "tf.canonical", "onnx") or kind.gru == "reset_after"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_one_bias_comes_back_to_the_bit_even_where_halving_rounds(dtype: Any) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    b = np.array([tiny, 3 * tiny, -5 * tiny, np.finfo(dtype).max, 0.1, -0.0, 1, 7 * tiny] + [1] * 12, dtype)
    arrays = {"kernel": np.zeros((I, 20), dtype), "recurrent_kernel": np.zeros((H, 20), dtype), "bias": b}
    there = convert(arrays, "torch.nn").arrays
    assert there["bias_ih_l0"][1] != 0 and there["bias_hh_l0"][1] != 0
    back = convert(there, "keras").arrays
    np.testing.assert_array_equal(back["bias"], b)
    assert back["bias"].dtype == dtype


@pytest.mark.parametrize(("rnn_mode", "gru"), [m for m in MODES if m[1] != "reset_before"])
def test_a_network_without_bias_stays_without_where_that_can_be_said(
    rng: np.random.Generator, rnn_mode: str, gru: str | None
) -> None:
    _, arrays, settings = start(rng, Kind(rnn_mode, gru, 2, 1))
    arrays = {key: a for key, a in arrays.items() if not key.startswith("bias")}
    for layout in ("keras", "onnx"):
        there = convert(arrays, layout, **settings)
        assert not [key for key in there.arrays if key.endswith(("bias", "B"))]
        back = convert(there.arrays, "torch.nn", metadata=there.metadata)
        assert back.arrays.keys() == arrays.keys()
    there = convert(arrays, "cudnn.params", **settings)
    back = convert(there.arrays, "torch.nn", metadata=there.metadata).arrays  # the buffer has a place for biases: zeros
    assert not any(back[key].any() for key in back if key.startswith("bias"))


def test_a_gate_order_is_read_block_by_block() -> None:
    stacked = np.arange(8)  # two units: i 0 1, c 2 3, f 4 5, o 6 7
    assert reorder(stacked, "icfo", "ifno").tolist() == [0, 1, 4, 5, 2, 3, 6, 7]
    assert reorder(reorder(stacked, "iofc", "ifgo"), "ifno", "iofc").tolist() == stacked.tolist()
    assert reorder(stacked.reshape(2, 4)[:, :3], "zrh", "rzn", axis=1).tolist() == [[1, 0, 2], [5, 4, 6]]


def test_the_forget_bias_of_the_file_is_what_the_cell_then_adds(rng: np.random.Generator) -> None:
    _, arrays, _ = start(rng, Kind("lstm", None, 1, 1))
    x, h, c = (rng.standard_normal(s) for s in ((3, 2, I), (1, 2, H), (1, 2, H)))
    expected = forward("torch.nn", "lstm", None, arrays, 1, 1, x, h, c)
    for forget_bias in (0.0, 1.0, -2.5):
        there = convert(arrays, "tf.lstm_block_cell", forget_bias=forget_bias)
        assert there.metadata["minirnn.forget_bias"] == str(forget_bias)
        y = run(tf_lstm("icfo", forget_bias), [[there.arrays]], x, h, c)
        np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)
        back = convert(there.arrays, "torch.nn", metadata=there.metadata)
        np.testing.assert_array_equal(
            back.arrays["bias_ih_l0"] + back.arrays["bias_hh_l0"], arrays["bias_ih_l0"] + arrays["bias_hh_l0"]
        )

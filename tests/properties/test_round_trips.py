"""Weights through layouts and back: parameter buffers, canonical pieces, gate orders, torch modules."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import minirnn as mr
from minirnn import ops
from minirnn.io import convert
from minirnn.io.layouts.gates import reorder
from minirnn.ops.cudnn_rnn.params import Network
from tests.examples import examples
from tests.properties.random_calls import SEEDS, networks

KEEPING = ("torch.nn", "cudnn.params", "tf.canonical", "onnx")  # the others have one bias and lose its split


def sizes(net: Network) -> dict[str, Any]:
    return {
        "rnn_mode": net.rnn_mode,
        "num_layers": net.L,
        "num_units": net.H,
        "input_size": net.I,
        "direction": net.direction,
        "input_mode": net.input_mode,
        "num_proj": net.num_proj,
    }


def buffer(net: Network, seed: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(net.size).astype(dtype)


@examples(40)
@hypothesis.given(net=networks(), seed=SEEDS, dtype=st.sampled_from(["f2", "f4", "f8"]))
def test_a_buffer_cut_into_pieces_and_joined_is_the_same_to_the_bit(
    net: Network, seed: int, dtype: str, device: str
) -> None:
    params = buffer(net, seed, dtype)
    weights, biases = ops.cudnn_rnn_params_to_canonical_v2(
        net.L, net.H, net.I, mr.tensor(params, device=device), **modes(net)
    )
    again = ops.cudnn_rnn_canonical_to_params_v2(net.L, net.H, net.I, weights, biases, **modes(net))
    assert again.dtype == params.dtype
    np.testing.assert_array_equal(again.numpy(), params)
    assert sum(t.size for t in (*weights, *biases)) == params.size
    assert sorted(np.concatenate([np.ravel(t.numpy()) for t in (*weights, *biases)])) == sorted(params)


def modes(net: Network) -> dict[str, Any]:
    return {k: v for k, v in sizes(net).items() if k in ("rnn_mode", "direction", "input_mode", "num_proj")}


@examples(30)
@hypothesis.given(net=networks(), seed=SEEDS)
def test_a_buffer_through_every_layout_that_can_hold_it_is_the_same_to_the_bit(net: Network, seed: int) -> None:
    params = buffer(net, seed)
    for name in KEEPING:
        if name == "onnx" and net.num_proj:
            with pytest.raises(ValueError, match="projection"):
                convert({"params": params}, name, source="cudnn.params", **sizes(net))
            continue
        there = convert({"params": params}, name, source="cudnn.params", **sizes(net))
        back = convert(there.arrays, "cudnn.params", metadata=there.metadata, input_mode=net.input_mode)
        np.testing.assert_array_equal(back.arrays["params"], params, err_msg=name)


@examples(25)
@hypothesis.given(net=networks(), seed=SEEDS, T=st.integers(1, 4), B=st.integers(1, 3))
def test_a_buffer_in_a_torch_module_gives_the_outputs_of_the_op_and_comes_back(
    net: Network, seed: int, T: int, B: int
) -> None:
    torch = pytest.importorskip("torch")
    params = buffer(net, seed) * 0.7
    state = convert({"params": params}, "torch.nn", source="cudnn.params", **sizes(net))
    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(net.rnn_mode, torch.nn.RNN)
    more: dict[str, Any] = {"proj_size": net.num_proj} if net.num_proj else {}
    if kind is torch.nn.RNN:
        more["nonlinearity"] = net.rnn_mode.removeprefix("rnn_")
    module = kind(net.I, net.H, net.L, bidirectional=net.D == 2, dtype=torch.float64, **more)
    module.load_state_dict({name: torch.tensor(a) for name, a in state.arrays.items()})
    rng = np.random.default_rng(seed + 1)
    x = rng.standard_normal((T, B, net.I))
    h = rng.standard_normal((net.L * net.D, B, net.P))
    c = rng.standard_normal((net.L * net.D, B, net.H))
    lstm = net.rnn_mode == "lstm"
    start = (torch.tensor(h), torch.tensor(c)) if lstm else torch.tensor(h)
    expected = module(torch.tensor(x), start)[0].detach().numpy()
    y = ops.cudnn_rnn_v3(x, h, c if lstm else None, params, np.full(B, T), **modes(net)).output
    np.testing.assert_allclose(y.numpy(), expected, rtol=0, atol=1e-13)  # float64, values below 1 or, for relu, few
    arrays = {name: t.detach().numpy() for name, t in module.state_dict().items()}
    back = convert(arrays, "cudnn.params", source="torch.nn", **sizes(net))
    np.testing.assert_array_equal(back.arrays["params"], params)


@pytest.mark.parametrize("letters", ["ifco", "rzn"])
def test_every_gate_order_turned_into_any_other_and_back_is_the_same(letters: str, rng: np.random.Generator) -> None:
    stacked = rng.standard_normal((3 * len(letters), 2))
    orders = ["".join(p) for p in permutations(letters)]
    for source in orders:
        for target in orders:
            there = reorder(stacked, source, target)
            np.testing.assert_array_equal(reorder(there, target, source), stacked)
            for k, gate in enumerate(target):
                np.testing.assert_array_equal(there[3 * k : 3 * k + 3], stacked[3 * source.index(gate) :][:3])

"""The parameter buffer of the CudnnRNN ops: regions and their names, flat pieces, gradients, messages."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.devices.base import Weights
from minirnn.gradcheck import gradcheck
from minirnn.ops.cudnn_rnn.params import GATES, Network

GOLDEN = Path(__file__).parents[2] / "golden" / "cudnn_rnn"
FILES = sorted(GOLDEN.glob("canonical_*.npz"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def case(request: pytest.FixtureRequest) -> Any:
    with np.load(request.param, allow_pickle=False) as z:
        found: dict[str, Any] = dict(z)
    return found | {"attributes": json.loads(str(found["attributes"]))}


def sizes(attributes: dict[str, Any]) -> tuple[int, int, int]:
    return attributes["num_layers"], attributes["num_units"], attributes["input_size"]


def options(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: attributes[key] for key in ("rnn_mode", "direction", "input_mode")}


def counts(attributes: dict[str, Any]) -> dict[str, int]:
    return {key: attributes[key] for key in ("num_params_weights", "num_params_biases", "num_proj")}


def network(attributes: dict[str, Any]) -> Network:
    return Network(
        attributes["rnn_mode"],
        *sizes(attributes),
        **{k: attributes[k] for k in ("direction", "input_mode", "num_proj")},
    )


def pieces(case: dict[str, Any], name: str) -> list[np.ndarray]:
    return [case[f"{name}_{k}"] for k in range(case["attributes"][f"num_params_{name}"])]


def test_auto_select_skips_exactly_when_input_size_equals_num_units() -> None:
    size = lambda I, mode: ops.cudnn_rnn_params_size(2, 5, I, input_mode=mode, num_proj=3)  # noqa: E731
    assert size(5, "auto_select") == size(5, "skip_input") < size(5, "linear_input")
    assert size(3, "auto_select") == size(3, "linear_input")  # 3 is num_proj: H counts, not P


def test_pieces_may_be_flat(case: dict[str, Any], device: str) -> None:
    attributes = case["attributes"]
    given = {name: [mr.tensor(t.ravel(), device=device) for t in pieces(case, name)] for name in ("weights", "biases")}
    more = options(attributes) | counts(attributes)
    params = ops.cudnn_rnn_canonical_to_params_v2(*sizes(attributes), *given.values(), **more)
    assert (params.shape, params.dtype) == (case["params"].shape, case["params"].dtype)
    np.testing.assert_array_equal(params.numpy(), case["params"])


def test_stacked_slices_are_the_arrays_of_torch(case: dict[str, Any]) -> None:
    net = network(case["attributes"])
    assert net.size == case["params"].size
    names = ("weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh")
    for p, layer in enumerate(net.slices(case["params"])):
        suffix = f"_l{p // net.D}" + ("_reverse" if p % net.D else "")
        for name, part in zip(names, layer[:5], strict=True):
            if part is None:
                skipped = name == "weight_ih" and net.skip and p < net.D
                assert skipped or (name == "weight_hr" and not net.num_proj)
            else:
                np.testing.assert_array_equal(part, case[f"torch.{name}{suffix}"])


def test_slices_are_views_that_cover_the_buffer_once() -> None:
    net = Network("lstm", 3, 5, 2, "bidirectional", num_proj=4)
    buffer = np.zeros(net.size, np.int64)
    for layer in net.slices(buffer):
        for part in layer[:5]:
            part += 1
    assert buffer.tolist() == [1] * net.size
    assert isinstance(net.layers[2], Weights)
    assert net.layers[2].W.shape == (20, 8)


def test_pieces_of_a_numpy_buffer_are_named_by_gate_layer_and_direction() -> None:
    net = Network("lstm", 2, 5, 3, "bidirectional", num_proj=4)
    names = [r.name for r in net.weights]
    assert names[0] == "W_i of layer 0, forward"
    assert names[6] == "R_n of layer 0, forward"
    assert names[17] == "Wp of layer 0, reverse"
    assert [r.name for r in Network("rnn_relu", 1, 5, 3).biases] == ["bW of layer 0", "bR of layer 0"]


def test_gradients_flow_into_the_buffer_and_into_every_piece(rng: np.random.Generator) -> None:
    attributes: dict[str, Any] = {
        "rnn_mode": "lstm",
        "direction": "bidirectional",
        "input_mode": "skip_input",
        "num_proj": 2,
    }
    L, H = 1, 3  # skip_input needs I = H
    n = ops.cudnn_rnn_params_size(L, H, H, **attributes)
    params = rng.standard_normal(n)
    weights, biases = ops.cudnn_rnn_params_to_canonical_v2(L, H, H, params, **attributes)

    def cut(params: mr.Tensor) -> list[mr.Tensor]:
        found = ops.cudnn_rnn_params_to_canonical_v2(L, H, H, params, **attributes)
        return [t * t for t in (*found.weights, *found.biases)]

    def join(*pieces: mr.Tensor) -> mr.Tensor:
        w, b = pieces[: len(weights)], pieces[len(weights) :]
        params = ops.cudnn_rnn_canonical_to_params_v2(L, H, H, w, b, **attributes)
        return params * params

    few = {"max_entries": 2, "directions": 1}  # a random direction through all entries of each piece
    gradcheck(cut, [params], order=2, **few)
    gradcheck(join, [t.numpy() for t in (*weights, *biases)], order=2, **few)


def test_the_gradient_of_one_piece_lands_at_its_place() -> None:
    params = mr.tensor(np.zeros(Network("gru", 1, 2, 3).size), requires_grad=True)
    out = ops.cudnn_rnn_params_to_canonical(1, 2, 3, params, rnn_mode="gru")
    out.biases[5].backward(np.array([7.0, 8.0]))  # bR_n: the last two elements
    assert params.grad is not None
    assert np.flatnonzero(params.grad.numpy()).tolist() == [params.size - 2, params.size - 1]


def test_sizes_may_be_numpy_integers_or_scalar_arrays() -> None:
    expected = ops.cudnn_rnn_params_size(2, 3, 5)
    for kind in (np.int32, lambda n: np.array(n), lambda n: mr.tensor(n)):
        assert ops.cudnn_rnn_params_size(kind(2), kind(3), kind(5)) == expected


def test_equal_descriptions_are_equal_and_can_be_keys() -> None:
    assert Network("gru", np.int64(2), 5, 3, op="a") == Network("gru", 2, 5, 3, op="b")
    assert len({Network("gru", 2, 5, 3), Network("gru", 2, 5, 3), Network("lstm", 2, 5, 3)}) == 2
    assert set(GATES) == {"rnn_relu", "rnn_tanh", "lstm", "gru"}

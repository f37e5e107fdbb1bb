"""The regularization options of nn.RNN, GRU and LSTM: the random draws, their order, and what the masks multiply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.each import each

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "regularization").glob("*.npz"))
T, B, I, H = 5, 3, 4, 6
LENGTHS = [2, 5, 3]
KINDS = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("GRU", {}), ("LSTM", {}), ("LSTM", {"proj_size": 2})]
kinds = pytest.mark.parametrize(("kind", "more"), KINDS, ids=["rnn", "relu", "gru", "lstm", "lstm-proj"])


def uniform_bits(shape: tuple[int, ...], seeds: Any, stream: int) -> np.ndarray:
    """The random bits of a mask, from NumPy's Philox by the documented counter and key."""
    n = int(np.prod(shape))
    raw = np.random.Philox(key=int(seeds[0]) << 32 | int(seeds[1]), counter=[0, 0, 0, stream]).random_raw(n // 2 + 1)
    return raw.astype("<u8").view("<u4")[:n].reshape(shape) / 2**32


def drop_mask(shape: tuple[int, ...], p: float, seeds: Any, stream: int) -> np.ndarray:
    return (uniform_bits(shape, seeds, stream) >= p) / (1 - p)


def stream_of(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def outputs_of(result: Any) -> list[mr.Tensor]:
    y, last = result
    return [y, *(last if isinstance(last, tuple) else [last])]


@pytest.mark.slow_elsewhere
@each("path", GOLDEN, ids=lambda p: p.stem)
@each("dtype", ["f8", "f4"])
def test_modules_draw_the_stored_masks_and_equal_loops_of_torch(path: Path, dtype: str, device: str) -> None:
    with np.load(path, allow_pickle=False) as z:
        case = dict(z)
    call = json.loads(str(case.pop("call")))
    lstm = call["kind"] == "LSTM"
    module = getattr(nn, call["kind"])(I, H, dtype=dtype, device=device, **call["options"])
    names = [name for name, _ in module.named_parameters()]
    module.load_state_dict({name: case[name].astype(dtype) for name in names})
    module.train(call["training"])
    given = {n: mr.tensor(case[n].astype(dtype), True, device) for n in ("input", "h_0", *["c_0"] * lstm)}
    x, *states = given.values()
    mr.manual_seed(call["seed"])
    found = outputs_of(module(x, tuple(states) if lstm else states[0], lengths=call["lengths"]))
    kinds_of_output = ("output", "h_n", "c_n")[: len(found)]
    cotangents = [mr.tensor(case[f"{n}.cotangent"].astype(dtype), device=device) for n in kinds_of_output]
    gradients = mr.grad(found, [*given.values(), *module.parameters()], cotangents)
    close: Any = {"rtol": 1e-10, "atol": 1e-10} if dtype == "f8" else {"rtol": 1e-4, "atol": 3e-5}
    for name, y in zip(kinds_of_output, found, strict=True):
        np.testing.assert_allclose(y.numpy(), case[name], err_msg=name, **close)
    for name, g in zip([*given, *names], gradients, strict=True):
        np.testing.assert_allclose(g.numpy(), case[f"{name}.gradient"], err_msg=name, **close)


def test_there_are_stored_cases_of_every_option_and_kind() -> None:
    calls = [json.loads(str(np.load(path)["call"])) for path in GOLDEN]
    assert {call["kind"] for call in calls if "zoneout" in call["options"]} == {"RNN", "GRU", "LSTM"}
    for option in ("variational", "weight_dropout", "input_dropout", "dropout", "proj_size", "bidirectional"):
        assert sum(option in call["options"] for call in calls) >= 2, option
    assert {call["training"] for call in calls} == {True, False}


@pytest.mark.slow_elsewhere
@kinds
def test_weight_dropout_is_a_mask_on_the_recurrent_weights(
    kind: str, more: dict[str, Any], rng: np.random.Generator, device: str
) -> None:
    module = getattr(nn, kind)(I, H, 2, bidirectional=True, dtype="f8", device=device, weight_dropout=0.4, **more)
    plain = getattr(nn, kind)(I, H, 2, bidirectional=True, dtype="f8", device=device, **more)
    raw = module.state_dict()
    seeds = stream_of(3).integers(0, 2**32, 2)
    masks = {}
    for k, name in enumerate(n for n in raw if n.startswith("weight_hh")):
        masks[name] = drop_mask(raw[name].shape, 0.4, seeds, k)
        assert 0 < (masks[name] == 0).sum() < masks[name].size
    plain.load_state_dict({name: value * masks.get(name, 1) for name, value in raw.items()})
    x = mr.tensor(rng.standard_normal((T, B, I)), device=device)
    mr.manual_seed(3)
    got, want = outputs_of(module(x, lengths=LENGTHS)), outputs_of(plain(x, lengths=LENGTHS))
    cotangents = [mr.tensor(rng.standard_normal(y.shape), device=device) for y in got]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)
    names = [name for name, _ in module.named_parameters()]
    found = mr.grad(got, list(module.parameters()), cotangents)
    expected = mr.grad(want, list(plain.parameters()), cotangents)
    for name, a, b in zip(names, found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy() * masks.get(name, 1), rtol=1e-12, atol=1e-12, err_msg=name)
    for name, value in module.state_dict().items():
        np.testing.assert_array_equal(value, raw[name])
    module.eval()
    plain.load_state_dict(raw)
    np.testing.assert_array_equal(module(x)[0].numpy(), plain(x)[0].numpy())


@pytest.mark.slow_elsewhere
@kinds
@each("variational", [False, True])
def test_input_and_layer_dropout_draw_one_mask_for_all_steps_or_one_for_each(
    kind: str, more: dict[str, Any], variational: bool, rng: np.random.Generator, device: str
) -> None:
    options = {"bidirectional": True, "dtype": "f8", "device": device, **more}
    module = getattr(nn, kind)(I, H, 3, dropout=0.3, input_dropout=0.6, variational=variational, **options)
    P = module.net.P
    layers = [getattr(nn, kind)(I if k == 0 else 2 * P, H, **options) for k in range(3)]
    state = module.state_dict()
    for k, layer in enumerate(layers):
        layer.load_state_dict({n.replace(f"_l{k}", "_l0"): v for n, v in state.items() if f"_l{k}" in n})
    stream = stream_of(9)
    steps = 1 if variational else T
    of_input = drop_mask((steps, B, I), 0.6, stream.integers(0, 2**32, 2), 0)
    seeds = stream.integers(0, 2**32, 2)
    masks = [drop_mask((steps, B, 2 * P), 0.3, seeds, k) for k in range(2)]

    x = mr.tensor(rng.standard_normal((T, B, I)), True, device)
    mr.manual_seed(9)
    got = module(x, lengths=LENGTHS)[0]
    want = x * mr.tensor(of_input, device=device)
    for k, layer in enumerate(layers):
        want = layer(want, lengths=LENGTHS)[0]
        if k < 2:
            want = want * mr.tensor(masks[k], device=device)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12, atol=1e-12)
    dy = mr.tensor(rng.standard_normal(got.shape), device=device)
    found = mr.grad(got, [x, *module.parameters()], dy)
    expected = mr.grad(want, [x, *(p for layer in layers for p in layer.parameters())], dy)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-12)
    module.eval()
    want = x
    for layer in layers:
        want = layer(want)[0]
    np.testing.assert_allclose(module(x)[0].numpy(), want.numpy(), rtol=1e-12, atol=1e-12)


def test_batch_first_and_an_input_without_batch_are_masked_alike(rng: np.random.Generator) -> None:
    x = rng.standard_normal((T, 1, I))
    results = []
    for given, options in ((x, {}), (x.swapaxes(0, 1), {"batch_first": True}), (x[:, 0], {})):
        mr.manual_seed(0)
        module = nn.GRU(
            I, H, 2, dropout=0.5, input_dropout=0.2, variational=True, weight_dropout=0.3, dtype="f8", **options
        )
        results.append(module(given)[0].numpy().reshape(T, H))
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_everything_dropped_leaves_the_biases(rng: np.random.Generator, device: str) -> None:
    module = nn.RNN(I, H, input_dropout=1.0, weight_dropout=1.0, dtype="f8", device=device)
    y, _ = module(rng.standard_normal((T, B, I)), mr.tensor(rng.standard_normal((1, B, H)), device=device))
    alone = np.tanh(module.bias_ih_l0.numpy() + module.bias_hh_l0.numpy())
    np.testing.assert_allclose(y.numpy(), np.broadcast_to(alone, y.shape), rtol=1e-12)


def test_one_number_zones_h_and_c_with_masks_of_their_own(rng: np.random.Generator) -> None:
    x = rng.standard_normal((T, B, I)).astype("f4")
    results = []
    for zoneout in (0.4, (0.4, 0.4), [0.4, 0.4], (0.4, 0.0), (0.0, 0.4), 0.0, (0.0, 0.0)):
        mr.manual_seed(1)
        module = nn.LSTM(I, H, zoneout=zoneout)
        results.append(module(x)[0].numpy())
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])
    np.testing.assert_array_equal(results[6], results[5])
    for k in (3, 4, 5):
        assert np.abs(results[k] - results[0]).max() > 1e-3
    assert np.abs(results[3] - results[4]).max() > 1e-3


def test_dropout_of_a_single_layer_draws_nothing(rng: np.random.Generator) -> None:
    x, results = rng.standard_normal((T, B, I)).astype("f4"), []
    module = nn.GRU(I, H, zoneout=0.4)
    with pytest.warns(UserWarning, match="does nothing with num_layers=1"):
        dropping = nn.GRU(I, H, dropout=0.5, zoneout=0.4)
    dropping.load_state_dict(module.state_dict())
    for layer in (module, dropping):
        mr.manual_seed(2)
        results.append(layer(x)[0].numpy())
    np.testing.assert_array_equal(results[1], results[0])


def test_a_zoneout_of_one_keeps_the_first_state(rng: np.random.Generator, device: str) -> None:
    module = nn.LSTM(I, H, zoneout=1.0, dtype="f8", device=device)
    x, h, c = rng.standard_normal((T, B, I)), rng.standard_normal((1, B, H)), rng.standard_normal((1, B, H))
    for _ in range(2):
        y, (h_n, c_n) = module(mr.tensor(x, device=device), (mr.tensor(h, device=device), mr.tensor(c, device=device)))
        np.testing.assert_array_equal(y.numpy(), np.broadcast_to(h, y.shape))
        np.testing.assert_array_equal(h_n.numpy(), h)
        np.testing.assert_array_equal(c_n.numpy(), c)
        module.eval()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_second_derivatives_flow_through_the_masks(kind: str, rng: np.random.Generator) -> None:
    module = getattr(nn, kind)(
        2, 3, 2, dropout=0.4, input_dropout=0.3, weight_dropout=0.4, variational=True, zoneout=0.4, dtype="f8"
    )
    x = mr.tensor(rng.standard_normal((3, 2, 2)), True)

    def run(x: mr.Tensor) -> mr.Tensor:
        mr.manual_seed(5)
        return module(x)[0]

    mr.gradcheck(run, x, order=2, max_entries=0, directions=3)


def test_options_are_shown_and_may_be_changed(rng: np.random.Generator) -> None:
    module = nn.GRU(I, H, 2, input_dropout=0.25, variational=True, weight_dropout=0.5)
    assert "input_dropout=0.25, variational=True, weight_dropout=0.5" in repr(module)
    x = rng.standard_normal((T, B, I)).astype("f4")
    assert np.abs(module(x)[0].numpy() - module(x)[0].numpy()).max() > 0
    module.input_dropout = module.weight_dropout = 0.0
    np.testing.assert_array_equal(module(x)[0].numpy(), module(x)[0].numpy())

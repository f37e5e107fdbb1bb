"""The regularization options of nn.RNN, GRU and LSTM: the random draws, their order, and what the masks multiply."""

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

"""Linear, Embedding, Dropout and RNNCell, against torch and their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


def gradients(outputs: mr.Tensor, cotangent: np.ndarray, inputs: list[mr.Tensor]) -> list[np.ndarray]:
    return [g.numpy() for g in mr.grad(outputs, inputs, cotangent)]


def torch_twin(torch: Any, module: nn.Module, twin: Any) -> None:
    """Give a torch module the parameters of ours: the names and layouts are the same, or this fails."""
    twin.load_state_dict({name: torch.from_numpy(value) for name, value in module.state_dict().items()}, strict=True)


# ---- Linear


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (7, 4, 3), (0, 3)])
def test_linear_equals_torch_in_values_and_gradients(
    bias: bool, shape: tuple[int, ...], device: str, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    module = nn.Linear(3, 5, bias=bias, device=device, dtype=np.float64)
    twin = torch.nn.Linear(3, 5, bias=bias, dtype=torch.float64)
    torch_twin(torch, module, twin)
    x, dy = rng.normal(size=shape), rng.normal(size=(*shape[:-1], 5))

    tx = torch.tensor(x, requires_grad=True)
    twin(tx).backward(torch.tensor(dy))
    t = mr.tensor(x, requires_grad=True, device=device)
    y = module(t)

    np.testing.assert_allclose(y, twin(tx).detach(), rtol=0, atol=1e-14)
    theirs = [tx.grad, *[p.grad for p in twin.parameters()]]
    for ours, expected in zip(gradients(y, dy, [t, *module.parameters()]), theirs, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(), (5,), (3, 2), (2, 3, 4)])
def test_linear_names_the_axis_it_expects(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"Linear: x has shape .*\n  expected \(\.\.\., I\) with I = 3"):
        nn.Linear(3, 5)(np.zeros(shape, np.float32))


# ---- Embedding


def test_embedding_equals_torch_where_an_id_comes_twice(device: str, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    module = nn.Embedding(7, 3, device=device, dtype=np.float64)
    twin = torch.nn.Embedding(7, 3, dtype=torch.float64)
    torch_twin(torch, module, twin)
    ids = np.array([[1, 5, 1, 0], [6, 1, 2, 5]])
    dy = rng.normal(size=(2, 4, 3))
    y, expected = module(ids), twin(torch.tensor(ids))
    expected.backward(torch.tensor(dy))
    np.testing.assert_array_equal(y, expected.detach())
    np.testing.assert_allclose(gradients(y, dy, [module.weight])[0], twin.weight.grad, rtol=0, atol=1e-15)


# ---- Dropout


@pytest.mark.parametrize("p", [0.25, 0.7])
def test_dropout_zeros_a_share_p_and_scales_the_rest(p: float, device: str) -> None:
    mr.manual_seed(3)
    y = nn.Dropout(p)(mr.tensor(np.ones((200, 300)), device=device)).numpy()
    kept = y != 0
    np.testing.assert_array_equal(y[kept], 1 / (1 - p))
    # Binomial: five standard deviations of the share of 60000 draws.
    assert abs(1 - kept.mean() - p) < 5 * np.sqrt(p * (1 - p) / y.size)


def test_dropout_gives_gradients_the_same_mask(device: str, rng: np.random.Generator) -> None:
    x = mr.tensor(rng.normal(size=(4, 5)), requires_grad=True, device=device)
    y = nn.Dropout(0.5)(x)
    dy = rng.normal(size=(4, 5))
    np.testing.assert_array_equal(gradients(y, dy, [x])[0], np.where(y.numpy() != 0, 2 * dy, 0))


def test_dropout_in_evaluation_or_with_p_0_changes_nothing_and_draws_nothing() -> None:
    x = mr.tensor(np.ones((4, 5)))
    before = mr.random.generator().bit_generator.state["state"]["counter"].copy()
    assert nn.Dropout(0.5).eval()(x) is x
    assert nn.Dropout(0.0)(x) is x
    np.testing.assert_array_equal(mr.random.generator().bit_generator.state["state"]["counter"], before)


def test_dropout_with_p_1_leaves_zeros_and_no_nan() -> None:
    np.testing.assert_array_equal(nn.Dropout(1.0)(np.ones((4, 5))), np.zeros((4, 5)))


def test_one_seed_drops_the_same_elements_in_every_dtype() -> None:
    masks = []
    for dtype in (np.float16, np.float32, np.float64):
        mr.manual_seed(5)
        y = nn.Dropout(0.5)(np.ones((6, 7), dtype))
        assert y.dtype == dtype
        masks.append(y.numpy() != 0)
    np.testing.assert_array_equal(masks[0], masks[1])
    np.testing.assert_array_equal(masks[1], masks[2])


@pytest.mark.parametrize(
    ("p", "error"), [(-0.1, ValueError), (1.5, ValueError), (float("nan"), ValueError), ("half", TypeError)]
)
def test_dropout_rejects_what_is_no_probability(p: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="Dropout: p is"):
        nn.Dropout(p)


# ---- RNNCell


@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_rnn_cell_equals_torch_in_values_and_gradients(
    nonlinearity: str, bias: bool, given: bool, device: str, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    B, I, H = 2, 3, 5
    module = nn.RNNCell(I, H, bias, nonlinearity, device=device, dtype=np.float64)
    twin = torch.nn.RNNCell(I, H, bias, nonlinearity, dtype=torch.float64)
    torch_twin(torch, module, twin)
    data = [rng.normal(size=(B, I))] + [rng.normal(size=(B, H))] * given
    dy = rng.normal(size=(B, H))

    theirs = [torch.tensor(a, requires_grad=True) for a in data]
    expected = twin(*theirs)
    expected.backward(torch.tensor(dy))
    ours = [mr.tensor(a, requires_grad=True, device=device) for a in data]
    h = module(*ours)

    np.testing.assert_allclose(h, expected.detach(), rtol=0, atol=1e-14)
    names = dict(twin.named_parameters())
    for g, (name, p) in zip(gradients(h, dy, list(module.parameters())), module.named_parameters(), strict=True):
        assert p.shape == g.shape
        np.testing.assert_allclose(g, names[name].grad, rtol=0, atol=1e-14, err_msg=name)
    for t, tt in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(gradients(module(*ours), dy, [t])[0], tt.grad, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("x", "h", "words"),
    [
        ((2, 4), None, "inputs has shape (2, 4)\n  expected (B, I) = (2, 3)"),
        ((3,), None, "inputs has shape (3,), 1 axis\n  expected (B, I)"),
        ((2, 3), (2, 4), "h_prev has shape (2, 4)\n  expected (B, H) = (2, 5)"),
        ((2, 3), (5,), "h_prev has shape (5,)\n  expected (B, H) = (2, 5)"),
    ],
)
def test_rnn_cell_names_the_argument_and_the_axes(x: Any, h: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        nn.RNNCell(3, 5)(np.zeros(x, np.float32), None if h is None else np.zeros(h, np.float32))
    assert str(caught.value).startswith(f"RNNCell: {words}")


# ---- all


LAYERS = {
    "Linear": lambda **kw: nn.Linear(3, 5, **kw),
    "Embedding": lambda **kw: nn.Embedding(7, 3, **kw),
    "RNNCell": lambda **kw: nn.RNNCell(3, 5, **kw),
    "LSTMBlockCell": lambda **kw: nn.LSTMBlockCell(5, 3, use_peephole=True, **kw),
    "LSTMBlockFusedCell": lambda **kw: nn.LSTMBlockFusedCell(5, 3, use_peephole=True, **kw),
    "GRUBlockCell": lambda **kw: nn.GRUBlockCell(5, 3, **kw),
}


@pytest.mark.parametrize("name", LAYERS)
def test_one_seed_gives_the_same_initial_values_in_every_dtype(name: str, device: str) -> None:
    states = []
    for dtype in (np.float32, np.float64):
        mr.manual_seed(11)
        module = LAYERS[name](device=device, dtype=dtype)
        assert all(p.dtype == dtype and p.device == device for p in module.parameters())
        states.append(module.state_dict())
    mr.manual_seed(12)
    other = LAYERS[name]().state_dict()
    for key, value in states[1].items():
        np.testing.assert_array_equal(states[0][key], value.astype(np.float32))
        constant = np.ptp(value) == 0
        assert constant or not np.array_equal(other[key], states[0][key]), key
    assert all(p.dtype == np.float32 for p in LAYERS[name]().parameters())


def test_initial_values_lie_within_the_documented_bounds_and_fill_them() -> None:
    mr.manual_seed(0)
    lstm, gru = nn.LSTMBlockCell(40, 30, use_peephole=True), nn.GRUBlockCell(40, 30)
    linear, rnn = nn.Linear(300, 40), nn.RNNCell(30, 400)
    for values, bound in [
        (lstm.w, np.sqrt(6 / (70 + 160))),
        (lstm.wci, np.sqrt(6 / 80)),
        (gru.w_ru, np.sqrt(6 / (70 + 80))),
        (gru.w_c, np.sqrt(6 / (70 + 40))),
        (linear.weight, 1 / np.sqrt(300)),
        (linear.bias, 1 / np.sqrt(300)),
        (rnn.weight_hh, 1 / np.sqrt(400)),
    ]:
        largest = np.abs(values.numpy()).max()
        assert 0.9 * bound < largest <= bound * (1 + 1e-6)
    assert (gru.b_ru.numpy() == 1).all()
    assert (gru.b_c.numpy() == 0).all()
    assert (lstm.b.numpy() == 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Linear(0, 5), "Linear: in_features is 0\n  expected 1 or more"),
        (lambda: nn.Embedding(7, -1), "Embedding: embedding_dim is -1\n  expected 1 or more"),
        (lambda: nn.RNNCell(3, 2.5), "RNNCell: hidden_size is 2.5\n  expected an integer"),
        (lambda: nn.RNNCell(3, 5, nonlinearity="gelu"), "RNNCell: nonlinearity is 'gelu'"),
        (lambda: nn.LSTMBlockCell(True, 3), "LSTMBlockCell: num_units is True"),
        (lambda: nn.LSTMBlockFusedCell(5, 3, forget_bias=float("nan")), "LSTMBlockFusedCell: forget_bias is nan"),
        (lambda: nn.GRUBlockCell(5, 0), "GRUBlockCell: input_size is 0"),
    ],
)
def test_wrong_sizes_and_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert str(caught.value).startswith(message)

"""Layers of custom cells compute the same as torch from the same function: outputs, states, all gradients.

Tests `minirnn/nn/own/layer.py`, `minirnn/nn/own/decorator.py` and `minirnn/ops/sequence/`.
"""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, clip, sigmoid, softplus, sqrt, tanh, unit_mean, where
from minirnn.nn.own.layer import CellLayer
from tests.cells.with_torch import CELLS, gallery, torch_direction
from tests.devices.cells.own_layers import multiplicative, residual
from tests.each import each

T, B, I, H = 6, 4, 3, 5
LENGTHS = np.array([3, 6, 1, 5])
CLOSE = 1e-13  # relative to the largest entry: sums of T * B products, in another order


@cell(states=("h",))
def normalized(z_a, h, *, g, b, eps=1e-5):
    mean = unit_mean(z_a)
    centered = z_a - mean
    h = tanh(centered / sqrt(unit_mean(centered * centered) + eps) * g + b) + 0.5 * h
    return h


@cell(states=("h", "c"), output="h")
def zoned(x_n, z_o, h_r, z_i, h, c, mask_c, mask_h=0.1):
    new = clip(sigmoid(z_i) * c + tanh(x_n + h_r), -0.5, 0.5, straight_through=True)
    out = where(z_o > c, softplus(z_o), abs(c) ** 3 / (1 + c * c)) * tanh(new)
    return mask_h * h + (1 - mask_h) * out, mask_c * c + (1 - mask_c) * new


@cell(states=("old", "m", "h"))
def odd(z_a, old, m, h, *, v):
    m = 0.5 * m - z_a
    return h, m, tanh(v * old + m)


OWN = {"normalized": normalized, "zoned": zoned, "odd": odd, "multiplicative": multiplicative, "residual": residual}


def named(name: str) -> Any:
    return OWN.get(name) or gallery(name)


def draw(rng: np.random.Generator, layer: Any) -> dict[str, np.ndarray]:
    """Random weights of a layer, input and states, float64."""
    D, step = layer.D, layer.cell.step
    values = {n: rng.normal(size=p.shape) * 0.5 for n, p in layer.named_parameters()}
    values["x"] = rng.normal(size=(T, B, I))
    values |= {n: rng.normal(size=(D, B, layer.P if n == step.output else H)) for n in step.user_states}
    if "n" in values:
        values["n"] = np.abs(values["n"]) + 0.5  # slstm divides by it
    values |= {n: rng.integers(0, 2, (D, T, B, H)).astype(float) for n in step.masks}
    return values


def of_minirnn(
    layer: Any, values: dict[str, np.ndarray], lengths: Any, dtype: Any, rng: np.random.Generator
) -> dict[str, Any]:
    D, step = layer.D, layer.cell.step
    for n, p in layer.named_parameters():
        p.assign(values[n].astype(dtype))
    x = mr.tensor(values["x"], dtype=dtype, requires_grad=True)
    states = [mr.tensor(values[n] if D > 1 else values[n][0], True, dtype=dtype) for n in step.user_states]
    masks = {n: values[n] if D > 1 else values[n][0] for n in step.masks}
    y, after = layer(x, states if len(states) > 1 else states[0], lengths, masks)
    after = [after] if len(states) == 1 else list(after)
    loss = sum((a * mr.tensor(rng.normal(size=a.shape), dtype=dtype)).sum() for a in (y, *after))
    targets = {"x": x, **dict(zip(step.user_states, states, strict=True)), **dict(layer.named_parameters())}
    grads = mr.grad(loss, list(targets.values()))
    found = {"y": y, **{f"{n}_n": a for n, a in zip(step.user_states, after, strict=True)}}
    found |= {f"d{n}": g for n, g in zip(targets, grads, strict=True)}
    return {n: a.numpy() for n, a in found.items()}


def of_torch(layer: Any, values: dict[str, np.ndarray], lengths: Any, rng: np.random.Generator) -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    D, step = layer.D, layer.cell.step
    ts = {n: torch.tensor(a, requires_grad=n not in step.masks) for n, a in values.items()}
    x = ts["x"]
    if lengths is not None:
        x = torch.where(torch.tensor(np.arange(T)[:, None] < lengths)[:, :, None], x, 0.0)
    ys, ends = [], []
    for d in range(D):
        suffix = "" if D == 1 else "_l0" + "_reverse" * d
        w = {
            n.removesuffix(suffix): t for n, t in ts.items() if n in values and (n.endswith(suffix) and n not in ("x",))
        }
        w = {n: t for n, t in w.items() if not suffix or not n.endswith(("_l0", "_reverse"))}
        states = {n: ts[n][d] for n in step.user_states}
        y, end = torch_direction(layer.cell, w, x, states, lengths, d == 1, {n: ts[n][d] for n in step.masks})
        ys.append(y)
        ends.append(end)
    y = torch.cat(ys, 2)
    after = [torch.stack([e[n] for e in ends]) if D > 1 else ends[0][n] for n in step.user_states]
    loss = sum((a * torch.tensor(rng.normal(size=a.shape))).sum() for a in (y, *after))
    loss.backward()
    found = {"y": y, **{f"{n}_n": a for n, a in zip(step.user_states, after, strict=True)}}
    found |= {f"d{n}": t.grad for n, t in ts.items() if n not in step.masks}
    return {n: np.zeros(1) if a is None else a.detach().numpy() for n, a in found.items()}


def compare(layer: Any, lengths: Any, dtype: Any, close: float, rng: np.random.Generator) -> None:
    values = draw(rng, layer)
    seed = int(rng.integers(2**32))
    found = of_minirnn(layer, values, lengths, dtype, np.random.default_rng(seed))
    right = of_torch(layer, values, lengths, np.random.default_rng(seed))
    assert found.keys() == right.keys()
    for n, a in found.items():
        largest = np.abs(right[n]).max()
        assert np.abs(a.reshape(right[n].shape) - right[n]).max() <= close * max(largest, 1e-300), n


PROJECTED = ("lstm", "peephole_lstm", "coupled_lstm", "slstm")
CASES = [(name, {"bidirectional": both}, "float64") for name in (*CELLS, *OWN) for both in (False, True)]
CASES += [(name, {"bidirectional": True, "proj_size": 2}, "float64") for name in PROJECTED]
CASES += [
    (name, {"bidirectional": True}, dtype)
    for name in ("peephole_lstm", "gru_block", "zoned", "normalized")
    for dtype in ("float32", "float16")
]


@each(("name", "options", "dtype"), CASES, ids=[f"{n}-{dtype}-{o}" for n, o, dtype in CASES])
def test_a_layer_computes_what_torch_computes(
    rng: np.random.Generator, name: str, options: dict[str, Any], dtype: str
) -> None:
    """`tests/devices` compares the same cells on every device."""
    layer = named(name).layer(I, H, dtype=dtype, **options)
    close = {"float64": CLOSE, "float32": 1e-5, "float16": 8e-3}[dtype]  # float16 is rounded once
    compare(layer, LENGTHS if layer.D == 2 else None, dtype, close, rng)


@pytest.mark.parametrize("variational", [False, True])
def test_dropout_is_that_of_the_built_in_layer(variational: bool) -> None:
    """With one seed, the same masks act on the same values and on the same weights."""
    options: dict[str, Any] = {"dropout": 0.3, "input_dropout": 0.4, "weight_dropout": 0.2, "variational": variational}
    options |= {"bidirectional": True, "batch_first": True, "dtype": "float64"}
    theirs, ours = mr.nn.LSTM(I, H, 2, **options), gallery("lstm").layer(I, H, 2, **options)
    for n, p in ours.named_parameters():
        if n.startswith("bias"):
            p.assign(getattr(theirs, n.replace("bias", "bias_ih")) + getattr(theirs, n.replace("bias", "bias_hh")))
        else:
            p.assign(getattr(theirs, n))
    x, found = mr.randn(B, T, I, dtype="float64", requires_grad=True), []
    for layer in (theirs, ours):
        mr.manual_seed(7)
        y = layer(x)[0]
        found.append([y, *mr.grad(y.sum(), [x, layer.weight_hh_l1_reverse])])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), atol=1e-13)
    assert (found[1][2].numpy() == 0).mean() > 0.1
    np.testing.assert_allclose(ours.eval()(x)[0].numpy(), theirs.eval()(x)[0].numpy(), atol=1e-13)


def test_weight_dropout_reaches_the_matrices_of_products() -> None:
    layer = gallery("gru_block").layer(I, 40, weight_dropout=0.25)
    x = mr.randn(T, B, I)
    gradients = mr.grad(layer(x)[0].sum(), [layer.weight_hh, layer.product_1])
    for g in gradients:
        assert abs((g.numpy() == 0).mean() - 0.25) < 0.06
    assert not np.array_equal(gradients[0].numpy()[:40] == 0, gradients[1].numpy() == 0)


def test_products_with_the_same_name_have_one_parameter() -> None:
    layer = residual.layer(I, 40, 2, weight_dropout=0.25)
    own = ["weight_ih", "weight_hh", "bias", "product_2", "R2"]
    assert list(layer.state_dict()) == [f"{n}_l{l}" for l in range(2) for n in own]
    (g,) = mr.grad(layer(mr.randn(T, B, I))[0].sum(), [layer.R2_l1])
    assert abs((g.numpy() == 0).mean() - 0.25) < 0.06  # one mask for both products
    assert residual.layer(I, H).verify(["cpu"])


@cell(states=("h",))
def solver(z_a, h, *, dt=0.2):
    for _ in range(3):
        h = h + dt * (tanh(z_a + mr.product(h)) - h)
    return h


class Formed(CellLayer):
    """R is antisymmetric, and the three products of a step have one matrix."""

    def weights(self, k: int) -> Any:
        own = super().weights(k)
        return own._replace(R=own.R - own.R.T, U=(own.U[0],) * len(own.U))


def test_a_layer_has_its_own_constants(rng: np.random.Generator) -> None:
    one, two = gallery("cornn").layer(I, H, dt=0.2, dtype="float64"), gallery("cornn").layer(I, H, dtype="float64")
    two.load_state_dict(one.state_dict())
    assert (one.cell.step.constants["dt"], two.cell.step.constants["dt"]) == (0.2, 0.1)
    x = rng.normal(size=(1, B, I))
    np.testing.assert_allclose(one(x)[0].numpy(), 4 * two(x)[0].numpy(), rtol=1e-12)  # h = dt v, v = dt tanh(z_a)
    with pytest.raises(TypeError, match="cornn.layer: no option or constant is called 'dx'"):
        gallery("cornn").layer(I, H, dx=0.2)


def test_a_subclass_gives_matrices_a_form(rng: np.random.Generator) -> None:
    layer = Formed(solver, I, H, dtype="float64")
    values = {n: rng.normal(size=p.shape) for n, p in layer.named_parameters()} | {"x": rng.normal(size=(T, B, I))}
    for n, p in layer.named_parameters():
        p.assign(values[n])
    torch = pytest.importorskip("torch")
    names = ["x", "weight_ih", "weight_hh", "bias", "product_1"]
    x = mr.tensor(values["x"], requires_grad=True)
    found = mr.grad((layer(x)[0] ** 2).sum(), [x, *[getattr(layer, n) for n in names[1:]]])
    t = {n: torch.tensor(values[n], requires_grad=True) for n in names}
    h, loss = torch.zeros(B, H, dtype=torch.float64), 0.0
    for x_t in t["x"]:
        z = x_t @ t["weight_ih"].T + h @ (t["weight_hh"] - t["weight_hh"].T).T + t["bias"]
        for _ in range(3):
            h = h + 0.2 * (torch.tanh(z + h @ t["product_1"].T) - h)
        loss = loss + (h**2).sum()
    loss.backward()  # type: ignore[attr-defined]
    for n, g in zip(names, found, strict=True):
        np.testing.assert_allclose(g.numpy(), t[n].grad, atol=1e-13 * np.abs(t[n].grad.numpy()).max(), err_msg=n)


@pytest.mark.parametrize("name", ["sru", "slstm", "gru_block"])
def test_steps_one_by_one_are_the_sequence(name: str) -> None:
    layer = gallery(name).layer(I, H, 2, dtype="float64")
    x = mr.randn(T, B, I, dtype="float64")
    whole, end = layer(x)
    states: Any = None
    for t in range(T):
        y, states = layer.step(x[t], states)
        np.testing.assert_allclose(y.numpy(), whole[t].numpy(), atol=1e-14)
    for a, b in zip(
        end if isinstance(end, tuple) else (end,), states if isinstance(states, tuple) else (states,), strict=True
    ):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-14)
    alone, _ = layer(x[:, 0])
    assert alone.shape == (T, H)
    np.testing.assert_allclose(alone.numpy(), whole[:, 0].numpy(), atol=1e-14)
    assert layer.step(x[0, 0])[0].shape == (H,)


def test_masks_are_drawn_while_training_and_are_their_rate_otherwise() -> None:
    layer = zoned.layer(I, 40, masks={"mask_c": 0.3}, dtype="float64")
    x, ones = mr.randn(T, B, I, dtype="float64"), np.ones((T, B, 40))
    layer.eval()
    expected, _ = layer(x, masks={"mask_c": 0.3 * ones, "mask_h": 0.1 * ones})
    np.testing.assert_allclose(layer(x)[0].numpy(), expected.numpy(), atol=1e-14)
    both = zoned.layer(I, 40, masks={"mask_c": 0.3}, bidirectional=True, dtype="float64").eval()
    given = {"mask_c": np.full((2, T, B, 40), 0.3), "mask_h": np.full((2, T, B, 40), 0.1)}
    np.testing.assert_allclose(both(x)[0].numpy(), both(x, masks=given)[0].numpy(), atol=1e-14)
    layer.train()
    drawn = {n: m.numpy() for n, m in zip(layer.rates, layer._masks({}, x), strict=True)}
    for n, rate in (("mask_c", 0.3), ("mask_h", 0.1)):
        assert set(np.unique(drawn[n])) == {0, 1}
        assert abs(drawn[n].mean() - rate) < 0.05
    times = mr.randn(T, B, 1, dtype="float64")  # the same number for all units
    one, whole = ({"mask_c": m, "mask_h": 0.1 * ones} for m in (times, times * ones))
    assert np.array_equal(layer(x, masks=one)[0].numpy(), layer(x, masks=whole)[0].numpy())
    same = zoned.layer(I, 40, masks={"mask_c": 0.3}, variational=True)
    (mask, _) = same._masks({}, mr.randn(T, B, I))
    assert np.array_equal(mask.numpy()[0, 0], mask.numpy()[0, -1])


@pytest.mark.slow_elsewhere
def test_a_layer_with_masks_is_the_same_on_every_device(device: str) -> None:
    found = []
    for place in ("cpu", device):
        mr.manual_seed(4)
        layer = zoned.layer(I, H, masks={"mask_c": 0.3}, dtype="float64", device=place)
        found.append(layer(mr.randn(T, B, I, dtype="float64", device=place), lengths=LENGTHS)[0].numpy())
    np.testing.assert_allclose(*found, rtol=0, atol=1e-13)


def test_state_dicts_copies_and_pickles_keep_a_layer() -> None:
    layer = zoned.layer(I, H, 2, masks={"mask_c": 0.5})
    x = mr.randn(T, B, I)
    layer.eval()
    other = zoned.layer(I, H, 2, masks={"mask_c": 0.5}).eval()
    other.load_state_dict(layer.state_dict())
    for twin in (other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert np.array_equal(twin(x)[0].numpy(), layer(x)[0].numpy())


def test_initial_values_of_biases_and_vectors() -> None:
    layer = gallery("peephole_lstm").layer(I, H, 2, initial={"z_f": 1, "wci": np.arange(H)})
    for k in (0, 1):
        bias = getattr(layer, f"bias_l{k}").numpy().reshape(4, H)
        assert np.all(bias[2] == 1)  # the third argument
        assert np.all(np.abs(np.delete(bias, 2, axis=0)) < 1 / np.sqrt(H))
        assert np.array_equal(getattr(layer, f"wci_l{k}").numpy(), np.arange(H))
    layer.reset_parameters()
    assert np.all(layer.bias_l1.numpy()[2 * H : 3 * H] == 1)


def test_initial_values_of_matrices() -> None:
    initial = {"R2": np.eye(H), "weight_hh": mr.nn.init.orthogonal_, "weight_ih": 0.5, "product_2": 0.1 * np.ones(H)}
    layer = residual.layer(I, H, 2, initial=initial, dtype="float64")
    for _ in range(2):
        R = layer.weight_hh_l1.numpy()
        np.testing.assert_allclose(R @ R.T, np.eye(H), atol=1e-14)
        assert np.array_equal(layer.R2_l0.numpy(), np.eye(H)) and np.all(layer.product_2_l1.numpy() == 0.1)
        assert layer.weight_ih_l1.shape == (H, H) and np.all(layer.weight_ih_l1.numpy() == 0.5)
        layer.reset_parameters()


@pytest.mark.parametrize("place", ["cpu", "native", "cuda-sim"])
def test_states_before_the_first_step_may_be_given_or_learned(rng: np.random.Generator, place: str) -> None:
    """They are the states that a call takes, and their gradient is the sum of those."""
    c0, options = rng.normal(size=H), {"num_layers": 2, "proj_size": 3, "dtype": "float64", "device": place}
    layer = gallery("lstm").layer(I, H, initial={"c": c0, "h": 0.3}, learned=["h"], **options)
    assert [p.shape for n, p in layer.named_parameters() if n.startswith("initial_")] == [(3,), (3,)]
    layer.initial_h_l1.assign(rng.normal(size=3))
    x = mr.tensor(rng.normal(size=(T, B, I)), device=place)
    given = np.repeat(np.stack([p.numpy() for p in (layer.initial_h_l0, layer.initial_h_l1)])[:, None], B, 1)
    h = mr.tensor(given, device=place, requires_grad=True)
    c = mr.tensor(np.broadcast_to(c0, (2, B, H)), device=place)
    y, wanted = layer(x, lengths=LENGTHS)[0], layer(x, (c, h), lengths=LENGTHS)[0]
    assert np.array_equal(y.numpy(), wanted.numpy())
    assert np.array_equal(y.numpy()[:, 1], layer(x, (None, h), lengths=LENGTHS)[0].numpy()[:, 1])
    found = mr.grad((y**2).sum(), [layer.initial_h_l0, layer.initial_h_l1])
    (dh,) = mr.grad((wanted**2).sum(), [h])
    np.testing.assert_allclose(np.stack([g.numpy() for g in found]), dh.numpy().sum(1), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(layer(x[:, 0])[0].numpy(), layer(x)[0].numpy()[:, 0], rtol=1e-13)
    layer.reset_parameters()
    assert np.all(layer.initial_h_l1.numpy() == 0.3)


@pytest.mark.parametrize("name", ["mgu", "deltanet"])
def test_a_layer_with_learned_states_verifies(name: str) -> None:
    own = gallery(name)
    layer = own.layer(I, H, bidirectional=True, learned=own.step.user_states, initial={own.step.user_states[0]: 0.2})
    assert layer.verify(["cpu"])
    one = own.layer(I, H, initial={own.step.user_states[0]: 0.2})
    _, after = one(mr.zeros((1, 2, I)), mr.full_like(one(mr.zeros((1, 2, I)))[1], 0.2))
    np.testing.assert_array_equal(one(mr.zeros((1, 2, I)))[1].numpy(), after.numpy())


def test_figures_begin_with_the_states_of_the_layer() -> None:
    layer = gallery("mgu").layer(I, H, initial={"h": 0.7})
    x = mr.randn(1, I)
    found = mr.viz.layer_values(layer, x.numpy()[:, None])
    np.testing.assert_allclose(found.states["h"][-1].ravel(), layer(x)[0].numpy().ravel(), rtol=1e-6)


@pytest.mark.parametrize("taken", ["weight_ih", "weight_hh", "bias", "product_1", "cell", "num_layers", "forward"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_vector_cannot_be_called_as_something_else_of_a_layer(taken: str, layers: int) -> None:
    scope: dict[str, Any] = {"mr": mr}
    exec(f"def made(z_a, h, *, {taken}):\n    return mr.tanh(z_a + mr.product({taken} * h))", scope)
    with pytest.raises(ValueError, match=f"a vector is called '{taken}', a layer's own name"):
        cell(states=("h",))(scope["made"]).layer(3, 5, layers)
    if taken != "product_1":
        with pytest.raises(ValueError, match=f"a matrix is called '{taken}', a layer's own name"):
            cell(states=("h",))(lambda z_a, h: tanh(z_a + mr.product(h, taken))).layer(3, 5, layers)


def test_states_with_names_are_read_by_their_names() -> None:
    layer, x = gallery("lstm").layer(I, H, num_layers=2), mr.randn(T, B, I)
    _, state = mr.nn.LSTM(I, H, num_layers=2)(x)
    expected = layer(x, (state.c, state.h))[0].numpy()
    named = state._asdict()
    for same in (state, mr.nn.states.LSTMState(state.c, state.h), named, dict(reversed(named.items()))):
        np.testing.assert_array_equal(layer(x, same)[0].numpy(), expected)
    with pytest.raises(TypeError, match=r"the names h, d\n  expected c, h, which are read by name"):
        layer(x, {"h": state.h, "d": state.c})
    odd = cell(states=("_a", "h"))(lambda z_n, _a, h: (0.5 * _a + h, tanh(z_n) + 0.1 * _a)).layer(I, H)
    _, after = odd(x)
    np.testing.assert_array_equal(odd(x, after)[0].numpy(), odd(x, tuple(after))[0].numpy())


def test_weights_of_a_subclass_that_are_no_tensors_are_named() -> None:
    class Fixed(CellLayer):
        def weights(self, k: int) -> Any:
            return super().weights(k)._replace(U=(np.eye(H),))

    with pytest.raises(TypeError, match=r"U of weights is of type ndarray\n  expected a Tensor"):
        Fixed(multiplicative, I, H)(mr.randn(T, B, I))


def test_a_layer_is_printed_with_its_options() -> None:
    """`bias` is an option of built-in layers, and a parameter of these."""
    assert repr(gallery("mgu").layer(3, 5)) == "CellLayer(mgu, 3, 5)"
    text = repr(gallery("mgu").layer(3, 5, 2, bidirectional=True, dropout=0.5))
    assert text == "CellLayer(mgu, 3, 5, num_layers=2, dropout=0.5, bidirectional=True)"

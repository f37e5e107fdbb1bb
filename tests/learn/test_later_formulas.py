"""The expected results of the exercises from ex22 on, compared with differences of the forward passes in this file.

Tests `minirnn/learn/formulas/losses.py`, `minirnn/learn/formulas/layers.py`, `minirnn/learn/formulas/history.py`,
`minirnn/learn/formulas/weights.py`, `minirnn/learn/formulas/kernels.py`, `minirnn/learn/formulas/capstone.py` and the
modules of the same names in `minirnn/learn/catalog/`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.learn.catalog import EXERCISES
from minirnn.learn.exercise import HIDDEN, PUBLIC_CASES, Sizes
from tests.slow import slow_unless

SIZES = [sizes for _, sizes in PUBLIC_CASES] + list(HIDDEN)


def case(id, s):
    """Inputs and expected values for sizes `s`."""
    inputs = EXERCISES[id].case([7], s)
    return inputs, EXERCISES[id].expected(inputs)


def slope(loss, array, eps=1e-5):
    """The gradient of ``loss()`` with respect to `array`, by central differences; `array` is changed in place."""
    gradient = np.zeros_like(array)
    for k in np.ndindex(array.shape):
        value = array[k]
        array[k] = value + eps
        above = loss()
        array[k] = value - eps
        gradient[k] = (above - loss()) / (2 * eps)
        array[k] = value
    return gradient


def close(got, want):
    want = np.asarray(want)
    assert np.shape(got) == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-8 * max(1, np.abs(want).max()))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def softmax(a):
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_unbroadcast(s):
    inputs, expected = case("ex22", s)
    operands = [np.zeros(shape) for shape in inputs["shapes"]]
    for operand, got in zip(operands, expected.values(), strict=True):
        close(got, slope(lambda: np.sum(inputs["dy"] * sum(operands, np.zeros(inputs["dy"].shape))), operand))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_stable(s):
    inputs, expected = case("ex23", s)
    z = inputs["z"]
    np.testing.assert_allclose(expected["s"], 0.5 * (1 + np.tanh(z / 2)), rtol=1e-13, atol=1e-17)
    np.testing.assert_allclose(expected["log_s"], -np.logaddexp(0, -z), rtol=1e-13)
    np.testing.assert_allclose(expected["lse"], np.logaddexp.reduce(inputs["a"], axis=1), rtol=1e-13)


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_cross_entropy(s):
    inputs, expected = case("ex24", s)
    logits, targets = inputs["logits"] - inputs["logits"].mean(), inputs["targets"]
    loss = lambda: -np.mean(np.log(softmax(logits))[np.arange(len(logits)), targets])  # noqa: E731
    close(expected["loss"], loss())
    close(expected["dlogits"], slope(lambda: inputs["dloss"] * loss(), logits))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_embedding(s):
    inputs, expected = case("ex25", s)
    w = np.zeros((inputs["V"], s.I))
    close(expected["dw"], slope(lambda: np.sum(inputs["dy"] * w[inputs["ids"]]), w))
    assert len(np.unique(inputs["ids"])) < inputs["ids"].size and not np.any(expected["dw"][-1])


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_variational_dropout(s):
    inputs, expected = case("ex26", s)
    x, kept = inputs["x"].copy(), inputs["u"] >= inputs["rate"]
    forward = lambda: np.where(kept, x / (1 - inputs["rate"]), 0.0) if inputs["training"] else x  # noqa: E731
    close(expected["y"], forward())
    close(expected["dx"], slope(lambda: np.sum(inputs["dy"] * forward()), x))
    assert kept.any() and not kept.all()


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_layer_norm(s):
    inputs, expected = case("ex27", s)
    x, g, b = inputs["x"].copy(), inputs["g"].copy(), np.zeros(s.H + 1)

    def loss():
        n = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + inputs["eps"])
        return np.sum(inputs["dy"] * (g * n + b))

    for name, array in {"dx": x, "dg": g, "db": b}.items():
        close(expected[name], slope(loss, array))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_attention(s):
    inputs, expected = case("ex28", s)
    q, k, v = (inputs[name].copy() for name in "qkv")

    def loss():
        p = softmax(np.stack([k[b] @ q[b] for b in range(s.B)]) / np.sqrt(s.H))
        return sum(inputs["dc"][b] @ (p[b] @ v[b]) for b in range(s.B))

    for name, array in {"dq": q, "dk": k, "dv": v}.items():
        close(expected[name], slope(loss, array))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_recomputation(s):
    inputs, expected = case("ex29", s)
    memory = inputs["start"].__self__
    h0 = memory.h0.copy()

    def loss():
        h, total = h0, 0.0
        for t in range(memory.T):
            h = np.tanh(memory.x[t] @ memory.W + h @ memory.R + memory.b)
            total += np.sum(memory.dh[t] * h)
        return total

    close(expected["dh0"], slope(loss, h0))
    assert memory.size == h0.nbytes and memory.budget < memory.T * memory.size or s.T <= 2


def test_the_memory_of_the_recomputation_counts_bytes_and_steps_and_knows_what_was_given_back():
    memory = EXERCISES["ex29"].case([0], Sizes(T=3))["start"].__self__
    states = [memory.start()]
    states += [memory.step(t, states[-1]) for t in range(5)]
    with pytest.raises(ValueError, match="the budget of 480 bytes is full: 6 states of 80 bytes are kept"):
        memory.step(5, states[-1])
    memory.free(states[0])
    with pytest.raises(ValueError, match="was it given back"):
        memory.step(0, states[0])
    for state in (None, 1.5, "a", -1):
        with pytest.raises(ValueError, match="there is no state"):
            memory.back(0, state)
    for t in (-1, 9):
        with pytest.raises(ValueError, match="there is no step"):
            memory.step(t, states[1])
        with pytest.raises(ValueError, match="there is no step"):
            memory.back(t, states[1])
    with pytest.raises(ValueError, match="more than 16 steps"):  # forgetting all states does not create time
        for _ in range(20):
            memory.step(0, memory.start())


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_double_backward(s):
    inputs, expected = case("ex30", s)
    a = {name: inputs[name].copy() for name in ("x", "h_prev", "W", "R", "dh")} | {"b": np.zeros(s.H)}
    b = np.arctanh(inputs["h"]) - inputs["x"] @ inputs["W"] - inputs["h_prev"] @ inputs["R"]

    def loss():
        h = np.tanh(a["x"] @ a["W"] + a["h_prev"] @ a["R"] + b + a["b"])
        return np.sum(inputs["v"] * ((a["dh"] * (1 - h * h)) @ a["W"].T))

    for name, array in a.items():
        close(expected[f"d_{name}"], slope(loss, array))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_projection(s):
    inputs, expected = case("ex31", s)
    a = {name: inputs[name].copy() for name in ("x", "cs_prev", "h_prev", "w", "wp")} | {"b": np.zeros(4 * s.H)}
    logit = lambda y: np.log(y / (1 - y))  # noqa: E731
    z = (
        np.concatenate([logit(inputs["i"]), np.arctanh(inputs["ci"]), logit(inputs["f"]), logit(inputs["o"])], axis=1)
        - np.concatenate([inputs["x"], inputs["h_prev"]], axis=1) @ inputs["w"]
    )

    def loss():
        zi, zc, zf, zo = np.split(np.concatenate([a["x"], a["h_prev"]], axis=1) @ a["w"] + a["b"] + z, 4, axis=1)
        cs = sigmoid(zi) * np.tanh(zc) + sigmoid(zf) * a["cs_prev"]
        h = (sigmoid(zo) * np.tanh(cs)) @ a["wp"]
        return np.sum(inputs["dcs"] * cs) + np.sum(inputs["dh"] * h)

    for name, array in a.items():
        close(expected[f"d{name}"], slope(loss, array))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_two_layers(s):
    inputs, expected = case("ex32", s)
    x, R = inputs["x"].copy(), inputs["R"].copy()
    W0, W1 = (w.copy() for w in inputs["W"])
    h, biases = inputs["h"], np.zeros((2, s.H))
    first = [np.arctanh(h[0][0]) - inputs["x"][0] @ W0, np.arctanh(h[1][0]) - h[0][0] @ W1]  # biases, by sample

    def loss():
        states, total = [np.zeros((s.B, s.H))] * 2, 0.0
        for t in range(s.T):
            below = x[t]
            for layer, W in enumerate((W0, W1)):
                states[layer] = np.tanh(below @ W + states[layer] @ R[layer] + first[layer] + biases[layer])
                below = states[layer]
            total += np.sum(inputs["dy"][t] * below)
        return total + np.sum(inputs["dh_n"] * np.stack(states))

    for name, array in {"dx": x, "dW0": W0, "dW1": W1, "dR": R, "db": biases}.items():
        close(expected[name], slope(loss, array))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_truncated(s):
    inputs, expected = case("ex34", s)
    a = {name: inputs[name].copy() for name in ("x", "W", "R")} | {"b": np.zeros(s.H)}
    h, h0 = inputs["h"], inputs["h0"]
    b = np.arctanh(h[0]) - inputs["x"][0] @ inputs["W"] - h0 @ inputs["R"]

    def loss():
        total, state = 0.0, h0
        for t in range(len(inputs["x"])):
            if t % inputs["k"] == 0:  # detached: a constant, whatever the weights are now
                state = h[t - 1] if t else h0
            state = np.tanh(a["x"][t] @ a["W"] + state @ a["R"] + b + a["b"])
            total += np.sum(inputs["dh"][t] * state)
        return total

    for name, array in a.items():
        close(expected[f"d{name}"], slope(loss, array))
    assert 1 < inputs["k"] < len(inputs["x"]) and len(inputs["x"]) % inputs["k"]


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_cudnn_buffer(s):
    inputs, expected = case("ex33", s)
    sizes = dict(num_layers=2, num_units=s.H, input_size=s.I, params=mr.tensor(inputs["params"]))
    weights, biases = mr.ops.cudnn_rnn_params_to_canonical(**sizes, rnn_mode="lstm")
    matrices = [np.concatenate([np.asarray(w) for w in weights[k : k + 4]]) for k in range(0, 16, 4)]
    for name, want in zip(("W0", "R0", "W1", "R1"), matrices, strict=True):
        np.testing.assert_array_equal(expected[name], want)
    rows = np.stack([np.asarray(b) for b in biases]).reshape(2, 2, 4 * s.H)
    np.testing.assert_array_equal(np.stack([expected["b0"], expected["b1"]]), rows)


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_initial_values(s):
    inputs, expected = case("ex35", s)
    assert np.abs(expected["W"]).max() <= np.sqrt(6 / (s.I + s.H))
    np.testing.assert_allclose(np.sign(expected["W"]), np.sign(inputs["uniform"] - 0.5))
    for block, normal in zip(np.split(expected["R"], 4, axis=1), inputs["normal"], strict=True):
        np.testing.assert_allclose(block.T @ block, np.eye(s.H), atol=1e-12)
        r = block.T @ normal  # upper triangular with a positive diagonal: the only such factorization
        np.testing.assert_allclose(np.tril(r, -1), 0, atol=1e-12)
        assert np.all(np.diag(r) > 0)
    np.testing.assert_array_equal(expected["b"].reshape(4, s.H), np.array([0.0, 0, 1, 0])[:, None] + np.zeros(s.H))


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_rmsprop(s):
    torch = pytest.importorskip("torch")
    a, _ = case("ex36", s)
    p = torch.nn.Parameter(torch.tensor(a["parameter"]))
    optimizer = torch.optim.RMSprop([p], lr=a["lr"], alpha=a["alpha"], eps=a["eps"], momentum=a["momentum"])
    values = [a["parameter"], np.zeros_like(a["v"]), np.zeros_like(a["buffer"])]
    for _ in range(3):
        p.grad = torch.tensor(a["gradient"])
        optimizer.step()
        values = EXERCISES["ex36"].reference(
            values[0], a["gradient"], *values[1:], *(a[k] for k in ("lr", "alpha", "eps", "momentum"))
        )
    np.testing.assert_allclose(values[0], p.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_the_gates_of_a_fused_kernel(s):
    inputs, expected = case("ex39", s)
    a = {name: value.astype(float) for name, value in inputs.items() if isinstance(value, np.ndarray)}
    H, rest = int(inputs["H"]), np.arctanh(a["co"]) - a["i"] * a["ci"] - a["f"] * a["cs_prev"]
    logit = lambda y: np.log(y / (1 - y))  # noqa: E731
    z = np.concatenate([logit(a["i"]), np.arctanh(a["ci"]), logit(a["f"]), logit(a["o"])], axis=1)

    def loss():
        zi, zc, zf, zo = np.split(z, 4, axis=1)
        cs = sigmoid(zi) * np.tanh(zc) + sigmoid(zf) * a["cs_prev"] + rest
        return np.sum(a["dcs"] * cs) + np.sum(a["dh"] * sigmoid(zo) * np.tanh(cs))

    for name, array in {"dz": z, "dcs_prev": a["cs_prev"]}.items():
        want = slope(loss, array)
        np.testing.assert_allclose(expected[name], want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert expected["dz"].shape[1] == 4 * H


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_the_other_kernels(s):
    inputs, expected = case("ex37", s)
    close(expected["db"], np.einsum("nh->h", inputs["dz"]))
    inputs, expected = case("ex38", s)
    np.testing.assert_allclose(expected["y"], np.exp(np.float64(inputs["x"]) - np.logaddexp.reduce(
        np.float64(inputs["x"]), axis=1)[:, None]), rtol=1e-4, atol=1e-9)  # fmt: skip
    inputs, expected = case("ex40", s)
    h = np.float64(inputs["h0"])
    for t, got in enumerate(expected["h"]):
        h = np.tanh(inputs["a"][t] + np.einsum("j,jk->k", h, np.float64(inputs["R"])))
        np.testing.assert_allclose(got, h, atol=1e-5)


@pytest.mark.parametrize("s", slow_unless(4, SIZES))
def test_the_capstone(s):
    inputs, expected = case("ex41", s)
    a = {name: inputs[name].copy() for name in ("W", "R", "b", "U", "c")}
    ids, weights, nudge = inputs["ids"], inputs["weights"], np.zeros((s.T, s.B, s.H))

    def loss():
        cs, h, total = np.zeros((s.B, s.H)), np.zeros((s.B, s.H)), 0.0
        for t in range(s.T):
            zi, zc, zf, zo = np.split(a["W"][ids[t]] + h @ a["R"] + a["b"], 4, axis=1)
            cs = sigmoid(zi) * np.tanh(zc) + sigmoid(zf) * cs
            h = sigmoid(zo) * np.tanh(cs) + nudge[t]
            p = softmax(h @ a["U"] + a["c"])
            total -= weights[t] * np.mean(np.log(p[np.arange(s.B), ids[t + 1]]))
        return total

    close(expected["loss"], loss())
    for name, array in a.items():
        close(expected[f"d{name}"], slope(loss, array))
    close(expected["flow"], np.sqrt((slope(loss, nudge) ** 2).sum((1, 2))))

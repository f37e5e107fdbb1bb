"""SGD and Adam, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim

SHAPES = [(3, 5), (4,), ()]
STEPS = 20

CASES: dict[str, dict[str, Any]] = {
    "SGD plain": {"lr": 0.1},
    "SGD decay": {"lr": 0.1, "weight_decay": 0.3},
    "SGD momentum": {"lr": 0.05, "momentum": 0.9},
    "SGD all": {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.3, "nesterov": True},
    "Adam": {},
    "Adam all": {"lr": 0.1, "betas": (0.8, 0.95), "eps": 0.01, "weight_decay": 0.3},
}


def make(case: str, parameters: list[mr.Tensor]) -> optim.Optimizer:
    return getattr(optim, case.split()[0])(parameters, **CASES[case])


def parameters(rng: np.random.Generator, device: str = "cpu") -> list[nn.Parameter]:
    return [nn.Parameter(rng.normal(size=shape), device=device) for shape in SHAPES]


def gradient(ps: list[Any], targets: list[np.ndarray], k: int) -> list[Any]:
    """Gradients of a bowl with a wobbling center; the second parameter gets none in every third step."""
    return [
        None if j == 1 and k % 3 == 0 else (p - c * np.sin(k)) * 2
        for j, (p, c) in enumerate(zip(ps, targets, strict=True))
    ]


def run(optimizer: optim.Optimizer, ps: list[nn.Parameter], targets: list[np.ndarray], ks: range) -> list[np.ndarray]:
    for k in ks:
        for p, g in zip(ps, gradient([p.numpy() for p in ps], targets, k), strict=True):
            p.grad = None if g is None else mr.tensor(g, device=p.device)
        optimizer.step()
    return [p.numpy().copy() for p in ps]


@pytest.mark.parametrize("case", CASES)
def test_twenty_steps_equal_torch_also_where_a_parameter_misses_gradients(
    case: str, device: str, rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    ps = parameters(rng, device)
    targets = [rng.normal(size=shape) for shape in SHAPES]
    theirs = [torch.tensor(p.numpy().copy(), requires_grad=True) for p in ps]
    twin = getattr(torch.optim, case.split()[0])(theirs, **CASES[case])
    optimizer = make(case, ps)
    for k in range(STEPS):
        run(optimizer, ps, targets, range(k, k + 1))
        for t, g in zip(theirs, gradient([t.detach().numpy() for t in theirs], targets, k), strict=True):
            t.grad = None if g is None else torch.tensor(g)
        twin.step()
        for p, t in zip(ps, theirs, strict=True):
            np.testing.assert_allclose(p, t.detach(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_going_on_from_a_saved_state_gives_the_same_bits(case: str, rng: np.random.Generator) -> None:
    start = [p.numpy().copy() for p in parameters(rng)]
    targets = [rng.normal(size=shape) for shape in SHAPES]
    ps = [nn.Parameter(a) for a in start]
    unbroken = run(make(case, ps), ps, targets, range(STEPS))

    ps = [nn.Parameter(a) for a in start]
    first = make(case, ps)
    middle = run(first, ps, targets, range(7))
    state = first.state_dict()
    run(first, ps, targets, range(7, 9))  # the saved state is a copy: this must not reach it

    ps = [nn.Parameter(a) for a in middle]
    second = getattr(optim, case.split()[0])(ps, lr=123.0)
    second.load_state_dict(state)
    for ours, expected in zip(run(second, ps, targets, range(7, STEPS)), unbroken, strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_a_saved_state_is_flat_arrays_numbers_and_the_name(rng: np.random.Generator) -> None:
    ps = parameters(rng)
    adam = optim.Adam(ps)
    run(adam, ps, [np.zeros(s) for s in SHAPES], range(1))
    state = adam.state_dict()
    assert sorted(state) == sorted(
        ["optimizer", "lr", "beta1", "beta2", "eps", "weight_decay"]
        + [f"{k}.{name}" for k in (0, 2) for name in ("m", "step", "v")]  # the second one had no gradient
    )
    assert state["optimizer"] == "Adam"
    assert state["0.step"] == 1
    assert type(state["0.m"]) is np.ndarray
    assert state["0.v"].shape == (3, 5)
    before = adam.state_dict()
    state["0.v"][:] = 7  # a copy
    np.testing.assert_array_equal(adam.state_dict()["0.v"], before["0.v"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"optimizer": "SGD"}, "got the state of SGD\n  expected Adam"),
        ({"lr": None}, "missing lr"),
        ({"0.v": None}, "missing 0.v"),
        ({"0.m": np.zeros((5, 3))}, r"0.m has shape \(5, 3\)\n  expected \(3, 5\)"),
        ({"7.m": np.zeros(3)}, "unexpected 7.m"),
        ({"0.momentum": np.zeros((3, 5))}, "unexpected 0.momentum"),
        ({"beta1": 2.0}, "betas are 2.0"),
        ({"lr": float("nan")}, "lr is nan"),
    ],
)
def test_a_state_that_does_not_fit_is_named_and_changes_nothing(
    change: dict[str, Any], words: str, rng: np.random.Generator
) -> None:
    ps = parameters(rng)
    adam = optim.Adam(ps, lr=0.25)
    run(adam, ps, [np.zeros(s) for s in SHAPES], range(1))
    state = {key: value for key, value in (adam.state_dict() | {"lr": 0.5} | change).items() if value is not None}
    before = adam.state_dict()
    with pytest.raises(ValueError, match=words):
        adam.load_state_dict(state)
    after = adam.state_dict()
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_array_equal(after[key], value, err_msg=key)


def test_a_step_during_an_unfinished_backward_pass_is_noticed(rng: np.random.Generator) -> None:
    p = nn.Parameter(rng.normal(size=3))
    loss = (p * p).sum()
    p.grad = mr.tensor(np.ones(3))
    optim.SGD([p], 0.1).step()
    with pytest.raises(RuntimeError, match="was changed"):
        loss.backward()


def test_a_step_keeps_dtype_device_and_leaf(device: str) -> None:
    for make_one in (lambda ps: optim.Adam(ps, weight_decay=0.1), lambda ps: optim.SGD(ps, 0.1, 0.9, 0.1)):
        p = nn.Parameter(np.ones((3, 5), np.float32), device=device)
        optimizer = make_one([p])
        for _ in range(2):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        assert p.dtype == np.float32
        assert p.device == device
        assert p.is_leaf
        assert all(m.op is None for m in optimizer.memory[0].values() if isinstance(m, mr.Tensor))


@pytest.mark.parametrize(
    ("make_one", "error", "words"),
    [
        (lambda p: optim.SGD([p], -0.1), ValueError, "SGD: lr is -0.1\n  expected 0 or more"),
        (lambda p: optim.SGD([p], float("nan")), ValueError, "SGD: lr is nan"),
        (lambda p: optim.SGD([p], "fast"), TypeError, "SGD: lr is 'fast'"),
        (lambda p: optim.SGD([p], 0.1, momentum=-1), ValueError, "SGD: momentum is -1"),
        (lambda p: optim.SGD([p], 0.1, nesterov=True), ValueError, "nesterov without momentum"),
        (lambda p: optim.Adam([p], betas=(0.9, 1.0)), ValueError, "betas are 0.9 and 1.0"),
        (lambda p: optim.Adam([p], betas=0.9), TypeError, "betas is 0.9"),
        (lambda p: optim.Adam([p], eps=-1), ValueError, "eps is -1"),
        (lambda p: optim.Adam([p], weight_decay=-1), ValueError, "weight_decay is -1"),
        (lambda p: optim.Adam([]), ValueError, "Adam: no parameters"),
        (lambda p: optim.Adam(p), TypeError, "parameters is one Tensor"),
        (lambda p: optim.Adam([p, p]), ValueError, "comes twice"),
        (lambda p: optim.Adam([p * 2]), ValueError, "parameter 0 was made by Multiply"),
        (lambda p: optim.Adam([np.ones(3)]), TypeError, "parameter 0 is a ndarray"),
        (lambda p: optim.Adam(nn.Linear(3, 5).named_parameters()), TypeError, "named_parameters"),
    ],
)
def test_wrong_arguments_are_named(make_one: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make_one(nn.Parameter([1.0, 2.0]))

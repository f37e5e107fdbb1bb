"""All optimizers: their steps, against torch's results, and their common behavior.

Tests `minirnn/optim/optimizer.py` and `minirnn/optim/groups.py`.
"""

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.engine.tensor import leaf
from tests.each import each
from tests.optim import cases
from tests.optim.cases import GROUPS, OPTIMIZERS, SHAPES

CASES = (*OPTIMIZERS, *GROUPS)
NAMES = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam")
GOLDEN = Path(__file__).parents[1] / "golden" / "optim" / "optimizers.npz"


def value(p: mr.Tensor) -> np.ndarray:
    return p.numpy().copy()


def parameters(rng: np.random.Generator, device: str = "cpu") -> list[nn.Parameter]:
    return [nn.Parameter(rng.normal(size=shape), device=device) for shape in SHAPES]


def run(optimizer: optim.Optimizer, ps: list[nn.Parameter], centers: list[np.ndarray], ks: range) -> list[np.ndarray]:
    for k in ks:
        for p, g in zip(ps, cases.gradient([value(p) for p in ps], centers, k), strict=True):
            p.grad = None if g is None else mr.tensor(g, device=p.device)
        optimizer.step()
    return [value(p) for p in ps]


# ---- steps


@pytest.mark.slow_elsewhere
@each("case", CASES)
def test_the_steps_are_those_that_torch_has_made(case: str, device: str) -> None:
    with np.load(GOLDEN) as stored:
        expected = stored[case]
    got = cases.trajectory(
        mr, case, lambda a: nn.Parameter(a, device=device), lambda a: mr.tensor(a, device=device), value
    )
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_groups_have_torchs_names_and_defaults(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours = getattr(optim, name)([nn.Parameter(np.ones((2, 3)))])
    theirs = getattr(torch.optim, name)([torch.ones(2, 3, requires_grad=True)])
    group, twin = ours.param_groups[0], theirs.param_groups[0]
    assert set(group) == set(twin)
    assert {k: v for k, v in group.items() if k != "params"} == {k: v for k, v in twin.items() if k != "params"}
    assert ours.defaults == theirs.defaults


@pytest.mark.parametrize("name", NAMES)
def test_positional_arguments_have_torchs_order(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (
        [(p.name, p.kind, p.default) for p in inspect.signature(getattr(library, name)).parameters.values()]
        for library in (optim, torch.optim)
    )
    by_name = inspect.Parameter.KEYWORD_ONLY
    assert [p for p in ours if p[1] != by_name] == [p for p in theirs if p[1] != by_name]
    assert sorted(ours) == sorted(theirs)


def test_settings_are_attributes_of_the_first_group_and_write_all() -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([1.0])
    adam = optim.Adam([{"params": p, "lr": 0.5}, {"params": [q]}], betas=(0.8, 0.95))
    assert (adam.lr, adam.beta1, adam.beta2, adam.betas) == (0.5, 0.8, 0.95, (0.8, 0.95))
    adam.lr, adam.beta2 = 0.25, 0.5
    assert [group["lr"] for group in adam.param_groups] == [0.25, 0.25]
    assert [group["betas"] for group in adam.param_groups] == [(0.8, 0.5), (0.8, 0.5)]
    with pytest.raises(ValueError, match="Adam: lr is -1"):
        adam.lr = -1
    assert adam.lr == 0.25


def test_groups_can_be_added(rng: np.random.Generator) -> None:
    layer, head = nn.Linear(3, 5), nn.Linear(5, 2)
    adam = optim.Adam(layer.parameters())
    mine = {"params": head.parameters(), "lr": 0.5, "note": "head"}
    adam.add_param_group(mine)
    assert [len(group["params"]) for group in adam.param_groups] == [2, 2]
    assert (adam.param_groups[1]["lr"], adam.param_groups[1]["eps"], adam.param_groups[1]["note"]) == (
        0.5,
        1e-8,
        "head",
    )
    assert set(mine) == {"params", "lr", "note"}
    assert list(map(id, adam.parameters)) == [id(p) for m in (layer, head) for p in m.parameters()]
    for bad, error, words in (
        ({"params": [layer.weight]}, ValueError, "in two groups"),
        ({"lr": 0.1}, ValueError, "expected 'params'"),
        ({"params": {nn.Parameter([1.0])}}, TypeError, "no order"),
        ([nn.Parameter([1.0])], TypeError, "param_group is a list"),
        ({"params": [nn.Parameter([1.0])], "lr": -1}, ValueError, "lr is -1"),
    ):
        with pytest.raises(error, match=words):
            adam.add_param_group(bad)
        assert len(adam.param_groups) == 2


def test_a_closure_is_computed_with_gradients_and_its_loss_returned() -> None:
    p = nn.Parameter([3.0])
    sgd = optim.SGD([p], lr=0.5)

    def closure() -> mr.Tensor:
        sgd.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with mr.no_grad():
        loss = sgd.step(closure)
    assert loss.item() == 9
    np.testing.assert_array_equal(p, [0.0])
    assert sgd.step() is None


def test_a_step_during_an_unfinished_backward_pass_is_noticed(rng: np.random.Generator) -> None:
    p = nn.Parameter(rng.normal(size=3))
    loss = (p * p).sum()
    p.grad = mr.tensor(np.ones(3))
    optim.SGD([p], 0.1).step()
    with pytest.raises(RuntimeError, match="was changed"):
        loss.backward()


@pytest.mark.slow_elsewhere
@each("dtype", [np.float16, np.float32, np.float64])
@each("case", CASES)
def test_a_step_keeps_dtype_device_and_leaf(case: str, dtype: Any, device: str) -> None:
    ps = [nn.Parameter(a.astype(dtype), device=device) for a in cases.start()[0]]
    optimizer = cases.made(mr, case, ps)
    for _ in range(2):
        optimizer.zero_grad()
        sum((p * p).sum() for p in ps).backward()
        optimizer.step()
    for p in ps:
        assert p.dtype == dtype
        assert p.device == device
        assert p.is_leaf
        assert np.isfinite(p.numpy()).all()
        tensors = [m for m in optimizer.state[p].values() if isinstance(m, mr.Tensor)]
        assert all(m.op is None and m.dtype == dtype and m.device == device for m in tensors)


# ---- copies


@each("case", CASES)
@each("how", ["deepcopy", "pickle"])
def test_a_copy_goes_on_alone_with_the_same_bits(case: str, how: str) -> None:
    begin, centers = cases.start()
    ps = [nn.Parameter(a) for a in begin]
    optimizer = cases.made(mr, case, ps)
    run(optimizer, ps, centers, range(5))
    if how == "deepcopy":
        qs, twin = copy.deepcopy((ps, optimizer))
    else:
        qs, twin = pickle.loads(pickle.dumps((ps, optimizer)))
    assert all(q is own for q, own in zip(qs, twin.parameters, strict=True))
    middle = [value(q) for q in qs]
    unbroken = run(optimizer, ps, centers, range(5, 9))
    for q, m in zip(qs, middle, strict=True):
        np.testing.assert_array_equal(q, m)
    for ours, expected in zip(run(twin, qs, centers, range(5, 9)), unbroken, strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_a_shallow_copy_shares_parameters_alone() -> None:
    p = nn.Parameter([1.0])
    adam = optim.Adam([p])
    p.grad = mr.tensor([1.0])
    adam.step()
    twin = copy.copy(adam)
    assert twin.parameters[0] is p
    twin.param_groups[0]["lr"] = 7.0
    twin.state[p]["step"] = 9
    assert (adam.lr, adam.state[p]["step"]) == (0.001, 1)


# ---- recorded gradients, values of another dtype, names, and calls that fail


class Halves(optim.Optimizer):
    """A step to what a test wants."""

    settings = {"lr": lambda optimizer, name, value: value}

    def __init__(self, params: Any, value: Any) -> None:
        self.value = value
        super().__init__(params, {"lr": 0.0})

    def updated(self, p: mr.Tensor, g: mr.Tensor, memory: dict[str, Any], group: dict[str, Any]) -> mr.Tensor:
        return mr.tensor(self.value)


def test_a_new_value_of_another_dtype_is_converted_and_one_of_another_shape_refused() -> None:
    p = nn.Parameter([1.0, 2.0])
    p.grad = mr.tensor([0.0, 0.0])
    Halves([p], np.array([3.0, 4.0])).step()
    assert (p.dtype, p.tolist()) == (np.float32, [3.0, 4.0])
    for wrong in (np.ones(3, np.float32), np.ones((2, 1))):
        with pytest.raises(ValueError, match="assign: got values of shape"):
            Halves([p], wrong).step()
        assert (p.shape, p.tolist()) == ((2,), [3.0, 4.0])


def test_a_gradient_whose_dtype_is_a_copy_fits() -> None:
    """A dtype from a pickle equals NumPy's own, but is another object."""
    p = nn.Parameter([1.0, 2.0])
    other = np.dtype(np.float32, copy=True)  # type: ignore[call-overload]
    assert other is not np.dtype(np.float32)
    p.grad = leaf(p.device, np.ones(2, other))
    optim.SGD([p], 0.5).step()
    assert p.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("kind", ["recorded", "a leaf", "constant"])
def test_what_is_remembered_of_a_recorded_gradient_is_no_part_of_the_tape(kind: str) -> None:
    p = nn.Parameter(np.array([1.0, 2.0]))
    g = mr.tensor(np.array([3.0, 4.0]), requires_grad=kind != "constant")
    p.grad = g * 1.0 if kind == "recorded" else g
    sgd = optim.SGD([p], 0.5, momentum=0.5)
    sgd.step()
    kept = sgd.state[p]["momentum_buffer"]
    assert (kept.op, kept.parents, kept.requires_grad) == (None, (), False)
    assert kept.tolist() == [3.0, 4.0]


def test_zeros_take_the_place_of_a_gradient_only_where_there_was_one() -> None:
    p, q = nn.Parameter(np.ones((2, 3))), nn.Parameter([1.0])
    p.grad = mr.tensor(np.ones((2, 3)))
    optim.SGD([p, q]).zero_grad(set_to_none=False)
    assert (p.grad.shape, p.grad.dtype, p.grad.numpy().any()) == ((2, 3), np.float64, False)
    assert q.grad is None


def test_a_state_that_was_loaded_keeps_parameters_and_takes_the_rest() -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([1.0])
    first = optim.SGD([p], 0.5, momentum=0.25)
    second = optim.SGD([q], 1.5)
    second.load_state_dict(first.state_dict())
    (group,) = second.param_groups
    assert group["params"] == [q]
    assert (second.lr, second.momentum) == (0.5, 0.25)
    assert group is second.param_groups[0] and set(group) == set(first.param_groups[0])


def test_an_optimizer_without_updated_says_so() -> None:
    p = nn.Parameter([1.0])
    p.grad = mr.tensor([1.0])
    with pytest.raises(NotImplementedError, match="Optimizer defines no updated"):
        optim.Optimizer([p], {"lr": 0.5}).step()
    with pytest.raises(TypeError, match="closure is 3"):
        optim.SGD([p]).step(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="layout"):
        optim.SGD([p]).state_dict(layout="json")

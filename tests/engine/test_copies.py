"""Copies and pickles of Tensors and Parameters."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.devices.cpu.device import CPU
from tests.each import each

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {k}": lambda t, k=k: pickle.loads(pickle.dumps(t, k)) for k in (2, pickle.HIGHEST_PROTOCOL)},  # type: ignore[misc]
}


class Named(nn.Parameter):
    """A subclass without ``__slots__``, whose objects have additional attributes."""


@each("way", WAYS)
@each("dtype", ["float16", "float32", "float64", "int64", "bool"])
@each("shape", [(), (0, 3), (2, 3)])
def test_a_copy_has_all_but_the_history(way: str, dtype: str, shape: tuple[int, ...], device: str) -> None:
    needs = dtype.startswith("f")
    t = mr.tensor(np.arange(int(np.prod(shape))).reshape(shape), needs, device, dtype)
    twin = WAYS[way](t)
    assert type(twin) is mr.Tensor
    assert twin is not t and twin.is_leaf and twin.grad is None
    assert (twin.device, twin.dtype, twin.shape, twin.requires_grad) == (t.device, np.dtype(dtype), shape, needs)
    np.testing.assert_array_equal(twin, t)
    assert not np.shares_memory(np.asarray(twin.numpy()), np.asarray(t.numpy())) or not t.size
    t.assign(np.ones(shape))
    assert not t.size or np.array_equal(twin, np.arange(t.size).reshape(shape).astype(dtype))


@pytest.mark.parametrize("way", WAYS)
def test_a_parameter_stays_one(way: str, device: str) -> None:
    p = nn.Parameter(np.array([[1.0, 2.0]]), False, device)
    q = Named([3.0])
    q.note = ["mine"]  # type: ignore[attr-defined]
    twin, other = WAYS[way](p), WAYS[way](q)
    assert type(twin) is nn.Parameter and not twin.requires_grad and twin.device == device
    assert type(other) is Named and other.note == ["mine"] and other.requires_grad
    assert (other.note is q.note) == (way == "copy")  # type: ignore[attr-defined]


def test_gradients_are_copied_with_a_tensor_and_not_with_a_parameter() -> None:
    for make, kept in ((lambda: mr.tensor([1.0], requires_grad=True), True), (lambda: nn.Parameter([1.0]), False)):
        t = make()
        (t * 3.0).sum().backward()
        twin = copy.deepcopy(t)
        assert (twin.grad is not None) == kept
        if kept:
            assert twin.grad is not t.grad and twin.grad.tolist() == [3]
        assert pickle.loads(pickle.dumps(t)).grad is None
        assert copy.copy(t).grad is None


def test_what_an_op_made_is_pickled_as_a_leaf_and_not_copied_deeply() -> None:
    t = mr.tensor([1.0, 2.0], requires_grad=True)
    y = t * 3.0
    for twin in (copy.copy(y), pickle.loads(pickle.dumps(y))):
        assert twin.is_leaf and twin.requires_grad and twin.tolist() == [3, 6]
    with pytest.raises(RuntimeError, match=r"deepcopy: .* was made by Mul.*\n  expected a leaf.*detach\(\)"):
        copy.deepcopy([y])
    assert copy.deepcopy(y.detach()).tolist() == [3, 6]


def test_ties_stay_ties() -> None:
    p = nn.Parameter([1.0])
    for way in (copy.deepcopy, WAYS["pickle 5"]):
        a, b, c = way([p, p, nn.Parameter([1.0])])
        assert a is b and a is not c


def test_hooks_are_left_behind_and_a_pickle_says_so() -> None:
    t = mr.tensor([1.0], requires_grad=True)
    t.register_hook(lambda g: 2 * g)
    with pytest.warns(UserWarning, match="a hook .* is dropped"):
        twin = pickle.loads(pickle.dumps(t))
    for other in (twin, copy.deepcopy(t)):
        (other * 1.0).sum().backward()
        assert other.grad.tolist() == [1]


def test_a_copy_stays_on_a_device_that_no_name_leads_to() -> None:
    class Unnamed(CPU):
        name = "unnamed"

    place = Unnamed()
    p = nn.Parameter([1.0], device=place)
    assert copy.deepcopy(p).device is place
    assert copy.copy(p).device is place


def work(pair: Any) -> Any:
    module, x = pair
    y = module(x)
    y.sum().backward()
    return module, y.detach(), str(module.tied.weight.grad.device), module.tied.weight is module.first.weight


class Tied(nn.Module):
    def __init__(self, device: str) -> None:
        self.first = nn.Linear(3, 3, device=device)
        self.tied = nn.Linear(3, 3, device=device)
        self.tied.weight = self.first.weight
        self.register_buffer("shift", mr.tensor([1.0, 2.0, 3.0], device=device))

    def forward(self, x: Any) -> Any:
        return self.tied(self.first(x)) + self.shift


def test_a_module_goes_to_a_worker_process_and_back(device: str) -> None:
    module, x = Tied(device), mr.tensor(np.ones((2, 3), np.float32), device=device)
    expected = module(x).numpy()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        back, y, place, tied = pool.apply(work, ((module, x),))
    assert place == device and tied
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert back.tied.weight is back.first.weight
    for name, value in module.state_dict().items():
        np.testing.assert_array_equal(back.state_dict()[name], value)

"""Module: finding, naming, saving, loading, switching and moving. What is inside is in test_module_members."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


class Inner(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Parameter(np.full(3, 2.0))
        self.drop = nn.Dropout(0.5)


class Outer(nn.Module):
    def __init__(self) -> None:
        self.name = "no parameter"
        self.first = nn.Parameter(np.zeros((2, 3)))
        self.constant = mr.tensor([1.0, 2.0], requires_grad=True)
        self.inner = Inner()
        self.pair = [nn.Linear(3, 5), nn.Linear(5, 2, bias=False)]
        self.table = {"a": nn.Parameter(np.ones(4)), "b": (Inner(),)}


NAMES = [
    "first",
    "inner.scale",
    "pair.0.weight",
    "pair.0.bias",
    "pair.1.weight",
    "table.a",
    "table.b.0.scale",
]


def test_parameters_are_found_by_attribute_also_in_lists_tuples_and_dicts() -> None:
    assert [name for name, _ in Outer().named_parameters()] == NAMES


def test_a_shared_parameter_comes_once_but_is_saved_under_both_names() -> None:
    module = Outer()
    module.pair[1].weight = module.first
    assert len(list(module.parameters())) == len(NAMES) - 1
    names = [name for name, _ in module.named_parameters()]
    assert "first" in names
    assert "pair.1.weight" not in names
    assert list(module.state_dict()) == NAMES


def test_a_child_may_know_its_parent() -> None:
    module = Outer()
    module.inner.parent = module
    assert [name for name, _ in module.named_parameters()] == NAMES
    assert len(list(module.modules())) == 7
    module.eval()


def test_calling_a_module_calls_forward_and_a_missing_one_is_named() -> None:
    class Double(nn.Module):
        def forward(self, x: Any, *, times: int) -> Any:
            return times * x

    assert Double()(21, times=2) == 42
    with pytest.raises(NotImplementedError, match="Outer does not define forward"):
        Outer()(1)


@pytest.mark.parametrize("as_tensors", [False, True])
def test_a_state_dict_is_a_copy_that_comes_back_and_keeps_dtypes_and_identities(as_tensors: bool) -> None:
    source, target = Outer(), Outer()
    state: dict[str, Any] = source.state_dict()
    assert not np.array_equal(state["pair.0.weight"], target.pair[0].weight)
    before = [(p, p.dtype) for p in target.parameters()]
    given = {name: mr.tensor(value, dtype=np.float64) if as_tensors else value for name, value in state.items()}
    assert target.load_state_dict(given) == ([], [])
    for name, value in source.named_parameters():
        np.testing.assert_array_equal(dict(target.named_parameters())[name], value)
    assert all(p is q and p.dtype == dtype for p, (q, dtype) in zip(target.parameters(), before, strict=True))
    state["first"][:] = 7
    assert not source.first.numpy().any() and not target.first.numpy().any()


def changed(**changes: Any) -> dict[str, Any]:
    """A loadable state of Outer in which every value is 9, with some entries replaced; None leaves one out."""
    state = {name: np.full_like(value, 9) for name, value in Outer().state_dict().items()}
    state.update({name.replace("__", "."): value for name, value in changes.items()})
    return {name: value for name, value in state.items() if value is not None}


def test_without_strict_the_names_that_fit_are_loaded_and_the_others_returned() -> None:
    module = Outer()
    missing, unexpected = module.load_state_dict(changed(first=None, more=np.ones(2)), strict=False)
    assert (missing, unexpected) == (["first"], ["more"])
    assert not module.first.numpy().any()
    assert (module.inner.scale.numpy() == 9).all()


def test_without_strict_a_wrong_shape_is_still_an_error_and_changes_nothing() -> None:
    module = Outer()
    with pytest.raises(ValueError, match="another size"):
        module.load_state_dict(changed(more=np.ones(2), table__a=np.ones(3)), strict=False)
    assert not module.first.numpy().any()


def test_train_and_eval_reach_all_modules_inside() -> None:
    module = Outer()
    assert module.training
    assert module.eval() is module
    assert not any(m.training for m in module.modules())
    module.train()
    assert all(m.training for m in module.modules())


def test_zero_grad_forgets_all_gradients() -> None:
    module = Outer()
    sum((p * p).sum() for p in module.parameters()).backward()
    assert all(p.grad is not None for p in module.parameters())
    module.zero_grad()
    assert all(p.grad is None for p in module.parameters())


def test_repr_shows_the_modules_inside() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.table = nn.Embedding(7, 3)
            self.parts = [nn.Linear(3, 5, bias=False), nn.Dropout(0.25)]

        def extra_repr(self) -> str:
            return "kind=test"

    assert repr(Net()) == (
        "Net(\n  kind=test\n  (table): Embedding(7, 3)\n  (parts.0): Linear(3, 5, bias=False)\n"
        "  (parts.1): Dropout(p=0.25)\n)"
    )


# ---- buffers, dtypes, places


class Mean(nn.Module):
    """Buffers of three kinds next to a layer."""

    def __init__(self) -> None:
        self.layer = nn.Linear(2, 3)
        self.register_buffer("mean", mr.tensor([1.0, 2.0]))
        self.register_buffer("count", mr.tensor([3]))
        self.register_buffer("scratch", mr.tensor([4.0]), persistent=False)
        self.register_buffer("nothing", None)
        self.constant = mr.tensor([5.0])


def test_saved_buffers_are_saved_and_loaded_in_place() -> None:
    module, other = Mean(), Mean()
    mean = module.mean
    other.mean, other.count = mr.tensor([7.0, 8.0]), mr.tensor([9])
    found = module.load_state_dict(other.state_dict())
    assert found == ([], []) and found.missing_keys == found.unexpected_keys == []
    assert module.mean is mean and mean.tolist() == [7, 8] and module.count.tolist() == [9]
    assert list(module.state_dict(prefix="m.")) == ["m.mean", "m.count", "m.layer.weight", "m.layer.bias"]
    assert module.state_dict(keep_vars=True)["mean"] is mean


@pytest.mark.parametrize(("name", "value"), [("mean", np.ones(2, int)), ("count", np.ones(1)), ("mean", np.ones(3))])
def test_a_buffer_that_does_not_fit_is_an_error_and_changes_nothing(name: str, value: np.ndarray) -> None:
    module = Mean()
    with pytest.raises((TypeError, ValueError), match=f"load_state_dict: {name} has"):
        module.load_state_dict({**module.state_dict(), "layer.bias": np.ones(3, np.float32), name: value})
    assert module.mean.tolist() == [1, 2] and not (module.layer.bias.numpy() == 1).any()


def test_state_dicts_go_to_torch_and_back() -> None:
    torch = pytest.importorskip("torch")

    class Twin(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 3)
            self.register_buffer("mean", torch.tensor([1.0, 2.0]))
            self.register_buffer("count", torch.tensor([3]))

    module, twin = Mean(), Twin()
    twin.load_state_dict({name: torch.from_numpy(value) for name, value in module.state_dict().items()})
    np.testing.assert_array_equal(twin.layer.weight.detach(), module.layer.weight)
    twin.mean += 1
    assert list(twin.state_dict()) == list(module.state_dict())
    module.load_state_dict(twin.state_dict())
    assert module.mean.tolist() == [2, 3]


def test_to_moves_floating_buffers_in_dtype_and_all_in_place(device: str) -> None:
    module = Mean()
    module.other = nn.Module()
    module.other.register_buffer("shared", module.mean)
    module.layer(np.ones((4, 2), np.float32)).sum().backward()
    before = list(module.parameters())
    assert module.to(device, np.float64) is module
    assert all(p is q for p, q in zip(module.parameters(), before, strict=True))
    assert all((p.dtype, p.device) == (np.float64, device) for p in before)
    assert all((p.grad.dtype, p.grad.device) == (np.float64, device) for p in before)
    assert [(b.dtype, b.device) for b in (module.mean, module.count, module.scratch)] == [
        (np.float64, device),
        (np.int64, device),
        (np.float64, device),
    ]
    assert module.other.shared is module.mean
    assert module.constant.device == "cpu" and module.nothing is None
    assert module.layer(mr.tensor(np.ones((4, 2)), device=device)).dtype == np.float64


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda m: m.half(), np.float16),
        (lambda m: m.double(), np.float64),
        (lambda m: m.double().float(), np.float32),
        (lambda m: m.to("float64"), np.float64),
        (lambda m: m.to(dtype=np.dtype("f2")), np.float16),
        (lambda m: m.to("cpu", np.float16, non_blocking=True), np.float16),
        (lambda m: m.to(mr.tensor(np.ones(1))), np.float64),
        (lambda m: m.double().to(device="cpu"), np.float64),
        (lambda m: m.to(float), np.float64),
        (lambda m: m.half().cpu(), np.float16),
    ],
)
def test_a_dtype_is_given_in_many_ways(call: Any, dtype: Any) -> None:
    module = Mean()
    assert call(module) is module
    assert {t.dtype for t in (*module.parameters(), module.mean)} == {np.dtype(dtype)}
    assert module.count.dtype == np.int64


def test_only_what_changes_is_made_anew() -> None:
    module = Mean()
    mean, array = module.mean, module.layer.weight.array
    assert module.to("cpu").mean is mean and module.to(np.float32).mean is mean and module.layer.weight.array is array
    assert module.double().mean is not mean and module.count is module.to("cpu").count


def test_freezing_reaches_all_parameters_and_no_buffer() -> None:
    module = Mean()
    assert module.requires_grad_(False) is module
    assert not any(p.requires_grad for p in module.parameters())
    assert all(p.requires_grad for p in module.requires_grad_().parameters()) and not module.mean.requires_grad


def test_zero_grad_keeps_zeros_on_request() -> None:
    module = nn.Linear(2, 3)
    module(np.ones((4, 2), np.float32)).sum().backward()
    module.bias.grad = None
    module.zero_grad(set_to_none=False)
    assert module.weight.grad is not None and not module.weight.grad.numpy().any()
    assert module.bias.grad is None


def test_two_names_are_enough_to_know_the_gru_that_resets_before_the_product() -> None:
    rows = {"w_ru": np.zeros((9, 10)), "w_c": np.zeros((9, 5))}
    for module in (nn.GRU(4, 5), nn.GRUCell(4, 5)):
        with pytest.raises(ValueError, match="another kind of network"):
            module.load_state_dict(rows, strict=False)
    missing, unexpected = nn.GRUBlockCell(5, 4).load_state_dict(rows, strict=False)
    assert (missing, unexpected) == (["b_ru", "b_c"], [])

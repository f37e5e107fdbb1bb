"""A checkpoint changes nothing but memory and time: values, gradients of any order, random numbers, errors."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cpu.device import CPU
from minirnn.engine import random


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Without the cycle collector, objects die only when nothing refers to them."""
    gc.disable()
    yield
    gc.enable()


def numbers(*shape: int) -> np.ndarray:
    return np.cos(np.arange(1, 1 + int(np.prod(shape)))).reshape(shape)


def leaf(*shape: int, device: str | None = None, shift: float = 0.0) -> mr.Tensor:
    return mr.tensor(numbers(*shape) + shift, requires_grad=True, device=device)


def weighed(*ys: mr.Tensor) -> mr.Tensor:
    """A loss whose gradient tells all outputs apart."""
    total: Any = 0.0
    for k, y in enumerate(ys):
        total = total + ((k + 2) * y * mr.tensor(numbers(*y.shape) + 0.1, device=y.device)).sum()
    return total


class Counted:
    """A function, and the number of its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


def plainly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# ---- gradients


def test_gradients_reach_arguments_and_what_the_function_uses(device: str) -> None:
    x, w, b = leaf(3, 4, device=device), leaf(4, 5, device=device), leaf(5, device=device)
    f = Counted(lambda x: (x @ w + b).tanh() @ w.T)
    found = []
    for call in (plainly, mr.checkpoint):
        for t in (x, w, b):
            t.grad = None
        y = call(f, x)
        weighed(y).backward()
        found.append([y.numpy(), *(t.grad.numpy() for t in (x, w, b) if t.grad is not None)])
    assert f.calls == 1 + 2
    for a, c in zip(*found, strict=True):
        np.testing.assert_array_equal(a, c)
    assert len(found[1]) == 4


def test_parameters_get_gradients_when_no_argument_requires_them(device: str) -> None:
    mr.manual_seed(1)
    model = mr.nn.LSTM(3, 4, num_layers=2, device=device, dtype=np.float64)
    x = mr.tensor(numbers(5, 2, 3), device=device)
    found = []
    for call in (plainly, mr.checkpoint):
        model.zero_grad()
        y, (h, c) = call(model, x)
        weighed(y, h, c).backward()
        found.append([p.grad.numpy() for p in model.parameters() if p.grad is not None])
    assert len(found[1]) == 8
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_grad_finds_what_it_is_asked_for_and_writes_nothing() -> None:
    x, w = leaf(3, 4), leaf(4, 5)
    h = x * x
    y = mr.checkpoint(lambda h: (h @ w).tanh(), h)
    dh, dw = mr.grad(weighed(y), [h, w], retain_graph=True)
    (dx,) = mr.grad(weighed(y), [x], retain_graph=True)
    expected = mr.grad(weighed((h @ w).tanh()), [h, w, x])
    for a, b in zip((dh, dw, dx), expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert x.grad is w.grad is None


def test_an_argument_that_depends_on_another_gets_its_own_gradient_only() -> None:
    """The second pass stops at both, although one depends on the other."""
    x = leaf(3)
    h = x.exp()
    for call in (plainly, mr.checkpoint):
        y = call(lambda x, h: x * h * h, x, h)
        dx, dh = mr.grad(weighed(y), [x, h], retain_graph=True)
        v = 2 * (numbers(3) + 0.1)
        e = np.exp(numbers(3))
        np.testing.assert_allclose(dh.numpy(), v * 2 * numbers(3) * e, rtol=1e-13)
        np.testing.assert_allclose(dx.numpy(), v * (e**2 + 2 * numbers(3) * e * e), rtol=1e-13)


@pytest.mark.slow_elsewhere
def test_gradients_of_gradients_agree_with_differences_also_through_nested_checkpoints(device: str) -> None:
    x, w = leaf(2, 3, device=device), leaf(3, 4, device=device)

    def inner(z: mr.Tensor) -> Any:
        return (mr.checkpoint(lambda y: (y @ w).tanh(), z), z.exp() * w.sum())

    assert mr.gradcheck(lambda x, w: mr.checkpoint(inner, x), [x, w], order=2)


def test_hooks_and_retained_gradients_see_the_whole_gradient_once() -> None:
    x, w = leaf(3), leaf(3)
    h = (x * 2).retain_grad()
    seen: list[tuple[str, np.ndarray]] = []
    h.register_hook(lambda g: seen.append(("h", g.numpy())))
    w.register_hook(lambda g: seen.append(("w", g.numpy())))
    (mr.checkpoint(lambda z: z * w, h).sum() + (h * w).sum()).backward()
    assert sorted(name for name, _ in seen) == ["h", "w"]
    np.testing.assert_array_equal(h.grad.numpy(), 2 * w.numpy())  # type: ignore[union-attr]
    np.testing.assert_array_equal(dict(seen)["h"], 2 * w.numpy())
    np.testing.assert_array_equal(dict(seen)["w"], 2 * h.numpy())


def test_a_hook_inside_the_function_is_called_in_the_second_run() -> None:
    x = leaf(3)

    def f(x: mr.Tensor) -> mr.Tensor:
        h = x * 3
        h.register_hook(lambda g: g * 10)
        return h * 2

    mr.checkpoint(f, x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 60.0))  # type: ignore[union-attr]


# ---- arguments and results


class Pair(NamedTuple):
    first: Any
    second: Any


def test_results_keep_their_form() -> None:
    x = leaf(3)
    n = mr.tensor([1, 2])

    def f(x: mr.Tensor, *, scale: float, name: str) -> Any:
        y = x * scale
        return {"pair": Pair(y, [y, None]), "name": name, "x": x, "n": n, "signs": (y > 0, y.argmax())}

    found = mr.checkpoint(f, x, scale=3.0, name="a")
    assert list(found) == ["pair", "name", "x", "n", "signs"]
    assert type(found["pair"]) is Pair and type(found["pair"].second) is list
    assert found["pair"].first is found["pair"].second[0]
    assert found["pair"].first.op.name == "Output" and found["pair"].second[1] is None
    assert found["name"] == "a" and found["x"] is x and found["n"] is n
    assert not any(t.requires_grad for t in found["signs"])
    np.testing.assert_array_equal(found["pair"].first.numpy(), 3 * numbers(3))
    weighed(found["pair"].first, found["x"]).backward()
    np.testing.assert_allclose(x.grad.numpy(), (2 * 3 + 3) * (numbers(3) + 0.1))  # type: ignore[union-attr]


def test_existing_tensors_and_results_of_no_op_are_passed_on() -> None:
    x = leaf(3)
    held = x * 2
    made: list[mr.Tensor] = []

    def f(x: mr.Tensor) -> Any:
        made.append(leaf(3))
        return x * 5, held, made[-1]

    y, old, new = mr.checkpoint(f, x)
    assert old is held and new is made[0]
    assert y.parents[0].op.name == "Checkpoint" and all(p is not held for p in y.parents[0].parents)
    assert mr.checkpoint(lambda: held) is held
    (y * old * new).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 20 * numbers(3) ** 2, rtol=1e-14)  # type: ignore[union-attr]
    np.testing.assert_allclose(new.grad.numpy(), 10 * numbers(3) ** 2, rtol=1e-14)  # type: ignore[union-attr]


def test_results_that_need_no_gradient_are_left_alone() -> None:
    y = mr.tensor([1.0])
    assert mr.checkpoint(lambda: y) is y
    assert mr.checkpoint(lambda x: x * 2, y).op is None
    assert mr.checkpoint(lambda: 7) == 7
    inner = mr.checkpoint(lambda: mr.tensor([1.0], requires_grad=True) * 2)  # a leaf without a name
    assert inner.op.name != "Checkpoint"
    f = Counted(lambda x: x * 2)
    with mr.no_grad():
        assert mr.checkpoint(f, leaf(3)).op is None and f.calls == 1


def test_sizes_of_zero_and_float16(device: str) -> None:
    for dtype in (np.float16, np.float32):
        x = mr.tensor(np.ones((0, 3), dtype), requires_grad=True, device=device)
        w = mr.tensor(np.ones(3, dtype), requires_grad=True, device=device)
        y = mr.checkpoint(lambda x, w: x * w, x, w)
        y.sum().backward()
        assert (x.grad.shape, x.grad.dtype) == ((0, 3), dtype)  # type: ignore[union-attr]
        np.testing.assert_array_equal(w.grad.numpy(), np.zeros(3))  # type: ignore[union-attr]


# ---- random numbers


def test_masks_of_dropout_are_the_same_in_the_second_run_and_the_stream_goes_on_as_without(device: str) -> None:
    x = leaf(20, 30, device=device)
    found = []
    for call in (plainly, mr.checkpoint):
        mr.manual_seed(3)
        y = call(lambda x: mr.nn.functional.dropout(x.tanh(), 0.5, True), x)
        between = random.generator().random()
        (dx,) = mr.grad(weighed(y), [x])
        found.append([y.numpy(), dx.numpy(), between, random.generator().random()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_stream_is_as_before_when_the_second_run_fails() -> None:
    x = leaf(3)
    calls = iter([True, False])

    def f(x: mr.Tensor) -> mr.Tensor:
        random.generator().random()
        if not next(calls):
            raise KeyError("the second time")
        return x * 2

    mr.manual_seed(3)
    y = mr.checkpoint(f, x)
    stream = random.generator()
    before = repr(stream.bit_generator.state)
    with pytest.raises(KeyError, match="the second time"):
        y.sum().backward()
    assert random.generator() is stream and repr(stream.bit_generator.state) == before


def test_without_preserving_the_stream_the_second_run_draws_anew() -> None:
    x = leaf(1000)
    y = mr.checkpoint(lambda x: mr.nn.functional.dropout(x * 0 + 1, 0.5, True) * x, x, preserve_rng_state=False)
    (dx,) = mr.grad(y.sum(), [x])
    agree = (y.numpy() != 0) == (dx.numpy() != 0)
    assert 0.3 < agree.mean() < 0.7


def test_a_backward_pass_in_another_thread_draws_the_same() -> None:
    x = leaf(50)
    mr.manual_seed(5)
    y = mr.checkpoint(lambda x: mr.nn.functional.dropout(x, 0.5, True), x)
    worker = threading.Thread(target=lambda: y.sum().backward())
    worker.start()
    worker.join()
    np.testing.assert_array_equal(x.grad.numpy() != 0, y.numpy() != 0)  # type: ignore[union-attr]


# ---- misuse


@pytest.mark.parametrize("who", ["parameter", "argument", "keyword"])
def test_a_change_between_forward_and_backward_is_noticed(who: str) -> None:
    x, w, data, more = leaf(3), leaf(3), mr.tensor(numbers(3)), mr.tensor(numbers(3))
    y = mr.checkpoint(lambda x, data, more: x * w * data * more, x, data, more=more)
    {"parameter": w, "argument": data, "keyword": more}[who].assign(np.ones(3))
    with pytest.raises(RuntimeError, match=r"an input of Checkpoint \(shape \(3,\)\) was changed by assign"):
        y.sum().backward()


def test_the_node_is_freed_like_any_other() -> None:
    x = leaf(3)
    f = Counted(lambda x: x * 2)
    y = mr.checkpoint(f, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert f.calls == 3
    with pytest.raises(RuntimeError, match="freed by an earlier backward pass"):
        y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 4.0))  # type: ignore[union-attr]


def alternating(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
    functions = iter([first, second])
    return lambda *args: next(functions)(*args)


W = leaf(3)


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (lambda x: x[:2] * 2, r"returned .*\(2,\).*\n.*\(3,\)"),
        (lambda x: (x * 2, x * 3), r"when run again, the function returned"),
        (lambda x: (x * 2).astype(np.float32), "float32"),
        (lambda x: 5, r"returned \[\]"),
        (lambda x: x * W, "used Tensors that it did not use in the forward pass"),
    ],
    ids=["another shape", "another number", "another dtype", "nothing", "another parameter"],
)
def test_a_function_that_does_something_else_the_second_time_is_refused(second: Any, says: str) -> None:
    x = leaf(3)
    y = mr.checkpoint(alternating(lambda x: x * 2, second), x)
    with pytest.raises(RuntimeError, match=says):
        y.sum().backward()
    assert x.grad is None and W.grad is None


def test_results_on_several_devices_are_refused() -> None:
    class SecondDevice(CPU):
        name = "second"

    x, place = leaf(3), SecondDevice()
    with pytest.raises(ValueError, match="the results live on cpu and second\n  expected one device"):
        mr.checkpoint(lambda x: (x * 2, x.to(place) * 2), x)
    (only,) = mr.checkpoint(lambda x: (x.to(place) * 2,), x)
    assert only.device is place


# ---- memory


def test_what_was_computed_inside_is_gone_after_the_call(no_gc: None) -> None:
    x = leaf(3)
    inside: list[Any] = []

    def f(x: mr.Tensor) -> mr.Tensor:
        h = x.exp()
        inside.append(weakref.ref(h))
        return h.tanh()

    y = mr.checkpoint(f, x)
    assert inside[0]() is None
    y.sum().backward()
    assert len(inside) == 2 and inside[1]() is None


def peak_of(run: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_a_chain_of_n_checkpoints_takes_the_memory_of_one() -> None:
    """16 parts of 16 ops on 80 kB: 256 arrays are kept without, 16 + 16 and a few with checkpoints."""
    x = leaf(10_000)

    def part(y: mr.Tensor) -> mr.Tensor:
        for _ in range(16):
            y = y.tanh()
        return y

    def run(call: Any) -> None:
        y = x
        for _ in range(16):
            y = call(part, y)
        y.sum().backward()

    whole, saved = (peak_of(lambda call=call: run(call)) for call in (plainly, mr.checkpoint))  # type: ignore[misc]
    assert whole > 256 * 80_000
    assert saved < (16 + 16 + 12) * 80_000

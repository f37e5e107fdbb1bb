"""Hooks see a gradient on its way and may replace it; `retain_grad` keeps it.

Tests `minirnn/engine/hooks.py`, `minirnn/engine/tensor.py` and `minirnn/engine/backward.py`.
"""

from typing import Any

import pytest

import minirnn as mr
from minirnn.engine.hooks import when_backward_ends
from tests.engine.small_ops import leaves


def test_a_hook_sees_the_complete_gradient_and_may_replace_it() -> None:
    (a,) = leaves(3.0)
    y = a * 2.0
    seen = []
    remove = y.register_hook(lambda g: seen.append(g.item()))
    (y * y + y).backward(retain_graph=True)
    assert seen == [13] and a.grad.item() == 26
    remove()
    y.register_hook(lambda g: g * 10.0)
    y.register_hook(lambda g: g + 1.0)
    a.grad = None
    (y * y + y).backward()
    assert seen == [13] and a.grad.item() == 262


def test_hooks_of_what_is_not_asked_for_stay_silent() -> None:
    a, b = leaves(3.0, 4.0)
    a.register_hook(lambda g: pytest.fail("called"))
    assert mr.grad(a * b, b).item() == 3


def test_a_hook_takes_part_in_second_derivatives() -> None:
    (a,) = leaves(3.0)
    a.register_hook(lambda g: g * g)
    d = mr.grad(a * a, a, create_graph=True)
    assert d.item() == 36
    a.hooks.clear()
    assert mr.grad(d, a).item() == 24


def test_retain_grad_keeps_the_gradient_of_an_intermediate_result() -> None:
    (a,) = leaves(3.0)
    y = (a * 2.0).retain_grad()
    y.retain_grad()  # once is enough
    y.register_hook(lambda g: g * 10.0)
    (y * y).backward(retain_graph=True)
    assert y.grad.item() == 120  # after all hooks
    (y * y).backward()
    assert y.grad.item() == 240
    assert a.retain_grad() is a


def test_a_handle_removes_its_own_hook_once() -> None:
    a, b = leaves(3.0, 4.0)
    seen = []

    def look(g: mr.Tensor) -> None:
        seen.append(g.item())

    first, second = a.register_hook(look), a.register_hook(look)
    (a * b).backward()
    assert seen == [4, 4]
    first.remove()
    first.remove()  # does not take the second one off
    (a * b).backward()
    assert seen == [4, 4, 4]
    second()
    (a * b).backward()
    assert len(seen) == 3
    with a.register_hook(look) as handle:
        (a * b).backward()
    assert len(seen) == 4
    handle.remove()
    (a * b).backward()
    assert len(seen) == 4


# ---- the order of hooks of leaves, and the end of a pass


def test_a_hook_of_a_leaf_runs_as_soon_as_its_gradient_is_complete() -> None:
    """w2 is used last, so its hook runs while the gradient is still on its way to w1; b, used twice, waits for both."""
    x, w1, b, w2 = leaves(2.0, 3.0, 5.0, 7.0)
    order: list[tuple[str, float]] = []
    for name, t in {"w1": w1, "b": b, "w2": w2}.items():
        t.register_hook(lambda g, name=name: order.append((name, g.item())))
    h = x * w1
    h.register_hook(lambda g: order.append(("h", g.item())))
    y = (h + b) * w2 + b
    y.backward()
    assert order == [("w2", 11), ("b", 8), ("h", 7), ("w1", 14)]
    assert [t.grad.item() for t in (x, w1, b, w2)] == [21, 14, 8, 11]


def test_a_leaf_waits_for_the_oldest_node_that_used_it_also_if_that_gets_no_gradient() -> None:
    a, b = leaves(2.0, 3.0)
    seen = []
    b.register_hook(lambda g: seen.append(g.item()))
    pair = mr.ops.stack([a * b, b])  # older than what follows
    loss = (pair[1] * 10.0) + b
    loss.backward()
    assert seen == [11] and b.grad.item() == 11


def test_hooks_of_leaves_replace_gradients_wherever_they_run() -> None:
    a, b = leaves(3.0, 4.0)
    a.register_hook(lambda g: g * 2.0)
    for _ in range(2):
        (a * b * b).backward()
    assert (a.grad.item(), b.grad.item()) == (2 * 2 * 16, 2 * 24)
    assert mr.grad(a * 1.0, a).item() == 2
    a.backward()  # the leaf itself
    assert a.grad.item() == 64 + 2


def test_the_callback_at_the_end_sees_and_changes_every_gradient() -> None:
    a, b = leaves(3.0, 4.0)
    calls = []

    def at_the_end(gradients: dict[Any, Any]) -> None:
        calls.append({"a": gradients[a].item(), "b": gradients[b].item()})
        gradients[b] = gradients[b] * 100.0

    a.register_hook(lambda g: calls.append(when_backward_ends(at_the_end)))
    (a * b).backward()
    assert calls == [True, {"a": 4, "b": 3}]
    assert (a.grad.item(), b.grad.item()) == (4, 300)
    a.hooks.clear()
    (a * b).backward()  # it was requested once
    assert len(calls) == 2 and b.grad.item() == 303


def test_grad_and_code_outside_a_pass_have_no_end_to_wait_for() -> None:
    a, b = leaves(3.0, 4.0)
    asked = []
    inner = a * b

    def hook(g: Any) -> None:
        asked.append(when_backward_ends(lambda gradients: pytest.fail("called")))

    a.register_hook(hook)
    mr.grad(inner, a)
    assert asked == [False] and not when_backward_ends(print)

    def nested(g: Any) -> None:  # `grad` inside a hook of a backward pass is not that pass
        with mr.enable_grad():
            mr.grad(a * 2.0, a)

    b.register_hook(nested)
    b.backward()
    assert asked == [False, False]


def test_a_pass_that_fails_calls_nothing_and_leaves_nothing_behind() -> None:
    a, b = leaves(3.0, 4.0)
    called = []
    b.register_hook(lambda g: called.append(when_backward_ends(lambda gradients: called.append("end"))))
    a.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (a * 2.0 * b).backward()
    assert called == [True] and a.grad is None and b.grad is None
    a.hooks.clear()
    (a * b).backward()
    assert called == [True, True, "end"]

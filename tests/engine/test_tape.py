"""The tape: what backward and grad compute, when they refuse, and what is alive afterwards."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import minirnn as mr
from minirnn import ops
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import leaf
from tests.compare import assert_close, assert_same


def leaves(*values: Any) -> list[mr.Tensor]:
    return [mr.tensor(np.asarray(v, np.float64), requires_grad=True) for v in values]


class Both(Op):
    """s, d, n = a + b, a - b, number of a > b. The op with several outputs that the tests use."""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> Any:
        assert len(dy) == len(y) == 3 and dy[2] is None
        ds, dd = (g if g is not None else a * 0 for g in dy[:2])
        return ds + dd, ds - dd


BOTH = Both()


def both(a: mr.Tensor, b: mr.Tensor) -> list[mr.Tensor]:
    x, y = a.array, b.array
    return record_many(BOTH, a.device, [x + y, x - y, np.sum(x > y)], (a, b))


class Squares(Op):
    """s, c = a^2, a^3: its backward reads inputs and outputs."""

    def backward(self, dy: Any, y: Any, a: Any) -> Any:
        ds, dc = (g if g is not None else a * 0 for g in dy)
        return (ds * 2 * a + dc * 3 * y[0],)


def squares(a: mr.Tensor) -> list[mr.Tensor]:
    return record_many(Squares(), a.device, [a.array**2, a.array**3], (a,))


# ---- backward


def test_gradients_add_up_in_grad_over_paths_and_over_calls() -> None:
    (a,) = leaves([1.0, 2.0])
    assert a.grad is None
    (a * a + a).sum().backward()
    assert_same(a.grad.numpy(), np.array([3.0, 5.0]))
    (a * 2).sum().backward()
    assert_same(a.grad.numpy(), np.array([5.0, 7.0]))
    a.grad = None
    (a * 2).sum().backward()
    assert a.grad.tolist() == [2, 2]


def test_only_leaves_that_require_gradients_get_a_grad() -> None:
    a, b = leaves(2.0, 3.0)
    constant = mr.tensor(5.0)
    y = a * b
    (y * constant).backward()
    assert (a.grad.item(), b.grad.item()) == (15, 10)
    assert y.grad is None and constant.grad is None


def test_a_gradient_carries_no_tape() -> None:
    (a,) = leaves(2.0)
    (a * a).backward()
    assert a.grad.is_leaf and not a.grad.requires_grad


def test_backward_takes_the_gradient_of_the_result() -> None:
    (a,) = leaves([1.0, 2.0])
    for seed in ([3.0, 4.0], np.array([3.0, 4.0]), np.float32([3, 4]), mr.tensor(np.array([3.0, 4.0]))):
        a.grad = None
        (a * a).backward(seed)
        assert a.grad.tolist() == [6, 16]


def test_the_seed_is_copied() -> None:
    (a,) = leaves([1.0, 2.0])
    seed = np.array([3.0, 4.0])
    (a + 0.0).backward(seed)
    seed[:] = 0
    assert a.grad.tolist() == [3, 4]


def test_a_leaf_may_be_the_result() -> None:
    (a,) = leaves(2.0)
    a.backward()
    assert a.grad.item() == 1
    assert mr.grad(a, a).item() == 1


def test_a_seed_is_needed_unless_the_result_is_a_scalar() -> None:
    (a,) = leaves([1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"backward: output 0 has shape \(2,\) and no gradient was given.*\n.*\n.*sum\(\)"
    ):
        (a * a).backward()


@pytest.mark.parametrize(
    "seed", [[1.0], 1.0, np.ones((2, 1)), mr.tensor([1.0, 2.0])], ids=["short", "scalar", "matrix", "float32 Tensor"]
)
def test_a_seed_must_fit_the_result(seed: Any) -> None:
    (a,) = leaves([1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"backward: the gradient of output 0 has shape .*\n.*the output: \(2,\), float64"
    ):
        (a * a).backward(seed)


def test_what_was_not_recorded_has_no_backward() -> None:
    a = mr.tensor([1.0, 2.0])
    for y in (a, a * 2, mr.tensor(1.0)):
        with pytest.raises(
            ValueError, match=r"backward: the output was not recorded \(shape .*\)\n  expected a Tensor c"
        ):
            y.backward()


def test_a_second_backward_needs_retain_graph() -> None:
    (a,) = leaves(3.0)
    y = a * a
    y.backward(retain_graph=True)
    y.backward()
    assert a.grad.item() == 12
    for again in (y, y * 2):
        with pytest.raises(RuntimeError, match="this part of the tape was freed .*\n.*retain_graph=True"):
            again.backward()
    assert a.grad.item() == 12


def test_parts_that_two_results_share_are_freed_with_the_first() -> None:
    (a,) = leaves(3.0)
    shared = a * a
    first, second = shared + 1.0, shared * 2.0
    first.backward()
    with pytest.raises(RuntimeError, match="freed"):
        second.backward()


def test_a_freed_tensor_keeps_its_values_and_says_so() -> None:
    (a,) = leaves(3.0)
    y = a * a
    y.backward()
    assert y.item() == 9
    assert repr(y) == "tensor(9., dtype=float64, op=Freed)"


# ---- grad


def test_grad_returns_gradients_like_its_inputs_and_leaves_grad_alone() -> None:
    a, b = leaves(2.0, 3.0)
    assert mr.grad(a * b, a).item() == 3
    da, db = mr.grad(a * b, (a, b))
    assert (da.item(), db.item()) == (3, 2)
    assert isinstance(mr.grad(a * b, [a]), tuple)
    assert a.grad is None and b.grad is None


def test_an_input_without_influence_has_gradient_zero() -> None:
    a, b = leaves(2.0, [[1.0, 2.0]])
    da, db = mr.grad(a * a, [a, b])
    assert da.item() == 4
    assert_same(db.numpy(), np.zeros((1, 2)))


def test_intermediate_results_may_be_inputs() -> None:
    a, b = leaves(2.0, 3.0)
    y = a * b
    z = y * y + a
    dy, da = mr.grad(z, [y, a])
    assert (dy.item(), da.item()) == (12, 37)
    assert mr.grad(y * y, y).item() == 12


def test_inputs_may_depend_on_each_other() -> None:
    (a,) = leaves(2.0)
    b = a * 3.0
    c = b * b
    found = mr.grad(c + b, [a, b, c])
    assert [g.item() for g in found] == [39, 13, 1]


def test_an_input_may_be_an_output() -> None:
    (a,) = leaves(2.0)
    b = a * a
    db, da = mr.grad([b, b * 3.0], [b, a])
    assert (db.item(), da.item()) == (4, 16)


def test_an_input_may_be_named_twice() -> None:
    (a,) = leaves(2.0)
    assert [g.item() for g in mr.grad(a * a, [a, a])] == [4, 4]


def test_several_outputs_add_up_with_their_own_seeds() -> None:
    (a,) = leaves([1.0, 2.0])
    y, z = a * a, (a * 3.0).sum()
    assert mr.grad([y, z], a, [[10.0, 1.0], None]).tolist() == [23, 7]
    y = a * a
    assert mr.grad((y, y), a, [[1.0, 1.0], [1.0, 1.0]]).tolist() == [4, 8]


def test_the_seed_of_a_single_output_may_stand_in_a_list() -> None:
    (a,) = leaves([1.0, 2.0])
    for seed in ([3.0, 4.0], [[3.0, 4.0]], [np.array([3.0, 4.0])], (mr.tensor(np.array([3.0, 4.0])),)):
        assert mr.grad(a * a, a, seed).tolist() == [6, 16]
    (b,) = leaves([2.0])
    assert mr.grad(b * b, b, [3.0]).tolist() == mr.grad(b * b, b, [np.array([3.0])]).tolist() == [12]
    assert mr.grad((b * b).sum(), b, [None]).tolist() == [4]
    assert mr.grad((b * b).reshape(1, 1), b, [[3.0]]).tolist() == [12]
    assert mr.grad((b * b).reshape(1, 1), b, [[[3.0]]]).tolist() == [12]


def test_a_constant_among_the_outputs_has_no_gradient() -> None:
    (a,) = leaves(2.0)
    assert mr.grad([a * a, mr.tensor(3.0)], a).item() == 4
    assert mr.grad([mr.tensor(3.0), a * a], a, create_graph=True).item() == 4


def test_what_made_an_input_does_not_matter() -> None:
    a, w = leaves(2.0, 3.0)
    y = a * w
    z = y * y
    w.assign(100.0)  # the product a * w could not be differentiated any more
    assert mr.grad(z, y).item() == 12
    y = a * a
    y.backward()  # frees what made y
    assert mr.grad(y * y, y).item() == 8


def test_only_what_leads_to_an_input_is_computed() -> None:
    calls = []

    class Loud(Op):
        def backward(self, dy: Any, y: Any, x: Any) -> Any:
            calls.append(1)
            return (dy,)

    a, b = leaves(2.0, 3.0)
    loud = record(Loud(), a.device, a.array, (a,))
    y = loud * b
    assert mr.grad(y, b).item() == 2
    assert mr.grad(loud * b, loud).item() == 3
    assert mr.grad([loud * b, loud], b).item() == 2
    assert calls == []
    assert mr.grad(loud * b, a).item() == 3
    assert calls == [1]


def test_grad_frees_the_tape_unless_it_is_kept() -> None:
    (a,) = leaves(3.0)
    y = a * a
    mr.grad(y, a, retain_graph=True)
    mr.grad(y, a, create_graph=True)
    mr.grad(y, a)
    with pytest.raises(RuntimeError, match="freed"):
        mr.grad(y, a)


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        (lambda a, y: (y, mr.tensor(1.0)), ValueError, r"grad: input 0 \(shape \(\)\) does not require gradients"),
        (lambda a, y: (mr.tensor(1.0), a), ValueError, r"grad: the output was not recorded \(shape \(\)\)"),
        (lambda a, y: (y, [a, 1.0]), TypeError, "grad: input 1 is a float\n  expected a Tensor"),
        (lambda a, y: ([1.0], a), TypeError, "grad: output 0 is a float\n  expected a Tensor"),
        (lambda a, y: ([y, y], a, [1.0]), ValueError, "grad: got 1 gradients for 2 outputs\n  expected one for each"),
        (lambda a, y: (y, a, np.ones(3)), ValueError, r"grad: the gradient of output 0 has shape \(3,\)"),
    ],
)
def test_grad_says_what_came_and_what_was_expected(args: Any, kind: Any, message: str) -> None:
    (a,) = leaves(3.0)
    with pytest.raises(kind, match=message):
        mr.grad(*args(a, a * a))


# ---- gradients of gradients


def test_derivatives_to_third_order() -> None:
    (x,) = leaves([0.3, -1.2])
    y = (x * x * x * x).sum()
    d1 = mr.grad(y, x, create_graph=True)
    d2 = mr.grad(d1.sum(), x, create_graph=True)
    d3 = mr.grad(d2.sum(), x, create_graph=True)
    d4 = mr.grad(d3.sum(), x)
    a = x.numpy()
    for got, expected in ((d1, 4 * a**3), (d2, 12 * a**2), (d3, 24 * a), (d4, np.full(2, 24.0))):
        assert_close(got, expected)


def test_third_derivatives_of_tanh_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    a = np.array([0.3, -1.2, 2.0])
    x, t = mr.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    d, e = (x.tanh() * x.sigmoid()).sum(), (t.tanh() * t.sigmoid()).sum()
    for _ in range(3):
        d = mr.grad(d, x, create_graph=True)
        (e,) = torch.autograd.grad(e, t, create_graph=True)
        assert_close(d, e.detach().numpy())
        d, e = (d * d).sum(), (e * e).sum()


def test_backward_with_create_graph_leaves_grads_that_can_be_differentiated() -> None:
    (a,) = leaves(3.0)
    (a * a * a).backward(create_graph=True)
    assert a.grad.requires_grad and a.grad.item() == 27
    assert mr.grad(a.grad, a).item() == 18
    a.grad = None
    (a * a).backward(create_graph=True)
    (a * a).backward(create_graph=True)
    assert mr.grad(a.grad, a).item() == 4


def test_gradients_that_fit_get_no_nodes_of_their_own() -> None:
    a, b = leaves([1.0, 2.0], [3.0, 4.0])
    da = mr.grad((a * b).sum(), a, create_graph=True)
    assert da.op.name == "Multiply" and da.parents[1] is b


def test_the_seed_is_differentiated_too() -> None:
    a, v = leaves([1.0, 2.0], [3.0, 4.0])
    g = mr.grad(a * a, a, v, create_graph=True)
    assert mr.grad(g, v, [1.0, 10.0]).tolist() == [2, 40]


def test_without_create_graph_nothing_is_recorded() -> None:
    (a,) = leaves(3.0)
    assert not mr.grad(a * a, a).requires_grad
    with mr.no_grad():
        pass
    y = a * a
    with mr.no_grad():
        assert mr.grad(y, a, create_graph=True).requires_grad  # create_graph means it, also here


# ---- several outputs


def test_gradients_come_from_all_outputs_and_from_some() -> None:
    a, b = leaves([3.0, 1.0], [2.0, 5.0])
    s, d, n = both(a, b)
    assert not n.requires_grad and n.item() == 1
    da, db = mr.grad([s, d], [a, b], [[1.0, 10.0], [2.0, 20.0]])
    assert (da.tolist(), db.tolist()) == ([3, 30], [-1, -10])
    s, d, n = both(a, b)
    da, db = mr.grad(d, [a, b], [[2.0, 20.0]])
    assert (da.tolist(), db.tolist()) == ([2, 20], [-2, -20])
    s, d, n = both(a, b)
    (s * s + s).sum().backward()
    assert a.grad.tolist() == [11, 13]


def test_ops_with_several_outputs_have_second_derivatives(rng: np.random.Generator) -> None:
    assert mr.gradcheck(lambda a: [o * a for o in squares(a)], [rng.standard_normal((2, 3))], order=2)
    pair = [rng.standard_normal((2, 3)) for _ in range(2)]
    assert mr.gradcheck(lambda a, b: [o * a for o in both(a, b)[:2]], pair, order=2)


def test_outputs_are_inputs_of_grad() -> None:
    (a,) = leaves(2.0)
    s, c = squares(a)
    ds, dc, da = mr.grad(s * c, [s, c, a])
    assert (ds.item(), dc.item(), da.item()) == (8, 4, 80)


def test_where_no_gradient_arrives_nothing_is_computed() -> None:
    class Half(Op):
        def backward(self, dy: Any, y: Any, a: Any, b: Any) -> Any:
            return dy, None

    a, b = leaves(1.0, 2.0)
    deaf = record(Wrong(), a.device, b.array, (a, b))  # its backward would fail
    record(Half(), a.device, a.array, (a, deaf)).backward()
    assert a.grad.item() == 1 and b.grad is None


class Wrong(Op):
    """Two inputs and one gradient."""

    def backward(self, dy: Any, y: Any, a: Any, b: Any) -> Any:
        return (dy,)


def test_a_backward_that_returns_too_few_gradients_is_named() -> None:
    class WrongArithmetic(Wrong):
        arithmetic = True

    a, b = leaves(1.0, 2.0)
    for op in (Wrong(), WrongArithmetic()):
        with pytest.raises(TypeError, match=f"backward of {op.name} returned 1 gradients for 2 inputs\n  expected one"):
            record(op, a.device, a.array, (a, b)).backward()


# ---- hooks


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


def test_a_hook_of_a_leaf_changes_what_arrives_in_grad() -> None:
    a, b = leaves(3.0, 4.0)
    remove = a.register_hook(lambda g: g * 0.5)
    (a * b).backward()
    assert (a.grad.item(), b.grad.item()) == (2, 3)
    assert [g.item() for g in mr.grad(a * b, [a, b])] == [2, 3]
    remove()
    remove()  # twice is no error
    assert mr.grad(a * b, a).item() == 4


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


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (lambda g: 1.0, "float"),
        (lambda g: mr.tensor([1.0]), r"\(1,\), float32"),
        (lambda g: g.astype("f4"), "float32"),
    ],
)
def test_a_hook_must_return_a_gradient_of_the_same_kind(value: Any, got: str) -> None:
    (a,) = leaves(3.0)
    a.register_hook(value)
    with pytest.raises(ValueError, match=rf"a hook returned .*{got}\n  expected None or a Tensor of \(\), float64"):
        (a * a).backward()


def test_a_hook_needs_a_gradient() -> None:
    with pytest.raises(
        ValueError, match="register_hook: no gradient reaches this Tensor\n  expected requires_grad=True"
    ):
        mr.tensor(1.0).register_hook(print)


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


# ---- switching the tape off


def test_detach_cuts_the_tape_and_shares_the_values() -> None:
    (a,) = leaves(3.0)
    y = a * a
    d = y.detach()
    assert d.is_leaf and not d.requires_grad and d.array is y.array
    assert mr.grad(y * d, a).item() == 54
    (d.requires_grad_() * 2.0).backward()
    assert a.grad is None


def test_no_grad_and_enable_grad_nest() -> None:
    (a,) = leaves(3.0)
    with mr.no_grad():
        assert not (a * a).requires_grad
        with mr.enable_grad():
            assert (a * a).requires_grad
            with mr.no_grad():
                assert not (a * a).requires_grad
            assert (a * a).requires_grad
        assert not (a * a).requires_grad
    assert (a * a).requires_grad


def test_no_grad_ends_with_an_exception() -> None:
    (a,) = leaves(3.0)
    with pytest.raises(KeyError), mr.no_grad():
        raise KeyError
    assert (a * a).requires_grad


def test_one_no_grad_object_may_be_entered_again() -> None:
    (a,) = leaves(3.0)
    off = mr.no_grad()
    with off:
        with off:
            pass
        assert not (a * a).requires_grad
    assert (a * a).requires_grad


def test_no_grad_and_enable_grad_decorate_functions() -> None:
    (a,) = leaves(3.0)

    @mr.no_grad()
    def square(x: mr.Tensor, times: int = 1) -> mr.Tensor:
        """A square."""
        if times > 1:
            return square(x, times - 1)
        return x * x

    @mr.enable_grad()
    def recorded(x: mr.Tensor) -> mr.Tensor:
        return x * x

    assert not square(a).requires_grad
    assert not square(a, times=3).requires_grad
    assert (square.__name__, square.__doc__) == ("square", "A square.")
    with mr.no_grad():
        assert recorded(a).requires_grad
    assert (a * a).requires_grad


def test_a_failing_backward_leaves_recording_as_it_was() -> None:
    class Broken(Op):
        def backward(self, dy: Any, y: Any, a: Any) -> Any:
            raise KeyError("broken")

    (a,) = leaves(3.0)
    with pytest.raises(KeyError):
        record(Broken(), a.device, a.array, (a,)).backward()
    assert a.grad is None
    assert (a * a).requires_grad


def test_switches_belong_to_their_thread() -> None:
    (a,) = leaves(3.0)
    seen: list[bool] = []
    with mr.no_grad():
        thread = threading.Thread(target=lambda: seen.append((a * a).requires_grad))
        thread.start()
        thread.join()
        assert not (a * a).requires_grad
    assert seen == [True]


def test_threads_with_their_own_tapes_get_the_results_of_one() -> None:
    rng = np.random.default_rng(0)
    w = mr.tensor(rng.standard_normal((4, 4)) / 2, requires_grad=True)
    inputs = [rng.standard_normal((3, 4)) for _ in range(6)]

    def work(x: np.ndarray) -> list[float]:
        y = mr.tensor(x)
        for k in range(30):
            y = (y @ w).tanh()
            with mr.no_grad() if k % 2 else mr.enable_grad():
                y.sum()
        first = mr.grad(y.sum(), w, create_graph=True)
        return [*first.numpy().ravel(), *mr.grad((first * first).sum(), w).numpy().ravel()]

    expected = [work(x) for x in inputs]
    results: dict[int, list[float]] = {}
    start = threading.Barrier(len(inputs))

    def run(k: int) -> None:
        start.wait()
        results[k] = work(inputs[k])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(inputs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [results[k] for k in range(len(inputs))] == expected


# ---- values that change


NEEDS_INPUT: dict[str, Callable[[Any, Any], Any]] = {
    "multiply": lambda a, w: a * w,
    "divide": lambda a, w: a / w,
    "power": lambda a, w: a**w,
    "constant power": lambda a, w: w**3,
    "matmul": lambda a, w: a @ w,
    "log": lambda a, w: w.log(),
    "absolute": lambda a, w: abs(w),
    "maximum": lambda a, w: ops.maximum(a, w),
    "clip": lambda a, w: w.clip(-1, 1),
    "max": lambda a, w: w.max(),
    "cross_entropy": lambda a, w: ops.cross_entropy(w, [0, 1]),
    "several outputs": lambda a, w: squares(w)[1],
}
NEEDS_NONE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, w: a + w,
    "subtract": lambda a, w: a - w,
    "negative": lambda a, w: -w,
    "exp": lambda a, w: w.exp(),
    "sqrt": lambda a, w: w.sqrt(),
    "tanh": lambda a, w: w.tanh(),
    "sigmoid": lambda a, w: w.sigmoid(),
    "relu": lambda a, w: w.relu(),
    "softmax": lambda a, w: w.softmax(),
    "log_softmax": lambda a, w: w.log_softmax(),
    "straight-through clip": lambda a, w: w.clip(-0.3, 0.3, straight_through=True),
    "sum": lambda a, w: w.sum(axis=0),
    "where": lambda a, w: ops.where(a > 0, a, w),
    "getitem": lambda a, w: w[[0, 0]],
    "scatter_add": lambda a, w: ops.scatter_add((3, 2), ([0, 0],), w),
    "reshape": lambda a, w: w.reshape(-1),
    "transpose": lambda a, w: w.T,
    "broadcast_to": lambda a, w: w.broadcast_to((3, 2, 2)),
    "concat": lambda a, w: ops.concat([a, w]),
    "astype": lambda a, w: w.astype(np.float32),
    "identity": lambda a, w: ops.identity(w),
}


@pytest.mark.parametrize("name", NEEDS_INPUT)
def test_a_needed_value_that_changed_is_an_error_and_not_a_wrong_gradient(name: str) -> None:
    a, w = leaves([[0.5, 0.8], [0.3, 0.7]], [[0.4, 0.3], [0.2, 0.9]])
    y = NEEDS_INPUT[name](a, w)
    w.assign(w.numpy() + 1)
    with pytest.raises(RuntimeError, match=r"backward: an input of \w+ \(shape \(2, 2\)\) was changed by assign\(\)"):
        mr.grad(y.sum(), w)
    other = mr.tensor(a.numpy(), requires_grad=True)
    total = y.sum() + other.sum()
    assert mr.grad(total, other).tolist() == [[1, 1], [1, 1]]  # does not lead through y
    mr.grad(NEEDS_INPUT[name](a, w).sum(), w)


@pytest.mark.parametrize("name", NEEDS_NONE)
def test_a_value_that_backward_does_not_need_may_change(name: str) -> None:
    a, w = leaves([[0.5, -0.2], [0.3, 0.7]], [[0.4, 0.3], [0.2, 0.9]])
    y = NEEDS_NONE[name](a, w)
    seed = np.random.default_rng(0).standard_normal(y.shape)
    expected = mr.grad(y, w, seed, retain_graph=True).numpy()
    w.assign(w.numpy() + 1)
    assert_close(mr.grad(y, w, seed), expected, 0.0, "the same computation")


def test_a_constant_that_changed_is_noticed_as_well() -> None:
    (a,) = leaves(2.0)
    x = mr.tensor(3.0)
    y = a * x
    x.assign(5.0)
    with pytest.raises(RuntimeError, match="changed by assign"):
        y.backward()


def test_a_change_between_first_and_second_derivative_is_noticed() -> None:
    a, w = leaves(2.0, 3.0)
    d = mr.grad((a * w).tanh(), a, create_graph=True)  # w * (1 - tanh(a * w)^2)
    w.assign(5.0)
    with pytest.raises(RuntimeError, match="changed by assign"):
        mr.grad(d, a)


def test_what_is_computed_after_a_change_is_fine() -> None:
    a, w = leaves(2.0, 3.0)
    w.assign(5.0)
    assert mr.grad(a * w, a).item() == 5


# ---- long chains, memory


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Without the cycle collector, objects die only when nothing refers to them."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


LONG = 200_000


def chain(x: mr.Tensor, length: int) -> mr.Tensor:
    for _ in range(length // 2):
        x = -(x + x)
    return x


def test_a_long_chain_needs_no_stack_in_backward() -> None:
    x = mr.tensor(0.0, requires_grad=True)
    y = x
    for _ in range(LONG // 2):
        y = -(y + 1.0)
    y.backward()
    assert x.grad.item() == 1


def test_a_long_chain_needs_no_stack_when_it_is_dropped(no_gc: None) -> None:
    """In a thread with a small stack, in which recursion would crash at once."""
    done = []

    def work() -> None:
        x = mr.tensor(0.0, requires_grad=True)
        y = x
        for _ in range(LONG // 2):
            y = -(y + 1.0)
        first = weakref.ref(y.parents[0])
        del y
        done.append(first() is None)

    old = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert done == [True]


def test_a_long_chain_is_differentiated_twice_without_stack() -> None:
    x = mr.tensor(1.0, requires_grad=True)
    y = x * x
    for _ in range(20_000):
        y = -y
    d = mr.grad(y, x, create_graph=True)
    assert mr.grad(d, x).item() == 2


def test_backward_gives_the_memory_back(no_gc: None) -> None:
    (a,) = leaves(np.ones(1000))
    hidden = a * 2.0
    alive = weakref.ref(hidden)
    values = weakref.ref(hidden.array)
    y = (hidden * hidden).sum()
    del hidden
    assert alive() is not None
    y.backward()
    assert alive() is None and values() is None
    assert y.item() == 4000


def test_results_that_are_not_recorded_keep_nothing_alive(no_gc: None) -> None:
    a = mr.tensor(np.ones(1000))
    hidden = a * 2.0
    alive = weakref.ref(hidden)
    y = hidden.sum()
    del hidden
    assert alive() is None and y.item() == 2000


OPS: dict[str, Callable[[Any, Any], Any]] = {
    **{f"{name}": f for name, f in NEEDS_INPUT.items()},
    **{f"{name}": f for name, f in NEEDS_NONE.items()},
    "several outputs, all": lambda a, w: ops.concat(both(a, w)[:2]),
    "minimum": lambda a, w: ops.minimum(a, w),
    "mean": lambda a, w: w.mean(),
    "stack": lambda a, w: ops.stack([a, w]),
    "split": lambda a, w: ops.split(w, 2)[1],
    "embedding": lambda a, w: ops.embedding(w, [1, 1]),
    "hook": lambda a, w: hooked(a * w),
    "retain_grad": lambda a, w: (a * w).retain_grad(),
}


def hooked(t: mr.Tensor) -> mr.Tensor:
    t.register_hook(lambda g: g * 2.0)
    return t


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", OPS)
def test_no_op_leaves_a_cycle_behind(no_gc: None, name: str, create_graph: bool) -> None:
    """Neither before backward nor after it: everything dies as soon as its last name is gone."""
    if name == "retain_grad" and create_graph:
        pytest.skip("y.grad was computed from y, and y holds it: that cycle is what was asked for")
    for run_backward in (False, True):
        a, w = leaves([[0.5, 0.8], [0.3, 0.7]], [[0.4, 0.3], [0.2, 0.9]])
        x = w * 1.0
        y = OPS[name](a * 1.0, x)
        z = (y * y).sum()
        watched = [weakref.ref(t) for t in (x, y, z, a, w)]
        if run_backward:
            gs = mr.grad(z, [x, w], create_graph=create_graph)
            watched += [weakref.ref(g) for g in gs]
            del gs
        del a, w, x, y, z
        assert [ref for ref in watched if ref() is not None] == []


def test_grads_kept_on_leaves_make_no_cycle_without_create_graph(no_gc: None) -> None:
    (a,) = leaves([1.0, 2.0])
    y = (a * a).retain_grad()
    (y * y).sum().backward()
    watched = [weakref.ref(t) for t in (a, y, a.grad, y.grad)]
    del a, y
    assert [ref for ref in watched if ref() is not None] == []


# ---- random graphs against torch


@st.composite
def programs(draw: Any) -> list[tuple[str, int, int]]:
    """A list of (op, operand, operand): every op makes a (2, 3) matrix from earlier ones."""
    names = [*UNARY, *BINARY]
    return [
        (draw(st.sampled_from(names)), draw(st.integers(0, 2 + k)), draw(st.integers(0, 2 + k)))
        for k in range(draw(st.integers(1, 12)))
    ]


def lib() -> Any:
    return pytest.importorskip("torch")


UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tanh": (lambda a: a.tanh(), lambda a: a.tanh()),
    "sigmoid": (lambda a: a.sigmoid(), lambda a: a.sigmoid()),
    "negative": (lambda a: -a, lambda a: -a),
    "exp of tanh": (lambda a: a.tanh().exp(), lambda a: a.tanh().exp()),
    "relu": (lambda a: a.relu(), lambda a: a.relu()),
    "softmax": (lambda a: a.softmax(0), lambda a: a.softmax(0)),
    "log_softmax": (lambda a: a.log_softmax(), lambda a: a.log_softmax(-1)),
    "sum": (lambda a: a.tanh().sum(axis=1, keepdims=True) + a, lambda a: a.tanh().sum(1, keepdim=True) + a),
    "mean and broadcast": (
        lambda a: a.mean(axis=0).broadcast_to((2, 3)),
        lambda a: a.mean(0).expand(2, 3),
    ),
    "transpose": (lambda a: a.T.reshape(2, 3), lambda a: a.T.reshape(2, 3)),
    "rows": (lambda a: a[[1, 1]], lambda a: a[[1, 1]]),
    "max": (lambda a: a - a.max(axis=1, keepdims=True), lambda a: a - a.amax(1, keepdim=True)),
    "clip": (lambda a: a.clip(-1.5, 1.5), lambda a: a.clamp(-1.5, 1.5)),
    "number": (lambda a: 2.0 * a - 0.5, lambda a: 2.0 * a - 0.5),
}
BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "subtract a column": (lambda a, b: a - b[:, :1], lambda a, b: a - b[:, :1]),
    "multiply": (lambda a, b: a.tanh() * b, lambda a, b: a.tanh() * b),
    "divide": (lambda a, b: a / (b * b + 1.0), lambda a, b: a / (b * b + 1.0)),
    "multiply by a row": (lambda a, b: a * b[0].tanh(), lambda a, b: a * b[0].tanh()),
    "matmul": (lambda a, b: a.tanh() @ (b.T @ b).tanh(), lambda a, b: a.tanh() @ (b.T @ b).tanh()),
    "maximum": (lambda a, b: ops.maximum(a, b), lambda a, b: lib().maximum(a, b)),
    "where": (lambda a, b: ops.where(a > b, a, b * 2.0), lambda a, b: lib().where(a > b, a, b * 2.0)),
    "concat and split": (
        lambda a, b: ops.concat([a, b], 1).reshape(3, 4).T[1:3].reshape(2, 3),
        lambda a, b: lib().cat([a, b], 1).reshape(3, 4).T[1:3].reshape(2, 3),
    ),
}


def execute(program: list[tuple[str, int, int]], start: list[Any], which: int) -> Any:
    values = list(start)
    for name, i, j in program:
        values.append(UNARY[name][which](values[i]) if name in UNARY else BINARY[name][which](values[i], values[j]))
    return values[-1] + 0.1 * values[len(values) // 2]


@hypothesis.settings(max_examples=120)
@hypothesis.given(programs(), st.integers(0, 2**16))
def test_random_graphs_have_torchs_values_and_first_and_second_derivatives(
    program: list[tuple[str, int, int]], seed: int
) -> None:
    torch = lib()
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal((2, 3)) for _ in range(3)]
    xs = [mr.tensor(a, requires_grad=True) for a in arrays]
    ts = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, u = execute(program, xs, 0), execute(program, ts, 1)
    # Each op may magnify the rounding errors of those before it.
    tolerance, why = 1e-10, "float64: 1e-16, magnified up to 10 times by each of up to 6 ops in a row"
    assert_close(y, u.detach().numpy(), tolerance, why, what="value")
    v = rng.standard_normal((2, 3))
    gs = mr.grad(y, xs, v, create_graph=True)
    hs = torch.autograd.grad(u, ts, torch.tensor(v), create_graph=True, allow_unused=True, materialize_grads=True)
    for k, (g, h) in enumerate(zip(gs, hs, strict=True)):
        assert_close(g, h.detach().numpy(), tolerance, why, what=f"gradient {k}")
    ws = [rng.standard_normal((2, 3)) for _ in gs]
    ours = [(g, w) for g, w in zip(gs, ws, strict=True) if g.requires_grad]
    theirs = [(h, torch.tensor(w)) for h, w in zip(hs, ws, strict=True) if h.requires_grad]
    if not ours:
        return
    second = mr.grad([g for g, _ in ours], xs, [w for _, w in ours])
    expected = torch.autograd.grad(
        [h for h, _ in theirs], ts, [w for _, w in theirs], allow_unused=True, materialize_grads=True
    )
    for k, (g, h) in enumerate(zip(second, expected, strict=True)):
        assert_close(g, h.numpy(), 1e-8, "second derivatives: another factor of 100", what=f"second derivative {k}")


def test_a_graph_may_be_walked_by_reading_parents() -> None:
    a, b = leaves(2.0, 3.0)
    y = (a * b).tanh()
    assert y.op.name == "Tanh" and y.parents[0].op.name == "Multiply"
    assert y.parents[0].parents == (a, b)
    assert a.is_leaf and a.parents == () and a.op is None
    assert y.seq > y.parents[0].seq > b.seq > a.seq


def test_a_leaf_made_from_an_array_is_outside_the_tape() -> None:
    t = leaf(mr.devices.get("cpu"), np.ones(2))
    assert t.is_leaf and not t.requires_grad and t.grad is None

"""`Tensor.backward`: the values of `grad`, errors, and ops with several outputs.

Tests `minirnn/engine/backward.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine.backward import run_backward
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op, record
from tests.compare import assert_same
from tests.engine.small_ops import both, leaves, squares


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
    assert y.grad is None and constant.grad is None and a.grad.is_leaf and not a.grad.requires_grad


def test_the_seed_is_copied() -> None:
    (a,) = leaves([1.0, 2.0])
    seed = np.array([3.0, 4.0])
    (a + 0.0).backward(seed)
    seed[:] = 0
    assert a.grad.tolist() == [3, 4]


def test_a_second_backward_needs_retain_graph() -> None:
    (a,) = leaves(3.0)
    y = a * a
    y.backward(retain_graph=True)
    y.backward()
    assert a.grad.item() == 12
    shared = a * a
    first, second = shared + 1.0, shared * 2.0
    first.backward()
    for again in (y, y * 2, second):
        with pytest.raises(RuntimeError, match="this part of the tape was freed .*\n.*retain_graph=True"):
            again.backward()
    assert a.grad.item() == 12 + 6


def test_a_freed_tensor_keeps_its_values_and_says_so() -> None:
    (a,) = leaves(3.0)
    y = a * a
    y.backward()
    assert y.item() == 9
    assert repr(y) == "tensor(9., dtype=float64, op=Freed)"


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


def test_a_pass_that_stops_at_a_border_gives_partial_gradients_and_leaves_hooks_and_older_nodes_alone() -> None:
    """y = a b c with b = a^2 and c = 3 newer than the border: dy/da = b c and dy/db = a c, though b depends on a."""
    (a,) = leaves(2.0)
    b = a * a
    calls: list[float] = []
    a.register_hook(lambda g: calls.append(1))
    b.register_hook(lambda g: calls.append(1))
    border = b.seq
    (c,) = leaves(3.0)
    c.register_hook(lambda g: g * 10)
    y = a * b * c
    (seed,) = leaves(5.0)
    for retain in (True, False):
        found = run_backward([y], [seed], None, False, retain, border)
        assert {t: float(g) for t, g in found.items()} == {a: 5 * 12, b: 5 * 6, c: 5 * 80}
    assert calls == []
    found = run_backward([a * b], [seed], [b], False, False, border)
    assert {t: float(g) for t, g in found.items()} == {b: 10}
    assert mr.grad(b, a).item() == 4
    assert calls == [1, 1]
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_gradient_is_torchs_name_of_grad() -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(gradient=mr.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2, 40]
    with pytest.raises(TypeError, match="got grad and gradient\n  expected one"):
        (x * x).backward([1.0, 1.0], gradient=[1.0, 1.0])


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 3)])
def test_a_gradient_has_the_dtype_of_its_input_also_where_dtypes_meet(shape: Any, create_graph: bool) -> None:
    a = mr.tensor(np.full(shape, 2.0, np.float32), requires_grad=True)
    b = mr.tensor(np.full(shape, 3.0, np.float64), requires_grad=True)
    h = mr.tensor(np.full(shape, 5.0, np.float16), requires_grad=True)
    y = a * b * h
    assert y.dtype == np.float64
    found = mr.grad(y.sum(), [a, b, h], create_graph=create_graph)
    assert [g.dtype for g in found] == [np.float32, np.float64, np.float16]
    assert [g.shape for g in found] == [shape] * 3
    for g, value in zip(found, (15, 10, 6), strict=True):
        assert_same(g.numpy(), np.full(shape, value, g.dtype))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 40])
def test_an_op_may_have_any_number_of_outputs(n: int) -> None:
    class Multiples(Op):
        """y_k = k x"""

        def backward(self, dy: Any, y: Any, x: Any) -> Any:
            return (sum(k * g for k, g in enumerate(dy) if g is not None),)

    (a,) = leaves([1.0, 2.0])
    ys = record_many(Multiples(), a.device, [k * a.array for k in range(n)], (a,))
    assert [y.tolist() for y in ys] == [[k, 2 * k] for k in range(n)]
    found = mr.grad(ys, a, [np.array([1.0, 10.0 + k]) for k in range(n)])
    assert found.tolist() == [sum(range(n)), sum(k * (10 + k) for k in range(n))]
    ys = record_many(Multiples(), a.device, [k * a.array for k in range(n)], (a,))
    assert mr.grad(ys[-1].sum(), a, create_graph=True).tolist() == [n - 1] * 2

"""`mr.grad`: arguments and results, errors, and gradients of gradients.

Tests `minirnn/engine/backward.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine.tape import Op, record
from tests.compare import assert_same
from tests.engine.small_ops import leaves


def test_inputs_are_leaves_or_results_and_outputs_may_be_constants() -> None:
    a, b, wide = leaves(2.0, 3.0, [[1.0, 2.0]])
    y, c = a * b, a * 3.0
    square, constant = c * c, mr.tensor(3.0)
    for outputs, inputs, expected in (
        (y * y + a, [y, a], [12, 37]),
        (square + c, [a, c, square], [39, 13, 1]),  # inputs that depend on each other
        (square + c, [c, square], [13, 1]),
        ([y, y * 3.0], [y, a], [4, 12]),  # one that is an output
        ([a * a, constant], [a], [4]),
        ([constant, a * a], [a], [4]),
        (a * a, [a, b], [4, 0]),
    ):
        for create_graph in (False, True):
            found = mr.grad(outputs, inputs, create_graph=create_graph, retain_graph=True)
            assert [g.item() for g in found] == expected
    assert_same(mr.grad(a * a, wide).numpy(), np.zeros((1, 2)))  # no influence


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


def test_what_made_an_input_does_not_matter() -> None:
    a, w = leaves(2.0, 3.0)
    y = a * w
    z = y * y
    w.assign(100.0)  # the product a * w could no longer be differentiated
    assert mr.grad(z, y).item() == 12
    y = a * a
    y.backward()  # frees the graph of y
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


def test_without_create_graph_nothing_is_recorded() -> None:
    (a,) = leaves(3.0)
    assert not mr.grad(a * a, a).requires_grad
    with mr.no_grad():
        pass
    y = a * a
    with mr.no_grad():
        assert mr.grad(y, a, create_graph=True).requires_grad  # create_graph also applies here

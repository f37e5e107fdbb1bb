"""Hooks of modules: what torch's programs do not show."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.engine.hooks import RemovableHandle


def double(module: Any, args: Any, output: Any) -> Any:
    return 2 * output


def test_a_module_without_hooks_has_nothing_of_them() -> None:
    module = nn.Identity()
    assert vars(module) == {}
    handle = module.register_forward_hook(double)
    assert isinstance(handle, RemovableHandle)
    assert module(3) == 6
    handle.remove()
    handle.remove()
    assert module(3) == 3


def test_a_handle_is_a_context_manager() -> None:
    module = nn.Identity()
    with module.register_forward_hook(double):
        assert module(3) == 6
    assert module(3) == 3


def test_removing_one_hook_leaves_an_equal_one() -> None:
    module = nn.Identity()
    handles = [module.register_forward_hook(double) for _ in range(2)]
    handles[1].remove()
    assert module(3) == 6
    handles[0].remove()
    assert module(3) == 3


def test_hooks_survive_a_copy_and_a_pickle_and_are_then_its_own() -> None:
    module = nn.Identity()
    handle = module.register_forward_hook(double)
    twins = [copy.deepcopy(module), pickle.loads(pickle.dumps(module))]
    handle.remove()
    assert [twin(3) for twin in twins] == [6, 6]


def test_the_gradients_that_pass_can_be_differentiated_again() -> None:
    layer = nn.Linear(2, 1, bias=False, dtype=np.float64)
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))
    x = mr.tensor(np.array([[1.0, 2.0]]), requires_grad=True)
    y = layer(x) ** 3
    (g,) = mr.grad(y.sum(), [x], create_graph=True)
    w = layer.weight.numpy()
    np.testing.assert_allclose(g, 9 * float((w @ [1.0, 2.0])[0]) ** 2 * w, rtol=1e-13)
    (h,) = mr.grad(g.sum(), [x])
    # once more through the hook, as both factors depend on x through the layer alone
    np.testing.assert_allclose(h, 3 * 18 * float((w @ [1.0, 2.0])[0]) * w.sum() * w, rtol=1e-12)


def test_without_backward_hooks_nothing_is_added_to_the_tape() -> None:
    x = mr.tensor([1.0], requires_grad=True)
    module = nn.Identity()
    module.register_forward_hook(lambda m, a, y: None)
    assert module(x) is x
    module.register_full_backward_hook(lambda m, gi, go: None)
    assert module(x) is not x
    with mr.no_grad():
        assert module(x) is x


class Swap(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return y * 2.0, x * 3.0


def test_every_gradient_that_a_hook_returns_must_fit() -> None:
    module = Swap()
    module.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    x, y = (mr.tensor(np.ones(n), requires_grad=True) for n in (2, 3))
    one, two = module(x, y)
    with pytest.raises(ValueError, match="expected None, or 2 like grad_input"):
        (one.sum() + two.sum()).backward()


def test_a_named_tuple_stays_one_with_backward_hooks() -> None:
    cell = nn.LSTMBlockCell(3, 2)

    class State(nn.Module):
        def __init__(self) -> None:
            self.cell = cell

        def forward(self, x: Any) -> Any:
            return self.cell(x)[1]

    module = State()
    seen: list[Any] = []
    module.register_full_backward_hook(lambda m, gi, go: seen.append([g.shape for g in go]))
    state = module(mr.tensor(np.ones((4, 2), np.float32), requires_grad=True))
    assert type(state) is nn.LSTMState
    (state.h.sum() + state.c.sum()).backward()
    assert seen == [[(4, 3), (4, 3)]]

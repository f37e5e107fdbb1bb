"""torch.autograd's grad and Variable. `grad` takes its arguments in torch's order and always returns a tuple."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.engine import backward
from minirnn.engine.tensor import Tensor, as_tensor


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """`minirnn.grad` as torch's programs call it: ``(g,) = autograd.grad(loss, x)``.

    Raises the errors of `minirnn.grad`, and ValueError if `is_grads_batched` is set.

    Parameters
    ----------
    outputs, inputs, grad_outputs, retain_graph, create_graph
        Those of `minirnn.grad`, in torch's order.
    only_inputs, allow_unused, materialize_grads
        Accepted and ignored. The gradient of an input without influence is zeros.
    is_grads_batched : bool
        Must be False. `minirnn.vmap` maps over several gradients.

    Returns
    -------
    tuple of Tensor
        One for each input, also if `inputs` is a Tensor.
    """
    if check.flag("grad", "is_grads_batched", is_grads_batched):
        raise ValueError("grad: is_grads_batched is True\n  expected False; mr.vmap maps over several gradients")
    found = backward.grad(outputs, inputs, grad_outputs, create_graph, retain_graph)
    return (found,) if isinstance(found, Tensor) else tuple(found)


def Variable(data: Any, requires_grad: bool = False) -> Tensor:
    """`data` as a Tensor, for programs written for early versions of torch. If `requires_grad` is set, it is a leaf."""
    t = as_tensor(data)
    return t.detach().requires_grad_() if check.flag("Variable", "requires_grad", requires_grad) else t

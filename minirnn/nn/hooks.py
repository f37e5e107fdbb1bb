"""Hooks of a module: functions that are called before and after it, and when gradients pass through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minirnn.arguments.messages import shown
from minirnn.engine.hooks import RemovableHandle
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op, mode
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import zeros


@dataclass(eq=False)
class Hook:
    """A function, and the way to call it."""

    function: Callable[..., Any]
    with_kwargs: bool = False


class Hooks:
    """The hooks of one module, by kind, in the order in which they are called."""

    def __init__(self) -> None:
        self.forward_pre: list[Hook] = []
        self.forward: list[Hook] = []
        self.backward: list[Hook] = []

    def add(self, kind: str, hook: Hook, prepend: bool) -> RemovableHandle:
        """Add a hook at the end or, with `prepend`, at the beginning. Raises TypeError if it cannot be called."""
        if not callable(hook.function):
            raise TypeError(f"register_{kind}_hook: hook is {shown(hook.function)}\n  expected a function")
        hooks: list[Hook] = getattr(self, kind.removeprefix("full_"))
        hooks.insert(0 if prepend else len(hooks), hook)

        def remove() -> None:
            if hook in hooks:
                hooks.remove(hook)

        return RemovableHandle(remove)


def call_with_hooks(module: Any, hooks: Hooks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of ``module.forward(*args, **kwargs)``, with all hooks called around it."""
    for hook in list(hooks.forward_pre):
        args, kwargs = _before(module, hook, args, kwargs)
    passing = _Passing(module, hooks, args) if mode.enabled and hooks.backward else None
    args = args if passing is None else passing.args
    result = module.forward(*args, **kwargs)
    for hook in list(hooks.forward):
        changed = hook.function(module, args, *([kwargs] if hook.with_kwargs else []), result)
        result = result if changed is None else changed
    return result if passing is None else passing.leave(result)


def _before(module: Any, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    if not hook.with_kwargs:
        changed = hook.function(module, args)
        return args if changed is None else changed if isinstance(changed, tuple) else (changed,), kwargs
    changed = hook.function(module, args, kwargs)
    if changed is None:
        return args, kwargs
    if not isinstance(changed, tuple) or len(changed) != 2:
        raise ValueError(
            f"{type(module).__name__}: a forward pre-hook with kwargs returned {shown(changed)}\n"
            "  expected None or (args, kwargs)"
        )
    return changed


class Pass(Op):
    """y = x for several Tensors at once; ``observe(gradients)`` sees their gradients together and may change them."""

    reads_inputs = False

    def __init__(self, observe: Callable[[list[Tensor | None]], Sequence[Tensor | None]]) -> None:
        self.observe = observe

    def backward(self, dy: Any, y: Any, *x: Tensor) -> Sequence[Tensor | None]:
        return self.observe(dy)


class _Passing:
    """One call of a module with backward hooks. Its inputs go through a `Pass`, and so do its outputs.

    The gradients of the outputs arrive first. The hooks are called when those of the inputs have also arrived. If no
    input requires gradients, the hooks are called immediately.
    """

    def __init__(self, module: Any, hooks: Hooks, args: tuple[Any, ...]) -> None:
        self.module, self.hooks, self.given = module, hooks, args
        self.grad_output: tuple[Any, ...] | None = None
        self.args = _through(args, self._at_inputs)

    def leave(self, result: Any) -> Any:
        values = (result,) if isinstance(result, Tensor) else result
        if not isinstance(values, tuple):
            return result  # as in torch: a Tensor or a tuple of them
        passed = _through(values, lambda grads: self._at_outputs(values, grads))
        if isinstance(result, Tensor):
            return passed[0]
        return type(result)(*passed) if hasattr(result, "_fields") else passed

    def _at_outputs(self, values: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...]:
        self.grad_output = grads
        if self.args is self.given:  # no input requires a gradient
            self._call((None,) * len(self.given))
        return _with_zeros(values, grads)

    def _at_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_output is None:  # no gradient came through the outputs
            return grads
        return self._call(_with_zeros(self.given, grads))

    def _call(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.hooks.backward):
            changed = hook.function(self.module, grad_input, self.grad_output)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(grad_input) or not all(map(_fits, changed, grad_input)):
                raise ValueError(
                    f"{type(self.module).__name__}: a backward hook returned {len(changed)} values, or values of "
                    f"another shape\n  expected None, or {len(grad_input)} like grad_input: Tensors, and None where "
                    "there is no gradient"
                )
            grad_input = changed
        self.grad_output = None
        return grad_input


def _fits(new: Any, old: Any) -> bool:
    """Whether a hook may return `new` instead of the gradient `old`."""
    if new is None or old is None:
        return new is None
    return isinstance(new, Tensor) and (new.shape, new.dtype) == (old.shape, old.dtype)


def _through(values: tuple[Any, ...], observe: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The values, with the Tensors that require gradients sent through a `Pass`. `observe` gets and returns a gradient
    or None for each value.
    """
    places = [k for k, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not places:
        return values

    def of_places(grads: list[Any]) -> list[Any]:
        by_place = dict(zip(places, grads, strict=True))
        changed = observe(tuple(by_place.get(k) for k in range(len(values))))
        return [changed[k] for k in places]

    tensors = tuple(values[k] for k in places)
    passed = iter(record_many(Pass(of_places), tensors[0].device, [t.array for t in tensors], tensors))
    return tuple(next(passed) if k in places else v for k, v in enumerate(values))


def _with_zeros(values: tuple[Any, ...], grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gradients, with zeros where there is none. As in torch, hooks are also called for an input without influence."""
    return tuple(
        zeros(v.shape, v) if g is None and isinstance(v, Tensor) and v.dtype.kind == "f" else g
        for v, g in zip(values, grads, strict=True)
    )

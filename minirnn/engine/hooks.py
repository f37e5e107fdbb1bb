"""Hooks: what registering one gives back, the hook of `Tensor.retain_grad`, and what runs when a pass is over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol
from weakref import ref

Callback = Callable[[dict[Any, Any]], None]
"""Takes the gradient of each leaf, by Tensor."""


class HasGrad(Protocol):
    """As much of a Tensor as the hooks of this module need."""

    grad: Any


class RemovableHandle:
    """Takes a hook off again: by ``handle.remove()``, by ``handle()``, or at the end of ``with handle:``.

    The name is torch's. Removing a hook twice does no harm.
    """

    __slots__ = ("_remove",)

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    @classmethod
    def of(cls, hooks: list[Any], hook: Any) -> RemovableHandle:
        """Put a hook at the end of a list; the handle takes it out again."""
        hooks.append(hook)
        return cls(lambda: hooks.remove(hook) if hook in hooks else None)

    def remove(self) -> None:
        """Take the hook off."""
        if self._remove is not None:
            self._remove()
            self._remove = None

    __call__ = remove

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Retain:
    """The hook that `Tensor.retain_grad` registers."""

    retains = True

    def __init__(self, t: HasGrad) -> None:
        self.ref = ref(t)  # with the Tensor itself its hook would be a cycle

    def __call__(self, gradient: Any) -> None:
        t = self.ref()
        if t is not None:
            t.grad = gradient if t.grad is None else t.grad + gradient


# ---- the end of a backward pass


class _Pass(threading.local):
    callbacks: list[Callback] | None = None


running = _Pass()
"""What is to be called at the end of the `Tensor.backward` that runs in this thread; None where none runs."""


def when_backward_ends(callback: Callback) -> bool:
    """Have `callback` called once, when the `Tensor.backward` that runs now has every gradient.

    Parameters
    ----------
    callback : callable
        It gets a dict from each leaf to its gradient, an array (with ``create_graph`` a Tensor), and may change the
        gradients in it. What is there when it returns is added to `Tensor.grad`. In torch the name for this is
        ``queue_callback``.

    Returns
    -------
    bool
        False, and nothing will be called, unless a hook asks that a `Tensor.backward` runs: `mr.grad` has no end of
        this kind, since it leaves `Tensor.grad` alone.
    """
    if running.callbacks is None:
        return False
    running.callbacks.append(callback)
    return True

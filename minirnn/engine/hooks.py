"""Hooks: the handle that removes one, the hook of `Tensor.retain_grad`, and callbacks for the end of a pass."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

Callback = Callable[[dict[Any, Any]], None]
"""A function of a dict from each leaf to its gradient."""


class RemovableHandle:
    """Removes a hook, by ``handle.remove()``, by ``handle()``, or at the end of ``with handle:``.

    The name is torch's. You may remove a hook twice.
    """

    __slots__ = ("_remove",)

    def __init__(self, remove: Callable[[], None]) -> None:
        self._remove: Callable[[], None] | None = remove

    @classmethod
    def of(cls, hooks: list[Any], hook: Any) -> RemovableHandle:
        """Append a hook to a list, and return the handle that removes it."""
        hooks.append(hook)
        return cls(lambda: hooks.remove(hook) if hook in hooks else None)

    def remove(self) -> None:
        """Remove the hook."""
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

    def __init__(self, t: Any) -> None:
        self.ref = ref(t)  # a strong reference would make a cycle of the Tensor and its hook

    def __call__(self, gradient: Any) -> None:
        t = self.ref()
        if t is not None:
            t.grad = gradient if t.grad is None else t.grad + gradient


# ---- the end of a backward pass


class _Pass(threading.local):
    callbacks: list[Callback] | None = None


running = _Pass()
"""The callbacks for the end of the `Tensor.backward` that runs in this thread; None if none runs."""


def when_backward_ends(callback: Callback) -> bool:
    """Call `callback` once, when the `Tensor.backward` that runs now has all gradients.

    Parameters
    ----------
    callback : callable
        It gets a dict from each leaf to its gradient, which is an array (with ``create_graph`` a Tensor). It may change
        the gradients in the dict. When it returns, the gradients in the dict are added to `Tensor.grad`. torch calls
        this ``queue_callback``.

    Returns
    -------
    bool
        Whether the callback is registered. It is False outside the hooks of a `Tensor.backward`. `mr.grad` does not
        call callbacks, because it does not change `Tensor.grad`.
    """
    if running.callbacks is None:
        return False
    running.callbacks.append(callback)
    return True

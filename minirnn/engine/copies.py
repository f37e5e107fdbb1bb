"""Copies and pickles of Tensors: new leaves with the same values, dtype, device and `requires_grad`.

A copy shares no memory with its original. Values are copied through the host, so you can pickle a Tensor of any device,
for example to send it to a worker process. Only open pickles that you trust, because opening one runs its code. For
files, use `minirnn.io.checkpoint`. DLPack shares the memory with another library.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, TypeVar

import numpy as np

from minirnn.devices.base import Array, Device
from minirnn.engine.tensor import Tensor, next_seq

Kind = TypeVar("Kind", bound=Tensor)


def new_leaf(kind: type[Kind], device: Device, array: Array, requires_grad: bool) -> Kind:
    """A leaf of the class `kind`, Tensor or one derived from it, around an array of `device`."""
    t = object.__new__(kind)
    t.array = array
    t.device = device
    t._grad = t.hooks = None
    t.op, t.parents, t._requires_grad = None, (), requires_grad
    t.seq = next_seq()
    return t


def _from_host(kind: type[Tensor], values: np.ndarray, device: Device, requires_grad: bool) -> Tensor:
    return new_leaf(kind, device, device.asarray(values), requires_grad)


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """For ``pickle`` and ``copy.copy``. The copy is a leaf without gradient, even if an op made the original."""
    if self.hooks:
        warnings.warn(
            f"a hook of a Tensor of shape {self.shape} is dropped: copies and pickles have no hooks", stacklevel=2
        )
    arguments = type(self), np.array(self.numpy()), self.device, self.requires_grad
    return _from_host, arguments, getattr(self, "__dict__", None) or None


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """For ``copy.deepcopy``. Returns a leaf with a copy of the gradient, without hooks.

    Raises RuntimeError if an op made this Tensor, because a copy would lose its history.
    """
    if self.op is not None:
        raise RuntimeError(
            f"deepcopy: a Tensor of shape {self.shape} was made by {self.op.name}\n"
            "  expected a leaf, that is, one that you created; detach() it first\n"
            "  likely a result of a module that is kept in one of its attributes"
        )
    twin = copied_leaf(self, memo)
    if self.grad is not None:
        twin.grad = copy.deepcopy(self.grad.detach(), memo)
    return twin


def copied_leaf(t: Kind, memo: dict[int, Any]) -> Kind:
    """A leaf with the class, values and attributes of `t`. It is stored in the `memo` of ``copy.deepcopy``."""
    twin = new_leaf(type(t), t.device, t.device.asarray(np.array(t.numpy())), t.requires_grad)
    memo[id(t)] = twin
    if vars_of := getattr(t, "__dict__", None):  # a class derived without __slots__ has a __dict__
        vars(twin).update(copy.deepcopy(vars_of, memo))
    return twin


def _dlpack(self: Tensor, *, max_version: tuple[int, int] | None = None, **kwargs: Any) -> Any:
    # The receiver shares the memory and must not write into it.
    _needs_host(self, "DLPack")
    if max_version is None:  # before version 1 the protocol cannot say "read-only", and NumPy would refuse
        return np.asarray(self.array).__dlpack__(**kwargs)
    return self.numpy().__dlpack__(max_version=max_version, **kwargs)


def _dlpack_device(self: Tensor) -> Any:
    _needs_host(self, "DLPack")
    return np.asarray(self.array).__dlpack_device__()


def _needs_host(self: Tensor, what: str) -> None:
    if not isinstance(self.array, (np.ndarray, np.generic)):
        raise BufferError(f"{what} works only on the cpu device\n  got a Tensor on {self.device}; use t.to('cpu')")


Tensor.__reduce_ex__ = _reduce  # type: ignore[method-assign, assignment]
Tensor.__deepcopy__ = _deepcopy  # type: ignore[attr-defined]
Tensor.__dlpack__ = _dlpack  # type: ignore[attr-defined]
Tensor.__dlpack_device__ = _dlpack_device  # type: ignore[attr-defined]

"""Functions of minirnn that a device of answers replaces: their work is above the contract of devices.

`replace_for` replaces them while such a device exists. The new function gets the old one, and passes everything that
belongs to another device, or that no answer covers, on to it.
"""

from __future__ import annotations

import importlib
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from minirnn import devices
from minirnn.engine import random
from minirnn.engine.tensor import Tensor, leaf
from minirnn.learn.mine.tasks import answered, has_answer
from minirnn.learn.mine.walked import go_back
from minirnn.ops.cudnn_rnn.dropout import random_bits
from minirnn.optim.optimizer import with_decay


def clip(
    original: Callable[..., float], op: str, owners: list[Tensor], gradients: list[Tensor], max_norm: float,
    norm_type: Any, *settings: Any,
) -> float:  # fmt: skip
    if gradients and norm_type == 2:
        found = answered(gradients[0].device, "clip_by_norm", [g.array for g in gradients], max_norm)
        if found is not NotImplemented:
            for p, new in zip(owners, found[0], strict=True):
                p.grad = leaf(p.device, new)
            return float(found[1])
    return original(op, owners, gradients, max_norm, norm_type, *settings)


def rmsprop(
    original: Callable[..., Tensor], rule: Any, p: Tensor, g: Tensor, memory: dict[str, Any], group: dict[str, Any]
) -> Tensor:
    if group["centered"] or not has_answer(p.device, "rmsprop"):
        return original(rule, p, g, memory, group)
    given = [t.array for t in with_decay(p, g, group)]
    given += [memory[name].array if name in memory else None for name in ("square_avg", "momentum_buffer")]
    settings = {name: group[name] for name in ("lr", "alpha", "eps", "momentum")}
    found = answered(p.device, "rmsprop", *given, **settings)
    if found is NotImplemented:
        return original(rule, p, g, memory, group)
    new, v, buffer = (leaf(p.device, a) for a in found)
    memory["step"] = memory.get("step", 0) + 1
    memory["square_avg"] = v
    if group["momentum"]:
        memory["momentum_buffer"] = buffer
    return new


def dropout_mask(
    original: Callable[..., Tensor], like: Tensor, shape: tuple[int, ...], dropout: float, stream: int, *seeds: int
) -> Tensor:
    device = like.device
    if dropout < 1 and has_answer(device, "dropout_mask"):
        u = device.asarray((random_bits(shape, stream, *seeds) / 2**32).astype(like.dtype))
        found = answered(device, "dropout_mask", u, dropout)
        if found is not NotImplemented:
            return leaf(device, found)
    return original(like, shape, dropout, stream, *seeds)


def all_reduce(original: Callable[..., np.ndarray], world: Any, array: Any, op: str = "sum") -> np.ndarray:
    device, array = devices.get(), np.asarray(array)
    if op != "sum" or world.size < 2 or not has_answer(device, "all_reduce"):
        return original(world, array, op)

    def pass_on(values: np.ndarray, count: int) -> np.ndarray:
        nothing = np.empty(0, values.dtype)
        parts, received = [nothing] * world.size, [nothing] * world.size
        parts[(world.rank + 1) % world.size] = np.ascontiguousarray(values).reshape(-1)
        received[world.rank - 1] = arrived = np.empty(count, values.dtype)
        world.communicator.start_exchange(parts, received)()
        return arrived

    if len(set(world.all_gather((array.shape, array.dtype)))) == 1:
        found = answered(device, "all_reduce", world.rank, world.size, array, pass_on)
        if found is not NotImplemented:
            return np.asarray(found)
    return original(world, array, op)


def lstm_start(original: Callable[..., None], model: Any) -> None:
    """The first weights of each layer and direction. The gates of the answer are i, ci, f, o."""
    original(model)
    H, named = model.hidden, dict(model.recurrent.named_parameters())
    device = model.embedding.weight.device
    if model.recurrent.proj_size or not has_answer(device, "lstm_start"):
        return
    for name, W in named.items():
        if not name.startswith("weight_ih"):
            continue
        rng = random.generator()
        uniform, normal = rng.random((W.shape[1], 4 * H)), rng.standard_normal((4, H, H))
        found = answered(device, "lstm_start", *[device.asarray(a.astype(W.dtype)) for a in (uniform, normal)])
        if found is NotImplemented:
            continue
        kernel, recurrent, bias = (device.to_numpy(a) for a in found)
        for part, values in (("weight_ih", kernel.T), ("weight_hh", recurrent.T), ("bias_ih", bias)):
            i, ci, f, o = np.split(values, 4)
            named[name.replace("weight_ih", part)].assign(np.concatenate([i, f, ci, o]))
        b_hh = named[name.replace("weight_ih", "bias_hh")]
        b_hh.assign(np.zeros_like(b_hh.numpy()))


REPLACED: dict[str, Callable[..., Any]] = {
    "engine.backward:go_back": go_back,
    "nn.utils.clip_grad:_clip": clip,
    "optim.rmsprop:RMSprop.updated": rmsprop,
    "ops.cudnn_rnn.dropout:mask_like": dropout_mask,
    "nn.regularization:mask_like": dropout_mask,
    "parallel.world:World.all_reduce": all_reduce,
    "train.model:CharModel._open_forget_gates": lstm_start,
}
"""Maps the name of a function of minirnn to the one that takes its place."""
_lock = threading.RLock()
_devices = 0
_originals: dict[str, Any] = {}


def replace_for(device: Any) -> None:
    """Replace the functions of `REPLACED` until neither this device nor another one of answers exists."""
    global _devices
    with _lock:
        if not _devices:
            for name, function in REPLACED.items():
                owner, attribute = place(name)
                _originals[name] = getattr(owner, attribute)
                setattr(owner, attribute, instead_of(_originals[name], function))
        _devices += 1
    weakref.finalize(device, put_back).atexit = False


def put_back() -> None:
    """Restore minirnn's functions if no device of answers is left."""
    global _devices
    with _lock:
        _devices -= 1
        if not _devices:
            for name, original in _originals.items():
                setattr(*place(name), original)


def place(name: str) -> tuple[Any, str]:
    """The module or class that has the function, and the attribute."""
    module, _, path = name.partition(":")
    owner: Any = importlib.import_module(f"minirnn.{module}")
    *classes, attribute = path.split(".")
    for one in classes:
        owner = getattr(owner, one)
    return owner, attribute


def instead_of(original: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(original, *args, **kwargs)

    return call

"""A wrong call must say what it got and what was expected, and change nothing."""

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.engine import random
from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor


@dataclass(frozen=True)
class Wrong:
    """One row of a table: a call, and what its message must say."""

    title: str
    says: tuple[str, ...]
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    error: tuple[type[Exception], ...] = (ValueError, TypeError)


def check(row: Wrong) -> None:
    """Make the call three times; raise AssertionError unless it behaves."""
    arguments = [getattr(row.function, "__self__", None), row.args, row.kwargs]
    before = (snapshot(arguments), surroundings())
    messages = set()
    for _ in range(3):  # an odd number, because a switch that is toggled twice would look unchanged
        try:
            row.function(*row.args, **row.kwargs)
        except Exception as error:
            caught: Exception = error
        else:
            raise AssertionError(f"{row.title}: nothing was raised")
        assert isinstance(caught, row.error), f"{row.title}: {type(caught).__name__}: {caught}"
        messages.add(str(caught))
    message = messages.pop()
    assert not messages, f"{row.title}: the second call says something else: {messages}\n  than the first: {message}"
    for words in row.says:
        assert words in message, f"{row.title}: not a word of {words!r} in\n{message}"
    assert "expected" in message or "\n  known: " in message, (
        f"{row.title}: not a word of what was expected in\n{message}"
    )
    assert len(message.splitlines()) <= 4, f"{row.title}: a message of {len(message.splitlines())} lines\n{message}"
    assert len(message) < 1500, f"{row.title}: a message of {len(message)} characters\n{message[:300]}"
    assert snapshot(arguments) == before[0], f"{row.title}: an argument was changed"
    changes = [name for name, value in surroundings().items() if value != before[1][name]]
    assert not changes, f"{row.title}: changed {', '.join(changes)}"


def check_all(rows: Sequence[Wrong]) -> None:
    """Check each row; raise one AssertionError with all complaints."""
    complaints = []
    for row in rows:
        try:
            check(row)
        except AssertionError as complaint:
            complaints.append(str(complaint))
    assert not complaints, "\n\n".join(complaints)


mr.devices.available()  # reads the entry points, which the message of a first wrong call would do


def surroundings() -> dict[str, Any]:
    """Everything that a call could change although it is not an argument."""
    return {
        "recording": mode.enabled,
        "open figures": len(pyplot.get_fignums()) if (pyplot := sys.modules.get("matplotlib.pyplot")) else 0,
        "default device": mr.devices.get().name,
        "registered devices": tuple(mr.devices.registry._factories),
        "random state": pickle.dumps(random.generator().bit_generator.state),
        "NumPy's global random state": pickle.dumps(np.random.get_state()),
        "numpy's error handling": np.geterr(),
    }


def snapshot(value: Any, depth: int = 0) -> Any:
    """Everything that could change about an argument, comparable with ==."""
    if depth > 6:
        return id(value)
    deeper = depth + 1
    if isinstance(value, Tensor):
        array = value.array
        arrays = [value.device.to_numpy(a).tobytes() for a in (array if isinstance(array, tuple) else (array,))]
        hooks = None if value.hooks is None else len(value.hooks)
        grad = None if value.grad is None else (id(value.grad), snapshot(value.grad, deeper))
        parents = tuple(map(id, value.parents))
        return (id(value.array), arrays, value.requires_grad, value.seq, id(value.op), parents, hooks, grad)
    if isinstance(value, np.ndarray) and value.size > 100_000:
        return (id(value), value.sum())
    if isinstance(value, np.ndarray):
        contents = value.tobytes() if value.dtype != object else repr(value)
        return (value.shape, str(value.dtype), contents, value.flags.writeable)
    if isinstance(value, np.random.Generator):
        return pickle.dumps(value.bit_generator.state)
    if isinstance(value, (list, dict)) and len(value) > 1000:
        return (id(value), len(value), hash(tuple(map(id, value))))
    if isinstance(value, Mapping):
        return [(repr(k), snapshot(v, deeper)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [snapshot(v, deeper) for v in value]
    if isinstance(value, mr.nn.Module | mr.optim.Optimizer | mr.optim.lr_scheduler.LRScheduler | mr.data.CharBatches):
        return [(name, snapshot(v, deeper)) for name, v in sorted(vars(value).items())]
    return (type(value).__name__, id(value))


# ---- arguments of the tables


def array(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Values of order 1, the same for the same shape."""
    size = int(np.prod(shape))
    return (np.sin(np.arange(1, size + 1)) / 2).astype(dtype).reshape(shape)


def tensor(*shape: int, dtype: Any = np.float32, device: str = "cpu", requires_grad: bool = True) -> Tensor:
    requires_grad = requires_grad and np.dtype(dtype).kind == "f"
    return mr.tensor(array(*shape, dtype=dtype), requires_grad=requires_grad, device=device)

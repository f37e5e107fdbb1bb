"""The row of an op in `tests/ops/table.py`: its calls, and what each must give, from which all tests are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from minirnn import ops


@dataclass(frozen=True)
class In:
    """An input that is drawn: all elements differ, are at least a twentieth of the range apart from each other, and at
    least 0.1 away from 0 if `away`.
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    away: bool = False
    kind: str = ""  # of its dtype, if it is always the same: "b" for a condition

    def draw(self, rng: np.random.Generator, dtype: Any = np.float64) -> np.ndarray:
        dtype = np.dtype({"b": bool, "i": np.int64}.get(self.kind, dtype))
        n = int(np.prod(self.shape, dtype=int))
        if dtype.kind in "biu":
            low, high = (0, 2) if dtype.kind == "b" else (max(int(self.low), 0) if dtype.kind == "u" else self.low, 9)
            x = rng.integers(int(low), int(high), n)
            x = np.where((x == 0) & (self.away), 1, x)
        else:
            x = self.low + (self.high - self.low) * (rng.permutation(n) + rng.uniform(0.3, 0.7, n)) / max(n, 1)
            x = np.where(x < 0, x - 0.1, x + 0.1) if self.away else x
        return np.asarray(x.reshape(self.shape).astype(dtype))


class Call:
    """The arguments of a call, in which each `In` is drawn."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs

    def __str__(self) -> str:
        said = [str(getattr(a, "shape", a)) for a in self.args] + [f"{k}={v}" for k, v in self.kwargs.items()]
        return ", ".join(said)[:150]

    def ins(self) -> list[In]:
        found: list[In] = []
        self.filled(lambda one: found.append(one))
        return found

    def filled(self, value: Callable[[In], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with a value for each `In`."""

        def of(a: Any) -> Any:
            return value(a) if isinstance(a, In) else type(a)(map(of, a)) if type(a) in (list, tuple) else a

        return tuple(map(of, self.args)), {k: of(v) for k, v in self.kwargs.items()}

    def given(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        left = iter(values)
        return self.filled(lambda _: next(left))

    def asked(self) -> np.dtype[Any] | None:
        """The dtype that the call asks for."""
        named = [
            a
            for a in (*self.args, *self.kwargs.values())
            if a is np.float64 or isinstance(a, str) and a.startswith("float")
        ]
        return np.dtype(named[0]) if named else None

    def without(self, size: int) -> Call:
        """The call with 0 for a size, wherever it occurs: all sizes are different."""
        args, kwargs = self.filled(lambda a: replace(a, shape=tuple(0 if n == size else n for n in a.shape)))
        return Call(*args, **kwargs)


@dataclass(frozen=True)
class Corner:
    """A call with given arrays, its value, and the gradients of the sum of its values (or None)."""

    args: tuple[Any, ...]
    value: Any
    gradients: tuple[Any, ...] | None = None


def corner(args: Any, value: Any, *gradients: Any) -> Corner:
    return Corner(args if isinstance(args, tuple) else (args,), value, gradients or None)


@dataclass(frozen=True)
class Op:
    """One op. `numpy` takes the arguments of the op, as arrays of float64, integers or bools."""

    name: str
    numpy: Callable[..., Any]
    calls: Sequence[Call]
    dtypes: str = "f"  # the kinds float, integer, bool; all others are refused, unless there is a "?"
    whole: str = "numpy"  # the dtype that integers and bools become: NumPy's, or its name
    order: int = 2  # the highest derivative that differs from 0; 0: no gradient; -1: a gradient of zeros
    roundings: int = 1  # on the longest path from an input to a value
    names: str = ""  # other functions and methods that are this one
    sign: str = ""  # its operator
    corners: tuple[Corner, ...] = ()
    wrong: str = ""  # calls and the words of their messages, as in tests/hostile/table.py

    @property
    def plain(self) -> str:
        """The dtype of most tests."""
        return "float64" if "f" in self.dtypes else "int64"

    @property
    def function(self) -> Any:
        return getattr(ops, self.name)

    def __str__(self) -> str:
        return self.name

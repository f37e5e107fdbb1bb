"""A device that wraps another one and counts: calls, operations, bytes, launches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np

from minirnn.devices import registry
from minirnn.devices.base import KERNELS, OPTIONAL, PRIMITIVES, Device
from minirnn.devices.counting.operations import KERNEL_COSTS, VIEWS, of_primitive
from minirnn.devices.operators import Operators

PLAIN_RESULTS = ("to_numpy",)
"""Methods that return no array of the device."""


@dataclass
class Count:
    """The counts of one primitive or kernel in one section.

    Attributes
    ----------
    calls : int
    flops : int
        Additions, multiplications, divisions, comparisons.
    functions : int
        exp, log, sqrt, tanh, powers.
    bytes : int
        Sizes of the arrays that a call gets and returns; each counts once. Views do not count.
    launches : int
        Kernels launched, products included; on a device without launches one for each call that computes.
    """

    calls: int = 0
    flops: int = 0
    functions: int = 0
    bytes: int = 0
    launches: int = 0


class CountedArray(Operators):
    """An array of the wrapped device, whose operators count, because the tape adds gradients with ``+``."""

    __slots__ = ("array", "device")

    def __init__(self, device: Counting, array: Any) -> None:
        self.device, self.array = device, array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return len(self.array.shape)


class _Forwarded:
    """Every primitive and kernel of the contract, passed on by `Counting.forward`."""


def _forwarded(name: str) -> Any:
    def method(self: Counting, *args: Any, **kwargs: Any) -> Any:
        return self.forward(name, args, kwargs)

    method.__name__ = name
    return method


for _name in (*PRIMITIVES, *OPTIONAL, *KERNELS):
    setattr(_Forwarded, _name, _forwarded(_name))


class Counting(_Forwarded, Device):
    """Counts the work of `inner`, and returns exactly its results.

    Parameters
    ----------
    inner : Device or str
        The device that does the work.

    Attributes
    ----------
    counts : dict
        Maps a section and a primitive or kernel to its `Count` as a dict of plain numbers.

    Examples
    --------
    >>> import numpy as np, minirnn as mr
    >>> from minirnn.devices.counting import Counting
    >>> device = Counting("cpu")
    >>> x = mr.tensor(np.ones((2, 3)), requires_grad=True, device=device)
    >>> with device.section("forward"):
    ...     loss = (x @ np.ones((3, 4))).sum()
    >>> device.counts["forward"]["matmul"]["flops"]  # 2 * 2 * 3 * 4
    48
    """

    name = "counting"

    def __init__(self, inner: Device | str = "cpu") -> None:
        super().__init__()
        self.inner = registry.get(inner)
        self.kernels = self.inner.kernels  # type: ignore[misc]
        self.half_kernels = self.inner.half_kernels  # type: ignore[misc]
        self._section = ""
        self._counts: defaultdict[str, defaultdict[str, Count]] = defaultdict(lambda: defaultdict(Count))

    def __reduce__(self) -> tuple[Any, ...]:
        return Counting, (self.inner,)

    def runs_plan(self, plan: Any) -> bool:
        return self.inner.runs_plan(plan)

    def synchronize(self) -> None:
        self.inner.synchronize()

    def end_of_backward(self) -> None:
        self.inner.end_of_backward()

    def reset(self) -> None:
        """Forget all counts."""
        self._counts.clear()
        self.fallbacks.clear()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Count under `name` what happens inside the ``with`` block."""
        before, self._section = self._section, name
        try:
            yield
        finally:
            self._section = before

    @property
    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        return {s: {name: asdict(c) for name, c in names.items()} for s, names in self._counts.items()}

    def total(self, section: str | None = None) -> Count:
        """The sum over all primitives and kernels, of one section or of all."""
        sections = self._counts.values() if section is None else [self._counts[section]]
        chosen = [asdict(c) for names in sections for c in names.values()]
        return Count(**{field: sum(c[field] for c in chosen) for field in asdict(Count())})

    def report(self) -> str:
        """A table: one line for each primitive and kernel, most operations first; a sum for each section."""
        lines = [f"{'':<24}{'calls':>8}{'flops':>16}{'functions':>13}{'bytes':>16}{'launches':>10}"]
        for section, names in self._counts.items():
            lines.append(section or "all" if len(self._counts) > 1 or section else "")
            rows = sorted(names.items(), key=lambda item: (-item[1].flops, -item[1].bytes))
            for name, c in [*rows, ("sum", self.total(section))]:
                numbers = f"{c.calls:>8,}{c.flops:>16,}{c.functions:>13,}{c.bytes:>16,}{c.launches:>10,}"
                lines.append(f"  {name:<22}{numbers}")
        return "\n".join(line for line in lines if line)

    # ---- the work

    def forward(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call `name` of the inner device, and count it."""
        before = self._launched()
        result = getattr(self.inner, name)(*mapped(unwrapped, args), **mapped(unwrapped, kwargs))
        self._count(name, args, kwargs, result, self._launched() - before)
        return result if name in PLAIN_RESULTS else mapped(self._wrapped, result)

    def _wrapped(self, leaf: Any) -> CountedArray | None:
        return None if leaf is None else CountedArray(self, leaf)

    def _launched(self) -> int:
        driver = getattr(self.inner, "driver", None)
        return driver.launches if driver is not None else 0

    def _count(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, launches: int) -> None:
        inputs, outputs = [a for a in arrays_in((args, kwargs)) if isinstance(a, CountedArray)], arrays_in(result)
        count = self._counts[self._section][name]
        count.calls += 1
        if name in VIEWS or (name == "getitem" and _is_view(args[1])):
            count.launches += launches
            return
        count.bytes += sum(nbytes(a) for a in (*inputs, *outputs))
        count.launches += launches if hasattr(self.inner, "driver") else 1
        if name in KERNELS:
            flops, functions = KERNEL_COSTS[name](*mapped(shape_of, args), **kwargs)
        else:
            operands = [tuple(a.shape) for a in inputs]
            flops, functions = of_primitive(name, operands, tuple(outputs[0].shape) if outputs else ())
        count.flops += flops
        count.functions += functions


def mapped(of: Callable[[Any], Any], value: Any) -> Any:
    """Nested lists, tuples, named tuples and dicts with ``of(leaf)`` for each of their leaves."""
    if isinstance(value, dict):
        return {k: mapped(of, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        values = [mapped(of, v) for v in value]
        return type(value)(*values) if hasattr(value, "_fields") else type(value)(values)
    return of(value)


def unwrapped(value: Any) -> Any:
    """A leaf, or the wrapped device's own array in it."""
    return value.array if isinstance(value, CountedArray) else value


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an array, None for every other leaf."""
    return value.shape if isinstance(value, CountedArray) else None


def arrays_in(value: Any) -> list[Any]:
    """The arrays among the leaves of nested lists, tuples and dicts."""
    found: list[Any] = []
    mapped(found.append, value)
    return [leaf for leaf in found if hasattr(leaf, "shape")]


def nbytes(a: Any) -> int:
    return prod(a.shape) * np.dtype(a.dtype).itemsize


def _is_view(index: tuple[Any, ...]) -> bool:
    return not any(isinstance(k, np.ndarray) for k in index)

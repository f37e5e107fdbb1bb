"""The launches of a CUDA device, caught on their way to the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Launch:
    """One launch, which can be repeated."""

    kernel: Any
    args: tuple[Any, ...]
    sizes: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.kernel.name)

    def again(self) -> None:
        self.kernel(*self.args, **self.sizes)

    @property
    def nbytes(self) -> int:
        """The bytes of all its arrays, each of which is read once or written once."""
        return sum(getattr(a, "nbytes", 0) for a in self.args if hasattr(a, "ptr"))


@contextmanager
def launching(device: Any, launch: Callable[[Any, tuple[Any, ...], dict[str, Any]], None]) -> Iterator[None]:
    """Inside the block, ``launch(kernel, args, sizes)`` is called instead of every kernel of the device."""
    kernel_of = device.kernel_of

    def caught(*which: Any, **chosen: Any) -> Any:
        kernel = kernel_of(*which, **chosen)

        def call(*args: Any, **sizes: Any) -> None:
            launch(kernel, args, sizes)

        call.name = kernel.name  # type: ignore[attr-defined]
        call.max_resident_blocks = kernel.max_resident_blocks  # type: ignore[attr-defined]
        return call

    device.kernel_of = caught
    try:
        yield
    finally:
        del device.kernel_of


@contextmanager
def recorded(device: Any) -> Iterator[list[Launch]]:
    """Inside the block, launches are recorded as they happen."""
    launches: list[Launch] = []

    def launch(*about: Any) -> None:
        launches.append(Launch(*about))
        launches[-1].again()

    with launching(device, launch):
        yield launches

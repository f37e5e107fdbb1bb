"""The conditions of a grade: versions, course, seed, machine, and missing protection."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Stamp:
    """The conditions of a grade, so that it can be reproduced.

    Attributes
    ----------
    minirnn, python, numpy : str
        Versions.
    machine : str
        System and processor.
    course : str
        A hash of the course without its hidden seed.
    seed : str
        A slow hash of the hidden seed. Students must not see it, because a short seed can be found by trying all.
    locks : str
        The locks that were in force around an answer.
    lacks : tuple of str
        The protections around an answer that this machine lacks.
    """

    minirnn: str
    python: str
    numpy: str
    machine: str
    course: str
    seed: str = ""
    lacks: tuple[str, ...] = ()
    locks: str = ""

    def line(self) -> str:
        """Everything that students may see, on one line."""
        parts = [f"minirnn {self.minirnn}", f"Python {self.python}", f"NumPy {self.numpy}", self.machine]
        locks = [f"locks: {self.locks}"] if self.locks else []
        return ", ".join([*parts, f"course {self.course}", *locks])

    def full(self) -> str:
        """The same, with the parts that only teachers may see."""
        lacks = f", without: {'; '.join(self.lacks)}" if self.lacks else ""
        return f"{self.line()}, seed {self.seed}{lacks}"

    def fields(self) -> dict[str, Any]:
        """The same as JSON types."""
        return {**asdict(self), "lacks": list(self.lacks)}

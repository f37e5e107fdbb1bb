"""The definition of an exercise: a function or CUDA kernel to write, inputs to try it on, and expected outputs."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """The axis sizes of a case: time steps, batch, inputs, units. They differ, so that no two axes can be confused."""

    T: int = 4
    B: int = 2
    I: int = 3
    H: int = 5


PUBLIC = Sizes()
PUBLIC_CASES = ((0, PUBLIC), (1, Sizes(T=3, B=3, I=4, H=2)))
"""Seed and sizes of the cases that students see."""
HIDDEN = (Sizes(T=6, B=3, I=5, H=2), Sizes(T=3, B=4, I=2, H=7), Sizes(T=5, B=1, I=4, H=3))
"""Sizes of the cases that only grading knows."""


@dataclass(frozen=True)
class Wrong:
    """A typical mistake: its name in words, and a function that makes it."""

    sentence: str
    function: Callable[..., Any]


@dataclass(frozen=True)
class Slip:
    """A mistake as a change of the solution's text: its name, the changes, and a piece of its diagnosis.

    It is for mistakes that cannot be written as functions: in CUDA kernels, and where more than numbers is judged.
    """

    sentence: str
    changes: tuple[tuple[str, str], ...]
    said: str = ""


@dataclass(frozen=True)
class Stage:
    """A simpler case than the full one: its sizes and inputs, and where to look if it is the first to fail."""

    name: str
    look: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    change: Callable[[Inputs], Inputs] = lambda inputs: inputs


@dataclass(frozen=True)
class Exercise:
    """An exercise whose answer is a Python function of arrays.

    Attributes
    ----------
    path : str
        The file below ``exercises/``; its name begins with the exercise's id, such as ``ex07``.
    make : callable
        ``(rng, Sizes) -> inputs`` by name: arrays, numbers, lists, and functions that the answer may call.
    reference : callable
        Computes what is expected; its source is the solution, its name the one to define.
    outputs : dict
        Name -> shape in axis letters of what is returned, in order.
    wrong : tuple of Wrong
        Typical mistakes that are not a change of one term.
    stages : tuple of Stage
        From the simplest case to the full one.
    gates : int
        The number of gates along an axis of the weights, used to name a wrong order.
    slips : tuple of Slip
        Mistakes that `minirnn course verify` makes in the solution: none may pass.
    name : str
        The id of a teacher's own exercise; minirnn's have theirs in the name of the file.
    tolerance : float
        The largest relative error of an output; 0 for that of all exercises of the kind (`judge.TOLERANCE`).
    never : str
        A regular expression for NumPy's warnings about what the statement forbids. Outputs that such a line can change
        are wrong.
    training : str
        A second function of the answer, whose result is judged by what it predicts; empty if there is none.
    broken : callable
        ``(inputs, right) -> str``: what the answer did that the statement forbids although the outputs `right` are, as
        the functions among its inputs know. All outputs are wrong then. Empty if it did nothing of the kind.
    """

    path: str
    make: Callable[[np.random.Generator, Sizes], Inputs]
    reference: Callable[..., Any]
    outputs: Mapping[str, str]
    wrong: tuple[Wrong, ...] = ()
    stages: tuple[Stage, ...] = ()
    gates: int = 1
    kind: str = "python"
    slips: tuple[Slip, ...] = ()
    name: str = ""
    tolerance: float = 0.0
    never: str = ""
    training: str = ""
    broken: Callable[[Inputs, Sequence[str]], str] = lambda inputs, right: ""

    @property
    def id(self) -> str:
        return self.name or self.path.partition("/")[2].partition("_")[0]

    @property
    def number(self) -> int:
        """A number for the seeds that is unique to the exercise: the one in the id, or one made from the id."""
        return int(self.id[2:]) if re.fullmatch(r"ex\d+", self.id) else zlib.crc32(self.id.encode())

    @property
    def judged(self) -> tuple[str, ...]:
        """The names of everything that has points: the outputs, and other criteria."""
        return (*self.outputs, "bits") if self.training else tuple(self.outputs)

    @property
    def hidden_sizes(self) -> tuple[Sizes, ...]:
        """Sizes of the hidden cases. A test chooses its own, and meets all in one case."""
        return HIDDEN[:1] if self.kind == "tester" else HIDDEN

    @property
    def function(self) -> str:
        return self.reference.__name__

    def case(self, seed: Sequence[int], sizes: Sizes = PUBLIC, stage: Stage | None = None) -> Inputs:
        """The inputs of a case, or of one of its simpler stages. Equal seeds give equal inputs."""
        sizes = sizes if stage is None else replace(sizes, **stage.sizes)
        inputs = self.make(np.random.default_rng([self.number, *seed]), sizes)
        return inputs if stage is None else stage.change(inputs)

    def expected(self, inputs: Inputs) -> dict[str, Any]:
        """What the reference returns for `inputs`, by name."""
        return self.named(self.reference(**inputs))

    def named(self, results: Any) -> dict[str, Any]:
        """The values that a function returned, by the names of the outputs."""
        return dict(zip(self.outputs, results if len(self.outputs) > 1 else (results,), strict=True))

    @property
    def language(self) -> str:
        return "CUDA C++" if self.path.endswith(".cu") else "Python"


@dataclass(frozen=True)
class Count:
    """A quantity that the simulator counts, and the most that an exercise allows."""

    name: str
    measure: str
    """``reads``: numbers read from device memory; ``thread``: the most that one thread reads; ``sectors``: 32-byte
    sectors moved; ``idle``: blocks that store nothing."""
    most: Callable[[Inputs], int]
    look: str
    given: Callable[[Inputs], int] | None = None
    """What the kernel that students are given needs, if its numbers are right. Numbers alone then earn nothing."""


@dataclass(frozen=True)
class CudaExercise(Exercise):
    """An exercise whose answer is a CUDA kernel; its arguments are the inputs in their order.

    Attributes
    ----------
    launch : callable
        ``inputs -> (grid, block)``.
    counts : tuple of Count
        What the simulator counts in the first case, and how much of it is allowed.
    """

    kind: str = "cuda"
    launch: Callable[[Inputs], tuple[tuple[int, ...], tuple[int, ...]]] = lambda inputs: ((1,), (32,))
    counts: tuple[Count, ...] = ()

    @property
    def judged(self) -> tuple[str, ...]:
        return *self.outputs, *(count.name for count in self.counts)

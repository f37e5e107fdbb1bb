"""The sizes of a recurrent layer, as the rungs of the ladder use them."""

from __future__ import annotations

from dataclasses import dataclass

from minirnn.cells.plan import Plan


@dataclass(frozen=True)
class Sizes:
    """One layer of a cell: the axes T B H P D, and the bytes of a number that kernels compute with."""

    plan: Plan
    T: int
    B: int
    H: int
    P: int
    D: int
    itemsize: int

    @property
    def rows_of_W(self) -> int:
        """The gates that have rows of W."""
        return self.plan.of_both + self.plan.of_x

    @property
    def G(self) -> int:
        """The gates that have rows of R."""
        return self.plan.of_both + self.plan.of_h

    @property
    def coupled(self) -> bool:
        """Whether units read each other: through R, inside the step, or through a projection."""
        return bool(self.G or self.plan.cuts or self.plan.projected or self.P != self.H)

    @property
    def columns(self) -> int:
        """The gradients of the pre-activations of a unit: one per gate, those of gates of only h first."""
        return len(self.plan.gate_names)

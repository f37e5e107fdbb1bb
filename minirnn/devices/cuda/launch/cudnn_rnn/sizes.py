"""The sizes of a CudnnRNN layer, as the rungs of the ladder use them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gates:
    """The number of gates of each kind in a cell, in the order of `minirnn/devices/cells/form.h`."""

    of_both: int
    of_x: int = 0
    of_h: int = 0

    @property
    def rows_of_W(self) -> int:
        return self.of_both + self.of_x

    @property
    def rows_of_R(self) -> int:
        return self.of_both + self.of_h

    @property
    def columns(self) -> int:
        return self.of_both + self.of_x + self.of_h

    @property
    def apart(self) -> bool:
        """Whether a gate has a part of only x, or of only h, so that the two products are not simply added."""
        return self.of_x + self.of_h > 0


KINDS = {"rnn_relu": Gates(1), "rnn_tanh": Gates(1), "gru": Gates(2, 1, 1), "lstm": Gates(4)}
GATES = {mode: gates.rows_of_W for mode, gates in KINDS.items()}
"""Number of gates. Row order: lstm i, f, n, o; gru r, z, n."""


@dataclass(frozen=True)
class Sizes:
    """One layer: the axes T B H P D, and the bytes of a number that kernels compute with (float16: as float32)."""

    mode: str
    T: int
    B: int
    H: int
    P: int
    D: int
    itemsize: int
    own: Gates | None = None
    """The gates of a custom cell."""

    @property
    def gates(self) -> Gates:
        return self.own or KINDS[self.mode]

    @property
    def G(self) -> int:
        """The number of gates that have rows of R."""
        return self.gates.rows_of_R

    @property
    def columns(self) -> int:
        """The gradients of the pre-activations of a unit: for gru those of q, r, z and n, otherwise one per gate."""
        return self.gates.columns

"""The sizes of a CudnnRNN layer, as the rungs of the ladder take them."""

from __future__ import annotations

from dataclasses import dataclass

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
"""Number G of gates. Row order: lstm i, f, n, o; gru r, z, n."""


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

    @property
    def G(self) -> int:
        """The number of gates."""
        return GATES[self.mode]

    @property
    def columns(self) -> int:
        """The gradients of the pre-activations of a unit: for gru those of q, r, z and n, else one per gate."""
        return 4 if self.mode == "gru" else self.G

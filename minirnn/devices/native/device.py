"""The `native` device: NumPy arrays, and kernels in C++ where they are faster than NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cpu.device import CPU
from minirnn.devices.native import cudnn_rnn, gru_block, library, lstm_block


class Native(CPU, kernels_in=(cudnn_rnn, lstm_block, gru_block)):
    """The device `cpu` with the recurrent kernels compiled for this processor.

    Everything that is not worth it stays as the cpu device has it: elementwise primitives, reductions, zoneout, Adam.

    Raises
    ------
    DeviceUnavailable
        If there is no C++ compiler, or it does not compile the kernels; the text says what to do.
    """

    name = "native"

    def __init__(self) -> None:
        super().__init__()
        self.library = library.load()

    def function(self, name: str, dtype: np.dtype) -> Any:
        """The kernel `name` for arrays of `dtype`, float32 or float64."""
        return getattr(self.library, f"{name}_{'float' if dtype == np.float32 else 'double'}")

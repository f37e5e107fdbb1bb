"""The devices `cuda` and `cuda-sim`: one class over two drivers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from minirnn.devices.cuda.driver import Driver, Kernel
from minirnn.devices.cuda.launch import gru_block
from minirnn.devices.cuda.launch.cudnn_rnn import sequence as cudnn_rnn_sequence
from minirnn.devices.cuda.launch.cudnn_rnn.choice import rung_from_environment
from minirnn.devices.cuda.launch.lstm_block import cell
from minirnn.devices.cuda.launch.lstm_block import sequence as lstm_sequence
from minirnn.devices.cuda.launch.sources import options, text
from minirnn.devices.cuda.primitives import Primitives
from minirnn.devices.cuda.recordings import Recordings


class Cuda(Primitives, kernels_in=(cell, lstm_sequence, gru_block, cudnn_rnn_sequence)):
    """A CUDA device. Its arrays are `CudaArray`, its kernels the files of `kernels/`.

    Parameters
    ----------
    driver : Driver
        A GPU (`pycuda_driver.PyCudaDriver`) or the simulator (`sim.driver.SimDriver`).
    name : str, optional
        What users call it; by default the driver's name, "cuda" or "cuda-sim".

    Attributes
    ----------
    cudnn_rnn_rung : str or None
        The rung of the CudnnRNN ladder to take where it can be had (`launch/cudnn_rnn/choice.py`); at first what
        ``MINIRNN_CUDNN_RNN`` says. None: as sizes and device suggest.
    rungs : collections.Counter
        How often a layer was computed by which rung: ``"steps forward"``, ``"persistent backward"``, ...
    recordings : Recordings
        Loops over time that came again, as single launches, if ``recordings.enabled`` (``MINIRNN_CUDA_GRAPHS=1``).
    """

    name = "cuda"

    def __init__(self, driver: Driver, name: str | None = None) -> None:
        super().__init__()
        self.driver = driver
        self.name = name or driver.name  # type: ignore[misc]
        self.cudnn_rnn_rung = rung_from_environment(driver.limits.simulated)
        self.rungs: Counter[str] = Counter()
        self.recordings = Recordings(driver)
        self._compiled: dict[tuple[Any, ...], Kernel] = {}

    def kernel_of(
        self,
        file: str,
        kernel: str,
        dtype: np.dtype,
        source: np.dtype | None = None,
        constants: tuple[str, ...] = (),
    ) -> Kernel:
        """The `kernel` of ``kernels/<file>``, compiled for elements of `dtype`, when it is first asked for.

        `constants` are more options of the compiler: ``-DNAME=VALUE``.
        """
        key = file, kernel, dtype, source, constants
        found = self._compiled.get(key)
        if found is None:
            module = self.driver.module(text(file), file, (*options(dtype, source), *constants))
            found = self._compiled[key] = module.function(kernel)
        return found

    def synchronize(self) -> None:
        self.driver.synchronize()

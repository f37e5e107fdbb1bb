"""A simulated GPU with a clock that a test sets: each kernel, product and recording has its price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import Matrix
from minirnn.devices.cuda.launch.cudnn_rnn.timings import Timings
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions


class PricedDriver(SimDriver):
    """Says that it is no simulator, so its rungs are timed. A recording costs ``graph``, whatever is in it."""

    def __init__(self) -> None:
        super().__init__(SimOptions())
        self.limits = replace(self.limits, simulated=False, name="priced")
        self.about = {"gpu": "priced"}
        self.prices = {"step": 1.0, "persistent": 2.0, "cluster": 3.0, "tensor": 5.0, "graph": 4.0, "gemm": 0.0}
        self.now, self.timed = 0.0, 0
        self.seconds: Callable[[Callable[[], None]], float] | None = self._seconds

    def _seconds(self, work: Callable[[], None]) -> float:
        self.timed += 1
        before = self.now
        work()
        return self.now - before

    def spend(self, what: str) -> None:
        if not self.recording:
            self.now += next((price for name, price in self.prices.items() if name in what), 0.0)

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> Any:
        return PricedModule(self, super().module(source, name, options))

    def gemm(self, a: Matrix, b: Matrix, c: Matrix, beta: float = 0.0, batch: int = 1) -> None:
        super().gemm(a, b, c, beta, batch)
        self.spend("gemm")

    def record(self, work: Callable[[], None]) -> Any:
        return PricedRecording(self, super().record(work))


class PricedModule:
    def __init__(self, driver: PricedDriver, module: Any) -> None:
        self.driver, self.module = driver, module

    def function(self, name: str) -> PricedKernel:
        return PricedKernel(self.driver, self.module.function(name))


class PricedKernel:
    def __init__(self, driver: PricedDriver, kernel: Any) -> None:
        self.driver, self.kernel, self.name = driver, kernel, kernel.name
        self.max_resident_blocks = kernel.max_resident_blocks

    def __call__(self, *args: Any, **sizes: Any) -> None:
        self.kernel(*args, **sizes)
        self.driver.spend(self.name)


class PricedRecording:
    def __init__(self, driver: PricedDriver, recording: Any) -> None:
        self.driver, self.recording, self.close = driver, recording, recording.close

    def __call__(self) -> None:
        self.recording()
        self.driver.spend("graph")


def priced_device(folder: Path, **prices: float) -> Cuda:
    """A device whose timings are kept in that folder."""
    driver = PricedDriver()
    driver.prices.update(prices)
    device = Cuda(driver, "priced")
    device.cudnn_rnn_rung = None
    device.tuner.timings = Timings(driver.about, folder)
    return device

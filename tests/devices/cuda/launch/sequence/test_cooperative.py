"""Kernels whose blocks wait for each other are launched cooperatively, on a GPU or on the stand-in.

Tests `minirnn/devices/cuda/launch/sequence/one_launch.py` and `minirnn/devices/cuda/gpu/occupancy.py`.
"""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.gpu import driver as gpu
from minirnn.devices.cuda.launch.sequence import one_launch
from tests.devices.cuda.launch.sequence.ladder_cases import Case, assert_close, random_case

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(mr.devices.available()["cuda"] is not None, reason=mr.devices.available()["cuda"] or ""),
]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    device = mr.devices.get("cuda")
    monkeypatch.setattr(device, "cudnn_rnn_rung", "persistent")
    yield device


@pytest.fixture
def case(rng: np.random.Generator) -> Case:
    return random_case(rng, "lstm", T=3, B=2, I=3, H=9)


def test_both_passes_are_launched_cooperatively(device: Any, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    names, launch = [], gpu.LoadedTwice.launch

    def noted(self: Any, kernel: str, *more: Any) -> None:
        names.append(kernel)
        launch(self, kernel, *more)

    monkeypatch.setattr(gpu.LoadedTwice, "launch", noted)
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
    assert names == ["cell_persistent", "cell_persistent_grad"]


def test_launched_plainly_they_wait_in_vain(device: Any, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle GPU holds all blocks anyway; the stand-in guarantees only what CUDA promises."""
    if "tests.stand_in_gpu.machine" not in sys.modules:
        pytest.skip("a real GPU mostly runs them")
    kernel_of = Cuda.kernel_of

    def plain(*given: Any) -> Any:
        kernel = kernel_of(*given)

        def call(*args: Any, cooperative: bool = False, **more: Any) -> None:
            kernel(*args, **more)

        call.name, call.max_resident_blocks = kernel.name, kernel.max_resident_blocks  # type: ignore[attr-defined]
        return call

    monkeypatch.setattr(one_launch, "PATIENCE", 2000)
    monkeypatch.setattr(Cuda, "kernel_of", plain)
    with pytest.raises(LaunchError, match="lstm: cell_persistent .*gave up waiting for the messages of step 1"):
        case.run(device)

"""The lowest rung: threads that take several units, under all checks and in three orders of the threads.

Other sizes, and what other libraries give, are compared in `tests/ops/cudnn_rnn` and by `minirnn verify`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn import devices
from minirnn.devices.cuda.launch.primitives import elementwise
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import CHECKS, MODES, assert_close, device_on, random_case

TOLERANCES = {"f4": 2e-5, "f8": 1e-13}


@pytest.mark.parametrize("options", CHECKS, ids=["in order", "seed 1", "seed 2"])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("mode", MODES)
def test_several_units_a_thread_give_the_bits_of_one_and_the_numbers_of_the_cpu(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, mode: str, dtype: str, options: SimOptions
) -> None:
    case, device = random_case(rng, mode, T=3, B=5, I=3, H=12, dtype=dtype), device_on("steps", options)
    several = case.run(device)
    device.synchronize()
    assert_close(several, case.run(devices.get("cpu")), TOLERANCES[dtype])
    several_units = {kernel for file, kernel, *_, constants in device._compiled if constants}
    assert several_units == {f"{mode}_step", f"{mode}_step_grad"}

    monkeypatch.setattr(elementwise, "PER_THREAD", dict.fromkeys(elementwise.PER_THREAD, 1))
    one = case.run(device)
    for name, a in several.items():
        assert a.tobytes() == one[name].tobytes(), name


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_are_no_whole_vectors_are_taken_one_by_one(rng: np.random.Generator, mode: str) -> None:
    case, device = random_case(rng, mode, T=3, B=5, I=3, H=10, dtype="f4"), device_on("steps")
    assert_close(case.run(device), case.run(devices.get("cpu")), TOLERANCES["f4"])
    assert not any(constants for *_, constants in device._compiled)

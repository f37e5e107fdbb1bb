"""The lowest rung: threads that take several units, under all checks and in three orders of the threads.

Other sizes, and what other libraries give, are compared in `tests/ops/cudnn_rnn` and by `minirnn verify`.
"""

import numpy as np
import pytest

from minirnn import devices
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.launch import threads
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.ops.cudnn_rnn.cells import lstm_zoned, lstm_zoned_c
from tests.devices.cuda.launch.sequence.ladder_cases import CHECKS, MODES, assert_close, device_on, random_case
from tests.slow import slow_unless

TOLERANCES = {"f4": 2e-5, "f8": 1e-13}


LAYERS = [(mode, 0, zoneout) for zoneout in (False, True) for mode in MODES] + [("lstm", 8, False), ("lstm", 8, True)]
QUICK = [("lstm", 0, False), ("gru", 0, True), ("rnn_relu", 0, False), *LAYERS[-2:]]


@pytest.mark.parametrize("options", slow_unless([CHECKS[1]], CHECKS), ids=["in order", "seed 1", "seed 2"])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    "mode, P, zoneout", [pytest.param(*row, marks=[] if row in QUICK else pytest.mark.slow) for row in LAYERS]
)
def test_several_units_a_thread_give_the_bits_of_one_and_the_numbers_of_the_cpu(
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    P: int,
    zoneout: bool,
    dtype: str,
    options: SimOptions,
) -> None:
    case = random_case(rng, mode, T=3, B=5, I=3, H=12, dtype=dtype, P=P, zoneout=zoneout)
    device = device_on("steps", options)
    several = case.run(device)
    device.synchronize()
    assert_close(several, case.run(devices.get("cpu")), TOLERANCES[dtype])
    steps = {"cell_step_0", "cell_step_grad_0"} | ({"projected_step", "projected_step_grad"} if P else set())
    assert of_several_units(device) == steps

    monkeypatch.setattr(threads, "PER_THREAD", dict.fromkeys(threads.PER_THREAD, 1))
    one = case.run(device)
    for name, a in several.items():
        assert a.tobytes() == one[name].tobytes(), name


def of_several_units(device: Cuda) -> set[str]:
    """The kernels whose threads take several units."""
    return {kernel for _, kernel, _, constants, _ in device._compiled if any("PER" in c for c in constants)}


WIDE = [(12, 7, "cell_step"), (7, 4, "projected_step"), (12, 17, "cell_step"), (33, 8, "projected_step")]


# No whole vectors; with a projection one of H and P may have them, but the rows of y lie D*P apart.
@pytest.mark.parametrize(
    "mode, H, P, zoneout, wide",
    [
        *((mode, 10, 0, False, set()) for mode in MODES),
        *((mode, H, 0, True, set()) for mode, H in zip(MODES, (1, 7, 15, 33), strict=True)),
        ("lstm", 7, 5, False, set()),
        ("lstm", 15, 1, True, set()),
        *(("lstm", H, P, zoneout, {wide}) for H, P, wide in WIDE for zoneout in (False, True)),
    ],
)
def test_each_launch_takes_as_many_units_as_its_rows_permit(
    rng: np.random.Generator, mode: str, H: int, P: int, zoneout: bool, wide: set[str]
) -> None:
    case = random_case(rng, mode, T=3, B=5, I=3, H=H, dtype="f4", P=P, zoneout=zoneout)
    device = device_on("steps")
    assert_close(case.run(device), case.run(devices.get("cpu")), TOLERANCES["f4"])
    assert {kernel.replace("_grad", "").removesuffix("_0") for kernel in of_several_units(device)} == wide


def test_a_projected_layer_with_zoneout_has_the_launches_of_one_without(rng: np.random.Generator) -> None:
    """A step has two products and two launches, whose kernel of the projection also reads the share that is kept."""
    launches = []
    for T in (3, 4):
        for zoneout in (False, True):
            case, device = (
                random_case(rng, "lstm", T, 5, 3, 8, 1, "f4", ragged=False, P=4, zoneout=zoneout),
                device_on("steps"),
            )
            case.run(device)
            launches.append(device.driver.launches)
    assert launches[2] - launches[0] == launches[3] - launches[1] == 8


def test_a_cell_that_reads_a_projected_h_is_not_run() -> None:
    device = device_on("steps")
    assert device.runs_plan(lstm_zoned.plan()) and device.runs_plan(lstm_zoned_c.plan(True))
    assert not device.runs_plan(lstm_zoned.plan(True))

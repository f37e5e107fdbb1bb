"""The lowest rung: threads that take several units, under all checks and in three orders of the threads.

Other sizes, and what other libraries give, are compared in `tests/ops/cudnn_rnn` and by `minirnn verify`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn import devices
from minirnn.devices.cuda.launch import threads
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import CHECKS, MODES, assert_close, device_on, random_case
from tests.slow import slow_unless

TOLERANCES = {"f4": 2e-5, "f8": 1e-13}


PLAIN = [(mode, 0, "") for mode in MODES]
ZONED = [(mode, 0, zoneout) for mode in MODES for zoneout in ("masks", "numbers")]
PROJECTED = [("lstm", 8, zoneout) for zoneout in ("", "masks", "numbers")]
LAYERS = [*PLAIN, *ZONED, *PROJECTED]
QUICK = [*PLAIN, ("lstm", 0, "masks"), ("gru", 0, "numbers"), ("rnn_tanh", 0, "masks"), *PROJECTED[:2]]


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
    zoneout: str,
    dtype: str,
    options: SimOptions,
) -> None:
    case = random_case(rng, mode, T=3, B=5, I=3, H=12, dtype=dtype, P=P, zoneout=zoneout)
    device = device_on("steps", options)
    several = case.run(device)
    device.synchronize()
    assert_close(several, case.run(devices.get("cpu")), TOLERANCES[dtype])
    several_units = {kernel for _, kernel, *_, constants in device._compiled if any("PER" in c for c in constants)}
    steps = [f"{mode}_step", *(["projected_step"] if P else [])]
    if not P:  # kernels with a projection are compiled but not launched
        several_units = {kernel for kernel in several_units if "projected" not in kernel}
    assert several_units == {f"{step}{way}" for step in steps for way in ("", "_grad")}

    monkeypatch.setattr(threads, "PER_THREAD", dict.fromkeys(threads.PER_THREAD, 1))
    one = case.run(device)
    plain = mode == "lstm" and not P and not zoneout
    assert any(kernel == "lstm_step_plain" for _, kernel, *_ in device._compiled) == plain
    for name, a in several.items():
        assert a.tobytes() == one[name].tobytes(), name


# No whole vectors; with a projection one of H and P may have them, but the rows of y lie D*P apart.
@pytest.mark.parametrize(
    "mode, H, P, zoneout",
    [
        *((mode, 10, 0, "") for mode in MODES),
        *((mode, H, 0, "masks") for mode, H in zip(MODES, (1, 7, 15, 33), strict=True)),
        ("gru", 17, 0, "numbers"),
        ("lstm", 7, 5, ""),
        ("lstm", 15, 1, "masks"),
    ],
)
def test_rows_that_are_no_whole_vectors_are_taken_one_by_one(
    rng: np.random.Generator, mode: str, H: int, P: int, zoneout: str
) -> None:
    case = random_case(rng, mode, T=3, B=5, I=3, H=H, dtype="f4", P=P, zoneout=zoneout)
    device = device_on("steps")
    assert_close(case.run(device), case.run(devices.get("cpu")), TOLERANCES["f4"])
    assert not any("PER" in c for *_, constants in device._compiled for c in constants)


@pytest.mark.parametrize("zoneout", ["", "masks"])
@pytest.mark.parametrize("H, P, wide", [(12, 7, "step"), (7, 4, "projected"), (12, 17, "step"), (33, 8, "projected")])
def test_of_a_projected_layer_each_launch_takes_what_its_rows_permit(
    rng: np.random.Generator, H: int, P: int, wide: str, zoneout: str
) -> None:
    case, device = random_case(rng, "lstm", 3, 5, 3, H, 2, "f4", P=P, zoneout=zoneout), device_on("steps")
    assert_close(case.run(device), case.run(devices.get("cpu")), TOLERANCES["f4"])
    several_units = {kernel for _, kernel, *_, constants in device._compiled if any("PER" in c for c in constants)}
    stem = {"step": "lstm", "projected": "projected"}[wide] + "_step"
    assert several_units == {stem, f"{stem}_grad"}

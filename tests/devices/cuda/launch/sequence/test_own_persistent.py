"""Custom cells with one stage also run in one launch: with the checks of the simulator, and against the device cpu.

Tests `minirnn/devices/cuda/launch/sequence/one_launch.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, tanh
from minirnn.devices.cuda.launch.sequence.layout import MOST_GATES
from minirnn.devices.cuda.launch.sources import text
from minirnn.devices.cuda.sim.options import SimOptions
from tests.cells.with_torch import CELLS
from tests.devices.cells import own_layers
from tests.devices.cells.own_layers import OwnLayer, assert_close, cell_of
from tests.devices.cuda.launch.sequence.ladder_cases import CHECKS, device_on, tiny_layouts
from tests.devices.cuda.machine_code.compiled import ARCHITECTURES, compiled, nvcc_version
from tests.devices.cuda.machine_code.variants import VARIANTS, as_planned

CPU = mr.devices.get("cpu")
IN_ONE_LAUNCH = ("coupled_lstm", "gru", "gates_of_h", "ligru", "lstm", "peephole_lstm", "slstm", "ugrnn", "masked")
STEP_BY_STEP = ("gru_block", "indrnn", "many_gates")
"""A product inside, no gate that reads h, more gates than a warp has room for."""


@cell(states=("m", "h"))
def masked(z_a, x_b, m, h, mask_h, *, w):
    m = tanh(w * m + z_a)
    return m, mask_h * h + (1 - mask_h) * m * x_b


own_layers.MADE_UP["masked"] = masked
names = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in ("masked", "slstm") else pytest.mark.slow) for n in IN_ONE_LAUNCH]
)


@names
@pytest.mark.parametrize("options", [CHECKS[0], pytest.param(CHECKS[2], marks=pytest.mark.slow)], ids=["", "seed2"])
def test_one_launch_computes_what_the_cpu_computes(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str, options: object
) -> None:
    tiny_layouts(monkeypatch)
    for layer in (OwnLayer(rng, name, H=9, D=2, ragged=True), OwnLayer(rng, name, H=12)):
        device = device_on("persistent", options)  # type: ignore[arg-type]
        assert_close(layer.run(device), layer.run(CPU), 1e-13)
        assert device.rungs == {"persistent forward": 1, "persistent backward": 1}


def test_a_recorded_launch_gives_the_same_bits(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_layouts(monkeypatch)
    layer, device = OwnLayer(rng, "masked", H=9, D=2), device_on("persistent", SimOptions())
    plain = layer.run(device)
    device.recordings.enabled = True
    for _ in range(4):
        for n, a in layer.run(device).items():
            assert np.array_equal(a, plain[n]), n
    assert device.recordings.counts["replayed"] > 0


@pytest.mark.parametrize("name", STEP_BY_STEP)
def test_other_cells_run_step_by_step(rng: np.random.Generator, name: str) -> None:
    layer, device = OwnLayer(rng, name, H=5), device_on("persistent")
    assert_close(layer.run(device), layer.run(CPU), 1e-13)
    assert device.rungs == {"steps forward": 1, "steps backward": 1}


@pytest.mark.parametrize("name", CELLS)
def test_no_cell_of_the_gallery_is_forgotten(name: str) -> None:
    """Those with one stage, and with up to four gates that read h, run in one launch; so each is compiled below."""
    plan = cell_of(name).plan()
    alone = len(plan.forward) == len(plan.backward) == 1 and not plan.cuts
    assert (name in IN_ONE_LAUNCH) == (alone and plan.reads_x and 0 < plan.of_both + plan.of_h <= MOST_GATES)


@pytest.mark.slow
@pytest.mark.skipif(not nvcc_version(), reason="no nvcc on the PATH")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", IN_ONE_LAUNCH)
def test_no_register_spills(name: str, arch: str) -> None:
    plan = cell_of(name).plan()
    for file in ("persistent", "persistent_grad"):
        options = as_planned(f"sequence/{file}.cu", VARIANTS[f"sequence/{file}.cu"][0], arch)
        (needs,) = compiled(f"{name}.cu", options, arch, text(f"sequence/{file}.cu", plan)).resources.values()
        assert needs.spill_stores == needs.spill_loads == 0, file

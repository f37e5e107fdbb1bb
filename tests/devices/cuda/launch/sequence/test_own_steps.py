"""Custom cells on CUDA devices agree with the device cpu; the checks of the simulator find nothing.

`tests/nn/own/test_layer.py` compares cpu with torch.

Tests `minirnn/devices/cuda/launch/sequence/layer.py`, `minirnn/devices/cuda/launch/sequence/steps.py`,
`minirnn/devices/cuda/launch/sequence/sums.py`, `minirnn/devices/cuda/launch/sequence/arrays.py` and
`minirnn/devices/cuda/launch/sequence/one_launch.py`.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, tanh
from minirnn.devices.counting import Counting
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.launch import threads
from minirnn.devices.cuda.launch.sequence import steps
from minirnn.devices.cuda.launch.sequence.layout import MOST_GATES
from minirnn.devices.cuda.launch.sources import text
from minirnn.devices.cuda.sim.driver import SimDriver
from tests.cells.with_torch import CELLS
from tests.devices.cells import own_layers
from tests.devices.cells.own_layers import ALL, OwnLayer, T, assert_close, cell_of, tolerance_float32
from tests.devices.cuda.checked import checked
from tests.devices.cuda.launch.sequence.ladder_cases import CHECKS, device_on, tiny_layouts, with_fault
from tests.devices.cuda.machine_code.compiled import ARCHITECTURES, compiled, nvcc_version
from tests.devices.cuda.machine_code.variants import UNITWISE, VARIANTS, as_planned, of_units

__all__ = ["checked"]  # a fixture

CPU = mr.devices.get("cpu")
QUICK = ("indrnn", "lem", "peephole_lstm")
"""The cells of a plain run: one without R, one with two stages, and one with vectors that may be projected."""
SLOW = [n for n in ALL if n not in QUICK]
"""A half of them is compiled in float64, and the other half in float32 with the checks of the simulator."""
cells = pytest.mark.parametrize("name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW[::2])])


def layers(rng: np.random.Generator, name: str) -> list[OwnLayer]:
    """Rows of whole vectors and others; both directions, lengths, and a projection where the cell permits one."""
    found = [OwnLayer(rng, name, H=5), OwnLayer(rng, name, H=20, D=2, ragged=True), OwnLayer(rng, name, H=33, D=2)]
    if not found[0].plan.carries:
        found.append(OwnLayer(rng, name, H=8, D=2, P=4, ragged=True))
    return found


@pytest.fixture(params=["cuda", "cuda-sim"])
def cuda(request: pytest.FixtureRequest) -> Any:
    if (reason := mr.devices.available()[request.param]) is not None:
        pytest.skip(f"{request.param}: {reason}")
    return mr.devices.get(request.param)


@cells
def test_a_layer_is_that_of_cpu(rng: np.random.Generator, cuda: Any, name: str) -> None:
    for layer in layers(rng, name):
        found = layer.run(cuda)
        assert_close(found, layer.run(CPU), 1e-13)
        for n, a in layer.run(cuda, training=False).items():
            assert np.array_equal(a, found[n]), n


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SLOW[1::2], *QUICK])
def test_the_checks_of_the_simulator_find_nothing(checked: Cuda, rng: np.random.Generator, name: str) -> None:
    for layer in layers(rng, name)[1:]:
        expected = layer.run(CPU)
        assert_close(layer.run(checked, "float32"), expected, tolerance_float32(layer, expected))
    assert checked.driver.stats.accesses > 0  # type: ignore[attr-defined]


@cells
def test_a_recording_gives_the_same_bits(rng: np.random.Generator, name: str) -> None:
    layer, device = OwnLayer(rng, name, H=12, D=2, ragged=True), Cuda(SimDriver())
    plain = layer.run(device)
    device.recordings.enabled = True
    for _ in range(4):
        for n, a in layer.run(device).items():
            assert np.array_equal(a, plain[n]), n
    assert device.recordings.counts["replayed"] > 0


@pytest.mark.parametrize(
    ("name", "more", "of_a_step"),
    [  # next to the launch of each stage: the product with R, one for all products, and one for all functions of units
        ("layer_norm", {"H": 9}, (1, 0, 2)),
        ("ln_lstm", {"H": 5}, (1, 0, 2)),
        ("multiplicative", {"H": 6, "D": 2, "ragged": True}, (1, 1, 0)),
    ],
)
def test_what_comes_between_two_stages_is_one_launch_in_both_passes(
    name: str, more: dict[str, int], of_a_step: tuple[int, ...], rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    launches, device = Counter[str](), Cuda(SimDriver())
    for kind in ("product", "products"):
        real = getattr(steps, kind)
        monkeypatch.setattr(steps, kind, lambda *a, k=kind, real=real, **b: launches.update([k]) or real(*a, **b))
    real_kernel = device.kernel_of
    monkeypatch.setattr(device, "kernel_of", lambda *a: launches.update([a[1]]) or real_kernel(*a))
    layer = OwnLayer(rng, name, **more)  # type: ignore[arg-type]
    assert_close(layer.run(device), layer.run(CPU), 1e-13)
    found = [launches[kind] for kind in ("product", "products", "unit_reductions")]
    assert found == [2 * T * layer.D * n for n in of_a_step]


def test_several_units_a_thread_give_the_bits_of_one(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    layer, device = OwnLayer(rng, "lem", H=12), Cuda(SimDriver())
    several = layer.run(device, "float32")
    monkeypatch.setattr(threads, "PER_THREAD", dict.fromkeys(threads.PER_THREAD, 1))
    for n, a in layer.run(device, "float32").items():
        assert np.array_equal(a, several[n]), n


@pytest.mark.parametrize("name", [*UNITWISE, "alone"])
def test_units_that_do_not_read_each_other_take_one_launch_for_all_steps(name: str) -> None:
    """Of two layers with two directions each, whose values and gradients are those of cpu."""
    launches = set()
    for length, dtype, tolerance in ((3, "float32", 1e-5), (11, "float64", 1e-13)):
        inner = Cuda(SimDriver())
        found = {}
        for device in (CPU, Counting(inner)):
            rng = np.random.default_rng(4)
            numbers = [
                rng.normal(size=(length, 3, 5)),
                rng.uniform(size=(4, length, 3, 5)),
                rng.normal(size=(length, 3, 10)),
            ]
            x, mask, dy = (mr.tensor(a.astype(dtype), i == 0, device) for i, a in enumerate(numbers))
            mr.manual_seed(1)
            layer = cell_of(name).layer(5, 5, num_layers=2, bidirectional=True, dtype=dtype, device=device)
            masks = {"masks": {"mask_h": mask}} if name == "alone" else {}
            y = layer(x, lengths=[length, 1, length - 1], **masks)[0]
            (y * dy).sum().backward()
            found[device.name] = {"y": y.numpy(), "dx": x.grad.numpy()}
            found[device.name] |= {n: p.grad.numpy() for n, p in layer.named_parameters()}
        assert_close(found["counting"], found["cpu"], tolerance)
        assert inner.rungs == {"unitwise forward": 2, "unitwise backward": 2}
        counts = device.counts[""]
        launches.add(tuple(counts[kernel]["launches"] for kernel in ("cell_sequence", "cell_sequence_grad")))
    assert len(launches) == 1  # of 3 steps and of 11


def test_one_launch_gives_the_bits_of_a_launch_for_each_step(checked: Cuda, rng: np.random.Generator) -> None:
    layer, step_by_step = OwnLayer(rng, "alone", H=12, D=2, ragged=True), Cuda(SimDriver())
    step_by_step.cudnn_rnn_rung = "steps"
    expected = layer.run(step_by_step, "float32")
    assert step_by_step.rungs == {"steps forward": 1, "steps backward": 1}
    checked.rungs.clear()
    for n, a in layer.run(checked, "float32").items():
        assert np.array_equal(a, expected[n]), n
    assert checked.rungs == {"unitwise forward": 1, "unitwise backward": 1}


def test_a_thread_that_reads_a_unit_of_another_is_reported(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "before[j] = load(c_ + j * block + k);"
    with_fault(monkeypatch, (own, own.replace("+ k", "+ (k ? k - 1 : k)")))
    with pytest.raises(LaunchError, match="race"):
        OwnLayer(rng, "alone", H=5).run(Cuda(SimDriver(CHECKS[0])))


# ---- one launch, whose blocks wait for each other

IN_ONE_LAUNCH = ("coupled_lstm", "gru", "gates_of_h", "ligru", "lstm", "peephole_lstm", "slstm", "ugrnn", "masked")


@cell(states=("m", "h"))
def masked(z_a, x_b, m, h, mask_h, *, w):
    m = tanh(w * m + z_a)
    return m, mask_h * h + (1 - mask_h) * m * x_b


own_layers.MADE_UP["masked"] = masked


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n != "masked")) for n in IN_ONE_LAUNCH])
def test_a_layer_in_one_launch_is_that_of_cpu(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    tiny_layouts(monkeypatch)
    for layer in (OwnLayer(rng, name, H=9, D=2, ragged=True), OwnLayer(rng, name, H=12)):
        device = device_on("persistent")
        assert_close(layer.run(device), layer.run(CPU), 1e-13)
        assert device.rungs == {"persistent forward": 1, "persistent backward": 1}


@pytest.mark.parametrize("name", CELLS)
def test_no_cell_of_the_gallery_is_forgotten(name: str) -> None:
    """Those with one stage, and with up to four gates that read h, run in one launch; so each is compiled below."""
    plan = cell_of(name).plan()
    alone = len(plan.forward) == len(plan.backward) == 1 and not plan.cuts
    assert (name in IN_ONE_LAUNCH) == (alone and plan.reads_x and 0 < plan.of_both + plan.of_h <= MOST_GATES)


# ---- what nvcc makes of them


def in_turn(names: Sequence[str]) -> Any:
    """Each cell with one architecture, and one of them with all. Compiling takes ten seconds."""
    pairs = itertools.product(enumerate(names), enumerate(ARCHITECTURES))
    chosen = [(name, arch) for (k, name), (j, arch) in pairs if name == "lstm" or k % len(ARCHITECTURES) == j]
    return pytest.mark.parametrize(("name", "arch"), chosen)


@pytest.mark.slow
@pytest.mark.skipif(not nvcc_version(), reason="no nvcc on the PATH")
@in_turn(IN_ONE_LAUNCH)
def test_no_register_of_one_launch_spills(name: str, arch: str) -> None:
    plan = cell_of(name).plan()
    for file in ("persistent", "persistent_grad"):
        options = as_planned(f"sequence/{file}.cu", VARIANTS[f"sequence/{file}.cu"][0], arch)
        (needs,) = compiled(f"{name}.cu", options, arch, text(f"sequence/{file}.cu", plan)).resources.values()
        assert needs.spill_stores == needs.spill_loads == 0, file


@pytest.mark.slow
@pytest.mark.skipif(not nvcc_version(), reason="no nvcc on the PATH")
@in_turn(ALL)
def test_no_register_of_a_step_spills(name: str, arch: str) -> None:
    cell = cell_of(name)
    for plan in (cell.plan(), *([] if cell.plan().carries else [cell.plan(True)])):
        for options in of_units("float32", "float64"):
            found = compiled(f"{name}.cu", options, arch, text("sequence/steps.cu", plan)).resources
            kernels = {n: r for n, r in found.items() if n.startswith("cell_step")}
            assert len(kernels) == len(plan.forward) + len(plan.backward)
            for kernel, needs in kernels.items():
                assert needs.spill_stores == needs.spill_loads == 0, kernel

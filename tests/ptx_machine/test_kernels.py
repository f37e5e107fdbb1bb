"""minirnn's kernels as nvcc's PTX, under weak memory: the results of the cpu device, for four architectures.

Tests `minirnn/devices/cuda/kernels/` and `tests/ptx_machine/translate.py`. Many more tests run on the machine with
``--devices ptx``.
"""

from collections.abc import Sequence

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.gpu.compiler import KERNELS
from minirnn.devices.cuda.launch.sequence.choice import RUNGS
from minirnn.devices.cuda.launch.sources import text
from tests.devices.cuda.checked import BLOCK_OPS, block_op
from tests.devices.cuda.launch.sequence.ladder_cases import MODES, assert_close, random_case, tiny_layouts
from tests.devices.cuda.machine_code.variants import VARIANTS, cells_of
from tests.ptx_machine import build
from tests.ptx_machine.driver import device_of
from tests.ptx_machine.options import PtxOptions

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_120")
pytestmark = pytest.mark.skipif(build.reason_against() is not None, reason=f"ptx: {build.reason_against()}")


def in_turn(cases: Sequence[tuple[object, ...]], sample: bool = True) -> list[object]:
    """Each case for two architectures, which vary from case to case. A plain run takes one of them, or none.

    nvcc takes most of the time. The modes of four cases in a row meet all architectures from rung to rung.
    """
    found = []
    for k, case in enumerate(cases):
        for slow, n in ((not sample, k + k // 4), (True, k + k // 4 + 2)):
            arch = ARCHITECTURES[n % len(ARCHITECTURES)]
            name = "-".join(map(str, (*case, arch)))
            found.append(pytest.param(*case, arch, id=name, marks=[pytest.mark.slow] * slow))
    return found


FILES = [(name,) for name in sorted(VARIANTS)]


@pytest.mark.slow
@pytest.mark.parametrize("name, arch", in_turn(FILES))
def test_every_variant_of_every_file_is_understood(name: str, arch: str) -> None:
    plans = list(cells_of(name).values())
    for k, options in enumerate(VARIANTS[name]):
        ptx = build.ptx_of(text(name, plans[k % len(plans)]), name, options, arch)
        kernels = [f.name for f in build.program_of(ptx).functions.values() if f.is_kernel]
        assert kernels
        for kernel in kernels:
            translation = build.translated(ptx, kernel)
            assert "ptx_kernel" in translation.code
            assert any(name.rpartition("/")[2] in file for file, _ in translation.places)


def test_kernels_of_one_launch_read_nothing_as_a_constant() -> None:
    """No fence reaches the cache of `ld.global.nc`, so such a load could return what a block wrote steps ago."""
    for file in ("barrier", "persistent", "persistent_grad", "unitwise"):
        name = f"sequence/{file}.cu"
        source = text(name, next(iter(cells_of(name).values())))
        assert "ld.global.nc" not in build.ptx_of(source, name, VARIANTS[name][0], "sm_90"), name
        if "barrier" in name:
            planted = source.replace(f'#include "{name}"', (KERNELS / name).read_text(encoding="utf-8"))
            planted = planted.replace("h_before[row * H + k];", "__ldg(h_before + row * H + k);")
            assert "ld.global.nc" in build.ptx_of(planted, name, VARIANTS[name][0], "sm_90")


ONE_EACH = [(case, ("f4", "f8", "f2")[k % 3]) for k, case in enumerate(BLOCK_OPS)]
OTHERS = [(case, dtype) for case in BLOCK_OPS for dtype in ("f4", "f8", "f2") if (case, dtype) not in ONE_EACH]


@pytest.mark.parametrize("case, dtype, arch", [*in_turn(ONE_EACH), *in_turn(OTHERS, sample=False)])
def test_block_ops_and_their_gradients(case: str, dtype: str, arch: str, rng: np.random.Generator) -> None:
    work = block_op(*BLOCK_OPS[case], dtype, rng, H=12, I=8)
    tolerance = {"f2": 0.03, "f4": 1e-4, "f8": 1e-12}[dtype]
    for got, expected in zip(work(device_of(PtxOptions(arch=arch))), work(mr.devices.get("cpu")), strict=True):
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode, rung, arch", in_turn([(m, r) for r in RUNGS for m in MODES]))
@pytest.mark.parametrize("layout", [pytest.param("of a GPU", marks=pytest.mark.slow), "tiny", "groups"])
def test_sequences_of_every_rung(
    mode: str, rung: str, layout: str, arch: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if layout != "of a GPU":
        tiny_layouts(monkeypatch, batch_groups=2 if layout == "groups" else 1)
    case = random_case(rng, mode, T=5, B=3, I=2, H=13, dtype="f4")
    expected = case.run(mr.devices.get("cpu"))
    for seed in range(1, 4):
        device = device_of(PtxOptions(arch=arch, seed=seed), rung)
        assert_close(case.run(device), expected, 1e-4)
        assert device.rungs == {f"{rung} forward": 1, f"{rung} backward": 1}


@pytest.mark.slow
@pytest.mark.parametrize("rung", RUNGS[1:])
@pytest.mark.parametrize("mode", MODES)
def test_kernels_of_one_launch_with_many_seeds(
    mode: str, rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots are reused, blocks are starved, and stores are up to 400 rounds late."""
    tiny_layouts(monkeypatch, slices=4)
    case = random_case(rng, mode, T=9, B=3, I=2, H=16, dtype="f4")
    expected = case.run(mr.devices.get("cpu"))
    for seed in range(48):  # a planted mistake shows within twenty
        device = device_of(PtxOptions(seed=seed, delay=(3, 30, 400)[seed % 3]), rung)
        assert_close(case.run(device), expected, 1e-4)


def test_memory_was_weak_in_these_tests(rng: np.random.Generator) -> None:
    device = device_of(PtxOptions(), "persistent")
    case = random_case(rng, "lstm", T=5, B=3, I=2, H=13, dtype="f4")
    case.run(device)
    counts = [k.counts for m in device.driver.modules() for k in m.kernels() if "persistent" in k.name]
    assert len(counts) == 2
    for kernel in counts:
        assert kernel["older"] > 100 and kernel["late"] > 100 and kernel["inserted"] > 10, kernel

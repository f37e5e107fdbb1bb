"""The cost of a step of every rung, from the machine code: fences, products per shared read, bytes per access.

Tests `minirnn/devices/cuda/kernels/sequence/` and `minirnn/devices/cuda/kernels/units.cuh`.
"""

import pytest

from minirnn.ops.cudnn_rnn.cells import plan_of
from minirnn.ops.lstm_block.cells import plan_of as lstm_block
from tests.devices.cuda.machine_code.compiled import nvcc_version
from tests.devices.cuda.machine_code.kernels import machine_code
from tests.devices.cuda.machine_code.loops import Loop
from tests.devices.cuda.machine_code.sass import INSTALL, find_nvdisasm
from tests.devices.cuda.machine_code.variants import RUNGS, VARIANTS, cells_of

pytestmark = pytest.mark.skipif(
    not nvcc_version() or find_nvdisasm() is None, reason=f"needs nvcc on the PATH and nvdisasm ({INSTALL})"
)


def read_and_multiplied(loop: Loop, beyond: tuple[int, int]) -> float:
    """The number of multiplications per 16 bytes read from shared memory, for weights in registers.

    beyond: reads and multiplications of the inner loop for weights that are not.
    """
    return (loop.count("FFMA") - beyond[1]) // (loop.count("LDS.128") - beyond[0])


@pytest.mark.parametrize(
    "file, number, beyond",
    [
        # two units: 4 gates, 16 bytes of 4 rows of the batch
        ("persistent", 0, {"lstm": (8 + 4, 128, 32), "gru": (6 + 4, 96, 24), "rnn_tanh": (2 + 4, 32, 8)}),
        # eight outputs, two rows; sixteen, one row
        pytest.param(
            *("persistent_grad", 0, dict.fromkeys(("lstm", "gru", "rnn_tanh"), (8 + 2, 64, 32))), marks=pytest.mark.slow
        ),
        ("persistent_grad", 1, dict.fromkeys(("lstm", "gru", "rnn_tanh"), (16 + 1, 64, 64))),
    ],
)
def test_a_read_of_shared_memory_serves_many_multiplications_and_no_step_has_a_fence(
    file: str, number: int, beyond: dict[str, tuple[int, int, int]]
) -> None:
    name = f"sequence/{file}.cu"
    for mode, (reads, multiplied, expected) in beyond.items():
        found = machine_code(name, VARIANTS[name][number], "sm_90", plan=plan_of(mode))
        loop = found[f"cell_{file}"].main_loop
        served = read_and_multiplied(loop, (reads, multiplied))
        assert expected <= served < expected + 8, mode  # a few more are in the activations
        assert not loop.count("MEMBAR", "ERRBAR", "CCTL"), mode
        assert loop.count("LDG.E.128.STRONG.GPU"), mode


def test_a_step_of_the_plain_rung_has_three_fences_and_two_barriers() -> None:
    """The fences and atomics listed in `grid_barrier.cuh`: each occurs exactly once in each kernel."""
    name = "sequence/barrier.cu"
    found = machine_code(name, VARIANTS[name][0], "sm_90", plan=plan_of("lstm"))
    assert found.keys() == {"cell_barrier", "cell_barrier_grad"}
    for kernel, code in found.items():
        (loop,) = [each for each in code.loops if "for (int step" in (code.statement(each) or ("", ""))[1]]
        assert (loop.count("MEMBAR"), loop.count("BAR")) == (3, 2), kernel


SEVERAL = [
    (file, options)
    for file, variants in VARIANTS.items()
    for options in variants
    if any(option.startswith("-DPER_THREAD") for option in options)
]


@pytest.mark.parametrize("arch", ["sm_80", pytest.param("sm_120", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "file, options",
    [
        pytest.param(file, options, marks=[] if "steps" in file and "float" in options[0] else pytest.mark.slow)
        for file, options in SEVERAL
    ],
)
def test_a_thread_that_takes_several_units_stores_all_of_them_at_once(
    file: str, options: tuple[str, ...], arch: str
) -> None:
    for plan in (plan_of("lstm"), lstm_block(True, True)) if file in RUNGS else cells_of(file).values():
        for kernel, code in machine_code(file, options, arch, plan=plan).items():
            sizes = {i.size for i in code.function.instructions if i.name == "STG"}
            assert kernel == "without_padding" or sizes == {16}, f"{kernel} stores {sizes} bytes at a time"

"""What a step of the upper rungs costs, read off the machine code: fences, products a read of shared memory.

Tests `minirnn/devices/cuda/kernels/cudnn_rnn/`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minirnn.devices.cuda.launch import sources
from tests.devices.cuda.launch.cudnn_rnn.step_loops import longest_loop, opcodes, step_loops


@pytest.mark.parametrize("file", ["cluster", "cluster_grad"])
@pytest.mark.parametrize("arch", ["sm_90", pytest.param("sm_120", marks=pytest.mark.slow)])
def test_no_step_of_a_cluster_has_a_fence_and_what_others_wait_for_goes_first(
    file: str, arch: str, tmp_path: Path
) -> None:
    name = f"cudnn_rnn/{file}.cu"
    for kernel, loop in step_loops(name, sources.VARIANTS[name][0], arch, tmp_path).items():
        counted = opcodes(loop)
        assert not counted["MEMBAR"] and not counted["ERRBAR"], f"{kernel}: {counted}"
        assert not counted["UCGABAR_ARV"] and not counted["BAR"], f"{kernel} meets at a barrier: {counted}"
        assert counted["STAS"] and counted["SYNCS"], f"{kernel}: {counted}"
        places = {name: [k for k, line in enumerate(loop) if line.startswith(name)] for name in ("STAS", "STG")}
        assert max(places["STAS"]) < min(places["STG"]), f"{kernel} stores before it has sent"


def read_and_multiplied(loop: list[str], beyond: tuple[int, int]) -> float:
    """Multiplications that a read of 16 bytes of shared memory serves, where the weights are in registers.

    beyond: reads and multiplications of the inner loop for weights that are not.
    """
    reads = sum(line.startswith("LDS.128") for line in loop) - beyond[0]
    return (opcodes(loop)["FFMA"] - beyond[1]) // reads


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
    file: str, number: int, beyond: dict[str, tuple[int, int, int]], tmp_path: Path
) -> None:
    name = f"cudnn_rnn/{file}.cu"
    found = step_loops(name, sources.VARIANTS[name][number], "sm_90", tmp_path)
    for mode, (reads, multiplied, expected) in beyond.items():
        loop = found[f"{mode}_{file}"]
        counted = opcodes(loop)
        served = read_and_multiplied(loop, (reads, multiplied))
        assert expected <= served < expected + 8, f"{mode}: {counted}"  # a few more are in the activations
        assert not counted["MEMBAR"] and not counted["ERRBAR"] and not counted["CCTL"], f"{mode}: {counted}"
        assert any(line.startswith("LDG.E.128.STRONG.GPU") for line in loop), mode


def test_the_longest_loop_is_found() -> None:
    body = """
.L_x_1:
        /*0000*/                   MEMBAR.ALL.GPU ;
.L_x_2:
        /*0010*/              @!P0 FFMA R1, R2, R3, R4 ;
        /*0020*/               @P1 BRA `(.L_x_2) ;
        /*0030*/                   BRA `(.L_x_3) ;
.L_x_3:
        /*0040*/                   EXIT ;
"""
    assert longest_loop(body) == ["FFMA R1, R2, R3, R4", "BRA `(.L_x_2)"]

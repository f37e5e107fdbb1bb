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

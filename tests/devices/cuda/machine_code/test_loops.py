"""Loops are found by the jumps of machine code, with what is in each, as NVIDIA's disassembler prints it.

Tests `tests/devices/cuda/machine_code/loops.py`.
"""

import pytest

from tests.devices.cuda.machine_code.loops import loops
from tests.devices.cuda.machine_code.sass import Function, parsed

# A loop in a loop. The inner one can be left from its middle. A rarely executed step is behind the end, and there is
# another loop after an EXIT that no path reaches.
NESTED = """
	.section	.text.nested,"ax",@progbits
nested:
.text.nested:
	//## File "/src/nested.cu", line 3
        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
.L_x_4:
	//## File "/src/help.cuh", line 9 inlined at "/src/nested.cu", line 5
	//## File "/src/nested.cu", line 5
        /*0010*/              @!P1 LDS.64 R8, [R6] ;
.L_x_2:
        /*0020*/                   FFMA R1, R4, R8, R1 ;
        /*0030*/               @P0 BRA `(.L_x_3) ;
        /*0040*/                   FFMA R1, R5, R9, R1 ;
        /*0050*/                   BRA.DIV UR5, `(.L_x_9) ;
        /*0060*/                   SHFL.BFLY PT, R1, R1, 0x10, 0x1f ;
	//## File "/src/nested.cu", line 6
        /*0070*/               @P2 BRA `(.L_x_2) ;
.L_x_3:
        /*0080*/                   MEMBAR.ALL.GPU ;
        /*0090*/               @P3 BRA `(.L_x_7) ;
.L_x_8:
	//## File "/src/nested.cu", line 8
        /*00a0*/                   BRA.U UP1, `(.L_x_4) ;
        /*00b0*/                   STG.E desc[UR4][R2.64], R1 ;
        /*00c0*/                   EXIT ;
.L_x_9:
        /*00d0*/                   SHFL.BFLY PT, R1, R1, 0x10, 0x1f ;
        /*00e0*/                   BRA `(.L_x_3) ;
.L_x_7:
        /*00f0*/                   HFMA2.MMA R7, -RZ, RZ, 0, 0 ;
        /*0100*/                   ST.E.U16 [R2.64], R1 ;
        /*0110*/                   BRA `(.L_x_8) ;
.L_x_5:
        /*0120*/                   BRA `(.L_x_5);
        /*0130*/                   NOP;
	.section	.nv.info,"",@"SHT_CUDA_INFO"
"""


@pytest.fixture
def nested() -> Function:
    return parsed(NESTED)["nested"]


def test_a_function_is_read_with_its_labels_predicates_and_lines(nested: Function) -> None:
    assert [i.opcode for i in nested.instructions][:4] == ["LDG.E.128", "LDS.64", "FFMA", "BRA"]
    assert [i.size for i in nested.instructions][:3] == [16, 8, 4]
    assert nested.labels[".L_x_4"] == 1
    shared = nested.instructions[1]
    assert (shared.predicate, shared.operands) == ("!P1", "R8, [R6]")
    assert shared.lines == (("/src/help.cuh", 9), ("/src/nested.cu", 5))
    assert nested.instructions[0].lines == (("/src/nested.cu", 3),)
    assert nested.instructions[7].target == ".L_x_2"
    assert len(nested.instructions) == 20


def test_an_outermost_loop_has_what_the_jumps_enclose(nested: Function) -> None:
    (outer,) = loops(nested)
    assert outer.jump.lines == (("/src/nested.cu", 8),)
    # Code behind the end belongs to the loop, the inner loop too. The copy for diverged lanes does not.
    assert outer.instructions == nested.instructions[1:11] + nested.instructions[15:18]
    assert outer.count("FFMA") == 2
    assert outer.count("MEMBAR") == outer.count("MEMBAR.ALL.GPU") == 1
    assert outer.count("MEMBAR", "FFMA") == 3
    assert outer.count("LDG", "STG") == 0


def test_two_jumps_to_one_head_are_one_loop() -> None:
    text = """
	.section	.text.k,"ax",@progbits
.L_x_0:
        /*0000*/                   FADD R1, R1, R2 ;
        /*0010*/               @P0 BRA `(.L_x_0) ;
        /*0020*/                   FMUL R1, R1, R2 ;
        /*0030*/               @P1 BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
"""
    (loop,) = loops(parsed(text)["k"])
    assert [i.name for i in loop.instructions] == ["FADD", "BRA", "FMUL", "BRA"]

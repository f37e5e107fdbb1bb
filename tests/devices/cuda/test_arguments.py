"""The arguments of a launch lie in memory as a C compiler lays them out."""

from typing import Any

import numpy as np
import pytest

from minirnn.devices.cuda.arguments import Packer

PAIR = np.dtype([("count", "i4"), ("offset", "i8"), ("flag", "?")], align=True)


def test_the_parameters_end_with_the_last_argument() -> None:
    pack = Packer("k")
    assert len(pack((np.int8(1), np.int64(2), np.int16(3)))) == 18
    assert pack(()) == b""
    assert pack((np.int32(-1), None)) == b"\xff" * 4 + bytes(12)
    assert pack((np.float64(np.nan), np.float16(np.inf)))[8:] == np.float16(np.inf).tobytes()


def test_a_struct_of_another_layout_is_packed_anew() -> None:
    pack = Packer("k")
    small, large = np.zeros((), np.dtype([("a", "i4")], align=True)), np.zeros((), PAIR)
    assert len(pack((small[()], np.int64(1)))) == 16
    assert len(pack((large[()], np.int64(1)))) == 32
    assert len(pack((np.zeros((), np.dtype([("a", "i8", 3)]))[()],))) == 24


@pytest.mark.parametrize("argument", [3, 2.5, np.zeros(3), "x", np.complex64(1)])
def test_arguments_of_unknown_size_are_refused_by_position(argument: Any) -> None:
    with pytest.raises(TypeError, match=r"k: argument 1 is .*\n  expected an array or buffer"):
        Packer("k")((np.int32(1), argument))

"""The external functions that a compiled kernel calls. Only the simulator's own and mathematics are allowed.

Here, a kernel is C++ for the host. Without this check it could call ``open`` or ``system`` like any program.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from minirnn.devices.cuda.driver import CompileError

MATH = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 exp10 expm1 log log2 log10 log1p logb "
    "pow sqrt cbrt hypot erf erfc tgamma lgamma ceil floor trunc round rint nearbyint fmod remainder remquo modf frexp "
    "ldexp scalbn scalbln fabs fmin fmax fdim fma lround llround lrint llrint ilogb copysign nextafter nan j0 j1 jn "
    "y0 y1 yn sincos"
)
HELPERS = "add sub mul neg fix fixuns float floatun trunc extend eq ne lt le gt ge unord powi"
"""Functions that compilers call for wide numbers, such as ``__multf3``, but not functions such as ``__getcwd_chk``."""
ALLOWED = re.compile(
    "|".join(
        [
            r"_?_?tsan_\w+", r"__sanitizer_cov_\w+", r"_?cusim(?!_mem(cpy|move)$)\w*", r"_GLOBAL_OFFSET_TABLE_",
            r"__stack_chk_fail", rf"__(u?(div|mod)|{'|'.join(HELPERS.split())})([sdtxhb][fic]){{1,2}}[234]?",
            r"__dso_handle", r"memset", rf"(__)?({'|'.join(MATH.split())})[fl]?(_finite)?", r"abort", r"_ITM_\w+",
            r"__gmon_start__", r"__cxa_finalize", r"__cxa_pure_virtual", r"__g(xx|cc)_personality_v0", r"clock",
            r"_Unwind_Resume",
        ]
    )
)  # fmt: skip
UNDEFINED, SYMBOLS, NAMES = 0, 2, 3


def refuse_calls(object_file: Path) -> None:
    """Raise `CompileError` if the compiled kernel uses anything but its own code, the simulator and mathematics."""
    if not sys.platform.startswith("linux"):
        return
    for name in undefined(object_file.read_bytes()):
        if not ALLOWED.fullmatch(name):
            name = name.removeprefix("cusim_")  # functions of check mode, see include/cusim_copies.h
            raise CompileError(
                f"error: a call of {name} is refused: a kernel calls mathematics and CUDA's own functions"
                + ("; to copy, write a loop or an assignment" if name.startswith("mem") else "")
            )


def undefined(data: bytes) -> Iterator[str]:
    """The undefined names of a 64-bit ELF object file."""
    if data[:5] != b"\x7fELF\x02":
        raise CompileError("error: the compiler made no object file of 64 bits")
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    if count == 0:  # if there are more than 65,279 sections, the first one has their number
        (count,) = struct.unpack_from("<Q", data, at + 32)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + size * k) for k in range(count)]
    for section in sections:
        if section[1] != SYMBOLS:
            continue
        names = sections[section[6]][4]
        for place in range(section[4], section[4] + section[5], 24):
            name, _, _, where, _, _ = struct.unpack_from("<IBBHQQ", data, place)
            if name and where == UNDEFINED:
                end = data.index(b"\0", names + name)
                yield data[names + name : end].decode(errors="replace")

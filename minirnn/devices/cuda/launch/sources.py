"""The .cu files: their text, with the cell that they compute, and the compiler options for an element type."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import numpy as np

from minirnn.cells.keyed import KeyedPlan
from minirnn.cells.plan import Plan
from minirnn.devices.cells.header import NAME, header
from minirnn.devices.cells.keyed import keyed_header

AnyPlan = Plan | KeyedPlan

C_TYPES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "int",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}
"""Maps NumPy's name of a dtype to the type in `kernels/real.cuh`."""

WIDER = {
    "bool": "int32",
    "int8": "int32",
    "int16": "int32",
    "uint8": "uint32",
    "uint16": "uint32",
    "float16": "float32",
}


def accumulator(dtype: np.dtype) -> np.dtype:
    """The type in which kernels compute: the dtype itself, except for small ones, which C++ would widen anyway."""
    return np.dtype(WIDER.get(dtype.name, dtype.name))


def options(dtype: np.dtype) -> tuple[str, ...]:
    """The compiler options that make `real` this dtype."""
    return f"-DREAL={C_TYPES[dtype.name]}", f"-DACC={C_TYPES[accumulator(dtype).name]}"


@lru_cache(maxsize=512)
def text(name: str, plan: AnyPlan | None = None) -> str:
    """The text of ``kernels/<name>``; that of a rung (`kernels/sequence/`) for the cell of a plan."""
    if plan is None:
        return (resources.files("minirnn.devices.cuda") / "kernels" / name).read_text(encoding="utf-8")
    if isinstance(plan, KeyedPlan):
        cell = f"{keyed_header(plan).text}\ntypedef {NAME}<real, real> CELL;\n"
        return f'#include "sequence/keyed.cuh"\n{cell}#include "{name}"\n'
    cell = header(plan).replace("#pragma once\n", "")
    found = f'#include "activation.cuh"\n#include "cells/form.h"\n{cell}\ntypedef {NAME}<real, real> CELL;\n'
    found += f'#include "{name}"\n'
    if name == "sequence/steps.cu":
        found += "".join(f"STEP_STAGE({k})\n" for k in range(len(plan.forward)))
        found += "".join(f"STEP_GRAD_STAGE({k})\n" for k in range(len(plan.backward)))
    return found

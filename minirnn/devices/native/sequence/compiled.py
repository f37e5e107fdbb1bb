"""The C++ of a cell: a header made of its plan and the drivers of `kernels/`, compiled on first use.

A library belongs to a cell and a dtype. Constants are arguments, so cells that differ only in them share one. A layer
needs the passes forward and backward; a single step has its own library, because most programs need only one of them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np

from minirnn.cells.plan import Plan
from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cells.header import NAME, header
from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import CompileError
from minirnn.devices.native import library
from minirnn.devices.native.arguments import structs_of_layer, structs_of_step
from minirnn.machine.terminal import say

SOURCE = """\
#if defined FORWARD
#include "forward.h"
#elif defined BACKWARD
#include "backward.h"
#else
#include "step.h"
#endif
{header}
using Real = {real};
using Cell = {name}<Vector<Real>, Real>;
#pragma GCC visibility push(default)
extern "C" {{
#if defined FORWARD
int own_forward(const Layer<Real, Cell> *d, int threads, int watch) {{
    return forward(Cell{{{constants}}}, *d, threads, watch);
}}
#elif defined BACKWARD
int own_backward(const Layer<Real, Cell> *d, const Gradients<Real, Cell> *g, int threads, int watch) {{
    return backward(Cell{{{constants}}}, *d, *g, threads, watch);
}}
#else
int own_step(const OneStep<Real, Cell> *d, int back, int threads, int watch) {{
    return step(Cell{{{constants}}}, *d, back, threads, watch);
}}
#endif
}}
"""


class SavedRows(NamedTuple):
    """The saved values of a step, side by side in memory."""

    slots: list[int | None]
    """The place of each value of `Layer`."""
    size: int

    @classmethod
    def of(cls, there: Sequence[bool]) -> SavedRows:
        return cls([sum(there[:k]) if found else None for k, found in enumerate(there)], sum(there))


class LayerKernels:
    """The passes of a layer of one cell in one dtype, and their structs."""

    passes: ClassVar = ("forward", "backward")

    def __init__(self, plan: Plan, dtype: np.dtype) -> None:
        self.plan = plan
        self.rows_of_W, self.rows_of_R = plan.of_both + plan.of_x, plan.of_both + plan.of_h
        self.gates, inner = len(plan.gate_names), plan.states - 1
        # The values of `Layer`: those that the cell saves, inner states, and operands of products.
        read = plan.reads_before | plan.reads_after
        saved, operands = [True] * plan.saved, [True] * len(plan.cuts)
        self.saved_rows = SavedRows.of([*saved, *[bool(read >> k & 1) for k in range(inner)], *operands])
        self.rows_by_name = SavedRows.of([*saved, *[True] * inner, *operands])
        self.names = [*plan.value_names, *plan.state_names[:-1]]
        self.Layer, self.Gradients = structs_of_layer(plan.saved + inner, len(plan.cuts), plan.matrices, plan.masks)
        loaded = load(plan, dtype, self.passes)
        self.forward, self.backward = loaded.own_forward, loaded.own_backward
        self.forward.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
        self.backward.argtypes = [ctypes.c_char_p, *self.forward.argtypes]


class StepKernels:
    """A step of one cell and its gradient in one dtype, and their struct."""

    passes: ClassVar = ("step",)

    def __init__(self, plan: Plan, dtype: np.dtype) -> None:
        self.OneStep = structs_of_step(plan.states, plan.saved, plan.matrices, plan.masks)
        self.step = load(plan, dtype, self.passes).own_step
        self.step.argtypes = [ctypes.c_char_p, *[ctypes.c_int] * 3]


Kernels = TypeVar("Kernels")


def load(plan: Plan, dtype: np.dtype, passes: Sequence[str]) -> ctypes.CDLL:
    """The library of a cell, compiled unless the cache has it."""
    real = "float" if dtype == np.float32 else "double"
    constants = ", ".join(f"d->constants[{k}]" for k in range(len(plan.constants)))
    return load_text(plan.name, SOURCE.format(header=header(plan), name=NAME, real=real, constants=constants), passes)


def load_text(name: str, text: str, passes: Sequence[str]) -> ctypes.CDLL:
    """The library with these passes of a C++ text. A line is printed if it is compiled, because this takes seconds."""
    used = compiler.find("native")

    def announce() -> None:
        say(f"minirnn: compiling the cell {name} for the device native, once")

    path = library.of_one_cell(used, text, passes, announce)
    try:
        return ctypes.CDLL(str(path))
    except OSError:  # damaged since it was written
        path.unlink(missing_ok=True)
        return ctypes.CDLL(str(library.of_one_cell(used, text, passes, announce)))


@lru_cache(maxsize=256)
def made(kind: Any, plan: Any, dtype: np.dtype, more_flags: str) -> Any:
    """The kernels of a cell; None, with one printed line, if they cannot be compiled.

    `more_flags` is what ``MINIRNN_NATIVE_FLAGS`` holds.
    """
    try:
        return kind(plan, dtype)
    except (DeviceUnavailable, CompileError, OSError) as error:
        reason = compiler.first_error(str(error))
        print(
            f"minirnn: the cell {plan.name} runs with the code of the device cpu: {reason}", file=sys.stderr, flush=True
        )
        return None


def kernels(kind: type[Kernels], plan: Any, dtype: np.dtype) -> Kernels | None:
    """`made`, with the flags of the first call for this plan."""
    name, any_kind = kind.__name__ + dtype.char, cast(Any, kind)
    if name not in plan.made:
        plan.made[name] = made(any_kind, plan, dtype, os.environ.get("MINIRNN_NATIVE_FLAGS", ""))
    found: Kernels | None = plan.made[name]
    return found

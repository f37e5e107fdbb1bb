"""Where an op is written: its formulas, its arguments, and the NumPy and CUDA that compute it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minirnn
from minirnn import ops
from minirnn.explain.names import tensorflow_name
from minirnn.explain.signatures import signature_lines

ROOT = Path(minirnn.__file__).parent
KERNELS = ROOT / "devices" / "cuda" / "kernels"


@dataclass(frozen=True)
class Family:
    """Where the ops of a family are written."""

    formulas: str
    """The module whose docstring explains the formulas."""
    numpy: tuple[tuple[str, str], ...] = ()
    """Module and function of the arithmetic in NumPy, forward and backward; without a function the whole module."""
    kernels: str = "none"
    """The .cu file of this stem, or the folder of that name, has the CUDA kernels."""


def _both(module: str, forward: str) -> tuple[tuple[str, str], ...]:
    return (module, forward), (module, f"{forward}_grad")


LSTM = Family(
    "minirnn.ops.lstm_block.cell", _both("minirnn.devices.cpu.lstm_block.cell", "lstm_block_cell"), "lstm_block"
)
GRU = Family("minirnn.ops.gru_block", _both("minirnn.devices.cpu.gru_block", "gru_block_cell"), "gru_block")
CUDNN = Family("minirnn.ops.cudnn_rnn", (("minirnn.devices.cpu.cudnn_rnn.reference", ""),), "cudnn_rnn")
PARAMS = Family("minirnn.ops.cudnn_rnn.params")


def family_of(op: str) -> Family:
    """The family of an op by its name."""
    if op.startswith("cudnn_rnn"):
        return PARAMS if "params" in op else CUDNN
    return GRU if op.startswith("gru") else LSTM


def formulas(op: str, source: bool = False) -> Iterator[str]:
    """The lines that explain an op; with `source`, the NumPy and CUDA that compute it as well."""
    family = family_of(op)
    kernels = sorted([*KERNELS.glob(f"{family.kernels}.cu"), *KERNELS.glob(f"{family.kernels}/*.cu")])
    yield heading(f"{op}: formulas ({where(family.formulas)}); TensorFlow: {tensorflow_name(op)}")
    yield str(inspect.getdoc(importlib.import_module(family.formulas)))
    function: Callable[..., Any] = getattr(ops, op)
    if inspect.ismodule(function):  # one that can be called: see `minirnn.callable_module`
        function = function.__call__
    yield heading(f"{op}: arguments")
    yield from signature_lines(op, function)
    yield f"\n{inspect.getdoc(function)}"
    yield heading("where it is computed")
    for place in family.numpy:
        yield f"NumPy  {where(*place)}"
    for path in kernels:
        yield f"CUDA   minirnn/{path.relative_to(ROOT)}"
    yield "a device without the kernel computes the composition from primitives, in minirnn/ops/"
    if source:
        for module, name in family.numpy:
            yield heading(where(module, name))
            imported = importlib.import_module(module)
            yield inspect.getsource(getattr(imported, name) if name else imported).rstrip()
        for path in kernels:
            yield heading(f"minirnn/{path.relative_to(ROOT)}")
            yield path.read_text().rstrip()


def heading(text: str) -> str:
    return f"\n== {text}\n"


def where(module: str, name: str = "") -> str:
    """The file of a module; of a function in it also the line."""
    imported = importlib.import_module(module)
    path = f"minirnn/{Path(str(imported.__file__)).relative_to(ROOT)}"
    return f"{path}:{inspect.getsourcelines(getattr(imported, name))[1]}  {name}" if name else path

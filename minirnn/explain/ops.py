"""The explanation of an op: its formulas, its arguments, the page of its cell, and the code that computes it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from minirnn import devices, ops
from minirnn.cells.cell import Formulas
from minirnn.explain.cells import devices_lines, heading, page_lines, saved_line, source_lines, table
from minirnn.explain.names import tensorflow_name
from minirnn.explain.sources import ROOT, argument_lines, place
from minirnn.ops.cudnn_rnn.cells import CELLS, ZONED, lstm_zoned_c
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import lstm_block, lstm_block_peephole
from minirnn.ops.sequence.compose import compose_layer

LSTM, SEQUENCE, GRU = "lstm_block.cell", "lstm_block.sequence", "gru_block.cell"
CUDNN, PARAMS = "cudnn_rnn", "cudnn_rnn.params"
"""The module of `minirnn.ops` whose docstring explains the formulas of a family."""
PAGES: dict[str, tuple[Formulas, ...]] = {
    "lstm_block": (lstm_block, lstm_block_peephole), "gru_block": (gru_block,),
    "cudnn_rnn": (*CELLS.values(), *ZONED.values(), lstm_zoned_c),
}  # fmt: skip
"""The cells of each family of ops."""


class Layer(NamedTuple):
    """What chooses the cell of a CudnnRNN op."""

    rnn_mode: str = "lstm"
    projected: bool = False
    zoneout: bool = False


def family_of(op: str) -> str:
    """The module that explains the formulas of an op."""
    if op.startswith("cudnn_rnn"):
        return PARAMS if "params" in op else CUDNN
    return GRU if op.startswith("gru") else SEQUENCE if op.startswith("block") else LSTM


def cells_of(op: str, layer: Layer) -> tuple[Formulas, ...]:
    """The cells of an op. The ops of the parameter buffer have none."""
    family = family_of(op)
    if family == CUDNN:
        if layer.zoneout and layer.projected:
            return (lstm_zoned_c,)
        return ((ZONED if layer.zoneout else CELLS)[layer.rnn_mode],)
    return () if family == PARAMS else PAGES[family.partition(".")[0]]


def formulas(op: str, source: bool = False, layer: Layer = Layer(), device: str | None = None) -> Iterator[str]:  # noqa: B008
    """The lines that explain an op; with `source`, also the code that devices make of its cell."""
    module = importlib.import_module(f"minirnn.ops.{family_of(op)}")
    file = Path(str(module.__file__)).relative_to(ROOT)
    yield heading(f"{op}: formulas (minirnn/{file}); TensorFlow: {tensorflow_name(op)}")
    yield str(inspect.getdoc(module))
    function: Callable[..., Any] = getattr(ops, op)
    if inspect.ismodule(function):  # a callable module: see `minirnn.lookup.callable_module`
        function = function.__call__
    yield heading(f"{op}: arguments")
    yield from argument_lines(op, function)
    cells = cells_of(op, layer)
    if not cells:
        yield heading("where it is computed")
        yield place(function)
    for cell in cells:
        yield from page_lines(cell)
        yield heading("what a step keeps for its backward pass")
        yield saved_line(cell)
        plan, sequence = cell.plan(layer.projected), family_of(op) not in (LSTM, GRU)
        yield from devices_lines(plan, device) if sequence else ()
        yield from source_lines(plan, device, sequence) if source else ()
    if cells:
        yield heading("where it is computed")
        yield from table(list(kernels(family_of(op) in (LSTM, GRU), device)))


def kernels(step: bool, device: str | None) -> Iterator[tuple[str, ...]]:
    """The kernel of each device that works here, and the composition."""
    name = "cell_step" if step else "cell_sequence"
    for one, absent in devices.available().items():
        if absent is None and device in (None, one) and name in devices.get(one).kernels:
            yield one, place(inspect.unwrap(getattr(devices.get(one), name))), name
    yield "others", place(compose_layer), "the composition from primitives"

"""The explanation of an op: its formulas, its arguments, and the NumPy, C++ and CUDA code that computes it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from minirnn import ops
from minirnn.explain.cuts import ROOT
from minirnn.explain.cuts import function as function_cut
from minirnn.explain.names import tensorflow_name
from minirnn.explain.parts import parts_of
from minirnn.explain.signatures import signature_lines

LSTM, GRU, CUDNN, PARAMS = "lstm_block.cell", "gru_block", "cudnn_rnn", "cudnn_rnn.params"
"""The module of `minirnn.ops` whose docstring explains the formulas of a family."""


def family_of(op: str) -> str:
    """The module that explains the formulas of an op."""
    if op.startswith("cudnn_rnn"):
        return PARAMS if "params" in op else CUDNN
    return GRU if op.startswith("gru") else LSTM


def formulas(op: str, source: bool = False) -> Iterator[str]:
    """The lines that explain an op; with `source`, also the NumPy, C++ and CUDA code that computes it."""
    module = importlib.import_module(f"minirnn.ops.{family_of(op)}")
    file = Path(str(module.__file__)).relative_to(ROOT)
    yield heading(f"{op}: formulas (minirnn/{file}); TensorFlow: {tensorflow_name(op)}")
    yield str(inspect.getdoc(module))
    function: Callable[..., Any] = getattr(ops, op)
    if inspect.ismodule(function):  # a callable module: see `minirnn.callable_module`
        function = function.__call__
    yield heading(f"{op}: arguments")
    yield from signature_lines(op, function)
    yield f"\n{inspect.getdoc(function)}"
    places = {
        (place.path, place.name): column
        for part in parts_of(op).values()
        for column, found in part.columns().items()
        for place in found
    }
    cuts = {key: function_cut(*key) for key in places}
    yield heading("where it is computed")
    for (key, column), cut in zip(places.items(), cuts.values(), strict=True):
        yield f"{column:9} minirnn/{cut.path}:{cut.line}  {key[1]}"
    yield "a device without the kernel computes the composition from primitives, in minirnn/ops/"
    if source:
        for (_, name), cut in cuts.items():
            yield heading(f"minirnn/{cut.path}:{cut.line}  {name}")
            yield cut.text


def heading(text: str) -> str:
    return f"\n== {text}\n"

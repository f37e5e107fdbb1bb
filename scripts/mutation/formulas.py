"""The backward formulas in Python: of the tape, each op and NumPy. C++ and CUDA of cells are made from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from mutation.mutants import Mutant, changed
from mutation.terms import terms

PYTHON = {
    "ops/primitives/*.py": r".*\.backward",
    "nn/functional/*.py": r".*\.backward",
    "engine/backward.py": "_fit",
    "devices/base.py": "sum_to_shape",
    "ops/lstm_block/cell.py": r".*\.backward|step_grad|input_grads",
    "ops/*/cells.py": ".*_backward",
    "ops/fused.py": "with_others",
    "ops/lstm_block/nodes.py": r".*\.(backward|compose)",
    "ops/gru_block/cell.py": r".*\.(backward|compose)",
    "ops/losses.py": r".*\.(backward|compose)",
    "ops/sequence/layer.py": r".*\.(backward|compose|run_back)",
    "ops/sequence/compose.py": "compose_layer|gradients",
    "ops/cudnn_rnn/calls.py": "backprop_call",
    "ops/cudnn_rnn/params.py": r".*\.backward",
    "devices/cpu/losses.py": ".*_grad",
    "devices/cpu/sequence/backward.py": r"Backward\.run|.*_gradients?|product",
}
"""Files below minirnn/, and the functions to change in them."""


def backward_mutants(root: Path, only: str) -> Iterator[Mutant]:
    """Mutants of the Python formulas whose path and function contain `only`."""
    for pattern, functions in PYTHON.items():
        for path in sorted((root / "minirnn").glob(pattern)):
            name = path.relative_to(root).as_posix()

            def wanted(function: str, node: ast.FunctionDef, name: str = name, functions: str = functions) -> bool:
                return only in f"{name} {function}" and re.fullmatch(functions, function) is not None

            yield from changed(name, path.read_text(encoding="utf-8"), wanted, terms)

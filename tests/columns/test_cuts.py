"""A function is cut out of a source whole, with its comment and its line.

Tests `docs/columns/cuts.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from docs.columns import cuts
from minirnn.explain.sources import ROOT

SOURCE = """#include "a.h"
#define TWO(x) \\
    { x(2); }

// What it does
template <class Cell>
__device__ void step(int B, const real *x) {
    if (B) { x[0]; }  // a brace in a comment }
}

struct Lstm {
    // c = f*c'
    static __device__ real step(real a) { return a; }
};
void declared(int a);
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "a.cu"
    path.write_text(SOURCE)
    return str(path)


def test_a_function_comes_with_the_comment_above_it_and_its_line(file: str) -> None:
    cut = cuts.function(file, "step")
    assert cut.line == 5 and cut.language == "cuda"
    assert cut.text.startswith("// What it does\ntemplate") and cut.text.endswith("comment }\n}")


def test_a_method_is_found_in_its_struct_and_moved_to_the_left(file: str) -> None:
    cut = cuts.function(file, "Lstm.step")
    assert (cut.line, cut.text) == (12, "// c = f*c'\nstatic __device__ real step(real a) { return a; }")


def test_only_definitions_are_found(file: str) -> None:
    assert [name for name, *_ in cuts.definitions(SOURCE)] == ["Lstm", "step", "step"]
    with pytest.raises(LookupError, match="declared"):
        cuts.function(file, "declared")


def test_python_is_cut_where_its_own_parser_says() -> None:
    path = "devices/cpu/losses.py"
    cut = cuts.function(path, "cross_entropy_grad")
    [node] = [n for n in ast.parse((ROOT / path).read_text()).body if getattr(n, "name", "") == "cross_entropy_grad"]
    assert cut.line == node.lineno and ast.dump(ast.parse(cut.text).body[0]) == ast.dump(node)
    assert cut.language == "python"


def test_formulas_are_a_block_of_the_docstring() -> None:
    whole = cuts.formulas("ops/lstm_block/cell.py", 1)
    lines = (ROOT / whole.path).read_text().splitlines()
    assert whole.text.startswith("dicfo = [dz_i | dz_ci | dz_f | dz_o]\n")
    assert whole.text.endswith("sum of dicfo over B")
    assert lines[whole.line - 1].strip() == whole.text.splitlines()[0]

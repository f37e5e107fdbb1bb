"""Formulas, Python and CUDA as columns: functions are cut out, and statements found with the names that they set.

Tests `docs/columns/statements.py`, `docs/columns/cuts.py`, `docs/columns/parts.py` and
`minirnn/explain/sources.py`.
"""

import ast
import re
from pathlib import Path

import pytest

from docs.columns import cuts, statements
from docs.columns.cuts import Cut
from docs.columns.parts import BOTH, apart, parts
from minirnn.cells.cell import Formulas
from minirnn.devices.cells.header import header
from minirnn.devices.cpu.sequence.step import function_of
from minirnn.explain.names import explained
from minirnn.explain.ops import PAGES, Layer, cells_of
from minirnn.explain.sources import ROOT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dzi = dcs * i", [("dzi = dcs * i", "dzi")]),
        ("[zi | zc] = [x | h] @ w      # columns = gates", [("[zi | zc] = [x | h] @ w", "zi zc")]),
        ("o = s(zo)     h = o * co", [("o = s(zo)", "o"), ("h = o * co", "h")]),
        ("if use_peephole: zi = zi + a,  zf = zf + b", [("zi = zi + a", "zi"), ("zf = zf + b", "zf")]),
        ("da = da2 = dh * [h > 0]", [("da = da2 = dh * [h > 0]", "da da2")]),
        ("gradient of c' += zc * dc", [("gradient of c' += zc * dc", "dc'")]),
        ("for t = L - 1 .. 0:\n    x[t], h = a, b", [("x[t], h = a, b", "x h")]),
    ],
)
def test_formulas(text: str, expected: list[tuple[str, str]]) -> None:
    found = [(text[s.start : s.end], " ".join(s.names)) for s in statements.of_formula(text)]
    assert found == expected


def test_python() -> None:
    text = (
        "def f(x):\n"
        "    z = g(x)\n"
        "    a, b[t] = z\n"
        "    if a:\n"
        "        c += 1\n"
        "    product(a, b, flat(d[:2]))\n"
        "    copyto(e, a); multiply(a, b, a)\n"
        "    np.matmul(a, b, out=g[0])\n"
        "    sums.append(a)\n"
        "    other(a, b, c, d)\n"
        "    return (a if b else\n"
        "            c)\n"
    )
    found = [(text[s.start : s.end].split("\n")[0], " ".join(s.names)) for s in statements.of_python(text)]
    assert found == [
        ("z = g(x)", "z"),
        ("a, b[t] = z", "a b"),
        ("c += 1", "c"),
        ("product(a, b, flat(d[:2]))", "d"),
        ("copyto(e, a)", "e"),
        ("multiply(a, b, a)", "a"),
        ("np.matmul(a, b, out=g[0])", "g"),
        ("sums.append(a)", "sums"),
        ("return (a if b else", "return"),
    ]


def test_cuda() -> None:
    text = (
        "void f(int B, real *h_) {\n"
        "    if (B >= 2) return;\n"
        "    const acc i = s(a[0], b), f = 2;  // c = 3\n"
        "    if (p) zo = zo + w;\n"
        "    h_[(i64)row * H] = real(h), da[1] += i;\n"
        "    for (int k = 0; k < 3; k++) x[k] = a == b;\n"
        "    return i * f;\n"
        "}\n"
    )
    found = [(text[s.start : s.end], " ".join(s.names)) for s in statements.of_cuda(text)]
    assert found == [
        ("const acc i = s(a[0], b)", "i"),
        ("f = 2", "f"),
        ("zo = zo + w", "zo"),
        ("h_[(i64)row * H] = real(h)", "h[(i64)row*H]"),
        ("da[1] += i", "da[1]"),
        ("x[k] = a == b", "x[k]"),
        ("return i * f", "return"),
    ]


def test_aliases_name_a_variable_an_element_or_a_whole_statement() -> None:
    cut = Cut("a.cu", 1, "void f() { da[0] = 1; da[1] = 2; dc = dc * f; row = 3; }")
    aliases = {"da[0]": "da_i", "da": "da2", "dc = dc * f": "dc'", "row": ""}
    assert [s.names for s in statements.of(cut, aliases)] == [("da_i",), ("da2",), ("dc'",)]


# ---- a function is cut out of a source whole, with its comment and its line


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


# ---- every fused op has its parts, and every text of a part sets what the formulas set, by the same names


PARTS = parts()
CELLS: dict[str, Formulas] = {cell.__name__: cell for cells in PAGES.values() for cell in cells}


def wanted(key: str) -> set[str]:
    return {name for s in statements.of_formula(PARTS[key].formulas.text) for name in s.names}


@pytest.mark.parametrize("key", PARTS)
def test_each_column_sets_every_name_of_the_formulas(key: str) -> None:
    names, part = wanted(key), PARTS[key]
    assert names
    for column, found in part.columns.items():
        assert not names - {name for box in found for name in box.names()}, column


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_has_its_lines_in_the_order_of_its_page(name: str) -> None:
    """In NumPy, C++ and CUDA, without any alias."""
    for key, page in ((name, CELLS[name].forward_formulas()), (f"{name}_grad", CELLS[name].backward_formulas())):
        assert PARTS[key].formulas.text == page
        order = [n for n, _, right in (line.partition(" = ") for line in page.splitlines()) if "@ U1" not in right[-4:]]
        order = [n for n in order if n != "c_new" or not key.endswith("_grad")]  # computed again, where it is read
        for column in ("NumPy", BOTH):
            cut = PARTS[key].columns[column][0].cut
            lines = [
                s for s in statements.of(cut, {}) if "= s." not in cut.text[s.start : s.end]
            ]  # a later stage reads
            assert [n for s in lines for n in s.names if n in order] == order, column


@pytest.mark.parametrize("name", CELLS)
def test_the_text_of_a_cell_is_what_devices_run(name: str) -> None:
    plan = CELLS[name].plan(name == "lstm_zoned_c")
    for key, backward in ((name, False), (f"{name}_grad", True)):
        numpy, cpp = PARTS[key].columns["NumPy"][0].cut.text, PARTS[key].columns[BOTH][0].cut.text
        assert function_of(plan, backward).__doc__ == numpy
        inside = "\n".join(line.removeprefix("    ") for line in header(plan).splitlines())
        assert cpp in inside


def test_a_page_is_found_at_its_line() -> None:
    for name, cell in CELLS.items():
        for key, function in ((name, cell.function), (f"{name}_grad", cell.by_hand and cell.by_hand[0])):
            cut = PARTS[key].formulas
            lines = (ROOT / cut.path).read_text().splitlines()[cut.line - 1 :]
            assert next(line for line in lines if line.startswith("def ")).startswith(f"def {function.__name__}(")


def test_every_op_but_those_of_the_buffer_has_a_page() -> None:
    shown = set()
    for op in explained():
        for layer in (Layer(m, p, z) for m in ("lstm", "gru", "rnn_tanh", "rnn_relu") for p in (0, 1) for z in (0, 1)):
            found = {cell.__name__ for cell in cells_of(op, layer)}
            assert bool(found) == ("params" not in op), op
            shown |= found
    assert shown == set(CELLS)


def test_a_joined_name_is_taken_apart() -> None:
    names = {"dz_o", "dc", "dc_prev", "dz_i"}
    assert apart("dz_o_dc", names) == ["dz_o", "dc"]
    assert apart("dc_prev_dz_i_dz_o", names) == ["dc_prev", "dz_i", "dz_o"]
    assert apart("dc_prev_by_dc", names) == ["dc_prev"]
    assert apart("d_gates", names) == apart("dz", names) == []


def test_the_loop_over_a_sequence_has_a_call_for_every_line_of_the_lstm() -> None:
    [_, loop] = PARTS["lstm_grad"].columns["NumPy"]
    lines = [loop.cut.text[s.start : s.end] for s in loop.statements() if "dc" in s.names]
    assert lines[-1] == "add(dc, c_grad, dc)" and re.fullmatch(r"multiply\(dz_o_dc, dh, dz_o_dc\)", lines[-2])

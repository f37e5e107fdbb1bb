"""Statements of formulas, Python and CUDA are found with the names that they set.

Tests `docs/columns/statements.py`.
"""

from __future__ import annotations

import pytest

from docs.columns import statements
from docs.columns.cuts import Cut


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

"""The figures of scripts/house.py: lines by room, and where the arithmetic of the LSTM's cell state is written.

Tests `scripts/figures/texts.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
pytestmark = pytest.mark.skipif(not SCRIPTS.exists(), reason="the scripts are in the repository alone")

HOMES = {
    "python.py": "c = f * c_prev + i * n",
    "other_order.py": "cs = ci * i + cs_prev * f",
    "members.h": "const V c = s.f * s.c_prev + s.i * s.n;",
    "two_lines.cu": "c[k] = f[k] * c_prev[k] +\n       i[k] * g[k];",
    "calls.py": "c = device.add(device.multiply(f, c_prev), device.multiply(i, n))",
}
NO_HOMES = {
    "docstring.py": '"""c = f * c_prev + i * n"""',
    "comment.py": "c = lstm(x)  # c = f * c_prev + i * n",
    "comment.cu": "// c = f * c_prev + i * n\n/* c = f * c_prev\n   + i * n */ int x;",
    "gru.py": "h = u * h_prev + (1 - u) * c",
    "data.txt": "c = f * c_prev + i * n",
}


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SCRIPTS.parent))
    from scripts.figures import texts

    return texts


def test_a_home_is_code_that_computes_the_cell_state(texts, tmp_path: Path) -> None:
    for name, text in (HOMES | NO_HOMES).items():
        (tmp_path / name).write_text(text)
    for room in ("learn", "verify"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "python.py").write_text(HOMES["python.py"])
    assert sorted(texts.homes(tmp_path)) == sorted(HOMES)


def test_lines_are_counted_in_a_room_and_in_the_one_around_it(texts, tmp_path: Path) -> None:
    for name, lines in {
        "a.py": 1,
        "ops/b.py": 2,
        "ops/cell/c.cuh": 4,
        "ops/cell/deep/d.h": 8,
        "learn/e.py": 16,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n" * lines)
    assert texts.lines_by_room(tmp_path) == {".": 1, "ops": 14, "ops/cell": 12}

"""The program of a page that says that it also runs with torch does so.

Tests `docs/look_inside.md`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")


def test_the_program_for_torch_models_runs_with_torch(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "look_inside.md").read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (program,) = (code for code in programs if "or: import torch" in code)
    names: dict[str, Any] = {}
    exec(program.replace("import minirnn as torch", "import torch"), names)  # noqa: S102
    assert names["torch"] is torch
    assert f"# {capsys.readouterr().out}" == program[program.rindex("# 29") :]
    h, c = names["carried"][-1]
    assert h.grad is None and c.grad is None  # nothing reads the last state

"""The device of docs/own_device.md: found by its entry point, it passes the tests that every device passes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minirnn.devices.base import PRIMITIVES

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "lists_device"
CODE = (EXAMPLE / "minirnn_lists" / "__init__.py").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "own_device.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process in which the example is installed, entry point and all, without a network."""
    info = tmp_path_factory.mktemp("site") / "minirnn_lists-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: minirnn-lists\nVersion: 0.1\n")
    announced = re.search(r'\[project.entry-points."minirnn.devices"\]\n(.*)', (EXAMPLE / "pyproject.toml").read_text())
    assert announced
    (info / "entry_points.txt").write_text(f"[minirnn.devices]\n{announced.group(1).replace(chr(34), '')}\n")
    path = os.pathsep.join([str(info.parent), str(EXAMPLE), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path}


def run(installed: dict[str, str], *command: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], env=installed | variables, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_found_by_its_entry_point(installed: dict[str, str]) -> None:
    said = run(installed, "-c", "import minirnn as mr; print(mr.devices.available()['lists'], mr.tensor([1.0]).device)",
               MINIRNN_DEVICE="lists")  # fmt: skip
    assert said.split() == ["None", "lists"]
    assert re.search(r"^  lists +works$", run(installed, "-m", "minirnn", "doctor"), flags=re.MULTILINE)


def test_it_passes_the_tests_of_every_device(installed: dict[str, str]) -> None:
    said = run(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", "--devices=lists",
        "tests/devices/test_primitives.py",
        "tests/ops/test_block_golden.py",
        "-k", "lists",
    )  # fmt: skip
    passed = re.search(r"(\d+) passed", said)
    assert passed and int(passed.group(1)) > 500


GRADIENTS = """
import numpy as np
import minirnn as mr

rng = np.random.default_rng(0)
T, B, I, H = 3, 2, 4, 2
x, state = rng.normal(size=(T, B, I)), rng.normal(size=(B, H))
w, b, peephole = rng.normal(size=(I + H, 4 * H)), rng.normal(size=4 * H), rng.normal(size=H)
n = mr.ops.cudnn_rnn_params_size(1, H, I, rnn_mode="lstm", input_mode="linear_input", direction="unidirectional")
params = rng.normal(size=n)

def gradients(device):
    on = lambda a: mr.tensor(a, requires_grad=True, device=device)
    ts = [on(a) for a in (x, state, state, w, peephole, peephole, peephole, b, params)]
    y = mr.ops.block_lstm(T, *ts[:-1], use_peephole=True).h
    z = mr.ops.cudnn_rnn(ts[0], ts[1].reshape((1, B, H)), ts[2].reshape((1, B, H)), ts[-1], rnn_mode="lstm").output
    r = mr.ops.gru_block_cell(ts[0][0], ts[1], ts[3][:, : 2 * H], ts[3][:, :H], ts[-2][: 2 * H], ts[-2][:H]).h
    ((y * y).sum() + (z * z).sum() + (r * r).sum()).backward()
    return [t.grad.numpy() for t in ts]

for ours, theirs in zip(gradients("lists"), gradients("cpu")):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
device = mr.devices.get("lists")
print(dict(device.fallbacks))
assert mr.gradcheck(lambda a: mr.ops.tanh(a) * a, [mr.tensor(x[0], requires_grad=True, device="lists")])
"""


def test_gradients_of_the_fused_ops_are_those_of_cpu_by_composition(installed: dict[str, str]) -> None:
    said = run(installed, "-c", GRADIENTS)
    assert "block_lstm" in said and "rnn_sequence" in said and "gru_block_cell_grad" in said
    assert "'gru_block_cell'" not in said


def words(code: str) -> list[str]:
    return [line.strip() for line in code.splitlines() if line.strip()]


def test_the_page_quotes_the_example_word_for_word() -> None:
    quoted = re.findall(r"<!-- lists -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(quoted) >= 4
    for excerpt in quoted:  # but for indentation and empty lines
        assert "\n".join(words(excerpt)) in "\n".join(words(CODE)), excerpt


def test_the_page_names_every_primitive() -> None:
    assert [name for name in PRIMITIVES if f"`{name}`" not in PAGE] == []


def test_the_example_can_be_read_in_one_sitting() -> None:
    assert len(CODE.splitlines()) <= 400


def test_the_python_of_the_page_about_counting_runs_and_prints_what_it_says() -> None:
    (code,) = re.findall(r"^```python\n(import numpy.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    (promised,) = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == [line.rstrip() for line in promised.splitlines()]

"""The device of docs/own_device.md: found by its entry point, it passes the tests that every device passes.

Tests `minirnn/devices/registry.py` and `minirnn/devices/base.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minirnn.devices.base import OPTIONAL, PRIMITIVES

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


@pytest.mark.slow
def test_it_passes_the_tests_of_every_device(installed: dict[str, str]) -> None:
    said = run(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-x", "--devices=lists",
        "tests/devices/test_primitives.py",
        "tests/ops/test_table.py",
        "tests/ops/test_verified.py",
        "-k", "lists and (primitives.py or (table.py and not (divide or put_add)) or (block and stored))",
    )  # fmt: skip
    passed = re.search(r"(\d+) passed", said)
    assert passed and int(passed.group(1)) > 100  # those of the primitives, and some of the ops


GRADIENTS = """
import numpy as np
import minirnn as mr

rng = np.random.default_rng(0)
T, B, I, H = 3, 2, 4, 5
sizes = dict(rnn_mode="lstm", input_mode="linear_input", direction="unidirectional")
n = mr.ops.cudnn_rnn_params_size(1, H, I, **sizes)
shapes = dict(x=(B, I), xs=(T, B, I), cs=(B, H), h=(B, H), w=(I + H, 4 * H), wci=(H,), wcf=(H,), wco=(H,), b=(4 * H,),
              h0=(1, B, H), c0=(1, B, H), params=(n,), w_ru=(I + H, 2 * H), w_c=(I + H, H), b_ru=(2 * H,), b_c=(H,))
inputs = {name: rng.normal(size=shape) for name, shape in shapes.items()}
weights = {}

OPS = {
    "lstm_block_cell": ("x cs h w wci wcf wco b", lambda *a: mr.ops.lstm_block_cell(*a, use_peephole=True)),
    "block_lstm": ("xs cs h w wci wcf wco b", lambda *a: mr.ops.block_lstm(T, *a, use_peephole=True)),
    "cudnn_rnn": ("xs h0 c0 params", lambda *a: mr.ops.cudnn_rnn(*a, **sizes)[:3]),
    "gru_block_cell": ("x h w_ru w_c b_ru b_c", lambda *a: mr.ops.gru_block_cell(*a)),
}

def computed(op, device):
    "Outputs and gradients of a loss with random weights on all outputs."
    names, f = OPS[op]
    ts = [mr.tensor(inputs[name], requires_grad=True, device=device) for name in names.split()]
    outputs = f(*ts)
    loss = 0
    for k, y in enumerate(outputs):
        weight = weights.setdefault((op, k), rng.normal(size=y.shape))
        loss = loss + (y * mr.tensor(weight, device=device)).sum()
    loss.backward()
    return [y.numpy() for y in outputs] + [t.grad.numpy() for t in ts]

device = mr.devices.get("lists")
for op in OPS:
    device.fallbacks.clear()
    for ours, theirs in zip(computed(op, device), computed(op, "cpu"), strict=True):
        assert ours.dtype == theirs.dtype == np.float64 and abs(theirs).max() > 1e-3
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=op)
    print(op, *sorted(device.fallbacks))

small = [rng.normal(size=s) for s in ((1, 2), (1, 3), (5, 6), (5, 3), (6,), (3,))]
arguments = [mr.tensor(a, requires_grad=True, device=device) for a in small]
print("gradcheck", bool(mr.gradcheck(lambda *a: mr.ops.gru_block_cell(*a).h, arguments)))
"""


def test_gradients_of_the_fused_ops_are_those_of_cpu_and_fallbacks_say_what_was_composed(
    installed: dict[str, str],
) -> None:
    said = dict(line.split(" ", 1) for line in run(installed, "-c", GRADIENTS).splitlines())
    assert said.pop("gradcheck") == "True"
    assert said == {
        "lstm_block_cell": "cell_step_grad",  # the forward kernel is the device's own
        "block_lstm": "cell_sequence",
        "cudnn_rnn": "cell_sequence",
        "gru_block_cell": "cell_step_grad",
    }


def test_it_can_be_registered_by_hand(installed: dict[str, str]) -> None:
    by_hand = "import minirnn as mr; from minirnn_lists import Lists; mr.devices.register('mine', Lists);"
    said = run(installed, "-c", by_hand + "print((mr.tensor([1.0, 2.0], device='mine') * 3).tolist())")
    assert said.strip() == "[3.0, 6.0]"


def words(code: str) -> list[str]:
    return [line.strip() for line in code.splitlines() if line.strip()]


def test_the_page_quotes_the_example_word_for_word() -> None:
    quoted = re.findall(r"<!-- lists -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(quoted) >= 4
    for excerpt in quoted:  # but for indentation and empty lines
        assert "\n".join(words(excerpt)) in "\n".join(words(CODE)), excerpt


def test_the_table_of_the_contract_has_every_primitive_once_and_nothing_else() -> None:
    rows = re.findall(r"^\| [\w ]+ \| (`.*`) \|$", PAGE, flags=re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted([*PRIMITIVES, *OPTIONAL])


def test_the_example_is_as_short_as_the_page_says() -> None:
    assert "of some 300 lines" in PAGE
    assert len(CODE.splitlines()) <= 350


def test_the_python_of_the_page_about_counting_runs_and_prints_what_it_says() -> None:
    (code,) = re.findall(r"^```python\n(import numpy.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    (promised,) = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == [line.rstrip() for line in promised.splitlines()]

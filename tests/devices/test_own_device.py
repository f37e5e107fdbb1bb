"""The device of docs/own_device.md: found by its entry point, it passes the tests that every device passes.

Tests `minirnn/devices/registry.py` and `minirnn/devices/base.py`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import OPTIONAL, PRIMITIVES, Device
from minirnn.devices.cpu.primitives import Primitives
from minirnn.engine.outputs import Output

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
import minirnn as mr
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.cases import block, cudnn
from minirnn.proof.ways import by_definition

device, sizes = mr.devices.get("lists"), (3, 5, 7)
for case in (block.lstm("lstm_block_cell", "peepholes", *sizes), block.lstm("block_lstm", "peepholes", 4, *sizes),
             block.gru(*sizes), cudnn.forward("cudnn_rnn", Network("lstm", 1, 5, 4), False, False)):
    device.fallbacks.clear()
    found = by_definition(case, "float64", device)
    assert found.ok, found
    print(case.op, *sorted(device.fallbacks))
"""


def test_gradients_of_the_fused_ops_are_those_of_cpu_and_fallbacks_say_what_was_composed(
    installed: dict[str, str],
) -> None:
    said = dict(line.split(" ", 1) for line in run(installed, "-c", GRADIENTS).splitlines())
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
    assert "about 300 lines of pure Python" in PAGE
    assert len(CODE.splitlines()) <= 350


def test_the_python_of_the_page_about_counting_runs_and_prints_what_it_says() -> None:
    (code,) = re.findall(r"^```python\n(import numpy.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    (promised,) = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == [line.rstrip() for line in promised.splitlines()]


def test_one_kernel_of_a_step_replaces_as_many_nodes_as_the_page_says() -> None:
    class Plain(Primitives, Device):
        name = "plain"

    B, I, H = 2, 3, 4
    sizes = {
        mr.ops.lstm_block_cell: [(B, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,)],
        mr.ops.gru_block_cell: [(B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,)],
    }
    counts, device = [], Plain()
    for op, shapes in sizes.items():
        todo = [op(*(mr.tensor(np.ones(s), requires_grad=True, device=device) for s in shapes)).h]
        found: dict[int, Any] = {}
        while todo:
            node = todo.pop()
            if node.op is not None and id(node) not in found:
                found[id(node)] = node
                todo += node.parents
        counts.append(sum(not isinstance(node.op, Output) for node in found.values()))
    assert f"one node of the tape replaces {counts[0]} or {counts[1]}." in " ".join(PAGE.split())

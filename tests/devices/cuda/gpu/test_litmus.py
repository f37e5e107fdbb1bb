"""The litmus tests of a new GPU pass on the simulator, and report what is wrong.

Tests `tests/devices/cuda/gpu/litmus.py` and `tests/devices/cuda/gpu/litmus.cu`. `scripts/gpu_first.sh` asks a GPU.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.devices.cuda.gpu import litmus
from tests.ptx_machine import build
from tests.ptx_machine.driver import device_of
from tests.ptx_machine.options import PtxOptions

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)


def test_litmus_tests_on_the_simulator_see_nothing_weak(tmp_path: Path) -> None:
    target = tmp_path / "litmus.json"
    assert litmus.main(["--device", "cuda-sim", "--quick", "--json", str(target)]) == 0
    rows = json.loads(target.read_text())["rows"]
    assert len(rows) == 2 * len(litmus.SHAPES) and all(row["runs"] == 256 and row["weak"] == 0 for row in rows)


@pytest.mark.slow
@pytest.mark.skipif(build.reason_against() is not None, reason=f"ptx: {build.reason_against()}")
def test_litmus_tests_on_the_ptx_machine_see_what_is_allowed_and_no_more() -> None:
    """Message passing without fences shows that its memory is weak."""
    found: dict[tuple[str, str], int] = {}
    for seed in range(1, 3):
        for row in litmus.asked(device_of(PtxOptions(seed=seed), "steps"), 8, 4):
            assert not row["wrong"], row
            found[row["question"], row["between"]] = found.get((row["question"], row["between"]), 0) + row["weak"]
    for question in ("message passing", "store buffering"):
        assert found[question, "none"] > 0 == found[question, "fences"], found


def test_a_forbidden_outcome_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(litmus, "weak", lambda shape, found: int(shape == 0))
    assert litmus.main(["--device", "cuda-sim", "--quick"]) == 1
    assert capsys.readouterr().out.count("FORBIDDEN") == 1


def test_each_weak_outcome_is_known() -> None:
    """An instance: the values that the first and the second side read."""
    outcomes: list[list[Any]] = [
        [[0, 0], [1, 0]], [[0, 0], [0, 0]], [[1, 0], [1, 0]], [[0, 0], [2, 1]]
    ]  # fmt: skip
    strong = np.array([[[0, 0], [1, 1]], [[0, 0], [0, 1]]])
    for shape, outcome in enumerate(outcomes):
        assert litmus.weak(shape, np.array([outcome])) == 1
    assert litmus.weak(0, strong) == litmus.weak(3, strong) == litmus.weak(2, strong) == 0

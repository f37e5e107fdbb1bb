"""Files that version 1.0.0 wrote are read, and what they hold goes on as it would have there.

`tests/golden/make_version_1.py` wrote them.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.commands import cli
from minirnn.io import checkpoint
from minirnn.train import pictures
from tests.golden.make_version_1 import Net

STORED = Path(__file__).parents[1] / "golden" / "version_1"


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(STORED, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_its_optimizer_and_its_schedule_go_on() -> None:
    with pytest.warns(UserWarning, match="a pair without names at 'state'"):
        file = mr.load(STORED / "training.safetensors")
    net = Net()
    optimizer = mr.optim.Adam(net.parameters(), lr=9.0)
    schedule = mr.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    net.load_state_dict(file["model"])
    optimizer.load_state_dict(file["optimizer"])
    schedule.load_state_dict(file["schedule"])
    losses = []
    for _ in range(3):
        loss = (net(file["x"]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    assert file["step"] == 3 and [tuple(part.shape) for part in file["state"]] == [(1, 2, 4)] * 2
    np.testing.assert_allclose(losses, np.loadtxt(STORED / "losses.txt")[3:], rtol=2e-4)


def test_a_run_of_train_is_continued(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "draw_all", lambda folder, training: "")
    assert cli.main(["train", "--quiet", "--resume", "--steps", "10", "--out", "run"]) == 0
    (arrays, _), (expected, _) = (checkpoint.load(copied / run / "checkpoint.safetensors") for run in ("run", "whole"))
    assert arrays.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(arrays[name], value, rtol=1e-3, atol=1e-6, err_msg=name)


def test_a_model_writes_text_and_its_weights_are_converted(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sample", "--checkpoint", "whole", "--length", "20"]) == 0
    assert cli.main(["convert", "whole/checkpoint.safetensors", "now.safetensors", "--to", "cudnn.params"]) == 0
    assert cli.main(["convert", "params.safetensors", "back.safetensors", "--to", "torch.nn"]) == 0
    (now, _), (then, _) = (checkpoint.load(copied / f"{name}.safetensors") for name in ("now", "params"))
    np.testing.assert_array_equal(now["params"], then["params"])


def test_a_course_is_verified(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["course", "verify", "course"]) == 0
    assert "ex01" in capsys.readouterr().out

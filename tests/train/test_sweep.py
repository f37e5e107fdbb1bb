"""A sweep has the same files on every executor and after every interruption, and does nothing twice.

Tests `minirnn/train/sweep.py`, `minirnn/train/run_process.py`, `minirnn/train/sweep_table.py`,
`minirnn/commands/sweep.py`.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cli
from minirnn.io import checkpoint
from minirnn.train import run_process
from minirnn.train.folder import CHECKPOINT, METRICS
from minirnn.train.progress import Interrupt
from minirnn.train.sweep import Plan, planned
from minirnn.train.sweep_table import Row, by_loss, picture
from tests.executors.dask_cluster import two_workers
from tests.parallel.test_mpi import environment, mpiexec
from tests.train.runs import UNDRAWN, complaint, watch_losses

ROOT = Path(__file__).parents[2]
SWEEP = [sys.executable, "-m", "minirnn", "sweep"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


SLOW_LATER = """
import sys
import time
from pathlib import Path

if "minirnn.train.run_process" in sys.orig_argv and any(Path({out!r}).glob("*/{result}")):
    from minirnn.train.run import Training

    advance = Training.advance

    def slowly(self):
        time.sleep(0.2)
        advance(self)

    Training.advance = slowly
"""


def arguments(text: Path, out: Path, *more: str) -> list[str]:
    tiny = ["--batch", "3", "--length", "11", "--steps", "30", "--text", str(text)]
    return [*tiny, "--hidden", "5", "7", "--out", str(out), *more]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def undisturbed(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep") / "out"
    done = subprocess.run(
        [*SWEEP, *arguments(text, out, "--executor", "threads:1")], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (out / "printed").write_text(done.stdout)
    return out


def expected(undisturbed: Path) -> dict[str, bytes]:
    found = files(undisturbed)
    del found["printed"]
    return found


def test_a_run_a_folder_and_one_table_and_picture_of_all(undisturbed: Path) -> None:
    names = ["hidden=5", "hidden=7"]
    own = {f"{name}/{file}" for name in names for file in (CHECKPOINT, METRICS, run_process.RESULT)}
    assert set(expected(undisturbed)) == {"sweep.json", "sweep.csv", "sweep.png", *own}
    with open(undisturbed / "sweep.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == names
    for row in rows:
        arrays, metadata = checkpoint.load(undisturbed / row["run"] / CHECKPOINT)
        assert metadata["options"]["hidden"] == int(row["hidden"])
        assert int(row["parameters"]) == sum(a.size for name, a in arrays.items() if name.startswith("model."))
        assert (row["ended"], row["step"]) == ("finished", "30")
    best = min(rows, key=lambda row: float(row["validation_loss"]))["run"]
    printed = (undisturbed / "printed").read_text()
    assert f"best: {best}, validation loss" in printed
    assert printed.count("of 2  hidden=") == 2


def test_a_run_of_a_sweep_is_the_run_of_train(undisturbed: Path, text: Path, tmp_path: Path) -> None:
    given = ["--hidden", "7", "--batch", "3", "--length", "11", "--steps", "30", "--text", str(text)]
    one_thread = dict.fromkeys(run_process.BLAS, "1")
    command = [*UNDRAWN, *given, "--out", str(tmp_path / "out")]
    subprocess.run(command, env=ENVIRONMENT | one_thread, check=True, capture_output=True)
    for name in (CHECKPOINT, METRICS):
        assert (tmp_path / "out" / name).read_bytes() == (undisturbed / "hidden=7" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["threads:2", "processes:2"])
def test_every_executor_leaves_the_same_files(executor: str, undisturbed: Path, text: Path, tmp_path: Path) -> None:
    command = [*SWEEP, *arguments(text, tmp_path / "out", "--executor", executor, "--quiet")]
    subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True)
    assert files(tmp_path / "out") == expected(undisturbed)


def test_dask_leaves_the_same_files(undisturbed: Path, text: Path, tmp_path: Path) -> None:
    with two_workers() as cluster:
        where = f"dask:{cluster.scheduler_address}"
        assert cli.main(["sweep", *arguments(text, tmp_path / "out", "--executor", where, "--quiet")]) == 0
    assert files(tmp_path / "out") == expected(undisturbed)


def test_ranks_of_mpi_leave_the_same_files_and_one_of_them_speaks(
    undisturbed: Path, text: Path, tmp_path: Path
) -> None:
    command = [mpiexec(), "-n", "3", *SWEEP, *arguments(text, tmp_path / "out", "--executor", "mpi")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout.count("best: ")) == (0, "", 1)
    assert files(tmp_path / "out") == expected(undisturbed)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_sweep_that_was_stopped_goes_on_and_repeats_nothing(
    name: str, undisturbed: Path, text: Path, tmp_path: Path
) -> None:
    out, number = tmp_path / "out", signal.Signals[name]
    # From the second run on the steps are slow, so that the sweep is not finished before the signal arrives.
    (tmp_path / "sitecustomize.py").write_text(SLOW_LATER.format(out=str(out), result=run_process.RESULT))
    slow = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [*SWEEP, *arguments(text, out, "--executor", "threads:1")]
    first = out / "hidden=5" / run_process.RESULT
    with subprocess.Popen(command, env=slow, stdout=subprocess.PIPE, text=True) as begun:
        while not first.exists():
            assert begun.poll() is None
            time.sleep(0.01)
        begun.send_signal(number)
        said, _ = begun.communicate()
    assert begun.returncode in (-number, 130), said
    if number == signal.SIGINT:
        assert "to continue: " in said and "-m minirnn sweep --resume --out" in said.partition("to continue: ")[2]
        assert not (out / run_process.STOP).exists()
    done = {path: path.stat().st_mtime_ns for path in out.glob(f"*/{run_process.RESULT}")}
    again = subprocess.run([*SWEEP, "--resume", "--out", str(out)], env=ENVIRONMENT, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert first in done and {path: path.stat().st_mtime_ns for path in done} == done
    assert files(out) == expected(undisturbed)


def test_a_resumed_sweep_tries_again_what_failed_and_takes_more_values(
    text: Path, tmp_path: Path, unrendered: None, capsys: pytest.CaptureFixture[str]
) -> None:
    out, moved = tmp_path / "out", tmp_path / "moved.txt"
    tiny = ["--batch", "3", "--length", "11", "--steps", "10", "--hidden", "5", "--lr", "0.01", "0.02"]
    assert cli.main(["sweep", *tiny, "--text", str(moved), "--out", str(out), "--quiet"]) == 1
    assert "failed" in capsys.readouterr().out
    moved.write_bytes(text.read_bytes())
    assert cli.main(["sweep", "--resume", "--out", str(out), "--quiet"]) == 0
    result = out / "lr=0.01" / run_process.RESULT
    before = result.stat().st_mtime_ns
    assert cli.main(["sweep", "--resume", "--lr", "0.03", "0.02", "--out", str(out)]) == 0
    assert "3 runs: lr 0.01, 0.02, 0.03; 2 of them already done" in capsys.readouterr().out
    assert (out / "lr=0.03" / CHECKPOINT).exists() and result.stat().st_mtime_ns == before


def test_a_run_that_diverges_is_a_result_without_a_loss(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"hidden": 5, "batch": 3, "length": 11, "steps": 30, "text": str(text)}
    run = run_process.Run(str(tmp_path), "run", given, (3, 11), {})
    watch_losses(monkeypatch, lambda k, loss: loss * float("inf") if k == 12 else loss)
    with Interrupt() as interrupt:
        result = run_process.trained(run, tmp_path / "run", interrupt)
    assert result["ended"] == run_process.DIVERGED and result["validation_loss"] is None and result["step"] == 11
    assert "training stopped after 11 steps" in result["reason"]
    assert run_process.result_of(tmp_path, "run", 30) == result  # it would diverge again


def test_a_damaged_result_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for text in ("", "{", "[]", '{"ended": "finished"}', '{"step": 3}', '{"ended": "finished", "step": 29}'):
        (tmp_path / "run" / run_process.RESULT).write_text(text)
        assert run_process.result_of(tmp_path, "run", 30) is None
    (tmp_path / "run" / run_process.RESULT).write_text('{"ended": "finished", "step": 30}')
    assert run_process.result_of(tmp_path, "run", 30) is not None


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    result = run_process.do(run_process.Run(str(tmp_path / "elsewhere"), "run", {}, (3, 11), {}))
    assert result["ended"] == run_process.FAILED and "all workers must see the same files" in result["reason"]


def test_values_are_combined_in_the_order_of_the_options() -> None:
    plan = planned({"lr": [1e-3, 3e-4], "hidden": [8, 16], "seed": [3], "cell": "gru"})
    assert list(plan.runs()) == [f"hidden={h},lr={lr}" for h in (8, 16) for lr in ("0.001", "0.0003")]
    assert plan.runs()["hidden=16,lr=0.0003"] == {
        **{"cell": "gru", "seed": 3, "device": mr.devices.get().name, "hidden": 16, "lr": 3e-4}
    }
    assert list(Plan({"seed": 1}, {}).runs()) == ["run"]
    assert plan.judge() == (32, 64)
    assert planned({"batch": [8, 4], "length": [16, 8]}).judge() == (8, 16)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--lr", "0.1", "1e-1"], "--lr has the value 0.1 twice"),
        (["--hidden", "8", "64", "--projection", "16"], "hidden=8: --projection 16 must be smaller than the 8 units"),
        (["--lr", "0.1", "2"], "got '2', expected a number above 0"),
        (["--cell", "gru", "lstm"], "unrecognized arguments: lstm"),
        (["--device", "cudda"], "likely 'cuda' is meant"),
        (["--executor", "treads:2"], "likely 'threads' is meant"),
        (["--executor", "threads:0"], "--executor: got 'threads:0'; expected a whole number"),
        (["--resume"], "nothing to resume"),
        (["--seed", *map(str, range(200)), "--hidden", *map(str, range(1, 101))], "these would be 20,000 runs"),
    ],
)
def test_mistakes_are_told_on_one_line(
    given: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main(["sweep", "--out", str(tmp_path / "out"), *given])
    except SystemExit as error:
        status = error.code
    assert status == 2
    assert says in complaint(capsys, "sweep")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_a_sweep_or_another_plan_is_refused(
    undisturbed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(undisturbed)]
    assert cli.main(["sweep", "--lr", "0.1", *out]) == 2
    assert "already holds a sweep" in complaint(capsys, "sweep")
    assert cli.main(["sweep", "--resume", "--seed", "1", *out]) == 2
    assert "--seed contradicts the sweep to resume" in complaint(capsys, "sweep")


def test_a_damaged_plan_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("", "{}", "[]", '{"kind": "minirnn sweep", "constant": 3}', '{"kind": "other"}'):
        (tmp_path / "sweep.json").write_text(text)
        assert cli.main(["sweep", "--resume", "--out", str(tmp_path)]) == 2
        assert "not written by minirnn sweep" in complaint(capsys, "sweep")


def row(name: str, lr: float, loss: float | None) -> Row:
    result: dict[str, Any] = {"ended": "finished" if loss else "diverged", "step": 20, "validation_loss": loss}
    return Row(name, {"lr": lr}, result)


def test_the_picture_has_every_run_and_the_last_loss_by_each_number(tmp_path: Path) -> None:
    rows = [row("a", 0.1, 2.0), row("b", 0.01, 1.5), row("c", 1.0, None)]
    for k, one in enumerate(rows):
        (tmp_path / one.name).mkdir()
        lines = [{"step": step, "validation_loss": 4.0 - k} for step in (0, 10)]
        (tmp_path / one.name / METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [one.name for one in by_loss(rows)] == ["b", "a", "c"]
    drawn = picture(tmp_path, rows, {"lr": [0.1, 0.01, 1.0]}, rows[1])
    np.testing.assert_array_equal(drawn.data["b"], [[0, 3], [10, 3], [20, 1.5]])
    np.testing.assert_array_equal(drawn.data["c"], [[0, 2], [10, 2]])
    np.testing.assert_array_equal(drawn.data["by lr"], [[0.1, 2.0], [0.01, 1.5]])
    assert drawn.ax[0].get_title() == "best: b"

"""The table is the same, byte for byte, whoever makes the comparisons."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from minirnn.cli import main
from minirnn.executors import open_executor
from minirnn.proving import table
from minirnn.proving.table import FAILED, Cell
from minirnn.verify.comparisons import all_comparisons, compute
from minirnn.verify.tasks import by_workers, do, tasks
from tests.verify.runs import GOLDEN

DEVICES = {"cpu": None, "cuda": "no GPU"}
LABELS = {"cpu": "cpu", "cuda": "cuda"}
ROWS = ("gru_block_cell", "lstm_block_cell_grad", "cudnn_rnn_params_size", "functional")


def chosen() -> list[table.Comparison]:
    return [one for one in all_comparisons(DEVICES, GOLDEN) if one.quick and one.cell.op in ROWS]


@pytest.mark.slow
def test_every_comparison_that_can_run_is_in_one_task() -> None:
    every = all_comparisons(DEVICES, GOLDEN)
    named = [key for task in tasks(every, DEVICES, LABELS, GOLDEN) for key in task.keys]
    assert len(named) == len(set(named))
    assert set(named) == {(one.cell, one.case) for one in every if one.run is not None}


def test_tasks_can_be_sent() -> None:
    task = next(tasks(chosen(), DEVICES, LABELS, GOLDEN))
    assert do(pickle.loads(pickle.dumps(task))) == do(task)


@cache
def table_of_one_process() -> str:
    return table.to_json({}, compute(chosen()))


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["threads:3", "processes:2"])
def test_the_table_is_that_of_one_process(executor: str) -> None:
    alone = table_of_one_process()
    with open_executor(executor) as workers:
        found = by_workers(workers, chosen(), DEVICES, LABELS, GOLDEN)
    assert table.to_json({}, compute(chosen(), found)) == alone
    assert alone.count('"passed"') > 50


def test_the_command_prints_and_writes_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for executor in ([], ["--executor", "threads:2"]):
        out = tmp_path / f"{len(said)}.json"
        assert (
            main(["verify", "--quick", "--op", "gru_block_cell", "--device", "cpu", "--out", str(out), *executor]) == 0
        )
        said.append((capsys.readouterr().out, out.read_bytes()))
    assert said[0] == said[1]


@pytest.mark.slow
def test_a_device_with_another_label_keeps_its_cells() -> None:
    labels = {"cpu": "cpu (slow)", "cuda": "cuda"}
    renamed = [
        table.Comparison(Cell(c.op, c.variant, c.dtype, labels[c.device], c.way), one.case, one.run, one.absent)
        for one in chosen()
        for c in [one.cell]
    ]
    with ThreadPoolExecutor(1) as workers:
        found = by_workers(workers, renamed, DEVICES, labels, GOLDEN)
    assert {result.cell.device for result in compute(renamed, found)} == {"cpu (slow)", "cuda"}


def test_another_version_on_a_worker_fails_the_cells_and_says_so() -> None:
    some = chosen()[:4]

    class Old(ThreadPoolExecutor):
        def submit(self, function, /, *args, **kwargs):  # type: ignore[no-untyped-def,override]
            return super().submit(function, *(task._replace(minirnn="0.0.1") for task in args), **kwargs)

    with Old(1) as workers:
        found = by_workers(workers, some, DEVICES, LABELS, GOLDEN)
    results = [result for result in compute(some, found) if result.status == FAILED]
    assert results and all("expected 0.0.1" in result.why for result in results)


def test_a_wrong_executor_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--quick", "--op", "gru_block_cell", "--device", "cpu", "--executor", "proceses:2"]) == 2
    assert "--executor: got 'proceses:2'" in capsys.readouterr().err

"""If a worker of a Dask cluster is killed while it grades a class, the report is still that of one process.

Tests `minirnn/parallel/executors.py` with the task for which it was made.
"""

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from minirnn.commands import cli
from tests.learn.answers import solution
from tests.parallel.executors.dask_cluster import two_workers

classes = pytest.importorskip("tests.learn.grading.classes", reason="the room of grading is not here")
STUDENTS = [f"s{k}" for k in range(8)]


@pytest.mark.slow
def test_a_killed_worker_changes_no_byte_of_the_report_and_no_grade_counts_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    Path("course").mkdir()
    course = classes.small_course(Path("course"), ("ex01", "ex05"))
    wrong = solution("ex05", ("da @ W.T", "2 * da @ W.T"))
    for k, student in enumerate(STUDENTS):
        folder = classes.hand_in(Path("subs", student), course, **({"ex05": wrong} if k % 3 == 1 else {}))
        if k % 2:
            classes.zipped(folder)
    Path("subs/damaged.zip").write_bytes(b"PK\x03\x04")
    grade = ["grade", "--trusted", *map(str, sorted(Path("subs").iterdir())), "--course", "course"]
    assert cli.main([*grade, "--out", "csv:alone.csv"]) == 1  # one could not be read

    def records() -> list[str]:
        journal = Path("together.csv.journal")
        return journal.read_text().splitlines()[1:] if journal.exists() else []

    def kill_one() -> None:
        """Some submissions are graded, and most are not."""
        while not records():
            time.sleep(0.01)
        os.kill(pids[0], signal.SIGKILL)

    with two_workers() as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            pids = list(client.run(os.getpid).values())
        killer = threading.Thread(target=kill_one)
        killer.start()
        where = f"dask:{cluster.scheduler_address}"
        assert cli.main([*grade, "--out", "csv:together.csv", "--executor", where]) == 1
        killer.join()
    assert Path("together.csv").read_bytes() == Path("alone.csv").read_bytes()
    told = Counter(student for line in records() for student in [*STUDENTS, "damaged"] if f'"{student}"' in line)
    assert told == Counter([*STUDENTS, "damaged"])

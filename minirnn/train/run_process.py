"""A training run in its own process, as the sweep's workers start it: ``python -m minirnn.train.run_process``.

The results of a run do not depend on earlier work of the worker, or on its threads, because the process starts with its
own random stream, BLAS and memory. If its worker dies, the process saves the run and ends: its standard input is a pipe
that is closed when the worker dies or wants it to stop.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from minirnn.io.atomic import atomic_write
from minirnn.parallel import World
from minirnn.parallel.mpi import RANKS, SIZES
from minirnn.train.folder import CHECKPOINT, Busy, opened
from minirnn.train.progress import Interrupt
from minirnn.train.run import Diverged, Training
from minirnn.train.saved import read_checkpoint
from minirnn.train.work import begun, continued, enough_memory, train
from minirnn.user_error import UserError, one_line

RESULT, STOP = "result.json", "stop"
"""The file that a finished run leaves in its folder, and the file in the sweep's folder that makes runs stop."""
FINISHED, DIVERGED, STOPPED, FAILED = "finished", "diverged", "stopped", "failed"
"""How a run ended. The first two are final."""
BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Run(NamedTuple):
    """One run of a sweep: a task for any worker that sees the sweep's folder."""

    sweep: str
    """The folder of the sweep, from the root."""
    name: str
    """The folder of the run, in that of the sweep."""
    given: dict[str, Any]
    """Its options."""
    judge: tuple[int, int]
    """The batches (B, T) of the last validation: the same for all runs, so that losses can be compared."""
    threads: dict[str, str]
    """The environment variables for the number of BLAS threads: a different number rounds differently."""


Result = dict[str, Any]
"""``ended``, and for a final run ``step``, ``parameters``, ``loss``, ``validation_loss``; otherwise possibly
``reason``.
"""


def threads_of_a_run() -> dict[str, str]:
    """The thread settings of the user for all runs; one thread each if there are none."""
    given = {name: os.environ[name] for name in BLAS if name in os.environ}
    return given or dict.fromkeys(BLAS, "1")


def do(run: Run) -> Result:
    """Train until the run is finished or the sweep is asked to stop. This is the worker's part.

    Raises
    ------
    RuntimeError
        The process of the run died.
    """
    sweep = Path(run.sweep)
    if not sweep.is_dir():
        where = f"{os.uname().nodename}: " if hasattr(os, "uname") else ""
        return {"ended": FAILED, "reason": f"{where}no folder {sweep}; all workers must see the same files"}
    if (sweep / STOP).exists():
        return {"ended": STOPPED}
    environment = {name: value for name, value in os.environ.items() if name not in (*BLAS, *RANKS, *SIZES)}
    lifeline, ours = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "minirnn.train.run_process", json.dumps(run)],
            stdin=lifeline,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=environment | run.threads,
            start_new_session=True,  # Ctrl-C reaches the sweep, which stops all its runs
        )
    finally:
        os.close(lifeline)
    with open(ours, "wb") as end:
        while True:
            try:
                said, complaint = process.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                if (sweep / STOP).exists():
                    end.close()
    if process.returncode:
        said = one_line(complaint)[-500:]
        raise RuntimeError(f"the process of the run ended with status {process.returncode}: {said}")
    result: Result = json.loads(said)
    return result


# ---- in the process of the run


def main(argument: str) -> int:
    """Train, and print the `Result` as JSON."""
    run = Run(*json.loads(argument))
    with Interrupt() as interrupt:
        threading.Thread(target=_stop_when_alone, daemon=True).start()
        try:
            result = trained(run, Path(run.sweep) / run.name, interrupt)
        except UserError as error:
            result = {"ended": FAILED, "reason": one_line(str(error))}
        print(json.dumps(result))
    return 0


def _stop_when_alone() -> None:
    os.read(0, 1)  # comes back when the other end of the pipe is closed
    signal.raise_signal(signal.SIGINT)


def trained(run: Run, folder: Path, interrupt: Interrupt) -> Result:
    with enough_memory(), ExitStack() as stack:
        while not interrupt.requested:
            try:
                stack.enter_context(opened(folder))
                break
            except Busy:  # one whose worker was lost saves, and ends
                time.sleep(0.1)
        else:
            return {"ended": STOPPED}
        path = folder / CHECKPOINT
        again = path.exists()
        training = continued(path, *read_checkpoint(path), run.given, World()) if again else begun(run.given)
        result: Result = {"ended": FINISHED}
        try:
            train(training, folder, interrupt, quiet=True)
        except Diverged as error:
            result = {"ended": DIVERGED, "reason": str(error)}
        if result["ended"] == FINISHED and training.step < training.options.steps:
            return {"ended": STOPPED}
        result |= _numbers(training, run.judge, result["ended"] == FINISHED)
        with atomic_write(folder / RESULT) as file:
            json.dump(result, file)
        return result


def _numbers(training: Training, judge: tuple[int, int], finished: bool) -> Result:
    """The entries of the table for a run. A run that diverged has no loss."""
    found: Result = {"step": training.step, "parameters": training.model.size()}
    if not finished:
        return found | {"loss": None, "validation_loss": None}
    last = training.losses or [line["loss"] for line in training.lines if line["loss"] is not None][-1:]
    training.validation = training.validation_batches(*judge)
    return found | {"loss": sum(last) / len(last), "validation_loss": training.validation_loss()}


def result_of(sweep: Path, name: str, steps: int) -> Result | None:
    """The result of a finished run of that name; None if there is work to do."""
    try:
        result: Result = json.loads((sweep / name / RESULT).read_text("utf-8"))
        final = result["ended"] == DIVERGED or result["step"] >= steps
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not yet, or damaged: it is made again
    return result if final else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

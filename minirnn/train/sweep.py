"""Many runs of ``minirnn train`` with different settings: each in its own folder, all in one table.

The results of a run depend only on its options, so a sweep has the same results on any executor, and after any
interruption: a run continues from its checkpoint, and a finished one is not repeated.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, fields
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from minirnn import devices
from minirnn._version import __version__
from minirnn.executors import outcomes
from minirnn.io.atomic import atomic_write
from minirnn.messages import meant
from minirnn.nn.cell_file import cell_in, changed, checked_name, definition, names_a_file
from minirnn.train.folder import check_writable, opened
from minirnn.train.messages import command, sampling, say
from minirnn.train.options import Options, of_new_run
from minirnn.train.progress import Doing, Interrupt, both_units
from minirnn.train.run_process import FAILED, FINISHED, STOP, STOPPED, Result, Run, do, result_of, threads_of_a_run
from minirnn.train.sweep_table import Row, draw, text_of, write_csv
from minirnn.user_error import UserError, user_mistakes

DEFAULT_OUT = "minirnn-sweep"
PLAN, TABLE, PICTURE = "sweep.json", "sweep.csv", "sweep.png"
KIND = "minirnn sweep"
MOST = 10_000
"""The largest number of runs. More are probably a typing mistake."""
NUMBERS = tuple(field.name for field in fields(Options) if field.type in ("int", "float", "int | None"))
"""The options of which a sweep takes several values."""


class Plan(NamedTuple):
    """The plan of a sweep."""

    constant: dict[str, Any]
    """The options that all runs have."""
    varied: dict[str, list[Any]]
    """The options that differ, with their values, in the order of `Options`."""
    cell: list[str] | None = None
    """What a custom cell computes, from `definition`."""

    def runs(self) -> dict[str, dict[str, Any]]:
        """The name of each run, and its options."""
        found = {}
        for values in itertools.product(*self.varied.values()):
            own = dict(zip(self.varied, values, strict=True))
            found[",".join(f"{name}={value!r}" for name, value in own.items()) or "run"] = self.constant | own
        return found

    def judge(self) -> tuple[int, int]:
        """The batches (B, T) of the last validation, the same for all runs."""
        first = Options(**(self.constant | {name: values[0] for name, values in self.varied.items()}))
        return first.batch, first.length


def planned(given: Mapping[str, Any]) -> Plan:
    """The plan of a new sweep; `given` has lists for `NUMBERS`.

    Raises
    ------
    UserError
        A value is given twice, options contradict each other in one of the runs, or there are too many of them.
    """
    constant, varied = {"device": _device(given.get("device"))}, {}
    for name in (field.name for field in fields(Options) if field.name in given):
        values = given[name] if name in NUMBERS else [given[name]]
        if len(set(values)) < len(values):
            twice = next(value for k, value in enumerate(values) if value in values[:k])
            raise UserError(f"--{name.replace('_', '-')} has the value {twice!r} twice")
        if len(values) > 1:
            varied[name] = list(values)
        elif name != "device":
            constant[name] = values[0]
    if (count := math.prod(map(len, varied.values()))) > MOST:
        raise UserError(f"these would be {count:,} runs\n  expected at most {MOST:,}")
    plan = Plan(constant, varied)
    for name, options in plan.runs().items():
        try:
            of_new_run(options)
        except UserError as error:
            raise UserError(f"{name}: {error}" if varied else str(error)) from None
    cell = constant.get("cell", "")
    return plan._replace(cell=definition(cell_in(cell))) if names_a_file(cell) else plan


def _device(name: str | None) -> str:
    """The device of all runs. Only the workers, which may be other machines, can tell whether it works."""
    if name is None:
        return devices.get().name
    if name not in (known := devices.available()):
        raise UserError(f"--device {name}\n  expected one of {', '.join(known)}{meant(name, known)}")
    return name


def begin(folder: Path, given: Mapping[str, Any], executor: Executor, quiet: bool) -> int:
    """Do all runs of a new sweep; the exit status, as of `work`."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--out {folder} is a file; it must be a folder, or not exist yet")
    if (folder / PLAN).exists():
        raise UserError(f"{folder} already holds a sweep: continue it with --resume, or choose another --out")
    plan = planned(given)
    check_writable(folder)
    return work(folder, plan, executor, quiet)


def resume(folder: Path, given: Mapping[str, Any], executor: Executor, quiet: bool) -> int:
    """Finish the sweep in the folder, after adding the values `given` to those that it varies.

    Raises
    ------
    UserError
        There is no sweep, or the options contradict it.
    """
    if not (folder / PLAN).exists():
        raise UserError(f"nothing to resume: there is no {folder / PLAN}; to start a sweep, leave --resume out")
    saved = read_plan(folder)
    cell = checked_name("the sweep to resume", given.get("cell"), saved.constant.get("cell", Options.cell))
    if names_a_file(cell):
        saved.constant["cell"] = cell  # the file may have moved
    for name, values in given.items():
        listed = values if name in NUMBERS else [values]
        if name not in saved.varied and listed != [(asdict(Options()) | saved.constant)[name]]:
            option = f"--{name.replace('_', '-')}"
            raise UserError(
                f"{option} contradicts the sweep to resume, which does not vary it and has "
                f"{(asdict(Options()) | saved.constant)[name]}\n"
                f"leave {option} out, or start a new sweep in another --out"
            )
    varied = {name: list(dict.fromkeys([*values, *given.get(name, ())])) for name, values in saved.varied.items()}
    plan = planned({name: [value] if name in NUMBERS else value for name, value in saved.constant.items()} | varied)
    if difference := changed(saved.cell or [], plan.cell or []):
        raise UserError(f"{plan.constant['cell']} is not the cell of the sweep to resume: {difference}")
    return work(folder, plan, executor, quiet)


def read_plan(folder: Path) -> Plan:
    """The plan of the sweep in a folder. Raises UserError if it is damaged."""
    path = folder / PLAN
    with user_mistakes():
        text = path.read_text("utf-8")
    try:
        saved = json.loads(text)
        if saved["kind"] != KIND:
            raise ValueError("of another kind")
        varied = {name: list(values) for name, values in saved["varied"].items()}
        return Plan(dict(saved["constant"]), varied, saved.get("cell"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: {type(error).__name__}: {error}\ndamaged, or not written by minirnn sweep") from error


class StopFile(Interrupt):
    """While a sweep works, Ctrl-C leaves the file `STOP` in its folder, which all workers look for; a second Ctrl-C
    raises.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.file = folder / STOP
        self.file.unlink(missing_ok=True)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.file.touch()
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


def work(folder: Path, plan: Plan, executor: Executor, quiet: bool) -> int:
    """Do the runs that are left, and write the table and the picture.

    The exit status is 0 if all runs are done, those that diverged included, 1 if one failed, 130 after Ctrl-C.
    """
    runs, judge, threads = plan.runs(), plan.judge(), threads_of_a_run()
    with opened(folder, "sweep"), StopFile(folder) as interrupt:
        with atomic_write(folder / PLAN) as file:
            cell = {} if plan.cell is None else {"cell": plan.cell}
            saved = {"kind": KIND, "minirnn": __version__, "constant": plan.constant, "varied": plan.varied, **cell}
            json.dump(saved, file)
        steps = {name: Options(**given).steps for name, given in runs.items()}
        found: dict[str, Result] = {
            name: result for name in runs if (result := result_of(folder, name, steps[name])) is not None
        }
        left = [Run(str(folder.resolve()), n, given, judge, threads) for n, given in runs.items() if n not in found]
        if not quiet:
            say(introduction(plan, len(runs), len(found)))
        began = time.monotonic()
        told = outcomes(executor, do, left, ahead=max(len(left), 1))
        for count in range(len(found) + 1, len(runs) + 1):
            with Doing(f"{count - 1} of {len(runs)} runs are done", quiet or not sys.stderr.isatty()):
                outcome = next(told)
            result = outcome.result or {"ended": FAILED, "reason": str(outcome.error)}
            found[outcome.task.name] = result
            if not quiet and result["ended"] != STOPPED:
                say(f"{count} of {len(runs)}  {outcome.task.name}: {told_of(result)}  {time.monotonic() - began:.0f} s")
        interrupt.file.unlink(missing_ok=True)
        return finish(folder, plan, [Row(name, given, found[name]) for name, given in runs.items()], interrupt)


def finish(folder: Path, plan: Plan, rows: Sequence[Row], interrupt: Interrupt) -> int:
    """Write and print the table, draw the picture, name the best run."""
    done = [row for row in rows if row.result["ended"] == FINISHED]
    best = min(done, key=lambda row: row.result["validation_loss"], default=None)
    with atomic_write(folder / TABLE) as file:
        write_csv(file, rows, plan.varied)
    cell = plan.constant.get("cell", Options.cell)
    say(text_of(rows, plan.varied))
    draw(folder, rows, plan.varied, best, folder / PICTURE)
    if best is not None:
        say(f"best: {best.name}, validation loss {both_units(best.result['validation_loss'])} per character")
        say(f"to draw its pictures: {command(folder / best.name, cell, '--resume')}")
        say(f"to write text with it: {sampling(folder / best.name, cell)}")
    say(f"in {folder}: {TABLE}, {PICTURE} and a folder for each run")
    left = sum(row.result["ended"] == STOPPED for row in rows)
    if left or interrupt.requested:
        again = command(folder, cell, "--resume").replace(" train ", " sweep ", 1)
        say(f"stopped with {left} of {len(rows)} runs to do, saved; to continue: {again}")
        return 130
    return 1 if any(row.result["ended"] == FAILED for row in rows) else 0


def introduction(plan: Plan, count: int, done: int) -> str:
    """The number of runs, and the options that differ."""
    differ = "; ".join(f"{name} {', '.join(map(repr, values))}" for name, values in plan.varied.items())
    had = f"; {done} of them already done" if done else ""
    return f"{count} {'run' if count == 1 else 'runs'}" + (f": {differ}" if differ else "") + had


def told_of(result: Result) -> str:
    """A result in a few words."""
    if result["ended"] == FINISHED:
        return f"validation {both_units(result['validation_loss'])}"
    return f"{result['ended']}: {result.get('reason', '')}"

"""A training run in its folder, from the beginning or from the last checkpoint, to the pictures.

A folder holds one run, and one process at a time writes in it.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np

from minirnn import devices
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.io.atomic import atomic_write, naming
from minirnn.machine.terminal import while_working
from minirnn.parallel import World
from minirnn.train import pictures
from minirnn.train.checkpoint import CHECKPOINT, check_cell, damages, read_checkpoint, read_text
from minirnn.train.messages import FILES, METRICS, command, introduction, native_tip, result, sampling, say
from minirnn.train.options import of_new_run, resumed
from minirnn.train.progress import Interrupt, Progress
from minirnn.train.ranks import check_shards, on_all, on_first, world_of_run
from minirnn.train.training import Training, hash_of

try:
    import fcntl
except ImportError:  # not a POSIX system: there, two runs in one folder are not noticed
    fcntl = None  # type: ignore[assignment]

SAVE_EVERY, SAVE_AFTER = 100, 30.0
"""The numbers of steps and of seconds after which a checkpoint is written."""


class Busy(UserError):
    """Another process is writing in the folder."""


def check(folder: Path, resume: bool) -> None:
    """Raise UserError if a run can't be started (or resumed) in `folder`; it is left as it was."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--out {folder} is a file; it must be a folder, or not exist yet")
    if resume:
        if not (folder / CHECKPOINT).exists():
            raise UserError(f"nothing to resume: there is no {folder / CHECKPOINT}; to start a run, leave --resume out")
        check_writable(folder)
        return
    there = [name for name in reversed(FILES) if (folder / name).exists()]
    if there:
        raise UserError(
            f"{folder} already holds a run ({there[0]}): continue it with --resume, or choose another --out"
        )
    check_writable(folder)


def check_writable(folder: Path) -> None:
    """Raise UserError if no files can be made in `folder`. It makes one, because permissions do not tell everything.

    Missing folders are created for the test inside a folder with a unique name, and removed again. A process that
    starts at the same time and needs the same folders never sees them.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    there = missing[-1].parent if missing else folder
    tried = missing[-1] if missing else folder
    with user_mistakes():
        try:
            with tempfile.TemporaryDirectory(dir=there, prefix=".minirnn-") as trial:
                place = Path(trial)
                for tried in reversed(missing):
                    place = trial / tried.relative_to(there)
                    if not place.exists():  # it is there if its name is ".."
                        place.mkdir()
                with tempfile.TemporaryFile(dir=place):
                    pass
        except OSError as error:  # the name that the user gave
            raise OSError(error.errno, error.strerror or str(error), str(tried)) from error


@contextmanager
def opened(folder: Path, command: str = "train") -> Iterator[None]:
    """Make the folder if it is not there, and keep other processes of the `command` from writing in it.

    Raises Busy if another process is at work there. It is a UserError.
    """
    with user_mistakes():
        folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however that ends
        except BlockingIOError:
            raise Busy(
                f"{folder}: another minirnn {command} is writing there; wait for it, or choose another --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


class MetricsFile:
    """metrics.jsonl: one JSON object per line, appended during training.

    When a run is resumed, the file is rewritten from the lines in the checkpoint: what a killed process had
    appended after its last checkpoint is dropped, because these steps are repeated.
    """

    def __init__(self, folder: Path, lines: Sequence[dict[str, Any]]) -> None:
        with user_mistakes(), atomic_write(folder / METRICS) as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        self.written = len(lines)
        self.file = open(folder / METRICS, "a", encoding="utf-8", newline="")  # noqa: SIM115 (closed by __exit__)

    def append(self, lines: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Append the new entries of `lines` at once, and return them."""
        new = lines[self.written :]
        if new:
            with naming(self.file.name):
                self.file.write("".join(json.dumps(line) + "\n" for line in new))
                self.file.flush()
            self.written = len(lines)
        return new

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with naming(self.file.name):  # what could not be written is tried once more
            self.file.close()


def run(folder: Path, given: dict[str, Any], quiet: bool, again: bool) -> int:
    """Start a run with the options `given` in the folder, or continue the one there; returns the exit status."""
    world = world_of_run()
    quiet = quiet or world.rank > 0
    on_first(world, lambda: check(folder, again))
    with enough_memory(), ExitStack() as stack:
        if again:
            on_first(world, lambda: own(folder, stack))
            with while_working("reading the checkpoint and the text", quiet):
                path = folder / CHECKPOINT
                arrays, metadata = on_first(world, lambda: read_checkpoint(path))
                training = on_all(world, lambda: continued(path, arrays, metadata, given, world))
        else:
            with while_working("reading the text, measuring gradients before the first step", quiet):
                training = on_all(world, lambda: begun(given, world))
            on_first(world, lambda: own(folder, stack))
            on_first(world, lambda: check(folder, again))  # again, now that no other process can write there
        training.share(world)
        return work(training, folder, quiet)


def own(folder: Path, stack: ExitStack) -> None:
    """Keep other processes from training in the folder, until the end of `stack`."""
    stack.enter_context(opened(folder))


@contextmanager
def enough_memory() -> Iterator[None]:
    """Inside this block, running out of memory becomes a UserError."""
    try:
        yield
    except MemoryError:
        raise UserError("out of memory; choose a smaller --hidden, --batch or --length") from None


def begun(given: dict[str, Any], world: World | None = None) -> Training:
    """A new run with the options `given`, not yet shared with the other ranks."""
    world = world or World()
    with user_mistakes():
        device = devices.get(given.get("device")).name
    options = of_new_run(given | {"device": device})
    check_shards(world, options.shards, options.batch)
    training = Training(options, read_text(options))
    if world.rank == 0:
        training.start()
    return training


def continued(
    path: Path, arrays: dict[str, np.ndarray], metadata: dict[str, Any], given: dict[str, Any], world: World
) -> Training:
    """The run whose checkpoint, read from `path`, has `arrays` and `metadata`, not yet shared with the other ranks."""
    with damages(path):
        options = resumed(metadata["options"], given, metadata["step"])
        check_cell(path, given.get("cell"), metadata)
        text_hash = metadata["text_sha256"]
    check_shards(world, options.shards, options.batch)
    with user_mistakes():
        devices.get(options.device)
    text = read_text(options)
    if hash_of(text) != text_hash:
        raise UserError(
            "the text is not the one that the run to resume learns from: "
            + (f"{options.text} was changed" if options.text else "the standard library of another Python version?")
        )
    with damages(path):  # the options in a file may be invalid
        training = Training(options, text)
        training.restore(arrays, metadata)
    return training


def work(training: Training, folder: Path, quiet: bool) -> int:
    """Train, save, draw and report. The exit status is 0 when all steps are done, 130 after Ctrl-C."""
    steps = training.options.steps
    with Interrupt() as interrupt:
        if not quiet:
            say(introduction(training))
        train(training, folder, interrupt, quiet)
        if training.world.rank:
            return 0 if training.step >= steps else 130
        finished = training.step >= steps
        cell = training.options.cell
        again = command(folder, cell, "--resume", *([f"--steps {2 * steps}"] if finished else []))
        if not finished:
            say(f"stopped after step {training.step} of {steps}, saved; to continue: {again}")
        try:
            with interrupt.at_once(), while_working("writing a sample, drawing pictures", quiet):
                written = pictures.draw_all(folder, training)
        except KeyboardInterrupt:
            say(f"some pictures are not drawn yet; to draw them: {command(folder, cell, '--resume')}")
            return 130
        say(result(training, folder, written))
        say(f"to write text with it: {sampling(folder, cell)}")
        if finished:
            say(f"to continue: {again}")
        advice = None if quiet else native_tip(training.options)
        if advice:
            say(advice)
    return 0 if finished else 130


def train(training: Training, folder: Path, interrupt: Interrupt, quiet: bool) -> None:
    """Do the remaining steps. After the first save, the files on disk can be resumed at any moment."""
    steps, world = training.options.steps, training.world
    training.save(folder / CHECKPOINT)
    saved_step, saved_at = training.step, time.monotonic()
    writes = MetricsFile(folder, training.lines) if world.rank == 0 else nullcontext()
    with writes as metrics, Progress(training.step, steps, quiet) as progress:
        while training.step < steps and not training.stopping(interrupt.requested):
            training.advance()
            if metrics is not None:
                new = metrics.append(training.lines)
                progress.show(training.step, new[-1] if new else None)
            due = training.step % SAVE_EVERY == 0 or time.monotonic() - saved_at > SAVE_AFTER
            if world.broadcast(due):  # clocks differ, and all ranks take part in saving
                training.save(folder / CHECKPOINT)
                saved_step, saved_at = training.step, time.monotonic()
    if saved_step != training.step:
        training.save(folder / CHECKPOINT)

"""A training run in its folder, from the beginning or from the last checkpoint, to the pictures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import devices
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.parallel import World
from minirnn.train import native_hint, pictures
from minirnn.train.folder import CHECKPOINT, MetricsFile, check, opened
from minirnn.train.from_checkpoint import check_cell, damages, read_checkpoint, read_text
from minirnn.train.messages import command, introduction, result, sampling, say
from minirnn.train.options import of_new_run, resumed
from minirnn.train.progress import Doing, Interrupt, Progress
from minirnn.train.ranks import check_shards, on_all, on_first, world_of_run
from minirnn.train.run import Training, hash_of

SAVE_EVERY, SAVE_AFTER = 100, 30.0
"""The numbers of steps and of seconds after which a checkpoint is written."""


def begin(folder: Path, given: dict[str, Any], quiet: bool) -> int:
    """Start a run with the options `given` and train it; returns the exit status of `work`."""
    world = world_of_run()
    quiet = quiet or world.rank > 0
    on_first(world, lambda: check(folder, resume=False))
    with enough_memory(), ExitStack() as stack:
        with Doing("reading the text, measuring gradients before the first step", quiet):
            training = on_all(world, lambda: begun(given, world))
        on_first(world, lambda: own(folder, stack))
        on_first(world, lambda: check(folder, resume=False))  # again, now that no other process can write there
        training.share(world)
        return work(training, folder, quiet)


def resume(folder: Path, given: dict[str, Any], quiet: bool) -> int:
    """Continue the run in the folder; returns the exit status of `work`."""
    world = world_of_run()
    quiet = quiet or world.rank > 0
    on_first(world, lambda: check(folder, resume=True))
    with enough_memory(), ExitStack() as stack:
        on_first(world, lambda: own(folder, stack))
        with Doing("reading the checkpoint and the text", quiet):
            path = folder / CHECKPOINT
            arrays, metadata = on_first(world, lambda: read_checkpoint(path))
            training = on_all(world, lambda: continued(path, arrays, metadata, given, world))
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
            with interrupt.at_once(), Doing("writing a sample, drawing pictures", quiet):
                written = pictures.draw_all(folder, training)
        except KeyboardInterrupt:
            say(f"some pictures are not drawn yet; to draw them: {command(folder, cell, '--resume')}")
            return 130
        say(result(training, folder, written))
        say(f"to write text with it: {sampling(folder, cell)}")
        if finished:
            say(f"to continue: {again}")
        advice = None if quiet else native_hint.on_native(training)
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

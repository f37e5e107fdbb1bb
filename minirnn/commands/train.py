"""``minirnn train``: train a small character model and draw how its gradients flow.

Each part has a file of its own:

    train.py           what happens, in order
    train_options.py   the options
    train_model.py     the model
    train_run.py       one step; checkpoints
    train_flow.py      how the gradient flows back
    train_sample.py    the text that the model writes
    train_pictures.py  the pictures
    train_folder.py    the output folder
    train_progress.py  the progress bar; Ctrl-C
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from minirnn import data, devices
from minirnn.commands.doctor import this_program
from minirnn.train import folder as train_folder
from minirnn.train import pictures as train_pictures
from minirnn.train.folder import CHECKPOINT, MetricsFile
from minirnn.train.options import Options, add_option_arguments, given, resumed
from minirnn.train.progress import Interrupt, Progress, both_units
from minirnn.train.run import Training, damages, hash_of, read_checkpoint
from minirnn.user_error import UserError, user_mistakes

DEFAULT_OUT = "minirnn-out"
SAVE_EVERY, SAVE_AFTER = 100, 30.0  # steps; seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_option_arguments(parser)
    parser.add_argument("--out", type=Path, default=Path(DEFAULT_OUT), metavar="FOLDER", help="default: %(default)s/")
    parser.add_argument("--resume", action="store_true", help="continue the run in the folder, exactly")
    parser.add_argument("--quiet", action="store_true", help="no progress, only the result")


def run(args: argparse.Namespace) -> int:
    """Train, then draw. The exit status is 0 when all steps are done, 130 after Ctrl-C."""
    folder: Path = args.out
    train_folder.check(folder, args.resume)
    try:
        if args.resume:
            with train_folder.opened(folder):
                return work(continued(args), folder, args.quiet)
        training = begun(args)
        with train_folder.opened(folder):
            train_folder.check(folder, args.resume)  # again, now that no other process can write there
            return work(training, folder, args.quiet)
    except MemoryError:
        raise UserError("out of memory; take a smaller --hidden, --batch or --length") from None


def begun(args: argparse.Namespace) -> Training:
    """A new run."""
    chosen = given(args)
    with user_mistakes():
        chosen["device"] = devices.get(chosen.get("device")).name
    options = Options(**chosen)
    training = Training(options, read_text(options))
    training.start()
    return training


def continued(args: argparse.Namespace) -> Training:
    """The run in the folder, where its last checkpoint was written."""
    arrays, metadata = read_checkpoint(args.out / CHECKPOINT)
    with damages(args.out / CHECKPOINT):
        options = resumed(metadata["options"], given(args), metadata["step"])
        text_hash = metadata["text_sha256"]
    with user_mistakes():
        devices.get(options.device)
    text = read_text(options)
    if hash_of(text) != text_hash:
        raise UserError(
            "the text is not the one that the run to resume learns from: "
            + (f"{options.text} was changed" if options.text else "the standard library of another Python version?")
        )
    training = Training(options, text)
    with damages(args.out / CHECKPOINT):
        training.restore(arrays, metadata)
    return training


def read_text(options: Options) -> str:
    with user_mistakes():
        return data.python_source_text() if options.text is None else data.read_text(options.text)


def work(training: Training, folder: Path, quiet: bool) -> int:
    """Train, save, draw and tell."""
    steps = training.options.steps
    with Interrupt() as interrupt:
        if not quiet:
            say(introduction(training))
        train(training, folder, interrupt, quiet)
        finished = training.step >= steps
        again = command(folder, "--resume", *([f"--steps {2 * steps}"] if finished else []))
        if not finished:
            say(f"stopped after step {training.step} of {steps}, saved; to go on: {again}")
        try:
            with interrupt.at_once():
                written = train_pictures.draw_all(folder, training)
        except KeyboardInterrupt:
            say(f"not all pictures are drawn; to draw them: {command(folder, '--resume')}")
            return 130
        say(result(training, folder, written))
        if finished:
            say(f"to go on: {again}")
    return 0 if finished else 130


def train(training: Training, folder: Path, interrupt: Interrupt, quiet: bool) -> None:
    """Do the steps that are left. From the first save on, what is on the disk can be resumed at every moment."""
    steps = training.options.steps
    training.save(folder / CHECKPOINT)
    saved_step, saved_at = training.step, time.monotonic()
    with MetricsFile(folder, training.lines) as metrics, Progress(training.step, steps, quiet) as progress:
        while training.step < steps and not interrupt.requested:
            training.advance()
            new = metrics.append(training.lines)
            progress.show(training.step, new[-1] if new else None)
            if training.step % SAVE_EVERY == 0 or time.monotonic() - saved_at > SAVE_AFTER:
                training.save(folder / CHECKPOINT)
                saved_step, saved_at = training.step, time.monotonic()
    if saved_step != training.step:
        training.save(folder / CHECKPOINT)


# ---- what is said


def introduction(training: Training) -> str:
    o = training.options
    source = "Python's standard library" if o.text is None else o.text
    task = "to fill in blanks in" if o.bidirectional else "to learn"
    both = ", both directions," if o.bidirectional else ""
    shape = f"{o.layers} layers of {o.hidden} units" if o.layers > 1 else f"{o.hidden} units"
    return (
        f"{o.cell} with {shape}{both} on {o.device}: {training.model.size():,} parameters, {task} "
        f"{training.size:,} characters ({len(training.vocabulary)} different ones) of {source}"
    )


def result(training: Training, folder: Path, written: str) -> str:
    """Losses, the beginning of the sample, and where the files are."""
    validation = training.validation_loss()
    lines = [
        f"validation loss  {both_units(validation)} per character",
        f"unigram entropy  {both_units(training.unigram_entropy)} per character, the best without memory",
    ]
    if validation >= training.unigram_entropy:
        lines.append(
            "so far the model has not even learned how frequent each character is: more --steps, or another --lr"
        )
    lines += [
        "the model writes:",
        *[f"  | {line[:100].rstrip()}" for line in shown(written).strip("\n").splitlines()[:12]],
    ]
    lines += [f"in {folder}:", *[f"    {name:<24}{what}" for name, what in train_folder.FILES.items()]]
    return "\n".join(lines)


def command(folder: Path, *options: str) -> str:
    """The command line that goes on with the run in `folder`."""
    out = [] if folder == Path(DEFAULT_OUT) else [f"--out {shlex.quote(str(folder))}"]
    return " ".join([this_program(), "train", *options, *out])


def shown(text: str) -> str:
    """Text without the characters that would control a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def say(text: str) -> None:
    """Print, whatever characters the terminal can show."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), flush=True)

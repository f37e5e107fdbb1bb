"""What ``minirnn train`` prints before and after training."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from minirnn.devices import DeviceUnavailable
from minirnn.devices.host_cpp import compiler
from minirnn.machine.computer import this_program
from minirnn.nn.own.file import names_a_file, title
from minirnn.train.checkpoint import CHECKPOINT
from minirnn.train.options import Options
from minirnn.train.progress import both_units
from minirnn.train.training import Training

DEFAULT_OUT = "minirnn-out"
METRICS = "metrics.jsonl"
FILES = {
    "loss.png": "the loss, compared with what is possible without memory",
    "gradient_flow.png": "how far back in time the gradient reaches, before and after training",
    "units.png": "text, colored by the units that tell most about it",
    "units.html": "the same as a page, with the number of each character",
    "gates.png": "what the gates of each unit do while the model reads",
    "sample.txt": "what the model writes",
    METRICS: "the values of the loss curve, one line every 10 steps",
    CHECKPOINT: "everything needed to continue",
}
MEASURED = 256
NATIVE_SHARE = {"lstm": 0.7, "gru": 0.8, "rnn": 0.8}
"""The time of a step on `native` as a share of that on `cpu`, default sizes, on a machine with two cores: the medians
in docs/data/cpu/train.json, rounded to tenths."""


def introduction(training: Training) -> str:
    """The model, the device and the text, on one line."""
    o = training.options
    source = "Python's standard library" if o.text is None else o.text
    task = "to fill in blanks in" if o.bidirectional else "to learn"
    both = ", both directions," if o.bidirectional else ""
    shape = f"{o.layers} layers of {o.hidden} units" if o.layers > 1 else f"{o.hidden} units"
    return (
        f"{title(o.cell)} with {shape}{both} on {o.device}: {training.model.size():,} parameters, {task} "
        f"{training.size:,} characters ({len(training.vocabulary)} different ones) of {source}"
    )


def result(training: Training, folder: Path, written: str) -> str:
    """Losses, the beginning of the sample, and the location of the files."""
    validation = training.validation_loss()
    lines = [
        f"validation loss  {both_units(validation)} per character",
        f"unigram entropy  {both_units(training.unigram_entropy)} per character, the best without memory",
    ]
    if validation >= training.unigram_entropy:
        lines.append(
            "so far the model has not even learned how frequent each character is: try more --steps, or another --lr"
        )
    lines += [
        "the model writes:",
        *[f"  | {line[:100].rstrip()}" for line in printable(written).strip("\n").splitlines()[:12]],
    ]
    lines += [f"in {folder}:", *[f"    {name:<24}{what}" for name, what in FILES.items()]]
    return "\n".join(lines)


def native_tip(options: Options) -> str | None:
    """A line about ``--device native``, or None if it would not work here or was not measured (zoneout, shards)."""
    if options.device != "cpu" or options.zoneout or options.shards:
        return None
    try:
        used = compiler.find("native")
    except DeviceUnavailable:
        return None
    share = NATIVE_SHARE.get(options.cell)
    told = f" (with {MEASURED} units {share}x the time per step, measured on two cores)" if share else ""
    return f"tip: --device native is faster{told}. {used.name} compiles it once."


def sampling(folder: Path, cell: str) -> str:
    """The command line that writes text with the model of the run in `folder`."""
    where = [] if folder == Path(DEFAULT_OUT) else ["--checkpoint", shlex.quote(str(folder))]
    return " ".join([this_program(), "sample", *where, *own(cell)])


def command(folder: Path, cell: str, *options: str) -> str:
    """The command line that continues the run in `folder`."""
    out = [] if folder == Path(DEFAULT_OUT) else [f"--out {shlex.quote(str(folder))}"]
    return " ".join([this_program(), "train", *options, *own(cell), *out])


def own(cell: str) -> list[str]:
    """The option that names the file of a custom cell: no command runs a file that only a checkpoint names."""
    return ["--cell", shlex.quote(cell)] if names_a_file(cell) else []


def printable(text: str) -> str:
    """Text without control characters for a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def say(text: str) -> None:
    """Print the text at once, with a ``?`` for every character that the terminal cannot show."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), flush=True)

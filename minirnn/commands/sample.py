"""``minirnn sample``: write text with a model that ``minirnn train`` made."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.arguments.user_error import UserError
from minirnn.commands.arguments import path, real, whole
from minirnn.data import CharVocabulary, train_validation_split
from minirnn.nn.own.file import FORM, absolute
from minirnn.train.checkpoint import CHECKPOINT, Trained, read_model, read_text
from minirnn.train.messages import DEFAULT_OUT, printable
from minirnn.train.sample import BLANK, LENGTH, TEMPERATURE, characters, fill_in, filled

NAMED = 8
"""The number of unknown characters of a prompt that are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_model(parser)
    # not the block character itself: help goes to any terminal
    both = "; a bidirectional model fills in each full block, U+2588"
    add("--prompt", default="", metavar="TEXT", help=f"text to continue (default: the beginning of a line){both}")
    wild = (
        "0: always the most likely character; 1: the model's probabilities; above 1: more random (default %(default)s)"
    )
    warm = real(lambda t: 0 <= t < float("inf"), "a number of 0 or more")
    add("--temperature", type=warm, default=TEMPERATURE, metavar="X", help=wild)
    add("--length", type=whole(1, 10**9), default=LENGTH, metavar="N", help="characters to write (default %(default)s)")
    add("--seed", type=whole(0), default=0, metavar="N", help="seed of the random draws (default %(default)s)")
    add("--device", metavar="NAME", help="where to compute (default: MINIRNN_DEVICE, else cpu)")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a trained model."""
    where = "checkpoint that minirnn train wrote, or its folder (default: %(default)s)"
    default = Path(DEFAULT_OUT, CHECKPOINT)
    parser.add_argument("--checkpoint", type=path, default=default, metavar="FILE", help=where)
    own = "the custom cell of a model that has one; this file is run"
    parser.add_argument("--cell", type=absolute, metavar=FORM, help=own)


def run(args: argparse.Namespace) -> int:
    """Write the prompt and its continuation to stdout, each character as soon as it is drawn."""
    trained = read_model(args.checkpoint, args.device, args.cell)
    prompt = encoded(args.prompt, trained)
    write = writer()
    try:
        if trained.model.bidirectional:
            write(blanks_filled(trained, prompt, args.length, args.seed))
        else:
            write(args.prompt)
            prime = prompt if prompt.size else beginning(trained.vocabulary)
            ids = characters(trained.model, prime, args.temperature, args.seed)
            for number in itertools.islice(ids, args.length):
                write(trained.vocabulary.characters[number])
    finally:
        write("\n")  # also after Ctrl-C
    return 0


def encoded(prompt: str, trained: Trained) -> np.ndarray:
    """The ids of a prompt. Raises UserError that names the characters that the model does not know."""
    known = trained.vocabulary
    blank = BLANK if trained.model.bidirectional and BLANK not in known.characters else ""
    unknown = [c for c in dict.fromkeys(prompt) if c not in known.characters and c != blank]
    if unknown:
        names = ", ".join(f"{shown(c)} (U+{ord(c):04X})" for c in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        raise UserError(
            f"--prompt has {names}{more}: not among the {len(known)} characters of the text that the model learned from"
        )
    return np.array([trained.model.V if c == blank else known.characters.index(c) for c in prompt], np.int64)


def beginning(vocabulary: CharVocabulary) -> np.ndarray:
    """The character before a line, (1,): the end of another line or, if the text has no lines, a space or any
    character.
    """
    first = next((c for c in "\n " if c in vocabulary.characters), vocabulary.characters[0])
    return vocabulary.encode(first)


def blanks_filled(trained: Trained, prompt: np.ndarray, length: int, seed: int) -> str:
    """Write what a model with two directions reads, and below it the same text filled in.

    The model reads the prompt. If it has no blanks, some are made as in training; without a prompt it is the text
    that was kept for validation.
    """
    model, vocabulary = trained.model, trained.vocabulary
    if prompt.size and (prompt == model.V).any():
        return vocabulary.decode(fill_in(model, prompt))
    if not prompt.size:
        text = read_text(trained.options)
        try:
            prompt = train_validation_split(vocabulary.encode(text))[1][:length]
        except ValueError:
            raise UserError("the text of the run was changed; give a --prompt to fill blanks in") from None
    given, answer = filled(model, prompt, seed)
    read = "".join(BLANK if number == model.V else vocabulary.characters[number] for number in given)
    return f"{read}\n\n{vocabulary.decode(answer)}"


def writer() -> Callable[[str], None]:
    """A function that writes text at once. A terminal gets no control characters, but a file gets everything."""
    terminal = sys.stdout.isatty()

    def write(text: str) -> None:
        sys.stdout.write(printable(text) if terminal else text)
        sys.stdout.flush()

    return write

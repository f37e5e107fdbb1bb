"""The pictures of ``minirnn train``, and the sample, made with the validation text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np

import minirnn as mr
from minirnn import viz
from minirnn.commands.errors import user_mistakes
from minirnn.commands.train_run import Training
from minirnn.commands.train_sample import sample
from minirnn.data import CharVocabulary
from minirnn.io.atomic import atomic_write

ROWS = {"x": "embedded character", "h": "hidden state", "c": "cell state"}
SEARCHED = 10_000  # characters of the validation text, of which the following are chosen
PRIME = 200  # characters read before the sample, at most
WARM_UP, SHOWN = 200, 60  # characters read before, and shown in, the picture of the gates


def draw_all(folder: Path, training: Training) -> str:
    """Write the sample and the pictures of a run to its folder; return what the model wrote."""
    import matplotlib

    prime = whole_lines(training.validation_ids[lively(training) :][:PRIME], training.vocabulary)
    written = training.vocabulary.decode(sample(training.model, prime, seed=training.options.seed))
    with user_mistakes(), atomic_write(folder / "sample.txt") as file:
        file.write(f"--- read: {len(prime)} characters of the validation text\n")
        file.write(training.vocabulary.decode(prime))
        file.write(f"\n--- written: by the model after {training.step} steps, seed {training.options.seed}\n")
        file.write(written + "\n")
    with matplotlib.rc_context(cast(Any, viz.style)):
        for name, draw in (("loss.png", loss), ("gradient_flow.png", gradient_flow), ("gates.png", gates)):
            picture = draw(training)
            if picture is not None:
                with user_mistakes():
                    viz.save(picture, folder / name)
    return written


def loss(training: Training) -> viz.Picture | None:
    """The loss curve; None before the first step."""
    points = [(line["step"], line["loss"]) for line in training.lines if line["loss"] is not None]
    if training.losses:  # steps after the last line
        points.append((training.step, sum(training.losses) / len(training.losses)))
    if not points:
        return None
    steps, losses = zip(*points, strict=True)
    checked = [line for line in training.lines if line["validation_loss"] is not None]
    return viz.loss_curve(
        steps,
        losses,
        validation=([line["step"] for line in checked], [line["validation_loss"] for line in checked]),
        baselines={"log V": math.log(len(training.vocabulary)), "unigram entropy": training.unigram_entropy},
        bits=True,
    )


def gradient_flow(training: Training) -> viz.Picture:
    """How the gradient flows back, before training and now, on one color scale."""
    norms, names = training.first_norms, list(ROWS)[: len(training.first_norms)]
    layers = [f"{name}, untrained" for name in names]
    if training.step > 0:
        layers += [f"{name}, after {training.step} steps" for name in names]
        norms = np.concatenate([norms, training.gradient_norms()])
    picture = viz.gradient_flow(norms, layers=layers, quantity="norm of the gradient")
    ax = picture.ax
    ax.set_title("Take the loss at the last time step only:\nhow much of its gradient reaches each earlier step?")
    ax.set_xlabel("\n".join([ax.get_xlabel(), "    ".join(f"{name}: {ROWS[name]}" for name in names)]))
    if training.step > 0:
        ax.axhline(len(names) - 0.5, color="white", lw=3)
    return picture


def gates(training: Training) -> viz.Picture:
    """What the gates do while the model reads a piece of the validation text, given below the curves."""
    start = lively(training)
    ids = training.validation_ids[max(0, start - WARM_UP) : start + SHOWN]
    with mr.no_grad():
        steps = training.model.steps(ids[:, None], training.model.zero_state(1))[-SHOWN:]
    names = [name for name in steps[0].gates if name != "co"]  # the tanh of the state is no gate
    picture = viz.gate_activity({name: np.stack([step.gates[name].numpy() for step in steps]) for name in names})
    if training.options.cell == "rnn":
        picture.figure.suptitle("No gates: the values of the hidden state (left), and how many are saturated (right)")
    text = [visible(character) for character in training.vocabulary.decode(ids[-SHOWN:])]
    for ax in picture.ax.flat:
        ax.set_xticks(range(len(text)), text, fontsize=7, family="monospace")
        ax.tick_params(axis="x", length=0)
        ax.grid(axis="x", visible=False)
    for ax in picture.ax[-1]:
        ax.set_xlabel("character read (validation text)")
    return picture


def lively(training: Training) -> int:
    """Where in the validation text the `SHOWN` characters with the most different ones among them begin.

    Only the beginnings of lines count, and only the first `SEARCHED` characters.
    """
    text = training.vocabulary.decode(training.validation_ids[:SEARCHED])
    starts = [0, *(k + 1 for k, character in enumerate(text) if character == "\n" and k + SHOWN < len(text))]
    return max(starts, key=lambda k: len(set(text[k : k + SHOWN])))


def whole_lines(ids: np.ndarray, vocabulary: CharVocabulary) -> np.ndarray:
    """`ids` up to the end of their last complete line; all of them if they have none."""
    end = vocabulary.decode(ids).rfind("\n") + 1
    return ids[:end] if end else ids


def visible(character: str) -> str:
    """A sign for a character that has no ink."""
    return {"\n": "\u21b5", "\t": "\u21e5", " ": "\u00b7"}.get(character, character if character.isprintable() else "?")

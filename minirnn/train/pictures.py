"""The pictures of ``minirnn train``, and the sample, made with the validation text."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

import minirnn as mr
from minirnn import viz
from minirnn.arguments.user_error import user_mistakes
from minirnn.io.atomic import atomic_write
from minirnn.nn.microscope import CANDIDATE
from minirnn.train.model import row_names
from minirnn.train.sample import BLANK, filled, sample
from minirnn.train.training import Training
from minirnn.train.units import PROPERTIES, entropy, most_telling, name_of, states_of
from minirnn.viz.gate_maps import MEANING
from minirnn.viz.text_colors import visible

ROWS = {"x": "embedded character", "h": "hidden state", "c": "cell state"}
NORM = "norm: 2-norm over the numbers of a step in one sequence; mean over the sequences of a batch"
SEARCHED = 10_000
"""The number of characters of the validation text in which a varied passage is searched."""
FILLED = 800
"""The number of characters that are shown with blanks and filled in."""
PRIME = 200
"""The largest number of characters that are read before the sample."""
WARM_UP, SHOWN = 200, 60
"""The numbers of characters that are read before the picture of the gates, and shown in it."""
WEAK = 0.2
"""A unit that knows a smaller share of a property than this says little about it."""
UNITS = 16
"""The largest number of units with a row in that picture."""
PIECES, PIECE, SKIPPED = 32, 600, 120
"""The text in which units are examined: number of pieces, characters per piece, and how many of these are not used."""
LISTENED = 1 << 24
"""The largest number of states that are kept for that; large models get fewer pieces."""


def draw_all(folder: Path, training: Training) -> str:
    """Write the sample and the pictures of a run to its folder. Returns the sample."""
    import matplotlib

    start = lively(training) or PRIME  # the sample continues from the beginning of a line, if there are lines
    written, text = what_it_writes(training, start)
    with user_mistakes(), atomic_write(folder / "sample.txt") as file:
        file.write(text)
    with matplotlib.rc_context(cast(Any, viz.style)):
        for names, draw in DRAWN.items():
            picture = draw(training)
            for name in names:
                if picture is not None:
                    with user_mistakes():
                        viz.save(picture, folder / name)
    return written


def what_it_writes(training: Training, start: int) -> tuple[str, str]:
    """The sample, and the content of sample.txt."""
    decode, seed = training.vocabulary.decode, training.options.seed
    after = f"by the model after {training.step} steps, seed {seed}"
    if training.model.bidirectional:
        text = training.validation_ids[start : start + FILLED]
        given, answer = filled(training.model, text, seed)
        blanks = given == training.model.V
        read = "".join(BLANK if blank else decode([k]) for k, blank in zip(given, blanks, strict=True))
        right = int((answer == text)[blanks].sum())
        head = f"--- read: {len(text)} characters of the validation text, {BLANK} is a blank\n"
        tail = f"\n--- filled in: {after}; {right} of {int(blanks.sum())} blanks are right\n"
        return decode(answer), f"{head}{read}{tail}{decode(answer)}\n"
    prime = training.validation_ids[max(0, start - PRIME) : start]
    written = decode(sample(training.model, prime, seed=seed))
    head = f"--- read: {len(prime)} characters of the validation text\n"
    return written, f"{head}{decode(prime)}\n--- written: {after}\n{written}\n"


def loss(training: Training) -> viz.Picture | None:
    """The loss curve; None before the first step."""
    points = [(line["step"], line["loss"]) for line in training.lines if line["loss"] is not None]
    if training.losses:  # steps after the last line
        points.append((training.step, sum(training.losses) / len(training.losses)))
    if not points:
        return None
    steps, losses = zip(*points, strict=True)
    V = len(training.vocabulary)
    checked = [line for line in training.lines if line["validation_loss"] is not None]
    return viz.loss_curve(
        steps,
        losses,
        validation=([line["step"] for line in checked], [line["validation_loss"] for line in checked]),
        baselines={
            f"all {V} characters equally likely, log {V}": math.log(V),
            "only their frequencies known, unigram entropy": training.unigram_entropy,
        },
        bits=True,
    )


def gradient_flow(training: Training) -> viz.Picture:
    """The picture of how the gradient flows back, before training and now, on one color scale."""
    norms, names = training.first_norms, row_names(training.model)
    layers = [f"{name}, untrained" for name in names]
    if training.step > 0:
        layers += [f"{name}, after {training.step} steps" for name in names]
        norms = np.concatenate([norms, training.gradient_norms()])
    picture = viz.gradient_flow(norms, layers=layers, quantity="norm of the gradient")
    ax = picture.ax
    kinds = {name: ROWS.get(name, "state") for name in ("x", *training.model.state_names)}
    below = [*ax.get_xlabel().split("\n"), "    ".join(f"{name}: {kind}" for name, kind in kinds.items()), NORM]
    if training.options.layers > 1:
        below.append("the number is the layer")
    title = "Take the loss at the last time step only:\nhow much of its gradient reaches each earlier step?"
    if training.model.bidirectional:
        below[0] = "time step t"
        below.append("the arrow shows which way it reads; its gradient goes the other way")
        title = f"Take the loss of one blank only, at step {training.loss_at}:\n"
        title += "how much of its gradient reaches each step?"
    ax.set_xlabel("\n".join(below))
    ax.set_title(title)
    if training.step > 0:
        ax.axhline(len(names) - 0.5, color="white", lw=3)
    return picture


def units(training: Training) -> viz.ColoredText:
    """A piece of the validation text, colored by the units that say most about it."""
    length = min(PIECE, len(training.validation_ids))
    model = training.model_on_cpu()
    opened = model.opened
    L, D, H, memory = opened.L, opened.D, opened.H, opened.memory
    count = max(1, min(PIECES, len(training.validation_ids) // length, LISTENED // (length * L * D * H)))
    ids = training.validation_ids[: count * length].reshape(count, length).T  # (T, B)
    text = [training.vocabulary.decode(piece) for piece in ids.T]
    states = states_of(model, ids)
    found = most_telling(states, text)
    piece = max(range(count), key=lambda b: sum(entropy(of(text[b])) for of in PROPERTIES.values()))
    first = text[piece].find("\n", SKIPPED, length // 2) + 1 or min(SKIPPED, length // 2)  # the beginning of a line
    labels = []
    for one in found:
        verb = "tells" if one.bits >= WEAK * one.of else "says little about"
        told = f" {verb} {one.what}: {one.bits:.2f} of {one.of:.2f} bits" if one.what else ""
        labels.append(f"{memory} of {name_of(model, one.unit)}{told}")
    shown = states[first:, piece][:, [one.unit for one in found]]
    return viz.colored_text(shown, text[piece][first:], labels=labels)


def gates(training: Training) -> viz.Picture:
    """The activity of each unit's gates while the model reads a piece of the validation text."""
    start = lively(training)
    ids = training.validation_ids[max(0, start - WARM_UP) : start + SHOWN]
    model = training.model
    one = model.opened
    with mr.no_grad():
        seen = model.trace(ids[:, None], model.zero_state(1))
    top = seen.steps[-one.D][-SHOWN:]  # the last layer, reading forward
    own = one.own
    shown = one.limits if own else one.gates or one.states
    values = {n: np.stack([{**of.states, **of.gates}[n].numpy()[0] for of in top]) for n in shown}
    text = [visible(c).replace(" ", "\u00b7") for c in training.vocabulary.decode(ids[-SHOWN:])]
    kinds = {n: one.limits[n] for n in shown}
    picture = viz.gate_map(
        values,
        text=text,
        candidates=[n for n, limits in kinds.items() if limits == CANDIDATE],
        states=[n for n, limits in kinds.items() if limits is None],
        meaning={} if own else MEANING,
        most=UNITS,
    )
    layer = " of the last layer" if training.options.layers > 1 else ""
    what = "The hidden state" if not one.gates else "Gates and states" if own else "The gates"
    H = next(iter(values.values())).shape[1]
    rows = f"{UNITS} of {H} units" if UNITS < H else "a row for each unit"
    picture.figure.suptitle(f"{what}{layer} while the model reads, {rows}", fontweight="bold")
    return picture


DRAWN: dict[tuple[str, ...], Callable[[Training], viz.Picture | None]] = {
    ("loss.png",): loss,
    ("gradient_flow.png",): gradient_flow,
    ("units.png", "units.html"): units,
    ("gates.png",): gates,
}
"""Files, and the function that draws their contents."""


def lively(training: Training) -> int:
    """The position in the validation text where the `SHOWN` characters with the most different ones begin.

    Only the beginnings of lines count, and only the first `SEARCHED` characters.
    """
    text = training.vocabulary.decode(training.validation_ids[:SEARCHED])
    starts = [0, *(k + 1 for k, character in enumerate(text) if character == "\n" and k + SHOWN < len(text))]
    return max(starts, key=lambda k: len(set(text[k : k + SHOWN])))

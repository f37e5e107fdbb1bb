"""The error of an answer as a picture, output by output and over time; of a model, how far its gradients flow."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.learn.course import CourseError
from minirnn.learn.exercise import PUBLIC_CASES
from minirnn.learn.judge import TOLERANCE, part
from minirnn.learn.models import STEPS
from minirnn.learn.result import Result
from minirnn.learn.wrong_numbers import GATES
from minirnn.viz import gradient_flow
from minirnn.viz.colors import BLUE, ORANGE
from minirnn.viz.picture import Picture, new_figure


def picture_of(result: Result) -> Picture:
    """What `minirnn show --diff` draws: the flow of gradients of a model that has been trained, else `differences`."""
    trained = bool(result.entry.exercise.training) and len(result.cases) > len(PUBLIC_CASES)
    return model_flow(result) if trained else differences(result)


def model_flow(result: Result) -> Picture:
    """Draw how far the gradient of one letter flows back, as the answer itself computed it."""
    norms = np.stack([np.asarray(case.got["flow"], float) for case in result.cases[-2:]])
    picture = gradient_flow(norms, layers=["random weights", "your model"], quantity="norm of the gradient of h")
    picture.ax.set_title(f"{result.entry.id}: from the loss of one letter, back through {STEPS} steps")
    return picture


def differences(result: Result) -> Picture:
    """Draw ``|yours - expected|`` of every output of the first wrong case, or else of the first case.

    Outputs with a time axis (T, B, ...) are averaged over the batch, and shown above bars of their error by step.

    Returns
    -------
    Picture
        ``data``: the errors of each output, as drawn.

    Raises
    ------
    CourseError
        If the answer returned nothing that could be compared.
    """
    if not result.cases:
        raise CourseError(
            f"{result.entry.id}: there are no numbers to draw; first see what minirnn check {result.entry.id} says"
        )
    case = next((c for c in result.cases if c.wrong), result.cases[0])
    exercise = result.entry.exercise
    tolerance = TOLERANCE[exercise.kind]
    letters = exercise.outputs
    shown: dict[str, tuple[np.ndarray, bool, str]] = {}
    for name, want in case.expected.items():
        for label, w, g in pairs(name, want, case.got[name]):
            p = part(label, w, g, "", tolerance, single=True)
            if p.complaint:
                shown[label] = np.zeros((0, 0)), False, p.complaint
            else:
                shown[label] = np.abs(np.asarray(g, float) - w), p.ok, ""
    columns = min(4, len(shown))
    rows = -(-len(shown) // columns)
    figure = new_figure(3.3 * columns, 2.9 * rows + 0.6)
    axes = np.asarray(figure.subplots(rows, columns, squeeze=False))
    for ax in axes.flat[len(shown) :]:
        ax.set_axis_off()
    artists: dict[str, Any] = {}
    data: dict[str, np.ndarray] = {}
    for ax, (name, (error, ok, complaint)) in zip(axes.flat, shown.items(), strict=False):
        ax.grid(False)
        if complaint:
            ax.set_title(f"{name}: cannot be compared", color=ORANGE)
            ax.set_axis_off()
            continue
        matrix, labels = as_matrix(error, letters.get(name, ""))
        data[name] = matrix
        artists[name] = ax.imshow(matrix, cmap="Oranges", vmin=0, vmax=max(float(matrix.max()), 1e-30), aspect="auto")
        ax.set_title(
            f"{name}: right" if ok else f"{name}: off by up to {matrix.max():.2g}", color=BLUE if ok else ORANGE
        )
        ax.set_xlabel(labels[1])
        ax.set_ylabel(labels[0])
        ax.set_xticks(range(matrix.shape[1]) if matrix.shape[1] <= 12 else [])
        ax.set_yticks(range(matrix.shape[0]) if matrix.shape[0] <= 12 else [])
        mark_gates(ax, matrix, letters.get(name, ""), exercise.gates)
        if not ok:
            figure.colorbar(artists[name], ax=ax, shrink=0.8)
    figure.suptitle(f"{result.entry.id}  {result.entry.title}: |yours - expected|")
    return Picture(axes, artists, data)


def pairs(name: str, want: Any, got: Any) -> list[tuple[str, Any, Any]]:
    """An output with its label; the arrays of a list each with their own."""
    if isinstance(want, list):
        got = got if isinstance(got, list) and len(got) == len(want) else [None] * len(want)
        return [(f"{name}[{k}]", w, g) for k, (w, g) in enumerate(zip(want, got, strict=True))]
    return [(name, np.asarray(want), got)]


AXES = {"T": "time step", "B": "sample", "I": "input", "H": "unit", "I+H": "input, then unit"}


def as_matrix(error: np.ndarray, letters: str) -> tuple[np.ndarray, tuple[str, str]]:
    """An error as rows and columns with their names: time by unit for three axes, one row for a vector."""
    names = [AXES.get(letter.strip(), letter.strip()) for letter in letters.strip("()").rstrip(",").split(",")]
    names = names if len(names) == error.ndim else ["row", "column", ""][: error.ndim]
    if error.ndim == 3:
        return error.mean(axis=1), (names[0], f"{names[2]} (mean over {names[1]}s)")
    if error.ndim == 2:
        return error, (names[0], names[1])
    return error.reshape(1, -1), ("", names[0] if error.ndim else "")


def mark_gates(ax: Any, matrix: np.ndarray, letters: str, gates: int) -> None:
    """Draw lines between the gates that are side by side, and write their names."""
    last = letters.strip("()").rstrip(",").split(",")[-1].strip()
    if gates > 1 and last == f"{gates}H":
        H = matrix.shape[1] // gates
        for k in range(1, gates):
            ax.axvline(k * H - 0.5, color="black", linewidth=0.8)
        ax.set_xticks([(k + 0.5) * H - 0.5 for k in range(gates)], GATES[gates])
        ax.set_xlabel("gate")

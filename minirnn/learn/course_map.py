"""The map of a course: its chapters, what each exercise needs, and how far a student has come."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

import numpy as np

from minirnn.learn.course import Course, Entry, Tree
from minirnn.learn.map_routes import BOX, PITCH, middle, routes
from minirnn.learn.milestones import MILESTONES, milestone_lines
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED
from minirnn.viz.picture import Picture, new_figure

WIDTH = 34
"""Characters for a title."""
COLUMNS = 4
"""Exercises per row in the picture. The column after them has the milestones."""
LABEL, SIZE = 1.3, 8.5
"""The width of the chapters' names in inches, and the size of all text in points."""


def map_text(course: Course, tree: Tree | None = None) -> str:
    """The chapters with their exercises, and the milestones, one per line; with `tree`, also what is passed."""
    lines = [f"{course.title}: {len(course.entries)} exercises, {course.points} points", ""]
    ids = max(len(id) for id in course.entries)
    for number, (chapter, entries) in enumerate(course.chapters.items(), 1):
        lines.append(f"{number:2}  {chapter}")
        for entry in entries:
            mark = {"passed": "[x]", "open": "[ ]", "later": " . "}[standing(entry, tree)] + " " if tree else ""
            lines.append(f"    {mark}{entry.id:{ids}}  {entry.title:{WIDTH}} {'; '.join(notes(entry, tree))}".rstrip())
    lines += milestone_lines(course, tree)
    if tree is not None:
        passed = sum(tree.passed(entry) for entry in course.entries.values())
        open_now = [entry.id for entry in course.entries.values() if standing(entry, tree) == "open"]
        lines += ["", f"[x] passed: {passed}    [ ] what it needs is passed    .  later"]
        lines += [f"Go on with {', '.join(open_now[:3])}: minirnn learn"] if open_now else ["All exercises are passed."]
    return "\n".join(lines)


def standing(entry: Entry, tree: Tree | None) -> str:
    """``passed``, ``open`` if everything that it needs is passed, else ``later``."""
    if tree is None:
        return "open"
    if tree.passed(entry):
        return "passed"
    needed = [tree.course.entries[id] for id in entry.needs if id in tree.course.entries]
    return "open" if all(tree.passed(one) for one in needed) else "later"


def notes(entry: Entry, tree: Tree | None) -> list[str]:
    """The notes after a title: the tutorial, the exercises to do first, the hints used."""
    found = [f"tutorial {entry.tutorial}"] if entry.tutorial else []
    found += [f"after {' '.join(entry.needs)}"] if entry.needs else []
    used = tree.state["hints"].get(entry.id, 0) if tree else 0
    return [*found, *([f"{used} of {len(entry.hints)} hints used"] if used else [])]


def map_picture(course: Course, tree: Tree | None = None) -> Picture:
    """Draw the dependencies: a lane for each chapter, and a line from each exercise to those that need it.

    Returns
    -------
    Picture
        ``artists``: the boxes by id, and those of the milestones by "milestone N". ``data``: the middle of each box by
        the same name, and the corners (n, 2) of each line by "FROM to TO".
    """
    from matplotlib.patches import FancyBboxPatch

    cells, lanes = grid(course)
    needs = {id: entry.needs for id, entry in course.entries.items()}
    milestones = {f"milestone {one.number}": one for one in MILESTONES if set(one.needs) <= course.entries.keys()}
    needs |= {name: one.needs for name, one in milestones.items()}
    rows = 1 + max(row for row, _ in cells.values())
    columns = 1 + max(column for _, column in cells.values())
    figure = new_figure(LABEL + columns * PITCH[0], rows * PITCH[1])
    ax = figure.subplots()
    ax.set_axis_off()
    ax.grid(False)
    left, right = -PITCH[0] / 2 - LABEL, (columns - 0.5) * PITCH[0]
    for number, (chapter, (first, last)) in enumerate(lanes.items(), 1):
        top, bottom = (0.5 - first) * PITCH[1], (-0.5 - last) * PITCH[1]
        if number % 2:
            ax.fill_between([left, right], bottom, top, color="#EDEDED", zorder=0)
        said = textwrap.fill(f"{number}  {chapter}", 14, break_long_words=False)
        ax.text(left + 0.05, (top + bottom) / 2, said, va="center", fontsize=SIZE, fontweight="bold")
    data: dict[str, np.ndarray] = {name: np.array(middle(cell)) for name, cell in cells.items()}
    colors = dict(zip(cells, itertools.cycle((BLUE, RED, GREEN, PURPLE, ORANGE)), strict=False))
    for (a, b), way in routes(cells, needs).items():
        data[f"{a} to {b}"] = np.array(way)
        ax.plot(*zip(*way, strict=True), color=colors[a], linewidth=1.2, solid_joinstyle="round", zorder=1)
        ax.annotate("", way[-1], way[-2], zorder=1, arrowprops={"arrowstyle": "-|>", "color": colors[a], "shrinkB": 0})
    frames = {"passed": GREEN, "open": BLUE, "later": GRAY}
    boxes: dict[str, Any] = {}
    for name, cell in cells.items():
        x, y = middle(cell)
        if name in milestones:
            one = milestones[name]
            reached = tree is not None and one.reached(tree)
            said, color, fill = f"{one.year}: {one.title}", GREEN if reached else ORANGE, "#FFF3D6"
        else:
            entry = course.entries[name]
            said, color, fill = entry.title, frames[standing(entry, tree)], "white"
        patch = FancyBboxPatch(
            (x - BOX[0] / 2, y - BOX[1] / 2), *BOX, boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=fill, edgecolor=color, linewidth=1.5, zorder=2,
        )  # fmt: skip
        boxes[name] = ax.add_patch(patch)
        words = textwrap.fill(said, 18, break_long_words=False)
        ax.text(x, y, f"{name}\n{words}", ha="center", va="center", fontsize=SIZE, linespacing=1.05, zorder=3)
    ax.set_xlim(left, right)
    ax.set_ylim(-(rows - 0.5) * PITCH[1], 0.5 * PITCH[1])
    ax.set_position((0, 0, 1, 1))
    figure.set_layout_engine("none")
    return Picture(ax, boxes, data)


def grid(course: Course) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[int, int]]]:
    """The row and column of each exercise and milestone, and the first and last row of each chapter.

    A milestone is in the last column, in the first free row in which nothing that it needs is below it.
    """
    cells: dict[str, tuple[int, int]] = {}
    lanes: dict[str, tuple[int, int]] = {}
    row = 0
    for chapter, entries in course.chapters.items():
        for k, entry in enumerate(entries):
            cells[entry.id] = row + k // COLUMNS, k % COLUMNS
        last = row + (len(entries) - 1) // COLUMNS
        lanes[chapter] = row, last
        row = last + 1
    for one in MILESTONES:
        if set(one.needs) <= course.entries.keys():
            place = max(cells[id][0] for id in one.needs)
            while (place, COLUMNS) in cells.values():
                place += 1
            cells[f"milestone {one.number}"] = place, COLUMNS
    return cells, lanes

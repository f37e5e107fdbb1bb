"""The map of a course: its chapters, what each exercise needs, and how far a student has come."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.learn.course import Course, Entry, Tree
from minirnn.learn.milestones import milestone_lines
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE
from minirnn.viz.picture import Picture, new_figure

WIDTH = 34
"""Characters for a title."""


def map_text(course: Course, tree: Tree | None = None) -> str:
    """The chapters with their exercises and the milestones, a line each; with `tree` also what is passed."""
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
    """``passed``, ``open`` if all that it needs is passed, else ``later``."""
    if tree is None:
        return "open"
    if tree.passed(entry):
        return "passed"
    needed = [tree.course.entries[id] for id in entry.needs if id in tree.course.entries]
    return "open" if all(tree.passed(one) for one in needed) else "later"


def notes(entry: Entry, tree: Tree | None) -> list[str]:
    """The text after a title: the tutorial, what to do before, the hints used."""
    found = [f"tutorial {entry.tutorial}"] if entry.tutorial else []
    found += [f"after {' '.join(entry.needs)}"] if entry.needs else []
    used = tree.state["hints"].get(entry.id, 0) if tree else 0
    return [*found, *([f"{used} of {len(entry.hints)} hints used"] if used else [])]


def map_picture(course: Course, tree: Tree | None = None) -> Picture:
    """Draw what depends on what: to the left what needs nothing, an arrow from each exercise to those that need it.

    Returns
    -------
    Picture
        ``data``: x and y of each box, by id.
    """
    place = places(course)
    columns = int(max(x for x, _ in place.values())) + 1
    height = max(y for _, y in place.values()) - min(y for _, y in place.values())
    figure = new_figure(2.1 * columns, 1.2 + 0.62 * height)
    ax = figure.subplots()
    ax.set_axis_off()
    ax.grid(False)
    colors = {"passed": GREEN, "open": BLUE, "later": GRAY}
    boxes: dict[str, Any] = {}
    for entry in course.entries.values():
        x, y = place[entry.id]
        boxes[entry.id] = ax.text(
            x, y, f"{entry.id}\n{entry.title}", ha="center", va="center", fontsize=8, zorder=3,
            bbox=dict(boxstyle="round,pad=0.35", facecolor="white", edgecolor=colors[standing(entry, tree)]),
        )  # fmt: skip
        for need in entry.needs:
            if need in boxes:
                arrow(ax, boxes[need], boxes[entry.id])
    ax.set_xlim(-0.6, columns - 0.4)
    ax.set_ylim(min(y for _, y in place.values()) - 0.6, 0.6)
    return Picture(ax, boxes, {id: np.array(xy) for id, xy in place.items()})


def places(course: Course) -> dict[str, tuple[float, float]]:
    """The place of each box: x counts the exercises before it, y is near those that it needs."""
    depth: dict[str, int] = {}
    for entry in course.entries.values():
        depth[entry.id] = max((depth[need] + 1 for need in entry.needs if need in depth), default=0)
    tallest = max(sum(d == x for d in depth.values()) for x in set(depth.values()))
    place: dict[str, tuple[float, float]] = {}
    for x in sorted(set(depth.values())):
        ids = [id for id in course.entries if depth[id] == x]
        wanted = {
            id: np.mean([place[need][1] for need in course.entries[id].needs if need in place] or [-ids.index(id)])
            for id in ids
        }
        step = (tallest - 1) / max(1, len(ids) - 1) if len(ids) > 1 else 0.0
        for k, id in enumerate(sorted(ids, key=lambda id: -wanted[id])):
            y = -k * step if step else float(wanted[id])
            place[id] = (float(x), y)
    return place


def arrow(ax: Any, start: Any, end: Any) -> None:
    """An arrow from the right of a box to the left of another one, slightly bent: two on one line can be told apart."""
    ax.annotate(
        "", xy=end.get_position(), xytext=start.get_position(), zorder=1,
        arrowprops=dict(arrowstyle="-|>", color=ORANGE, alpha=0.7, linewidth=1.1, connectionstyle="arc3,rad=0.04",
                        patchA=start.get_bbox_patch(), patchB=end.get_bbox_patch(), shrinkA=0, shrinkB=1),
    )  # fmt: skip

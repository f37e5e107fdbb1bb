"""The map of a course: its chapters, what each exercise needs, and how far a student has come."""

from __future__ import annotations

from minirnn.learn.cleaned import several
from minirnn.learn.course import Course, Entry, Tree
from minirnn.learn.milestones import milestone_lines

WIDTH = 34
"""Characters for a title."""


def map_text(course: Course, tree: Tree | None = None) -> str:
    """The chapters with their exercises, and the milestones, one per line; with `tree`, also what is passed."""
    lines = [f"{course.title}: {several(len(course.entries), 'exercise')}, {several(course.points, 'point')}", ""]
    ids = max(len(id) for id in course.entries)
    for number, (chapter, entries) in enumerate(course.chapters.items(), 1):
        lines.append(f"{number:2}  {chapter}")
        for entry in entries:
            mark = {"passed": "[x]", "open": "[ ]", "later": " . "}[standing(entry, tree)] + " " if tree else ""
            said = "; ".join(notes(course, entry, tree))
            lines.append(f"    {mark}{entry.id:{ids}}  {entry.title:{WIDTH}} {said}".rstrip())
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


def notes(course: Course, entry: Entry, tree: Tree | None) -> list[str]:
    """The notes after a title: the tutorial, the exercises to do first, the hints used."""
    found = [f"tutorial {entry.tutorial}"] if entry.tutorial else []
    needed = [id for id in entry.needs if id in course.entries]
    found += [f"after {' '.join(needed)}"] if needed else []
    used = tree.state["hints"].get(entry.id, 0) if tree else 0
    return [*found, *([f"{used} of {len(entry.hints)} hints used"] if used else [])]

"""The device `mine`: cpu, with every part whose exercise is passed taken from the learner's file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.devices import get
from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cpu.device import CPU
from minirnn.learn.course import CourseError, Tree, find_tree
from minirnn.learn.mine.answers import function_of
from minirnn.learn.mine.in_place import replace_for
from minirnn.learn.mine.parts import PARTS, Part
from minirnn.learn.mine.tasks import TASKS
from minirnn.learn.mine.through_time import block_layout


class Mine(CPU):
    """The device `cpu` with the learner's parts.

    Parameters
    ----------
    tree : Tree
        The learner's course folder.

    Attributes
    ----------
    tree : Tree
    standing : dict
        For each part of the course, by the id of its exercise: "yours", or the reason why it is not used.
    active : set of str
        The parts that come from the learner.
    calls : collections.Counter
        The number of calls of each of them.
    tasks : dict
        The functions for `TASKS`, by name.
    """

    name = "mine"
    parts: Sequence[Part] = PARTS
    of = "cpu"
    """The device that it wraps and is compared with."""
    tolerance = 1e-5
    """The largest relative difference that counts as rounding. Clipping adds 1e-6 to the norm."""
    answer_of = staticmethod(function_of)

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        plug_in(self, tree)

    def lstm_layout(self, W: Any, R: Any, bW: Any, bR: Any) -> Any:
        return block_layout(W, R, bW, bR)


def plug_in(device: Any, tree: Tree) -> None:
    """Plug in the learner's parts: all that are passed, can be run and agree with minirnn's."""
    device.tree, device.active, device.calls, device.tasks, device.standing = tree, set(), Counter(), {}, {}
    replace_for(device)
    answers: dict[str, Any] = {}
    parts = [part for part in device.parts if part.id in tree.course.entries]
    for place in dict.fromkeys(part.place for part in parts):
        target = chain(device, [p for p in parts if p.place == place], answers, getattr(device, place, None))
        if place in TASKS:
            device.tasks[place] = target
        else:
            setattr(device, place, target)
    good: set[str] = set()
    for part in parts:
        device.standing[part.id] = reason = why_not(device, part, tree, answers)
        if reason == "yours":
            good.add(part.id)
    device.active = good
    device.calls.clear()


def chain(
    device: Any, parts: Sequence[Part], answers: dict[str, Any], inner: Callable[..., Any] | None
) -> Callable[..., Any]:
    """The function for a place: the first of the learner's parts that handles the case, or else the original."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for part in parts:
            if part.id in device.active:
                found = part.plug(answers[part.id], device, *args, **kwargs)
                if found is not NotImplemented:
                    device.calls[part.id] += 1
                    return found
        return NotImplemented if inner is None else inner(*args, **kwargs)

    return call


def why_not(device: Any, part: Part, tree: Tree, answers: dict[str, Any]) -> str:
    """``yours`` if the answer may be used, otherwise the reason why not. It is tested alone."""
    entry = tree.course.entries[part.id]
    if not tree.passed(entry):
        return "changed since it passed" if part.id in tree.state["passed"] else "not passed yet"
    try:
        answers[part.id] = device.answer_of(tree, entry)
        device.active = {part.id}
        device.calls.clear()
        found = part.probe(device)
    except Exception as error:  # training continues without the part, whatever its code does
        return f"not used: {error}"
    if not device.calls[part.id]:
        return "not used: nothing called it"
    device.active = set()
    difference = largest_difference(found, part.probe(get(device.of)))
    if difference > device.tolerance:
        return f"not used: it differs from minirnn's by {difference:.1g} of the size"
    return "yours"


def largest_difference(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The largest difference between two lists of arrays, as a share of the largest number of each array."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        with np.errstate(all="ignore"):
            share = float(np.max(np.abs(a - b), initial=0.0) / max(float(np.max(np.abs(b), initial=0.0)), 1e-30))
        worst = max(worst, share) if np.isfinite(share) else float("inf")
    return worst


def summary(device: Any) -> str:
    """The learner's parts in use, and what is wrong with others that have been passed."""
    names = {part.id: part.name for part in device.parts}
    yours = [id for id in device.standing if id in device.active]
    lines = [f"{len(yours)} of {len(device.standing)} parts are yours" + (f": {' '.join(yours)}" if yours else "")]
    for id, standing in device.standing.items():
        if standing not in ("yours", "not passed yet"):
            lines += [f"  {id} ({names[id]}) is minirnn's. Yours is {standing}"]
    return "\n".join(lines)


def made(kind: Callable[[Tree], Any]) -> Any:
    """A device of this kind for the current course folder. It prints which parts come from the learner."""
    try:
        tree = find_tree(Path.cwd())
    except CourseError as error:
        name = getattr(kind, "name", "mine")
        raise DeviceUnavailable(f"the device {name} is made of your answers, but {error}") from None
    device = kind(tree)
    print(f"{device.name}: {summary(device)}", file=sys.stderr, flush=True)
    return device


def mine() -> Mine:
    """The device `mine` of the current course folder."""
    return made(Mine)


ONLY_BY_NAME = "made when it is asked for by its name: it runs the answers of the course folder that you are in"
"""With this, listing devices (`minirnn doctor`) runs no code of a student."""
mine.only_by_name = ONLY_BY_NAME  # type: ignore[attr-defined]

"""Where a mistake in a formula is in a student's file: its variables instead of the formula's, and the line.

A variable counts as one of the formula only if it has the same values at every step. Nothing of the formula enters the
answer's process.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from minirnn.learn.calls import message_of
from minirnn.learn.diagnose import Diagnosis
from minirnn.learn.hypotheses.program import Program, Step
from minirnn.learn.judge import equal
from minirnn.learn.repair import Repair
from minirnn.learn.sandbox.patterns import text as text_of

WORDS = ("a", "again", "first", "have", "inside", "limit", "mean", "one", "out", "read", "sign", "step", "there", "two")
"""Variables of formulas that are also words of sentences."""
MOST, BEFORE = 3, " of the iteration before"
"""The number of words of a formula that are explained, and what is said of a value that a loop carries."""


def in_own_names(repair: Repair, text: str, found: Diagnosis) -> Diagnosis:
    """A diagnosis from the formula in the names of the student's file, with the line and the words that it lacks.

    The answer's process reports which lines assign what, because the judge does not parse a student's text.
    """
    if not found.inputs:
        return found
    program = Program(repair.exercise.reference, tuple(repair.exercise.outputs))
    steps, rows = list(program.every.values()), text.splitlines()
    shown = [found.lines[k - 1].strip() for k in range(1, len(found.lines)) if re.match(r" *\^+ ", found.lines[k])]
    code = words_of("\n".join(shown))
    said = [word for word in words_of("\n".join(found.lines)) if word in code or word not in WORDS]
    message, served = message_of(found.inputs, locals=True)
    reply = repair.child.call(message, served)
    noted = repair.child.call({**message, "trials": [[]], "noted": True}, served).noted
    own = {name: value for name, value in reply.locals.items() if name.isidentifier()}
    reaches = repair.wrong.union(*(program.reach[step.number] for step in steps if step.target in found.targets))

    def fits(line: int | None) -> bool:
        """Whether a line can be the wrong one: it changes no other outputs than that of the formula."""
        return repair.reach.get(line or 0, reaches) <= reaches

    def same(word: str, turned: bool = False) -> list[str]:
        """The variables of the file with the values of a word of the formula; given ones if there are no others."""
        arrays = [v for v in found.values.get(word, ()) if isinstance(v, np.ndarray) and v.dtype.kind == "f" and v.size]
        values = [v.T if turned else v for v in arrays if np.ptp(v) > 0]
        names = [name for name, other in own.items() if values and equal(values[-1], other)]
        if len(values) > 1:
            lines = {name: assigning(name, rows) for name in names}
            names = [n for n in names if all(any(k in lines[n] and equal(v, o) for k, o in noted) for v in values)]
        return [] if word in names else [name for name in names if name not in found.inputs] or names

    known = {*(reply.lines or words_of(text)), *program.parameters, *repair.exercise.outputs}
    instead, means = dict[str, str](), dict[str, str]()
    loops = set(re.findall(r"^\s*for (\w+) in", text, re.MULTILINE))
    if len(loops) == 1 and "t" in code and "t" not in loops and "t" in {name for s in steps for name in s.loops}:
        instead["t"] = loops.pop()
    for word in (todo := sorted(said, key=lambda word: word not in found.targets)):
        names = same(word) if word not in WORDS else []
        free = len(names) == 1 and names[0] not in (*said, *instead.values())
        if free and (word not in found.targets or fits(reply.lines.get(names[0]))):
            instead[word] = names[0]
        elif word not in {*known, *instead, *means, *loops} and len(means) < MOST:
            value = meaning(word, steps, shown)
            means |= {word: value} if value else {}
            todo += words_of(value.removesuffix(BEFORE))
    own_name = naming(instead)
    more, places = list[str](), list[str]()
    for word in found.targets:
        target = own_name(word)
        if target in reply.lines:
            lines = assigning(target, rows) or [reply.lines[target]]
            made = [text_of(step.tree) for step in steps if step.target == word]
            end = found.values.get(word, [None])[-1]
            line = next((k for k, value in noted if k in lines and equal(end, value)), lines[-1])
            line = lines[0] if made[1:] and made[0] in shown else line  # before the loop
            places.append(f"line {line} (where you assign {target})")
        else:
            names = [name for name in same(word, turned=True) if name in reply.lines]
            places += [f"line {reply.lines[name]} (your {name} is {target} in the formula)" for name in names[-1:]]
    place = f", {' and '.join(places)}" if places else ""
    if not place and found.wrong and found.targets:
        wrong, target = own_name(found.wrong), own_name(found.targets[0])
        used = re.compile(rf"(?<![\w.]){re.escape(wrong)}(?!\w)")
        lines = [k for k, row in enumerate(rows, 1) if used.search(row) and (fits(k) or "return " in row)]
        if len(lines) == 1:
            place = f", line {lines[0]}"
            more = ["", f"Line {lines[0]} uses {wrong}, where {target} belongs."]
    if means:
        more = ["", f"Here {' and '.join(f'{word} is {own_name(value)}' for word, value in means.items())}.", *more]
    return found.replaced(sentence=own_name(found.sentence), short=own_name(found.short), place=place,
                          lines=(*renamed(found.lines, own_name), *more))  # fmt: skip


def assigning(name: str, rows: Sequence[str]) -> list[int]:
    """The lines that seem to assign a variable."""
    left = re.compile(rf"[^=(]*\b{name}\b[^=(]*=(?!=)")
    return [k for k, row in enumerate(rows, 1) if left.match(row)]


def words_of(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"[^\W\d]\w*", text)))


def naming(names: Mapping[str, str]) -> Callable[[str], str]:
    """A function that puts other names into a text."""
    pattern = re.compile(rf"(?<![\w.])({'|'.join(names)})\b")
    return lambda said: pattern.sub(lambda one: names[one[0]], said) if names else said


def meaning(word: str, steps: Sequence[Step], shown: Sequence[str]) -> str:
    """The value of a word, "of the iteration before" if a shown line comes before it in a loop; empty if unknown."""
    made = [s for s in steps if word in s.target.split(", ")]
    if not made or len(made) > 2 or text_of(made[-1].tree) in shown:
        return ""
    last = made[-1]
    value = text_of(last.tree.value) if last.target == word and isinstance(last.tree, ast.Assign) else ""
    if len(made) == 2:  # of several values, the first explains nothing
        before = [s for s in steps if s.loops == last.loops and text_of(s.tree) in shown and s.number < last.number]
        value = f"{value}{BEFORE}" if last.loops and not made[0].loops and before and value else ""
    return value if len(value) <= 80 else ""


def renamed(lines: Sequence[str], own_name: Callable[[str], str]) -> list[str]:
    """Lines with other names. A mark stays under the same part of the line above it."""
    found = []
    for k, line in enumerate(lines):
        mark = re.match(r"( *)(\^+)", line) if k else None
        if mark:
            before, marked = lines[k - 1][: mark.end(1)], lines[k - 1][mark.end(1) : mark.end()]
            found.append(" " * len(own_name(before)) + "^" * len(own_name(marked)) + own_name(line[mark.end() :]))
        else:
            found.append(own_name(line))
    return found

"""Where a mistake in a formula is in a student's file: its variables instead of the formula's, and the line."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of
from minirnn.learn.diagnose import Diagnosis
from minirnn.learn.exercise import Exercise, Inputs
from minirnn.learn.hypotheses.program import Program, Step
from minirnn.learn.judge import equal
from minirnn.learn.repair import Repair
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.sandbox.replies import Reply


def place_of(target: str, wrong: Any, child: Child, inputs: Inputs) -> str:
    """``, line 8 (where you assign dzc)``; empty if no variable of the file is the wrong one.

    `target` is its name in the formula, `wrong` the value that it has with the mistake. The answer's process reports
    which lines assign what, because the judge does not parse a student's text.
    """
    message, served = message_of(inputs, locals=True)
    reply = child.call(message, served)
    if line := line_of(reply, target):
        return f", line {line} (where you assign {target})"
    if not isinstance(wrong, np.ndarray) or not wrong.ndim:
        return ""
    for name in same_value(reply.locals, wrong):
        if line := line_of(reply, name):
            return f", line {line} (your {name} is {target} in the formula)"
    return ""


def line_of(reply: Reply, name: str) -> int | None:
    """The first line in which the file assigns a variable."""
    return reply.lines.get(name) if name.isidentifier() else None


def same_value(arrays: Mapping[str, np.ndarray], wrong: np.ndarray) -> list[str]:
    """The variables that hold a value, possibly transposed."""
    found = [name for name, value in arrays.items() if equal(wrong, value)]
    return found or [name for name, value in arrays.items() if value.ndim == 2 and equal(wrong, value.T)]


WORDS = ("a", "again", "first", "have", "inside", "limit", "mean", "one", "out", "read", "sign", "step", "there", "two")
"""Variables of formulas that are also words of sentences."""
MOST = 3
"""The number of words of a formula that are explained."""


def in_own_names(exercise: Exercise, child: Child, text: str, found: Diagnosis) -> Diagnosis:
    """A diagnosis from the formula in the names of the student's file, with the words that the file does not have.

    A line is shown in these names only if the file becomes right with it, and otherwise in those of the formula.
    """
    try:
        program = Program(exercise.reference, tuple(exercise.outputs))
        steps = list(program.every.values())
    except (OSError, TypeError, SyntaxError, AssertionError):
        return found
    shown = [found.lines[k - 1].strip() for k in range(1, len(found.lines)) if re.match(r" *\^+ ", found.lines[k])]
    code = words_of("\n".join(shown))
    said = [word for word in words_of("\n".join(found.lines)) if word in code or word not in WORDS]
    message, served = message_of(found.inputs, locals=True) if found.inputs else ({}, {})
    reply = child.call(message, served) if found.inputs else Reply()
    own = {name: value for name, value in reply.locals.items() if name.isidentifier()}
    instead = {}
    for word in said:
        value = found.values.get(word, np.zeros(0))
        varied = value.dtype.kind == "f" and value.size and np.ptp(value) > 0
        same = [name for name, other in own.items() if varied and equal(value, other)]
        computed = [name for name in same if name not in found.inputs] or same  # says more than what is given
        if word not in same and len(computed) == 1 and computed[0] not in said and word not in WORDS:
            instead[word] = computed[0]
    loops = set(re.findall(r"^\s*for (\w+) in", text, re.MULTILINE))
    if len(loops) == 1 and "t" in code and "t" not in loops and "t" in {name for s in steps for name in s.loops}:
        instead["t"] = loops.pop()
    known = {*(reply.lines or words_of(text)), *program.parameters, *exercise.outputs, *loops}
    line = Line(shown, found.wrong or "", steps, known, list(exercise.outputs))
    written: Written | None = Written(text, instead)
    if shown and found.wrong is not None:
        written = line.put(Repair(exercise, child), text, instead)
    names = {} if written is None else written.names
    target = names.get(found.target, found.target)
    if written is None and target not in reply.lines:
        target = ""
    own_name = naming(names)
    lines = renamed(found.lines, own_name)
    more = [f"{word} is {own_name(means)}{before}" for word, (means, before) in line.meanings(said, names).items()]
    lines += ["", f"Here {' and '.join(more)}."] if more else []
    lines += ["", written.more] if written is not None and written.more else []
    values = {**found.values, target: found.values.get(found.target)}
    place = "" if written is None else written.place
    return found.replaced(sentence=own_name(found.sentence), short=own_name(found.short), lines=tuple(lines),
                          target=target, values=values, place=place)  # fmt: skip


def words_of(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"[^\W\d]\w*", text)))


def naming(names: Mapping[str, str]) -> Callable[[str], str]:
    """A function that puts other names into a text."""
    pattern = re.compile(rf"(?<![\w.])({'|'.join(names)})\b")
    return lambda said: pattern.sub(lambda one: names[one[0]], said) if names else said


FORM = re.compile(r"([^\W\d]\w*)(?:\[.*?\])? ([-+*/]?=) (.+)")
ROW = re.compile(r"(\s+)([^\W\d]\w*)(\[[^=]*\])?\s*[-+*/]?=(?!=)")


@dataclass(frozen=True)
class Written:
    """A file with a diagnosis put into it: the names that it needs, its place, and what to add to the text."""

    file: str
    names: Mapping[str, str]
    place: str = ""
    more: str = ""


@dataclass(frozen=True)
class Line:
    """The right lines of a formula, the right side of a single one with its mistake, all statements of the formula,
    the words that the file knows, and the outputs.
    """

    shown: Sequence[str]
    wrong: str
    steps: Sequence[Step]
    known: Container[str]
    outputs: Sequence[str]

    def put(self, repair: Repair, text: str, names: Mapping[str, str]) -> Written | None:
        """The first file that becomes right with the lines. A name that fits only by accident may be left out."""
        chosen = [dict(names), *({k: v for k, v in names.items() if k != left} for left in names), {}]
        tried = [one for some in chosen for one in self.files(text.splitlines(), some)]
        repair.allow("near")
        files = list(dict.fromkeys(one.file for one in tried))
        results = dict(zip(files, repair.results([(file,) for file in files]), strict=True))
        good = (one for one in tried if results[one.file] == repair.everything)
        return next((one for one in good if repair.repairs((one.file,))), None)

    def files(self, rows: Sequence[str], names: dict[str, str]) -> Iterator[Written]:
        """The file with the lines at each place where they may belong."""
        forms = [FORM.fullmatch(line) for line in self.shown]
        assigned = {k: row for k, line in enumerate(rows) if (row := ROW.match(line))}
        if len(forms) > 1:
            own = [[k for k, row in assigned.items() if m and row[2] == naming(names)(m[1])] for m in forms]
            for lines in itertools.islice(itertools.product(*own), 16):
                new = {k: self.row(rows[k], naming(names)(line), names)
                       for k, line in zip(lines, self.shown, strict=True)}  # fmt: skip
                yield Written("\n".join(new.get(k, row) for k, row in enumerate(rows)), names)
            return
        if forms[0] is None:
            first = self.shown[0].split()[0]
            for k in (k for k, row in enumerate(rows) if row.split()[:1] == [first]):
                new = {k: self.row(rows[k], naming(names)(self.shown[0]), names)}
                yield Written("\n".join(new.get(k, row) for k, row in enumerate(rows)), names, f", line {k + 1}")
            return
        target, sign, right = forms[0].groups()
        for k, row in sorted(assigned.items(), key=lambda one: one[1][2] != names.get(target, target)):
            mine = {**names, target: row[2]}
            line = f"{row[2]}{row[3] or ''} {sign} {naming(mine)(right)}"
            file = "\n".join([*rows[:k], self.row(rows[k], line, names), *rows[k + 1 :]])
            yield Written(file, mine, f", line {k + 1} (where you assign {row[2]})")
        others = {word: name for word, name in names.items() if word != target}
        for k, line in enumerate(rows):
            parts = re.split(r", *(?![^(\[]*[)\]])", line.strip().removeprefix("return "))
            if target in self.outputs and line.strip().startswith("return ") and len(parts) == len(self.outputs):
                old, parts[self.outputs.index(target)] = parts[self.outputs.index(target)], naming(others)(right)
                file = "\n".join([*rows[:k], self.row(line, f"return {', '.join(parts)}", others), *rows[k + 1 :]])
                yield Written(file, others, f", line {k + 1}", f"Line {k + 1} returns {old}, where {target} belongs.")
        for wrong in filter(None, (naming(others)(self.wrong), names.get(target))):
            place = re.compile(rf"(?<![\w.]){re.escape(wrong)}(?!\w)")
            for k in (k for k, row in enumerate(rows) if place.search(row)):
                line = place.sub(lambda _: f"({naming(others)(right)})", rows[k]).strip()
                file = "\n".join([*rows[:k], self.row(rows[k], line, others), *rows[k + 1 :]])
                yield Written(file, others, f", line {k + 1}", f"Line {k + 1} uses {wrong}, where {target} belongs.")

    def row(self, old: str, new: str, names: Mapping[str, str]) -> str:
        """A line instead of another, after lines that assign what the file lacks."""
        indent = old[: len(old) - len(old.lstrip())]
        means = self.meanings(words_of("\n".join(self.shown)), names)
        order = [step.target for step in self.steps if means.get(step.target, ("", " "))[1] == ""]
        before = [f"{word} = {naming(names)(means[word][0])}" for word in order]
        return "\n".join(indent + line for line in (*before, new))

    def meanings(self, said: Sequence[str], names: Container[str]) -> dict[str, tuple[str, str]]:
        """What the formula assigns to words that the file lacks, and to the words in that."""
        found: dict[str, tuple[str, str]] = {}
        for word in (todo := list(said)):
            new = word not in self.known and word not in names and word not in found and len(found) < MOST
            if new and (means := self.meaning(word)):
                found[word] = means
                todo += words_of(means[0])
        return found

    def meaning(self, word: str) -> tuple[str, str] | None:
        """The value of a word, and " of the iteration before" if a shown line comes before it in a loop."""
        made = [s for s in self.steps if word in s.target.split(", ")]
        if not made or len(made) > 2 or ast.unparse(made[-1].tree) in self.shown:
            return None
        last = made[-1]
        if last.target != word or not isinstance(last.tree, ast.Assign):
            return None
        uses = [s for s in self.steps if s.loops == last.loops and ast.unparse(s.tree) in self.shown]
        if len(made) == 2 and not (last.loops and not made[0].loops and uses and uses[0].number < last.number):
            return None  # of several values, the first explains nothing
        value = ast.unparse(last.tree.value)
        return (value, " of the iteration before" if len(made) == 2 else "") if len(value) <= 60 else None


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

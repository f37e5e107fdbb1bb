"""Tries tests written by students: a right backward pass must pass them, and no wrong one."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of, value_of
from minirnn.learn.catalog.tests import BACKWARD, wrong_cells
from minirnn.learn.exercise import PUBLIC, Exercise
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.judge import Failed, Part
from minirnn.learn.mutants import mutants
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.wrong_backward import Spoiled, spoiled

RETURNED_FALSE = (
    "your test returns False, but the value that a test returns is ignored\n"
    "  raise AssertionError if backward is wrong: assert np.allclose(...)"
)
RIGHTS = 3
"""The number of right backward passes in a round, among the wrong ones."""
ROUNDS = 3
"""The number of tries with an accepted wrong backward pass, because a test may draw a small batch now and then."""

PACE = 0.002
"""A backward pass returns at full multiples of this many seconds, so that its time reveals nothing."""


@dataclass(frozen=True)
class Candidate:
    """A backward pass that a test is tried on; the kind of a right one is "right"."""

    kind: str
    sentence: str
    backward: Callable[..., Any]


def tester_parts(exercise: Exercise, child: Child, chance: random.Random) -> list[Part]:
    """Try the student's test on right backward passes and on every wrong one, with a part for each kind of mistake.

    Right and wrong ones come in a random order drawn from `chance`, each with its own generator, so a test gains
    nothing by counting its calls or knowing seeds. A test can print the seeds of its generators, so they do not depend
    on anything hidden.
    """
    seeds = chance if isinstance(chance, random.SystemRandom) else random.Random(child.file.read_bytes())
    rights, wrongs = candidates(exercise)
    left = wrongs
    for _ in range(ROUNDS):
        tried = [*left, *(chance.choice(rights) for _ in range(RIGHTS)), *rights]
        chance.shuffle(tried)
        accepted = []
        for candidate in tried:
            complaint = verdict(exercise, child, candidate.backward, [seeds.getrandbits(64)])
            if candidate.kind == "right" and complaint is not None:
                return rejecting(exercise, child, seeds, rights, (candidate, complaint))
            if candidate.kind != "right" and complaint is None:
                accepted.append(candidate)
        left = accepted
        if not left:
            break
    return [Part("right", True, 0.0), *(missed(kind, left) for kind in list(exercise.outputs)[1:])]


def rejecting(
    exercise: Exercise, child: Child, seeds: random.Random, rights: Sequence[Candidate], met: tuple[Candidate, str]
) -> list[Part]:
    """The complaint about a test that rejects the right backward pass it `met`.

    If the test also rejects the plain one, the text says so. Only if that one passes is the rounding to blame.
    """
    plain = rights[0]
    complaint = verdict(exercise, child, plain.backward, [seeds.getrandbits(64)])
    candidate, complaint = met if complaint is None else (plain, complaint)
    text = f"your test rejects a right backward pass ({candidate.sentence}): {complaint}"
    return [Part(n, False, float("inf"), text if n == "right" else "") for n in exercise.outputs]


def missed(kind: str, left: Sequence[Candidate]) -> Part:
    """The complaint about one kind of mistake that the test did not find."""
    sentences = [c.sentence for c in left if c.kind == kind]
    more = f", and {len(sentences) - 1} more" if len(sentences) > 1 else ""
    complaint = f"your test accepts a wrong backward pass: {sentences[0]}{more}" if sentences else ""
    return Part(kind, not sentences, float(len(sentences)), complaint)


def candidates(exercise: Exercise) -> tuple[list[Candidate], list[Candidate]]:
    """Right backward passes, and wrong ones with a changed term or spoiled outputs."""
    probe = wrong_cells(np.random.default_rng(21), PUBLIC)
    right = BACKWARD.run(probe)
    rights = [
        Candidate("right", "as it is", backward_of(BACKWARD, {})),
        Candidate("right", "written differently", other_way(BACKWARD)),
    ]
    wrongs, seen = [], [right]
    for mutant in mutants(BACKWARD, probe):
        with np.errstate(all="ignore"):
            try:
                outputs = BACKWARD.run(probe, mutant.changed)
            except Exception:  # shapes do not match, which any test finds
                continue
        shaped = all(np.shape(outputs[n]) == np.shape(right[n]) for n in right)
        if shaped and not any(alike(outputs, one) for one in seen):  # otherwise the change is not wrong, or not new
            seen.append(outputs)
            wrongs.append(Candidate(mutant.kind, mutant.sentence(), backward_of(BACKWARD, mutant.changed)))
    wrongs += [Candidate(s.kind, s.sentence, spoiling(BACKWARD, s)) for s in spoiled(exercise, right)]
    return rights, [w for w in wrongs if w.kind in exercise.outputs]


def alike(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return all(np.allclose(a[n], b[n]) for n in b)


def spoiling(program: Program, spoil: Spoiled) -> Callable[..., Any]:
    """The right backward pass with its outputs spoiled."""

    def backward(*args: Any) -> list[Any]:
        outputs = program.run(dict(zip(program.parameters, arguments(program, args), strict=True)))
        return list(spoil.change(outputs).values())

    return backward


def arguments(program: Program, args: Sequence[Any]) -> Sequence[Any]:
    if len(args) != len(program.parameters):
        raise TypeError(f"backward takes {len(program.parameters)} arguments: {', '.join(program.parameters)}")
    return args


def backward_of(program: Program, changed: Mapping[int, CodeType | None]) -> Callable[..., Any]:
    """The formula, with lines changed, as a function that the student's test can call."""

    def backward(*args: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            outputs = program.run(dict(zip(program.parameters, arguments(program, args), strict=True)), changed)
        return list(outputs.values())

    return backward


def other_way(program: Program) -> Callable[..., Any]:
    """The right numbers with other rounding, because a test must not require equal bits."""
    exact = backward_of(program, {})
    return lambda *args: [a * (1 + 1e-12) for a in exact(*args)]


def at_a_steady_pace(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its duration rounded up."""

    def paced(*args: Any) -> Any:
        begun = time.perf_counter()
        try:
            return function(*args)
        finally:
            passed = time.perf_counter() - begun
            time.sleep(max(0.0, PACE * math.ceil(passed / PACE) - passed))

    return paced


def verdict(exercise: Exercise, child: Child, backward: Callable[..., Any], seed: Sequence[int]) -> str | None:
    """None if the student's test accepts, otherwise its complaint."""
    inputs = {**exercise.case(seed), "backward": backward}
    message, served = message_of(inputs, seed=seed)
    served = {name: at_a_steady_pace(function) for name, function in served.items()}
    child.anew()  # so that a test does not know what others saw
    reply = child.call(message, served)
    if reply.error is not None and reply.error["type"] == "AssertionError":
        return reply.error["text"] or "AssertionError"
    returned = value_of(reply, exercise).get("single")
    if isinstance(returned, np.ndarray) and returned.dtype == bool and not returned.all():
        raise Failed(RETURNED_FALSE)
    return None

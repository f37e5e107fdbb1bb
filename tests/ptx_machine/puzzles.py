"""Puzzles: a line of the plain kernel of one launch is deleted. Who notices?

``python -m tests.ptx_machine.puzzles 3`` plants the third of them and says who noticed; without a number it shows all
lines and runs nothing. The questions and answers: `docs/appendix/puzzles.md`.
"""

import sys
from collections.abc import Iterator

from minirnn.devices.cuda.gpu.compiler import KERNELS
from tests.ptx_machine import build
from tests.ptx_machine.mistakes import MISTAKES, Mistake
from tests.ptx_machine.planted import JUDGES, judges, verdict

PUZZLES = [mistake for mistake in MISTAKES if mistake.where == "barrier"][:11]
FILES = ("grid_barrier.cuh", "sequence/barrier.cu")
RUNS = ("orders of the threads", "orders of the threads", "seeds")
"""The settings that differ between runs of a judge."""


def shown(puzzle: Mistake) -> Iterator[str]:
    """The file, and the lines around the change, as a diff has them."""
    (file, text), *others = [(f, t) for f in FILES if puzzle.old in (t := (KERNELS / f).read_text(encoding="utf-8"))]
    assert not others and text.count(puzzle.old) == 1
    before, after = (t.splitlines() for t in (text, text.replace(puzzle.old, puzzle.new)))
    at = next(k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    yield f"minirnn/devices/cuda/kernels/{file}, line {at + 1}"
    yield from (f"  {line}" for line in before[max(0, at - 2) : at])
    yield f"- {before[at]}"
    if len(after) == len(before):
        yield f"+ {after[at]}"
    yield from (f"  {line}" for line in before[at + 1 : at + 3])


def answered(puzzle: Mistake) -> Iterator[str]:
    """Each judge's result: the number of runs that noticed the mistake, and the first reason."""
    for judge, what, makers in zip(JUDGES, RUNS, judges(puzzle.where), strict=True):
        reason = build.reason_against() if judge == "PTX machine" else None
        if reason is not None:
            yield f"{judge:12} not here: {reason}"
            continue
        found = [said for make in makers if (said := verdict(puzzle, puzzle.where, make))]
        yield f"{judge:12} notices it in {len(found)} of {len(makers)} {what}"
        yield from (f"    {line}" for line in (found[0] if found else "").splitlines())


def main(words: list[str]) -> int:
    """Show all puzzles, or run those whose numbers are given."""
    numbers = {str(n + 1): puzzle for n, puzzle in enumerate(PUZZLES)}
    if unknown := [word for word in words if word not in numbers]:
        print(f"there is no puzzle {unknown[0]}; expected numbers from 1 to {len(PUZZLES)}", file=sys.stderr)
        return 2
    for number in words or numbers:
        print(f"puzzle {number}:", *shown(numbers[number]), sep="\n")
        if words:
            for line in answered(numbers[number]):
                print(line, flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

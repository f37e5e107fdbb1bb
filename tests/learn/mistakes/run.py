"""Prints the diagnoses of the mistakes in this folder.

python -m tests.learn.mistakes.run              # all
python -m tests.learn.mistakes.run ex05 ex17    # of some exercises
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.learn.answers import checked
from tests.learn.mistakes.whole import answers

RIGHT = {answer.exercise: answer.text for answer in answers("plain.txt")}


def mistakes(file: str) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """The rows of a file of this folder: exercise, mistake, expected diagnosis, replacements."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines():
        if head := re.fullmatch(r"=== (ex\d\d) (.*) \|(?: (.*))?", line):
            rows.append((head[1], head[2], head[3] or "", []))
        elif change := re.fullmatch(r"([^#].*?) ->(?: (.*))?", line):
            old, new = ((piece or "").replace(R"\n", "\n").replace(R"\\", "\\") for piece in change.groups())
            rows[-1][3].append((old, new))
        else:
            assert line == "" or line.startswith("#"), line
    return rows


PYTHON, CUDA = mistakes("numpy.txt"), mistakes("cuda.txt")


def changed(exercise, changes):
    """The right answer with replacements. Each replaced text must occur in it."""
    text = RIGHT[exercise]
    for old, new in changes:
        assert old in text, (exercise, old)
        text = text.replace(old, new)
    return text


def kernel_said_to(folder, exercise, changes):
    """The diagnosis of a mistake in a CUDA kernel, run in its own process like any answer."""
    result = checked(folder, exercise, changed(exercise, changes))
    assert not result.passed, f"{exercise}: a wrong answer passes"
    return result.diagnosis + "\n" + result.message


def main(wanted):
    for exercise, what, _, changes in PYTHON:
        if not wanted or exercise in wanted:
            with tempfile.TemporaryDirectory() as folder:
                result = checked(Path(folder), exercise, changed(exercise, changes))
            print(f"{exercise}  {what:48} {'' if result.exact else '(not exact) '}{result.diagnosis}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for exercise, what, _, changes in CUDA:
            if not wanted or exercise in wanted:
                text = kernel_said_to(Path(folder), exercise, changes)
                print(f"{exercise}  {what:48} {text.splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

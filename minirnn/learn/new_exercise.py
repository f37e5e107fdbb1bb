"""Begins a teacher's own exercise: writes a stub, a reference, a solution and an entry that work as they are."""

from __future__ import annotations

import re
from pathlib import Path

from minirnn.io.atomic import atomic_write
from minirnn.learn.course import CourseError, load, write
from minirnn.learn.teacher_exercise import NAME, REFERENCES

FOLDER = "own"

STUB = '''"""{id}  {title}.

    y = tanh(w * x)

    x, y (B, H)    w (H,)
"""

import numpy as np  # noqa: F401


def {function}(x, w, y, dy):
    """dy (B, H) is the gradient of y. Return dx (B, H) and dw (H,)."""
    raise NotImplementedError("{id}")
'''

REFERENCE = '''"""What {id} expects."""

import numpy as np

OUTPUTS = {{"dx": "(B, H)", "dw": "(H,)"}}


def inputs(rng, s):
    """The arguments of a case. s.T, s.B, s.I and s.H are sizes, all different."""
    x, w = rng.normal(size=(s.B, s.H)), rng.normal(size=s.H)
    return dict(x=x, w=w, y=np.tanh(w * x), dy=rng.normal(size=(s.B, s.H)))


def {function}(x, w, y, dy):
    # Write one gradient per line as a sum of products. Then minirnn knows the ways to get it wrong, and their names.
    da = dy * (1 - y * y)
    dx = da * w
    dw = (da * x).sum(0)
    return dx, dw


MISTAKES = {{
    "dw: w[k] is used by every sample: the sum over the batch, not the mean": lambda x, w, y, dy: (
        dy * (1 - y * y) * w,
        (dy * (1 - y * y) * x).mean(0),
    ),
}}
'''

SOLUTION = """import numpy as np


def {function}(x, w, y, dy):
    da = dy * (1 - y * y)
    return da * w, (da * x).sum(0)
"""

CUDA_STUB = """// {id}  {title}.
//
//     y[k] = w * x[k]          x, y (N,)
//
// The blocks have 64 threads, enough of them for N numbers and a few more.

extern "C" __global__ void {function}(int N, float w, const float *x, float *y) {{
    // Write your code here.
}}
"""

CUDA_REFERENCE = '''"""What {id} expects."""

import numpy as np

OUTPUTS = {{"y": "(N,)"}}


def inputs(rng, s):
    """The arguments of the CUDA kernel, in their order; NaN shows what no thread writes."""
    N = 64 * s.B + s.H
    x = rng.normal(size=N).astype(np.float32)
    return dict(N=np.int32(N), w=np.float32(rng.normal()), x=x, y=np.full(N, np.nan, np.float32))


def launch(inputs):
    """Grid and block."""
    return (-(-int(inputs["N"]) // 64),), (64,)


def {function}(N, w, x, y):
    return w * x
'''

CUDA_SOLUTION = """extern "C" __global__ void {function}(int N, float w, const float *x, float *y) {{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < N) y[k] = w * x[k];
}}
"""

EXAMPLES = ("    y = tanh(w * x)\n\n    x, y (B, H)    w (H,)\n", "//     y[k] = w * x[k]          x, y (N,)\n")
"""What the stubs say about their examples."""

ENTRY = """
[[exercise]]
id = "{id}"
title = "{title}"
chapter = "Our own"
file = "{file}"
reference = "{id}.py"
function = "{function}"
points = {points}
hidden = 1
hints = [
    "A first hint: where to begin.",
    "A second one: what follows from it.",
    "A third one: nearly the answer.",
]
"""


def new_exercise(folder: Path, id: str, cuda: bool = False) -> list[Path]:
    """Add the exercise `id` to the course in `folder`; the files that were written, course.toml last.

    Raises
    ------
    CourseError
        If there is no such course, `id` cannot be an id or is taken, or a file is there already: nothing is written.
    """
    course = load(folder)
    if not re.fullmatch(NAME, id) or re.fullmatch(r"ex\d+", id):
        raise CourseError(
            f"an exercise cannot be called {id!r}\n"
            "  expected lowercase letters, digits, - and _; names such as ex12 are reserved for minirnn"
        )
    if id in course.entries:
        raise CourseError(f"{folder / 'course.toml'} has an exercise {id!r} already")
    ending = "cu" if cuda else "py"
    function = id.replace("-", "_") + ("" if cuda else "_backward")
    names = dict(
        id=id, title=id.replace("-", " ").replace("_", " ").capitalize(), function=function,
        file=f"{FOLDER}/{id}.{ending}", points=2,
    )  # fmt: skip
    stub, reference, solution = (CUDA_STUB, CUDA_REFERENCE, CUDA_SOLUTION) if cuda else (STUB, REFERENCE, SOLUTION)
    texts = {
        folder / "exercises" / FOLDER / f"{id}.{ending}": stub,
        folder / REFERENCES / f"{id}.py": reference,
        folder / "solutions" / FOLDER / f"{id}.{ending}": solution,
    }
    for path in texts:
        if path.exists():
            raise CourseError(f"{path} is there already\n  nothing is overwritten")
    for path, text in texts.items():
        write(path, text.format(**names))
    toml = folder / "course.toml"
    before = toml.read_text(encoding="utf-8")
    with atomic_write(toml) as file:
        file.write(before.rstrip() + "\n" + ENTRY.format(**names))
    return [*texts, toml]

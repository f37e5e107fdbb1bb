"""What one call passes through, and how long the code is: the figures by which the structure of minirnn is judged.

    python scripts/house.py                       # this checkout
    python scripts/house.py --against FOLDER      # and another one beside it: calls, lines, and times in turns

A call is counted for each function or comprehension of minirnn that Python enters, when everything is warm; NumPy's own
functions are not counted. Lines to read are the lines of code (without docstrings, comments and blank lines) of the
functions that Python enters from ``loss.backward()`` to the gradient formula of the LSTM cell; in brackets without
those of `engine/arguments.py` (what users may pass) and `engine/outputs.py` (ops with several outputs). Times are the
best of many runs, taken in turns; only their ratio means something.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SUFFIXES = {".py", ".pyi", ".cu", ".cuh", ".cpp", ".h"}
ROUNDS = 5
ASIDE = {"arguments.py", "outputs.py", "_seeds", "as_tensor", "_wrap", "_apply_backward", "outputs_of"}
"""Files and functions, of this layout and of version 0.1's, that a reader need not read on the way to the formula."""


def entered(function: Callable[[], Any], root: str, until: str = "") -> list[CodeType]:
    """The functions of the package that `function` enters, in order, up to one called `until`."""
    found: list[CodeType] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        inside = event == "call" and frame.f_code.co_filename.startswith(root)
        if inside and not (found and until and found[-1].co_name == until):
            found.append(frame.f_code)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def lines_of_code(code: CodeType) -> int:
    """The lines of a function without docstring, comments and blank lines."""
    text = textwrap.dedent("".join(inspect.getsourcelines(code)[0]))
    function: Any = ast.parse(text).body[0]
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = range(first.lineno, first.end_lineno + 1) if is_docstring else ()
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and n not in docstring for n, line in lines)


def examples() -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """Name -> what to make ready before, and the call that is measured, with what was made."""
    import numpy as np

    import minirnn as mr

    rng = np.random.default_rng(0)
    T, B, I, H = 4, 1, 8, 16

    def leaf(*shape: int) -> Any:
        return mr.tensor(rng.normal(size=shape).astype(np.float32), requires_grad=True)

    cell = leaf(B, I), leaf(B, H), leaf(B, H), leaf(I + H, 4 * H), leaf(H), leaf(H), leaf(H), leaf(4 * H)
    x, state, lengths = leaf(T, B, I), (leaf(1, B, H), leaf(1, B, H)), [T] * B
    params = leaf(mr.ops.cudnn_rnn_params_size(1, H, I))
    module, data = mr.nn.LSTM(I, H), mr.tensor(x.numpy())
    a, b = leaf(), leaf()

    def loss() -> Any:
        for t in cell:
            t.grad = None
        return mr.ops.lstm_block_cell(*cell).h.sum()

    def scalars(_: Any) -> None:
        y = a
        for _ in range(100):
            y = y * b + a
        y.backward()

    nothing = lambda: None  # noqa: E731
    return {
        "a * b + b": (nothing, lambda _: a * b + b),
        "lstm_block_cell": (nothing, lambda _: mr.ops.lstm_block_cell(*cell)),
        ".h.sum().backward()": (loss, lambda y: y.backward()),
        "cudnn_rnn_v3": (nothing, lambda _: mr.ops.cudnn_rnn_v3(x, *state, params, lengths)),
        "nn.LSTM": (nothing, lambda _: module(data)),
        "200 scalar ops and back": (nothing, scalars),
    }


def measure() -> dict[str, dict[str, float]]:
    """Example -> its calls, files, lines to read and microseconds, in this process."""
    import minirnn

    root = str(Path(minirnn.__file__).parent)
    found: dict[str, dict[str, float]] = {}
    for name, (prepare, call) in examples().items():
        for _ in range(3):
            call(prepare())
        ready = prepare()
        codes = entered(lambda call=call, ready=ready: call(ready), root)  # type: ignore[misc]
        found[name] = {"calls": len(codes), "files": len({code.co_filename for code in codes})}
        if name == ".h.sum().backward()":
            way = entered(lambda: call(prepare()), root, until="lstm_block_cell_grad")  # noqa: B023
            start = next(k for k, code in enumerate(way) if code.co_name == "backward")
            read = {code for code in way[start:] if "<" not in code.co_name and "primitives" not in code.co_filename}
            found[name]["lines"] = sum(map(lines_of_code, read))
            core = [code for code in read if not {Path(code.co_filename).name, code.co_name} & ASIDE]
            found[name]["core lines"] = sum(map(lines_of_code, core))
        times = []
        for _ in range(200 if "scalar" not in name else 20):
            ready = prepare()
            start_time = time.perf_counter()
            call(ready)
            times.append(time.perf_counter() - start_time)
        found[name]["us"] = min(times) * 1e6
    files = [path for path in Path(root).rglob("*") if path.suffix in SUFFIXES]
    found["package"] = {"lines": sum(len(path.read_bytes().splitlines()) for path in files), "files": len(files)}
    return found


def in_folder(folder: Path) -> dict[str, dict[str, float]]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, str(Path(__file__).resolve()), "--measure"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout to compare with")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure()))
        return
    here = Path(__file__).resolve().parents[1]
    folders = [here] if args.against is None else [args.against.resolve(), here]
    rounds = [[in_folder(folder) for folder in folders] for _ in range(ROUNDS)]
    print(f"{'':26}{'calls':>14}{'files':>12}{'lines to read':>24}{'time':>10}")
    for name in rounds[0][0]:
        columns = []
        for what in ("calls", "files", "lines"):
            values = [f"{result[name][what]:.0f}" if what in result[name] else "" for result in rounds[0]]
            if "core lines" in rounds[0][0][name] and what == "lines":
                pairs = zip(values, rounds[0], strict=True)
                values = [f"{value} ({result[name]['core lines']:.0f})" for value, result in pairs]
            columns.append(" -> ".join(filter(None, values)))
        best = [min(results[k][name].get("us", 0.0) for results in rounds) for k in range(len(folders))]
        ratio = f"{best[-1]:.0f} us" if len(best) == 1 else f"x {best[1] / best[0]:.2f}" if best[0] else ""
        print(f"{name:26}{columns[0]:>14}{columns[1]:>12}{columns[2]:>24}{ratio if any(best) else '':>10}")


if __name__ == "__main__":
    main()

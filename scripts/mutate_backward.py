"""Do the tests notice a wrong gradient? Each term of each backward formula is dropped or negated in turn.

    python scripts/mutate_backward.py                       # every mutant of the Python code on the cpu device
    python scripts/mutate_backward.py --cuda                # the CUDA kernels, on the simulator
    python scripts/mutate_backward.py --only gru --limit 2  # of files and functions whose name contains "gru"
    python scripts/mutate_backward.py --list                # only say what would be changed
    python scripts/mutate_backward.py --executor threads:4  # file by file, on many workers (docs/executors.md)

For each mutant the tests chosen in `TARGETS` run until the first one fails: then the mutant is "killed". One that
"survived" shows a term that no test looks at; the exit status is 1. No file is changed: the tests are collected once,
and every mutant lives in a forked process that replaces the code of one function (or the text of one CUDA file) in
memory. Linux and macOS. Needs the [test] extra.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import groupby, islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
from mutants import Mutant, cuda_mutants, python_mutants  # noqa: E402
from mutation_run import Target, run, tell  # noqa: E402

CORNERS = "tests/proof/test_corners.py"
PRIMITIVES = ("tests/ops/primitives/", CORNERS)
LOSSES = ("tests/ops/test_losses.py", "tests/devices/cpu/test_losses.py")
BLOCKS = (
    "tests/ops/test_gru_block.py",
    "tests/ops/lstm_block/",
    "tests/ops/test_golden.py",
    "tests/proof/test_raw_gradient_ops.py",
)
NETWORKS = (
    "tests/ops/cudnn_rnn/test_layers.py",
    "tests/proof/test_raw_gradient_ops.py",
    "tests/proof/test_any_order.py",
)
CPU = "minirnn/devices/cpu/"
KERNELS = "minirnn/devices/cuda/kernels/"
CELLS = "minirnn/devices/cells/"

TARGETS = [
    *(
        Target(
            f"minirnn/ops/primitives/{name}.py",
            r".*\.backward",
            (f"tests/ops/primitives/test_{name}.py", "tests/ops/primitives/test_operands.py", CORNERS),
        )
        for name in ("arithmetic", "elementwise", "indexing", "products", "reductions", "shapes", "softmaxes")
    ),
    *(
        Target(f"minirnn/ops/primitives/{name}.py", r".*\.backward", ("tests/ops/primitives/",))
        for name in ("bounds", "conversions", "division", "extremes", "pieces", "rounding", "scans", "statistics")
    ),
    *(
        Target(f"minirnn/nn/functional/{name}.py", r".*\.backward", ("tests/nn/functional/",))
        for name in ("activations", "binary", "ctc")
    ),
    Target("minirnn/engine/backward.py", "_fit", PRIMITIVES),
    Target("minirnn/devices/base.py", "sum_to_shape", PRIMITIVES),
    Target("minirnn/ops/lstm_block/cell.py", r".*\.backward|step_grad|step", BLOCKS),
    Target("minirnn/ops/lstm_block/sequence.py", r".*\.(backward|compose)", BLOCKS),
    Target("minirnn/ops/gru_block.py", r".*\.(backward|compose)", BLOCKS),
    Target("minirnn/ops/losses.py", r".*\.(backward|compose)", LOSSES),
    Target("minirnn/ops/cudnn_rnn/layers.py", r".*\.(backward|compose|run_back)", NETWORKS),
    Target("minirnn/ops/cudnn_rnn/compose.py", "compose_layer|_direction|step", NETWORKS),
    Target("minirnn/ops/cudnn_rnn/calls.py", "backprop_call", NETWORKS),
    Target("minirnn/ops/cudnn_rnn/unpack.py", r".*\.backward", NETWORKS),
    Target(CPU + "lstm_block/cell.py", ".*_grad.*", ("tests/devices/cpu/lstm_block/", *BLOCKS)),
    Target(CPU + "lstm_block/sequence.py", "block_lstm_grad", ("tests/devices/cpu/lstm_block/", *BLOCKS)),
    Target(CPU + "lstm_block/reference.py", ".*_grad.*", ("tests/devices/cpu/lstm_block/",)),
    Target(CPU + "gru_block.py", ".*_grad", ("tests/devices/cpu/test_gru_block.py", *BLOCKS)),
    Target(CPU + "losses.py", ".*_grad", LOSSES),
    Target(
        CPU + "columns/lstm.py",
        "factors|backward|projection_gradient",
        ("tests/devices/cpu/cudnn_rnn/", "tests/devices/cpu/lstm_block/", *NETWORKS, *BLOCKS),
    ),
    *(
        Target(CPU + f"{name}.py", functions, ("tests/devices/cpu/cudnn_rnn/", *NETWORKS))
        for name, functions in {
            "columns/direction": ".*_gradients?|product|backward_pieces",
            "cudnn_rnn/layer": "rnn_sequence_grad",
            "cudnn_rnn/gru": "factors|backward|weight_gradients",
            "cudnn_rnn/simple": "factors|backward",
            "columns/zoneout": "split",
            "cudnn_rnn/reference": ".*_grad.*",
        }.items()
    ),
]
CUDA_TARGETS = [
    Target(CELLS + "lstm_block.h", "grad", BLOCKS),
    Target(CELLS + "gru_block.h", "grad", BLOCKS),
    Target(KERNELS + "losses.cu", ".*_grad", LOSSES),
    Target(KERNELS + "cudnn_rnn/steps.cu", ".*_grad.*", NETWORKS),
    *(
        Target(
            CELLS + f"{cell}.h",
            "grad",
            ("tests/devices/cuda/launch/cudnn_rnn/test_persistent.py::test_odd_sizes_with_the_layouts_of_a_gpu",),
        )
        for cell in ("lstm", "gru", "rnn")
    ),
]

ZERO = "leaf(x.device, x.device.full(x.shape, 0, x.dtype))"
EQUIVALENT = {
    "PowerConstant.backward: dy * 0 -> -(dy * 0)": "-0 is 0",
    "PowerConstant.backward: dy * 0 -> None": "no gradient is the gradient 0",
    "Prod.backward: x -> -x": "it has no elements",
    "Prod.backward: x -> None": "it has no elements",
    f"Flat.backward: {ZERO} -> -{ZERO}": "-0 is 0",
    f"Flat.backward: {ZERO} -> None": "no gradient is the gradient 0",
    "backward: rnn_mode == 'lstm' -> -(rnn_mode == 'lstm')": "-True is true",
    "backward: rnn_mode == 'gru' -> -(rnn_mode == 'gru')": "-True is true",
    "backward: rnn_mode == 'rnn_relu' -> -(rnn_mode == 'rnn_relu')": "-True is true",
}
"""``function: old -> new`` of mutants that compute the same, and why."""


def mutants(targets: list[Target], only: str, path: str | None = None) -> Iterator[tuple[Target, Mutant]]:
    """All mutants of functions whose path and name contain `only`; if `path` is given, of that file."""
    for target in targets:
        if path not in (None, target.path):
            continue

        def wanted(name: str, target: Target = target) -> bool:
            return bool(re.fullmatch(target.functions, name)) and only in f"{target.path} {name}"

        find = python_mutants if target.path.endswith(".py") else cuda_mutants
        for mutant in find(target.path, (ROOT / target.path).read_text(encoding="utf-8"), wanted):
            if mutant.change not in EQUIVALENT:
                yield target, mutant


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="store_true", help="the CUDA kernels instead, on the simulator")
    parser.add_argument("--only", default="", metavar="TEXT", help="files and functions whose names contain TEXT")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N mutants")
    parser.add_argument("--list", action="store_true", help="say what would be changed, and stop")
    parser.add_argument(
        "--executor", metavar="WHERE", help="threads:N, processes:N, dask:ADDRESS or mpi; a file a task"
    )
    parser.add_argument("--path", metavar="FILE", help="only the mutants of this file")
    parser.add_argument("--json", action="store_true", help="print the test that killed each mutant, as JSON")
    parser.add_argument("--verbose", action="store_true", help="killed mutants, too")
    options = parser.parse_args(arguments)
    chosen = list(islice(mutants(CUDA_TARGETS if options.cuda else TARGETS, options.only, options.path), options.limit))
    if options.list:
        print(*(m for _, m in chosen), f"{len(chosen)} mutants", sep="\n")
        return 0
    start = time.monotonic()
    if options.executor is None:
        runner = run(chosen, device="cuda-sim" if options.cuda else "cpu", verbose=options.verbose)
        survived = len(runner.survivors)
        if options.json:
            print(json.dumps([killer for _, killer in runner.found]))
            return 0
    else:
        survived = run_apart(options, [mutant for _, mutant in chosen])
    killed = len(chosen) - survived
    print(f"{len(chosen)} mutants: {killed} killed, {survived} survived")
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    return 1 if survived else 0


def run_apart(options: argparse.Namespace, chosen: list[Mutant]) -> int:
    """Have workers run the mutants of a file each, in a process of its own; how many survived.

    The workers need this checkout under the same path. What is printed is what one process prints.
    """
    from minirnn.executors import open_executor, outcomes  # not before pytest, which rewrites the package's plugin

    files = {path: list(group) for path, group in groupby(chosen, key=lambda mutant: mutant.path)}
    own = [sys.executable, __file__, "--json", "--only", options.only, *(["--cuda"] if options.cuda else [])]
    tasks = [[*own, "--path", path, "--limit", str(len(group))] for path, group in files.items()]
    in_a_process = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    killers: dict[int, list[str]] = {}
    with open_executor(options.executor) as executor:
        for outcome in outcomes(executor, in_a_process, tasks):
            done, path = outcome.get(), list(files)[outcome.number]
            if done.returncode:
                raise SystemExit(f"{path}: the worker's process ended with {done.returncode}\n{done.stderr[-1000:]}")
            killers[outcome.number] = json.loads(done.stdout.splitlines()[-1])
            print(f"{len(killers)} of {len(tasks)} files, {path}", file=sys.stderr, flush=True)
    found = [killer for number in sorted(killers) for killer in killers[number]]
    for mutant, killer in zip(chosen, found, strict=True):
        tell(mutant, killer, options.verbose)
    return found.count("")


if __name__ == "__main__":
    sys.exit(main())

"""Measures custom cells on `native` next to the same step in torch, as docs/cells.md shows it.

    python scripts/evidence/own_cells.py                      # all cells, into docs/data/cpu/own_cells.json
    python scripts/evidence/own_cells.py --compile lstm ugrnn # these two also against torch.compile of the whole loop

torch's loop is written well: one product for the inputs of all steps, ``unbind``, and ``chunk`` for the gates. Forward
and backward, float32, one thread, in turns in one process. The smallest processor time of each counts, because other
programs may use the cores. All times of a row come from one run, so a ratio never mixes two runs.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MINIRNN_NUM_THREADS": "1"}

import argparse  # noqa: E402
import datetime  # noqa: E402
import json  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import types  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import torch  # noqa: E402

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import minirnn as mr  # noqa: E402
from minirnn.machine.computer import installed_version, processor  # noqa: E402
from tests.cells.with_torch import CELLS, gallery, torch_functions  # noqa: E402

OUT = ROOT / "docs" / "data" / "cpu" / "own_cells.json"
SIZES = ((50, 1, 64, 64), (100, 32, 128, 128))
ROUNDS = {SIZES[0]: 15, SIZES[1]: 4}
AGAIN = 4


class Loop(torch.nn.Module):
    """A cell's function in torch's eager loop, with the weights of a layer."""

    def __init__(self, cell: Any, layer: Any) -> None:
        super().__init__()
        self.cell, self.order = cell, list(cell.step.gate_order)
        self.weights = torch.nn.ParameterDict(
            {n: torch.nn.Parameter(torch.from_numpy(p.numpy().copy())) for n, p in layer.named_parameters()}
        )
        of = {kinds: [n for n in self.order if n[0] in kinds] for kinds in ("zx", "zh")}
        self.of_x, self.of_h = of["zx"], of["zh"]
        self.index = 0
        known = torch_functions([])
        known["product"] = self.product
        f = cell.function
        home = types.ModuleType(f"torch_{cell.__name__}")  # torch.compile looks up the names of the function there
        vars(home).update({**f.__globals__, **known, "__name__": home.__name__})
        sys.modules[home.__name__] = home
        self.step = types.FunctionType(f.__code__, vars(home), f.__name__, f.__defaults__, f.__closure__)
        self.step.__kwdefaults__ = {**(f.__kwdefaults__ or {}), **cell.step.constants}

    def product(self, v: Any) -> Any:
        self.index += 1
        return v @ self.weights[f"product_{self.index}"].T

    def forward(self, x: Any) -> Any:
        step, w = self.cell.step, self.weights
        B, H = x.shape[1], w["bias"].shape[0] // len(self.order)
        bias = dict(zip(self.order, w["bias"].chunk(len(self.order)), strict=True))
        xs = torch.addmm(torch.cat([bias[n] for n in self.of_x]), x.reshape(-1, x.shape[2]), w["weight_ih"].T).view(
            x.shape[0], B, -1
        )
        only_h = {n: bias[n] for n in self.order if n[0] == "h"}
        states = {n: x.new_zeros(B, H) for n in step.user_states}
        vectors = {n: w[n] for n in step.vectors}
        outputs = []
        for a in xs.unbind(0):
            given = dict(zip(self.of_x, a.chunk(len(self.of_x), 1), strict=True))
            if self.of_h:
                through = (states[step.output] @ w["weight_hh"].T).chunk(len(self.of_h), 1)
                for n, r in zip(self.of_h, through, strict=True):
                    given[n] = given[n] + r if n in given else r + only_h[n]
            self.index = 0
            found = self.step(*[{**given, **states}[n] for n in step.positional], **vectors)
            found = found if isinstance(found, tuple) else (found,)
            outputs.append(found[-1] if not step.read else found[step.user_states.index(step.output)])
            states = dict(zip(step.user_states, found, strict=False))
        return torch.stack(outputs)


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time of each call, the least of several, in turns.

    A turn is `AGAIN` calls. The first ones refill the caches after the turn of the other way.
    """
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(AGAIN):
                began = time.process_time()
                call()
                found[name] = min(found[name], 1000 * (time.process_time() - began))
    return found


def measured(name: str, size: tuple[int, ...], compiled: bool) -> dict[str, float]:
    """The time of each way in milliseconds. `compile` is the time of torch.compile before its first result,
    in seconds.
    """
    T, B, I, H = size
    cell = gallery(name)
    mr.manual_seed(0)
    layer = cell.layer(I, H, device="native")
    loop, data = Loop(cell, layer), np.random.default_rng(0).normal(size=(2, T, B, max(I, H))).astype(np.float32)
    a, given = data[0, :, :, :I].copy(), data[1, :, :, :H].copy()
    x, dy = mr.tensor(a, True, "native"), mr.tensor(given, device="native")
    xt, dyt = torch.from_numpy(a).requires_grad_(), torch.from_numpy(given)

    def own() -> Any:
        y = layer(x)[0]
        return y, mr.grad([y], [x, *layer.parameters()], [dy])

    def torchs(run: Any) -> Any:
        y = run(xt)
        return y, torch.autograd.grad(y, [xt, *loop.parameters()], dyt)

    (y, found), (yt, right) = own(), torchs(loop)
    for mine, theirs in zip((y, found[0]), (yt, right[0]), strict=True):
        assert np.allclose(mine.numpy(), theirs.detach().numpy(), atol=2e-4, rtol=1e-3), name
    calls = {"native": own, "eager": lambda: torchs(loop)}
    seconds = {}
    if compiled:
        fast, began = torch.compile(loop), time.perf_counter()
        torchs(fast)
        seconds["compile"] = round(time.perf_counter() - began, 1)
        calls["compiled"] = lambda: torchs(fast)
    for call in calls.values():
        call()
    return {**least(calls, ROUNDS[size]), **seconds}  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cells", nargs="*", default=None)
    parser.add_argument("--compile", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = {}
    if args.out.exists():
        saved = json.loads(args.out.read_text())
        if (saved["machine"], saved["torch"]) == (processor(), installed_version("torch")):
            rows = {(r["cell"], *r["size"]): r for r in saved["rows"]}
    for size in SIZES:
        for name in args.cells or args.compile or CELLS:
            times = measured(name, size, name in args.compile)
            commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT)
            row = {
                "cell": name, "size": list(size), **{key: round(ms, 4) for key, ms in times.items()},
                "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip(),
            }  # fmt: skip
            rows[name, *size] = row
            told = {k: f"{row[k] / row['native']:.1f}" for k in ("eager", "compiled") if k in row}
            print(name, size, f"{row['native']:.3g} ms", told, flush=True)
            head = {
                "machine": processor(), "torch": installed_version("torch"), "threads": 1, "dtype": "float32",
            }  # fmt: skip
            lines = ",\n  ".join(json.dumps(rows[k]) for k in sorted(rows))
            args.out.write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n  {lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()

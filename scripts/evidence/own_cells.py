"""Measures the cells of the gallery on `native` and in a loop of torch, for the page `docs/cells.md`.

    python scripts/evidence/own_cells.py                     # all cells, into docs/data/cpu/own_cells.json
    python scripts/evidence/own_cells.py mgu s6              # the rows of these cells; the others stay
    python scripts/evidence/own_cells.py --compile mgu       # also torch.compile of the whole loop, which takes minutes

torch runs the cell's own function, after one product for the inputs of all steps. Forward and backward, float32, one
thread. Both run in turns in one process, and the least processor time of each counts, because other programs may use
the cores. A row comes from one run, so its ratios are more reliable than its times.
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MINIRNN_NUM_THREADS": "1"}

import argparse  # noqa: E402
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
from minirnn.machine.computer import installed_version  # noqa: E402
from scripts.evidence.rows import origin, store, stored  # noqa: E402
from tests.cells.with_torch import CELLS, WITH_KEYS, gallery, torch_functions  # noqa: E402

OUT = ROOT / "docs" / "data" / "cpu" / "own_cells.json"
ROUNDS = {(50, 1, 64, 64): 15, (100, 32, 128, 128): 4}
"""(T, B, I, H) -> turns."""
COMMAND = "python scripts/evidence/own_cells.py"
AGAIN = 4
"""Calls per turn. The first ones refill the caches after the turn of the other way."""


class Loop(torch.nn.Module):
    """A cell's function in torch's eager loop, with the weights of a layer. With keys, all values are (B, H, N) or
    have a 1 for an axis that they lack, and `dot` is a product of matrices.
    """

    def __init__(self, cell: Any, layer: Any) -> None:
        super().__init__()
        self.cell, self.order = cell, list(cell.step.gate_order)
        self.weights = torch.nn.ParameterDict(
            {n: torch.nn.Parameter(torch.from_numpy(p.numpy().copy())) for n, p in layer.named_parameters()}
        )
        self.of_x, self.of_h = ([n for n in self.order if n[0] in kinds] for kinds in ("zxks", "zh"))
        self.H, self.N = layer.hidden_size, cell.step.keys
        self.rows = [{"k": self.N or 0, "s": 1}.get(n[0], self.H) for n in self.order]
        self.rows_x = [r for r, n in zip(self.rows, self.order, strict=True) if n in self.of_x]
        self.index = 0
        f = cell.function
        home = types.ModuleType(f"torch_{cell.__name__}")  # torch.compile looks up the names of the function there
        known = torch_functions({}) | {"product": self.product, "dot": lambda a, b: a @ b.mT}
        vars(home).update({**f.__globals__, **known, "__name__": home.__name__})
        sys.modules[home.__name__] = home
        self.step = types.FunctionType(f.__code__, vars(home), f.__name__, f.__defaults__, f.__closure__)
        self.step.__kwdefaults__ = {**(f.__kwdefaults__ or {}), **cell.step.constants}

    def product(self, v: Any, matrix: str | None = None) -> Any:
        self.index += matrix is None
        return v @ self.weights[matrix or f"product_{self.index}"].T

    def shape(self, name: str) -> tuple[int, ...]:
        """The axes of a gate, state or learned value, without B."""
        if not self.N:
            return (self.H,)
        kinds = {"x": "u", "k": "k", "s": ""}
        step = self.cell.step
        axes = (
            kinds[name[0]]
            if name in self.order
            else {**step.axes, **{n: e.axes for n, e in step.vectors.items()}}[name]
        )
        return self.H if "u" in axes else 1, self.N if "k" in axes else 1

    def forward(self, x: Any) -> Any:
        step, w = self.cell.step, self.weights
        T, B, _ = x.shape
        bias = dict(zip(self.order, w["bias"].split(self.rows), strict=True))
        xs = torch.addmm(torch.cat([bias[n] for n in self.of_x]), x.flatten(0, 1), w["weight_ih"].T).view(T, B, -1)
        only_h = {n: bias[n] for n in self.order if n[0] == "h"}
        states = {n: x.new_zeros(B, *self.shape(n)) for n in step.user_states}
        vectors = {n: w[n].view(self.shape(n)) for n in step.vectors}
        outputs = []
        for a in xs.unbind(0):
            parts = zip(self.of_x, a.split(self.rows_x, 1), strict=True)
            given = {n: v.view(B, *self.shape(n)) for n, v in parts}
            if self.of_h:
                through = (states[step.output] @ w["weight_hh"].T).chunk(len(self.of_h), 1)
                for n, r in zip(self.of_h, through, strict=True):
                    given[n] = given[n] + r if n in given else r + only_h[n]
            self.index = 0
            found = self.step(*[{**given, **states}[n] for n in step.positional], **vectors)
            found = found if isinstance(found, tuple) else (found,)
            outputs.append(found[-1] if self.N or not step.read else found[step.user_states.index(step.output)])
            states = dict(zip(step.user_states, found, strict=False))
        return torch.stack(outputs).view(T, B, self.H)


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds of processor time of each call, the least of several, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(AGAIN):
                began = time.process_time()
                call()
                found[name] = min(found[name], 1000 * (time.process_time() - began))
    return found


def measured(name: str, size: tuple[int, int, int, int], compiled: bool) -> dict[str, float]:
    """The time of each way in milliseconds. `compile` is the time of torch.compile before its first result, in
    seconds.
    """
    T, B, I, H = size
    cell = gallery(name)
    mr.manual_seed(0)
    layer = cell.layer(I, H, device="native")
    loop, rng = Loop(cell, layer), np.random.default_rng(0)
    a, given = rng.normal(size=(T, B, I)).astype(np.float32), rng.normal(size=(T, B, H)).astype(np.float32)
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
        scale = max(1, float(theirs.detach().abs().max()))
        assert np.allclose(mine.numpy(), theirs.detach().numpy(), atol=2e-4 * scale, rtol=1e-3), name
    calls = {"native": own, "eager": lambda: torchs(loop)}
    seconds = {}
    if compiled:
        fast, began = torch.compile(loop), time.perf_counter()
        torchs(fast)
        seconds["compile"] = round(time.perf_counter() - began, 1)
        calls["compiled"] = lambda: torchs(fast)
    for call in calls.values():
        call()
    return {**{k: round(ms, 4) for k, ms in least(calls, ROUNDS[size]).items()}, **seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cells", nargs="*", choices=[*CELLS, *WITH_KEYS, []], metavar="CELL")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for size in ROUNDS:
        for name in args.cells or [*CELLS, *WITH_KEYS]:
            row = {"cell": name, "size": list(size), **measured(name, size, args.compile)}
            told = {k: f"{row[k] / row['native']:.1f}" for k in ("eager", "compiled") if k in row}
            print(name, size, f"{row['native']:.3g} ms", told, flush=True)
            row |= {"torch": installed_version("torch"), **origin()}
            others = [one for one in stored(args.out) if (one["cell"], one["size"]) != (name, list(size))]
            store(args.out, [*others, row], lambda one: (one["cell"], one["size"]), COMMAND)


if __name__ == "__main__":
    main()

"""Make tests/golden/optim: what torch's optimizers and schedules give.

PYTHONPATH=. python tests/golden/make_optim.py             # needs torch
PYTHONPATH=. python tests/golden/make_optim.py --check     # compares with the files and writes nothing
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from tests.optim import cases

FOLDER = Path(__file__).parent / "optim"


def leaf(a: np.ndarray) -> torch.Tensor:
    return torch.tensor(a, requires_grad=True)


def value(t: torch.Tensor) -> np.ndarray:
    return t.detach().numpy().copy()


def optimizers() -> dict[str, np.ndarray]:
    return {
        case: cases.trajectory(torch, case, leaf, torch.tensor, value) for case in (*cases.OPTIMIZERS, *cases.GROUPS)
    }


def schedules() -> dict[str, np.ndarray]:
    found = {
        f"{case}, {kind}": cases.course(torch, case, kind, leaf)
        for case in cases.SCHEDULES
        for kind in cases.kinds(case)
    }
    found |= {f"{case}, resumed": cases.resumed(torch, case, leaf) for case in cases.RESUMED}
    found |= {f"{case}, looked at": cases.looked_at(torch, case, leaf) for case in cases.LOOKED_AT}
    return found | {f"times {n}, sent between": cases.sent_between(torch, n, leaf) for n in (1, 2, 3)}


def main() -> int:
    torch.set_default_dtype(torch.float64)  # else NAdam keeps its product of momenta in float32
    wrong = 0
    for name, content in {"optimizers": optimizers(), "schedules": schedules()}.items():
        path = FOLDER / f"{name}.npz"
        if "--check" not in sys.argv:
            np.savez_compressed(path, **content)
            continue
        with np.load(path) as stored:
            for key in content.keys() | set(stored):
                same = key in content and key in stored and np.allclose(content[key], stored[key], rtol=1e-13, atol=0)
                wrong += not same
                print(f"{name}: {key}: {'the same' if same else 'differs'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

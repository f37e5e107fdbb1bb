"""Make tests/golden/optim, the results of torch's optimizers and schedules. `files.py` says how it is run."""

from __future__ import annotations

import sys

import numpy as np
import torch

from tests.golden.files import write_or_check
from tests.optim import cases


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
    return found | {f"times {n}, sent between": cases.sent_between(torch, n, leaf) for n in (1, 2, 3)}


def closures() -> dict[str, np.ndarray]:
    """The losses that LBFGS sees, and what ASGD keeps."""
    found = {case: np.array(cases.valley(torch, case, leaf)[1]) for case in cases.LBFGS}
    p, mean = cases.mean_of_asgd(torch, leaf)
    return found | {"ASGD": value(p), "ASGD mean": value(mean)}


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)  # otherwise NAdam keeps its product of momenta in float32
    made = {"optimizers": optimizers(), "schedules": schedules(), "closures": closures()}
    sys.exit(write_or_check("optim", made, rtol=1e-13, atol=0))

"""Write torch's results for the mathematical functions: values and gradients in float64.

Needs torch (CPU is enough); `files.py` says how it is run. The calls are those of
`tests/ops/primitives/maths_cases.py`.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from tests.compare import listed
from tests.golden.files import write_or_check
from tests.ops.primitives.maths_cases import CASES
from tests.ops.primitives.test_stored_maths import cotangent


def made() -> dict[str, np.ndarray]:
    """Key -> array."""
    arrays = {}
    for name, case in CASES.items():
        xs = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in case.inputs]
        ys = listed(case.theirs(torch, *xs))
        arrays |= {f"{name}|{k}": y.detach().numpy() for k, y in enumerate(ys)}
        recorded = [k for k, y in enumerate(ys) if y.requires_grad]
        leaves = [k for k, x in enumerate(xs) if x.requires_grad]
        if recorded:
            weights = [torch.tensor(cotangent(k, tuple(ys[k].shape))) for k in recorded]
            found = torch.autograd.grad(
                [ys[k] for k in recorded], [xs[k] for k in leaves], weights, materialize_grads=True
            )
            arrays |= {f"{name}|d{k}": g.numpy() for k, g in zip(leaves, found, strict=True)}
    return arrays


if __name__ == "__main__":
    sys.exit(write_or_check("maths", {"maths": made()}, rtol=1e-12, atol=1e-14))

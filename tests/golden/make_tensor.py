"""Write torch's results for constructors, views, pieces and masks: values and gradients in float64.

Needs torch (CPU is enough); `files.py` says how it is run. The calls are those of
`tests/ops/primitives/test_stored_tensor.py`.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from tests.engine.test_creation import CALLS
from tests.golden.files import write_or_check
from tests.ops.primitives.test_stored_tensor import GROUPS, cotangent, sample


def made() -> dict[str, dict[str, np.ndarray]]:
    """Maps a file to its arrays."""
    files: dict[str, dict[str, np.ndarray]] = {
        "creation": {name: call(torch).numpy() for name, call in CALLS.items()},
    }
    for group, cases in GROUPS.items():
        arrays = files[group] = {}
        for name, (_, theirs) in cases.items():
            x = torch.tensor(sample(group), requires_grad=True)
            ys = theirs(x)
            ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
            weights = [torch.tensor(cotangent(k, tuple(y.shape))) for k, y in enumerate(ys)]
            (dx,) = torch.autograd.grad(ys, [x], weights)
            arrays |= {f"{name}|{k}": y.detach().numpy() for k, y in enumerate(ys)}
            arrays[f"{name}|dx"] = dx.numpy()
    return files


if __name__ == "__main__":
    sys.exit(write_or_check("tensor", made(), rtol=1e-12, atol=1e-14))

"""Stores torch's values for the lines of minirnn/lookup/pointers.txt.

Run ``python -m tests.golden.make_names [--check]``.
"""

import sys
from typing import Any

import numpy as np

from tests.golden.files import write_or_check
from tests.names_of_torch import CASES, letters


def values() -> dict[str, Any]:
    """What torch computes in float64 for each case."""
    import torch

    def tensor(value: Any) -> Any:
        found = torch.tensor(value)
        return found.double() if found.is_floating_point() else found

    found = {}
    for name, (expression, _) in CASES.items():
        names = {"torch": torch, "F": torch.nn.functional, **letters(name, tensor)}
        found[name] = np.asarray(eval(expression, names).numpy())
    return found


if __name__ == "__main__":
    sys.exit(write_or_check("names", {"lines": values()}, rtol=1e-12, atol=1e-12))

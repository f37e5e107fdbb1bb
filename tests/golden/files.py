"""Writing golden files, or comparing with the stored ones: the last part of each script ``make_*.py``.

python -m tests.golden.make_recurrent             # in the root of the repository; needs torch
python -m tests.golden.make_recurrent --check     # prints differences, and writes nothing
"""

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def write_or_check(
    folder: str,
    files: Mapping[str, Mapping[str, Any]],
    rtol: float = 0.0,
    atol: float = 1e-13,
    unequal: Collection[str] = (),
    check: bool | None = None,
) -> int:
    """Write a file for each name, or compare: the exit status.

    To `check`, or with ``--check``, keys, dtypes and shapes must be those that are stored; floats may be off by
    ``atol + rtol * |a|``, everything else must be equal, except for the keys in `unequal`.
    """
    check = "--check" in sys.argv[1:] if check is None else check
    wrong: list[str] = []
    for name, made in files.items():
        path, arrays = HERE / folder / f"{name}.npz", {key: np.asarray(a) for key, a in made.items()}
        if not check:
            np.savez_compressed(path, **arrays)
            continue
        with np.load(path, allow_pickle=False) as stored:
            wrong += [f"{name}: {key}: only in one of both" for key in sorted(set(stored) ^ set(arrays))]
            for key in sorted((set(stored) & set(arrays)) - set(unequal)):
                a, b = stored[key], arrays[key]
                alike = (a.dtype, a.shape) == (b.dtype, b.shape)
                close = a.dtype.kind == "f" and alike and np.allclose(a, b, rtol, atol, equal_nan=True)
                if not alike or not (close or np.array_equal(a, b)):
                    wrong.append(f"{name}: {key}: differs")
    print("\n".join([*wrong, f"{len(files)} files {f'compared, {len(wrong)} differences' if check else 'written'}"]))
    return 1 if wrong else 0

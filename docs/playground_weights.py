"""The random matrices of the playground, as a script for its page: the same numbers in the browser and in minirnn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

H, I, T, GATES, DRAWS = 12, 2, 60, 4, 4


def draws() -> list[dict[str, list]]:
    """R (4, H, H), each of spectral radius 1; W (4, H, I), the inputs x (T, I) and the target y (H,) of each draw."""
    found = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        R = rng.normal(size=(GATES, H, H))
        R /= np.abs(np.linalg.eigvals(R)).max(axis=1)[:, None, None]
        arrays = {"R": R, "W": 0.5 * rng.normal(size=(GATES, H, I)), "x": rng.normal(size=(T, I)), "y": np.zeros(H)}
        arrays["y"] = rng.uniform(-0.8, 0.8, H)
        found.append({name: a.round(6).tolist() for name, a in arrays.items()})
    return found


def write(path: Path) -> None:
    """Write the script."""
    text = json.dumps(draws(), separators=(",", ":"))
    script = f"window.playground = {{ ...(window.playground || {{}}), draws: {text} }};\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != script:
        path.write_text(script, encoding="utf-8")

"""Runs a program of this folder with torch, or with minirnn in its place: only its import lines change."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if "\ndef train(" in p.read_text("utf-8"))
IMPORTS = {
    r"^import torch$": "import minirnn as torch",
    r"^import torch\.": "import minirnn.",
    r"^from torch\.utils\.data ": "from minirnn.data ",
    r"^from torch": "from minirnn",
}


def source(program: str, library: str) -> str:
    """The text of a program for "torch" or "minirnn"."""
    text = Path(__file__).with_name(f"{program}.py").read_text(encoding="utf-8")
    for theirs, ours in IMPORTS.items() if library == "minirnn" else ():
        text = re.sub(theirs, ours, text, flags=re.MULTILINE)
    return text


def first_values(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The values with which a parameter starts in both libraries: they depend on its name alone."""
    drawn = np.random.default_rng(zlib.crc32(name.encode())).uniform(-0.3, 0.3, shape)
    return drawn.astype(np.float32)


def losses(program: str, library: str) -> np.ndarray:
    """What the program returns: the losses of its steps, and other numbers at its end."""
    space: dict[str, Any] = {"__name__": program}
    exec(compile(source(program, library), f"{program}.py", "exec"), space)
    model = space["build"]() if "build" in space else None
    if model is not None:
        values = {n: first_values(n, tuple(v.shape)) for n, v in model.state_dict().items()}
        model.load_state_dict({n: space["torch"].from_numpy(v) for n, v in values.items()})
    return np.array(space["train"](model), np.float64)

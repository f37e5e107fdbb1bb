"""Anomaly mode: when a backward pass makes a NaN, the error names the line of the forward pass that called the op.

While the mode is on, each recorded op stores the line of the program that called it, under its number on the tape. The
tape needs that number in any case, so the mode costs nothing while it is off.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from minirnn.arguments.check import flag
from minirnn.engine import tape
from minirnn.engine.outputs import Cotangents, Output
from minirnn.engine.tensor import Tensor, next_seq

_PACKAGE = str(Path(__file__).parents[1])


class _Anomaly:
    lines: dict[int, tuple[str, int]] | None = None
    """The number of an op on the tape -> file and line of its call; None while the mode is off."""
    check_nan = True

    def switch(self, on: bool, check_nan: bool) -> None:
        self.check_nan = check_nan
        if on != (self.lines is not None):
            self.lines = {} if on else None
            tape.next_seq = _noted_seq if on else next_seq  # type: ignore[attr-defined]

    def check(self, t: Tensor, k: int, g: Any) -> None:
        """Raise RuntimeError if `g`, the gradient that the op of `t` returns for input `k`, has a NaN."""
        parts = list(g.values()) if isinstance(g, Cotangents) else [] if g is None else [g]
        values = [t.device.to_numpy(part.array if isinstance(part, Tensor) else part) for part in parts]
        if not any(v.dtype.kind == "f" and np.isnan(v).any() for v in map(np.asarray, values)):
            return
        node = t.parents[0] if isinstance(t.op, Output) else t
        file, line = (self.lines or {}).get(node.seq, ("", 0))
        from linecache import getline

        where = f"{file}, line {line}: {getline(file, line).strip()}" if file else "before anomaly detection was on"
        name = node.op.name if node.op is not None else ""
        raise RuntimeError(f"backward of {name}: the gradient of input {k} has a NaN\n  the op was called in {where}")


anomaly = _Anomaly()


def _noted_seq() -> int:
    seq = next_seq()
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if anomaly.lines is not None:
        anomaly.lines[seq] = frame.f_code.co_filename, frame.f_lineno
    return seq


class set_detect_anomaly:
    """Switch anomaly mode on or off, from now on or for a ``with`` block. See `detect_anomaly`."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = anomaly.lines is not None, anomaly.check_nan
        anomaly.switch(flag("set_detect_anomaly", "mode", mode), flag("set_detect_anomaly", "check_nan", check_nan))

    def __enter__(self) -> None:
        """Enter the block. The mode is already switched."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        anomaly.switch(*self._before)


class detect_anomaly(set_detect_anomaly):
    """Context manager that switches anomaly mode on: ``with mr.autograd.detect_anomaly():``.

    Put the forward and the backward pass inside the block. Both are slower there. A gradient with a NaN raises
    RuntimeError, which names the op and the line of the forward pass that called it. With ``check_nan=False`` lines are
    stored, but gradients are not checked.
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)

    def __enter__(self) -> None:
        """Enter the block. The mode is already on."""

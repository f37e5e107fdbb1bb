"""How float32 matrices are multiplied: with all their digits, or rounded to TF32 for a GPU's tensor cores.

TF32 keeps the range of float32 and 10 of its 23 bits of fraction; operands are rounded to it, and the products are
added in float32. Each thread has its own choice, as for the default device. The tape records it (`Op.precision`), so a
backward pass multiplies as its forward pass did.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType

import numpy as np

from minirnn.arguments.messages import meant, shown

PRECISIONS = ("ieee", "tf32")
VARIABLE = "MINIRNN_TF32"
OTHER_WORDS = {
    **dict.fromkeys(("highest", "float32", "fp32", "full", "none"), "ieee"),
    **dict.fromkeys(("high", "medium", "tensorfloat32", "tf-32"), "tf32"),
}
"""Other names for them, for error messages."""


def from_environment() -> str:
    """The setting of ``MINIRNN_TF32``: 1 is ``"tf32"``; anything else is ``"ieee"``."""
    return "tf32" if os.environ.get(VARIABLE) == "1" else "ieee"


class _Chosen(threading.local):
    def __init__(self) -> None:  # once in each thread
        self.precision = from_environment()


chosen = _Chosen()
"""``chosen.precision`` is how this thread multiplies float32 matrices: ``"ieee"`` or ``"tf32"``."""


def to_tf32(a: np.ndarray) -> np.ndarray:
    """float32 numbers rounded to TF32, ties away from zero; infinity and NaN are unchanged."""
    bits = np.ascontiguousarray(a, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(a), rounded.view(np.float32), a)


class use_precision:
    """Choose how this thread multiplies float32 matrices: ``mr.use_precision("tf32")``, or for a block ``with
    mr.use_precision("tf32"):``.

    ``"ieee"``, the default, multiplies all 24 bits of float32. ``"tf32"`` lets a GPU round the operands to 11
    bits, ``x (1 + d)`` with ``|d| <= 2^-11``, and add the products in float32: several times as many products per
    second, with results good to about three decimal digits. It is never used unless you choose it.

    It affects matrix products and recurrent layers of float32 on the devices ``cuda`` and ``cuda-sim`` (which rounds as
    a GPU does, and gains nothing). Float64 is never rounded; the devices ``cpu`` and ``native`` always multiply all
    digits. The backward pass multiplies as its forward pass did, wherever it is called. A thread begins with
    ``"ieee"``, or with ``"tf32"`` if ``MINIRNN_TF32=1``. In torch these are the values of
    ``torch.backends.cuda.matmul.fp32_precision``. Raises ValueError or TypeError if `name` is not one of these; then
    nothing changes.

    Parameters
    ----------
    name : {"ieee", "tf32"}

    Examples
    --------
    >>> import minirnn as mr
    >>> with mr.use_precision("tf32"):
    ...     y = mr.ones((2, 3)) @ mr.ones((3, 2))
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"use_precision: got {shown(name)}, a {type(name).__name__}\n  expected 'ieee' or 'tf32'")
        if name not in PRECISIONS:
            hint = meant(name, PRECISIONS, OTHER_WORDS)
            raise ValueError(f"use_precision: unknown precision {shown(name)}\n  expected 'ieee' or 'tf32'{hint}")
        self._before = chosen.precision
        chosen.precision = name

    def __enter__(self) -> str:
        return chosen.precision

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        chosen.precision = self._before

"""The recurrent cells: one step and its gradient, in headers that both the C++ and the CUDA kernels include.

`form.h` defines the form of a cell. The kernels write ``#include "cells/lstm.h"``.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER.parent
"""The include folder for ``cells/...``."""


def headers() -> list[Path]:
    """All headers. The key of the cache of compiled kernels includes their text."""
    return sorted(FOLDER.glob("*.h"))

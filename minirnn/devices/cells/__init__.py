"""The C++ code of a cell: one step and its gradient, generated from the plan (`header`) for C++ and CUDA kernels.

`form.h` defines the form of a cell. The kernels write ``#include "cells/form.h"``.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER.parent
"""The include folder for ``cells/...``."""


def headers() -> list[Path]:
    """All headers. The key of the cache of compiled kernels includes their text."""
    return sorted(FOLDER.glob("*.h"))

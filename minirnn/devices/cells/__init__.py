"""The recurrent cells: one step and its gradient, in the one text that the C++ and the CUDA kernels include.

The form of a cell is told in `form.h`. The kernels write ``#include "cells/lstm.h"``.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER.parent
"""The folder that a compiler looks in for ``cells/...``."""


def headers() -> list[Path]:
    """All headers. The key of a cache of compiled kernels includes their texts."""
    return sorted(FOLDER.glob("*.h"))

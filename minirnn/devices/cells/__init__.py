"""The recurrent cells: one step and its gradient, in the one text that the C++ and the CUDA kernels include.

The form of a cell is told in `form.h`. The kernels write ``#include "cells/lstm.h"``.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER.parent
"""The folder that a compiler looks in for ``cells/...``."""


def headers() -> list[Path]:
    """All headers: a cache of compiled kernels belongs to their texts, too."""
    return sorted(FOLDER.glob("*.h"))

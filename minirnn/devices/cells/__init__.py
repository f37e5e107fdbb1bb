"""A step of a cell and its gradient as a header that both the C++ and the CUDA kernels include.

`form.h` defines the form of a cell. `header` makes the header of a plan.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER.parent
"""The include folder for ``cells/...``."""


def headers() -> list[Path]:
    """All headers. The key of the cache of compiled kernels includes their text."""
    return sorted(FOLDER.glob("*.h"))

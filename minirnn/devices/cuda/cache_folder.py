"""The cache folder, which is kept between runs: ``MINIRNN_CACHE``, or the user's cache folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder(room: str) -> Path:
    """The folder of this name in it, which may not exist or not be writable."""
    named = os.environ.get("MINIRNN_CACHE")
    if named:
        return Path(named) / room
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "minirnn" / room
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minirnn" / room

"""What is installed, which devices work, and one command to try next: the report of ``minirnn doctor``."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import asdict
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import toolchain
from minirnn._version import __version__
        "locks": {**asdict(locks()), "missing": protection()},

"""Write torch's results for constructors.

Needs torch (CPU is enough); `files.py` says how it is run.
"""

from __future__ import annotations

import sys

import torch

from tests.engine.test_creation import CALLS
from tests.golden.files import write_or_check

if __name__ == "__main__":
    made = {"creation": {name: call(torch).numpy() for name, call in CALLS.items()}}
    sys.exit(write_or_check("tensor", made, rtol=1e-12, atol=1e-14))

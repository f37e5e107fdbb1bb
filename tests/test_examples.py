"""The examples of the documentation work as described.

Tests `docs/examples/reverse_strings.py`; `docs/examples/lists_device` is tested in `tests/devices/test_own_device.py`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "reverse_strings.py"
ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads of small products wait for each other
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are in the repository alone")


@pytest.mark.slow
def test_an_encoder_decoder_with_attention_learns_to_reverse_strings_in_45_lines() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, env=ONE_THREAD)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and done.stdout.startswith("reversed without a mistake: ")
    assert float(done.stdout.split()[-1]) >= 0.95
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 45

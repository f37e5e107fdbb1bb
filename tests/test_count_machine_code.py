"""The counts stored by scripts/count_machine_code.py cover all kernels and generations of GPUs, and no register spills.

Tests `scripts/count_machine_code.py`.
"""

import json
from pathlib import Path

import pytest

from tests.devices.cuda.machine_code.variants import VARIANTS

SCRIPT = Path(__file__).parents[1] / "scripts" / "count_machine_code.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the scripts are in the repository alone")


def test_what_is_stored_names_its_tools_and_no_kernel_spills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import count_machine_code as script

    stored = json.loads(script.STORED.read_text(encoding="utf-8"))
    assert stored["nvcc"]
    assert stored["nvdisasm"]
    assert {r["arch"] for r in stored["kernels"]} == set(script.ARCHITECTURES)
    assert [r for r in stored["kernels"] if r["spilled"]] == []
    assert {r["file"] for r in stored["kernels"]} <= set(VARIANTS)

"""scripts/skipped_for.py names the tests that were skipped because something is missing.

Tests `scripts/skipped_for.py`.
"""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
pytestmark = pytest.mark.skipif(not SCRIPTS.exists(), reason="the scripts are in the repository alone")

REPORT = """<testsuites><testsuite tests="5">
<testcase classname="tests.ops.test_check" name="test_a[1-x]"><skipped message="could not import 'torch'"/></testcase>
<testcase classname="tests.ops.test_check" name="test_b"><skipped message="no GPU">no torch here</skipped></testcase>
<testcase classname="tests.ops.test_check" name="test_c"><skipped message="no GPU"/></testcase>
<testcase classname="tests.ops.test_check" name="test_d"><failure message="torch differs">text</failure></testcase>
<testcase classname="" name="tests.nn.test_module"><skipped message="m">could not import 'torch'</skipped></testcase>
</testsuite></testsuites>"""


def test_those_skipped_for_the_reason_are_named_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from skipped_for import skipped_for

    assert skipped_for("torch'", REPORT) == ["tests/ops/test_check.py::test_a[1-x]", "tests/nn/test_module.py"]
    assert skipped_for("GPU", REPORT) == ["tests/ops/test_check.py::test_b", "tests/ops/test_check.py::test_c"]
    assert skipped_for("jax", REPORT) == []


def test_where_nothing_was_skipped_nothing_is_printed(tmp_path: Path) -> None:
    """There is not even a newline, because pytest would treat the empty line as the current folder and run every
    test.
    """
    (tmp_path / "report.xml").write_text(REPORT)
    command = [sys.executable, str(SCRIPTS / "skipped_for.py"), "jax", str(tmp_path / "report.xml")]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == b""

"""Lists the ids of tests that were skipped because something was missing, one per line, from the JUnit report of a run.

python -m pytest --junitxml=first.xml
python scripts/skipped_for.py torch first.xml > ids && python -m pytest @ids     # where torch is installed
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def skipped_for(wanted: str, xml: str) -> list[str]:
    """The ids of the tests whose skip reason contains `wanted`, or the file if it was skipped as a whole."""
    found: dict[str, None] = {}
    for case in ElementTree.fromstring(xml).iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None and wanted in f"{skipped.get('message', '')}{skipped.text or ''}":
            found[node_id(case) if case.get("classname") else module_path(case.get("name", ""))] = None
    return list(found)


def node_id(case: ElementTree.Element) -> str:
    """The id of ``test_a[1]`` in ``tests.ops.test_check`` in pytest's form: tests/ops/test_check.py::test_a[1]."""
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"


def module_path(name: str) -> str:
    """The path of ``tests.ops.test_check`` in pytest's form, if it was skipped before its tests were collected."""
    return name.replace(".", "/") + ".py"


if __name__ == "__main__":
    for test in skipped_for(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8")):
        print(test)  # print nothing if nothing was skipped, because pytest treats an empty line as an empty path

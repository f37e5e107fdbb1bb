"""Which tests were not run for want of something: their ids, one a line, from the JUnit report of a run.

python -m pytest --junitxml=first.xml
python scripts/skipped_for.py torch first.xml > ids && python -m pytest @ids     # where torch is installed
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def skipped_for(wanted: str, xml: str) -> list[str]:
    """The ids of the tests whose reason for being skipped contains `wanted`; a file once, if it was skipped whole."""
    found: dict[str, None] = {}
    for case in ElementTree.fromstring(xml).iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None and wanted in f"{skipped.get('message', '')}{skipped.text or ''}":
            found[node_id(case) if case.get("classname") else module_path(case.get("name", ""))] = None
    return list(found)


def node_id(case: ElementTree.Element) -> str:
    """``tests.ops.test_check`` and ``test_a[1]`` as pytest wants them: tests/ops/test_check.py::test_a[1]."""
    return f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"


def module_path(name: str) -> str:
    """``tests.ops.test_check``, skipped before its tests were collected, as pytest wants it."""
    return name.replace(".", "/") + ".py"


if __name__ == "__main__":
    for test in skipped_for(sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8")):
        print(test)  # nothing at all where nothing was skipped: an empty line would be an empty path to pytest

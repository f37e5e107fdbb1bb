"""Fixtures shared by the tests of the course."""

import os
import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture
def to_be_killed() -> Iterator[dict[str, str]]:
    """The environment of processes that a test kills. Their temporary files are deleted with the folder.

    The folder is not in `tmp_path`, whose name may be too long for a socket in it.
    """
    with tempfile.TemporaryDirectory(prefix="minirnn-killed-", ignore_cleanup_errors=True) as folder:
        yield {**os.environ, "TMPDIR": folder}

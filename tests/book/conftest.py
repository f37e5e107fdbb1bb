"""What the tests of the book's claims share."""

import re
from types import SimpleNamespace

import pytest

from tests.book.chapters import run


@pytest.fixture
def chapter(request: pytest.FixtureRequest) -> SimpleNamespace:
    """The chapter whose number is in the test's name."""
    found = re.match(r"test_(\d\d)_", request.node.name)
    assert found
    return run(found[1])

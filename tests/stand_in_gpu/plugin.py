"""For pytest on the stand-in GPU: selects the tests that need a GPU, and fails those with calls that a driver would
not accept.
"""

import os
import sys
from collections.abc import Iterator

import pytest

EXPECTS_PROBLEMS = "gpu_fault"
"""The mark of a test that deliberately makes calls that a driver does not accept."""


def pytest_configure(config: pytest.Config) -> None:
    # By default, the rule takes persistent kernels. The simulator is fastest with the fewest threads.
    os.environ.setdefault("MINIRNN_CUDNN_RNN", "steps")
    config.addinivalue_line("markers", f"{EXPECTS_PROBLEMS}: does on purpose what a GPU's driver does not forgive")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    others = [item for item in items if item.get_closest_marker("cuda") is None]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item.get_closest_marker("cuda") is not None]


@pytest.fixture(autouse=True)
def nothing_that_a_driver_would_not_forgive(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    found = sys.modules.get("tests.stand_in_gpu.machine")
    if found is not None:
        problems, found.problems[:] = list(found.problems), []
        if problems and request.node.get_closest_marker(EXPECTS_PROBLEMS) is None:
            pytest.fail("\n".join(["the stand-in GPU noted:", *problems]), pytrace=False)

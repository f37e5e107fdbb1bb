"""Tests that require compiling with nvcc run only in the CI stage `ptx`, which requests them with ``--devices ptx``."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "ptx" in (config.option.devices or ""):
        return
    for item in items:
        module = item.nodeid.partition("::")[0]
        if module.startswith("tests/ptx_machine/") and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="long: pytest --devices ptx tests/ptx_machine"))

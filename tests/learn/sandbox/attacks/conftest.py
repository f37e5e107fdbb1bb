"""The attacks aim at locks, which only some systems have."""

import os

import pytest

if os.name == "nt":
    pytest.skip("Windows has no locks for answers", allow_module_level=True)

"""The attacks target locks that only some systems support."""

import os

import pytest

if os.name == "nt":
    pytest.skip("Windows has no locks for answers", allow_module_level=True)

"""The examples in the docstrings print what they say.

Tests `minirnn/data/` and `minirnn/nn/utils/rnn.py`.
"""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

from minirnn import data

MODULES = [f"minirnn.data.{module.name}" for module in pkgutil.iter_modules(data.__path__)]


@pytest.mark.parametrize("name", [*MODULES, "minirnn.nn.utils.rnn"])
def test_examples_print_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), extraglobs={"np": np})
    assert result.failed == 0
    assert result.attempted > 0

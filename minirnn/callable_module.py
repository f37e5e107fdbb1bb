"""A package that can be called like the function it is named after.

TensorFlow's op is called ``cudnn_rnn``, and so is the family of files that computes it: ``mr.ops.cudnn_rnn`` is both. A
function of that name would hide the package from ``import minirnn.ops.cudnn_rnn``. Python lets a module have a class of
its own instead, and that class can have a ``__call__``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_callable(name: str, function: Callable[..., Any]) -> None:
    """Let the imported module `name` be called: ``module(...)`` is then ``function(...)``."""

    class CallableModule(ModuleType):
        __call__ = staticmethod(function)
        __signature__ = inspect.signature(function)

    sys.modules[name].__class__ = CallableModule

"""Makes a package callable, like the function it is named after. ``mr.ops.cudnn_rnn`` is both TensorFlow's op and the
package with the code that computes it. A function of that name would hide the package from ``import
minirnn.ops.cudnn_rnn``. Instead, the module gets a class with a ``__call__``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_callable(name: str, function: Callable[..., Any]) -> None:
    """Make the imported module `name` callable: ``module(...)`` is then ``function(...)``."""

    class CallableModule(ModuleType):
        __call__ = staticmethod(function)
        __signature__ = inspect.signature(function)

    sys.modules[name].__class__ = CallableModule

"""Primitive ops, with which all backward formulas are written. The public names are those declared in the modules.

`docs/ops/README.md` says which errors all of them raise. A docstring only lists errors with another reason.
"""

# ruff: noqa: F403
from types import FunctionType
from typing import TYPE_CHECKING

from minirnn.ops.primitives.arithmetic import *
from minirnn.ops.primitives.bounds import *
from minirnn.ops.primitives.conversions import *
from minirnn.ops.primitives.declare import DECLARED as _DECLARED
from minirnn.ops.primitives.einstein import *
from minirnn.ops.primitives.elementwise import *
from minirnn.ops.primitives.extremes import *
from minirnn.ops.primitives.gathering import *
from minirnn.ops.primitives.in_place import KINDS as _KINDS  # noqa: F401  (likewise)
from minirnn.ops.primitives.indexing import *
from minirnn.ops.primitives.logic import *
from minirnn.ops.primitives.methods import CASTS as _CASTS  # noqa: F401  (the methods of Tensor that are not ops)
from minirnn.ops.primitives.norms import *
from minirnn.ops.primitives.numpy_functions import WRITES as _WRITES  # noqa: F401  (likewise)
from minirnn.ops.primitives.pieces import *
from minirnn.ops.primitives.products import *
from minirnn.ops.primitives.reductions import *
from minirnn.ops.primitives.rounding import *
from minirnn.ops.primitives.scans import *
from minirnn.ops.primitives.shapes import *
from minirnn.ops.primitives.softmaxes import *
from minirnn.ops.primitives.sorting import *
from minirnn.ops.primitives.statistics import *
from minirnn.ops.primitives.truths import *
from minirnn.ops.primitives.views import *

if not TYPE_CHECKING:  # a type checker reads the `__all__` lists of the modules
    __all__ = sorted(name for name, f in dict(vars()).items() if isinstance(f, FunctionType) and f in _DECLARED)

"""The modules of torch.utils: ``utils.data`` is `minirnn.data`, and ``utils.checkpoint`` has `checkpoint` and
`checkpoint_sequential`.
"""

import sys

from minirnn import data
from minirnn import functions as checkpoint

__all__ = ["checkpoint", "data"]

# For ``from minirnn.utils.data import Dataset``, which looks for a module of that name in a package.
__path__: list[str] = []
sys.modules |= {f"{__name__}.data": data, f"{__name__}.checkpoint": checkpoint}

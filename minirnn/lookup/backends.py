"""``torch.backends.cudnn.deterministic`` and similar settings can be set, but nothing reads them, because every run
gives the same results. `minirnn.backends` and `minirnn.backends.cudnn` are both this module.
"""

import sys

__all__ = ["cudnn"]

__path__: list[str] = []  # so that ``import minirnn.backends.cudnn`` works

cudnn = sys.modules[__name__]
enabled = deterministic = True
benchmark = False

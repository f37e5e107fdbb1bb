"""Settings that programs written for torch make before they start. Nothing reads them: every run gives the same
results.
"""

from minirnn.backends import cudnn

__all__ = ["cudnn"]

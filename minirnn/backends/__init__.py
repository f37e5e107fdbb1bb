"""What programs set before they start, under torch's name. Nothing reads it: every result is the same in each run."""

from minirnn.backends import cudnn

__all__ = ["cudnn"]

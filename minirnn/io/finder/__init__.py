"""The finder: it determines the layout of unlabeled weights from one input and its output."""

from minirnn.io.finder.finding import Finding, Trial
from minirnn.io.finder.search import find_layout

__all__ = ["Finding", "Trial", "find_layout"]

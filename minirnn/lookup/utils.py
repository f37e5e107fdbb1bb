"""The modules of torch.utils: ``utils.data`` is `minirnn.data`, and ``utils.checkpoint`` has `checkpoint`."""

from minirnn import autograd as checkpoint
from minirnn import data

__all__ = ["checkpoint", "data"]

__path__: list[str] = []  # so that ``from minirnn.utils.data import Dataset`` works

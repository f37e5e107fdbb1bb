"""torch.utils under its name: ``utils.data`` is `minirnn.data`, ``utils.checkpoint`` has `checkpoint` and its kin."""

from minirnn import data
from minirnn import functions as checkpoint

__all__ = ["checkpoint", "data"]

"""Files that are whole or not there: safetensors checkpoints and atomic writing."""

from minirnn.io.atomic import atomic_write
from minirnn.io.checkpoint import load, save

__all__ = ["atomic_write", "load", "save"]

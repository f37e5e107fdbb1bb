"""Weights on disk: checkpoints that are written completely or not at all, and the weight layouts of other libraries."""

from minirnn.io.arrays import read_arrays, write_arrays
from minirnn.io.atomic import atomic_write
from minirnn.io.checkpoint import load, save
from minirnn.io.conversion import convert, convert_weights
from minirnn.io.finder import find_layout

__all__ = ["atomic_write", "convert", "convert_weights", "find_layout", "load", "read_arrays", "save", "write_arrays"]

"""Layers of a user's own cell as nodes of the tape.

`functions` has the functions of the cell language that Tensors do not have, `compose` the definition from primitives,
and `layer` the node and its gradient. The language is in `minirnn.cells`, and the arithmetic in `devices/cpu/own_cell`.
"""

"""Layers of a user's own cell as nodes of the tape.

`functions` has what the language of cells knows and Tensors do not, `compose` the definition from primitives, `layer`
the node and its gradient. The language is in `minirnn.cells`, the arithmetic in `devices/cpu/own_cell`.
"""

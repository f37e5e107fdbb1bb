"""Layers of any cell as nodes of the tape.

`functions` has the functions of the cell language that Tensors do not have, `compose` the definition from primitives,
`layer` the node and its gradient, and `stack` several layers. The language is in `minirnn.cells`, and the arithmetic in
`devices/cpu/sequence`.
"""

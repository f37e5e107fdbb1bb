"""Layers and steps of any cell in C++: their arguments, and the libraries of the cells.

`layer` and `step` have the kernels, `compiled` makes the library of a cell, and `ragged` orders samples by length. The
C++ is in `kernels/`.
"""

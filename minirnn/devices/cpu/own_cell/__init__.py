"""Layers of an own cell in NumPy: its formulas as calls that write into arrays which are there before the first step.

`calls` writes expressions as such calls, `rows` says where each value of a step lies, `forward` and `backward` run one
direction in the column layout of `columns.direction`, and `layer` has the two kernels.
"""

"""Layers of a custom cell in NumPy: its formulas become calls that write into arrays allocated before the first step.

`calls` writes expressions as such calls, `slots` places the values of a step, `forward` and `backward` run one
direction in the column layout of `columns.direction`, and `layer` has the two kernels.
"""

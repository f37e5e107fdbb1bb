"""The language of user-defined recurrent cells, their derivatives and printed formulas, without Tensors or arrays.

`trace` runs a Python function of one step on symbols (`expr`). `derive` applies the `rules` backward to its values.
`plan` splits both passes into stages for the devices. `text` writes expressions, `formulas` writes the lines of a cell,
and `compare` checks a handwritten backward pass.
"""

"""The language of recurrent cells, minirnn's own and a user's: derivatives, plans, formulas; no Tensors, no arrays.

`trace` runs a Python function of one step on symbols (`expr`). `derive` applies the `rules` backward to its values.
`compare` checks a backward pass by hand, and `by_hand` puts it in the place of the derived one. `linear` writes it as
sums of factor times gradient. `slopes` tells whether a step is linear in its states. `plan` splits both passes into
stages for the devices. `text` writes expressions, and `formulas` the lines of a cell.
"""

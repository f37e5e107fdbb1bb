"""A recurrent cell of your own: its language, its derivative, and its formulas in print. No Tensor, no array.

`trace` runs a Python function of one step on symbols (`expr`), `derive` sweeps back over what it computed by the
`rules`, and `plan` cuts both into stages for the devices. `text` writes expressions, `formulas` the lines of a cell,
`compare` judges a backward pass that somebody wrote by hand.
"""

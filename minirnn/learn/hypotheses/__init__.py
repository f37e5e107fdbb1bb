"""What people get wrong, as changes to the tree of a reference formula.

`program` reads a function into numbered statements and runs it with some of them changed; `edits` are the changes.
`rewritten` reads the table of rewrites, `terms`, `uses`, `names` and, for CUDA, `kernels` make the
changes of one kind. They need only the tree (`trees`) and the values around a place in it (`scope`), so a new exercise
needs only its reference. `search` finds the one or two changes that give an answer's numbers.
"""

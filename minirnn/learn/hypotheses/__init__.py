"""What people get wrong, as changes to the tree of a reference formula.

`program` reads a function into numbered statements and runs it with some of them changed; `edits` are the changes.
`terms`, `brackets`, `uses`, `slopes`, `names`, `loops`, `layout`, `operations` and, for CUDA, `kernels` each make the
changes of one kind. They need only the tree (`trees`) and the values around a place in it (`scope`), so a new exercise
needs only its reference. `search` finds the one or two changes that give an answer's numbers, `staged` several, one
after the other, on the simpler cases of an exercise.
"""

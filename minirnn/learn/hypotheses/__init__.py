"""What people get wrong, as changes to the tree of a reference formula.

`program` reads a function into numbered statements and runs it with some of them changed. `edits` says what a change is;
`terms`, `slopes`, `names`, `loops`, `layout` and `operations` each make the changes of one kind, from the tree alone, so
that a new exercise needs nothing but its reference. `search` finds the one or two changes that give an answer's numbers.
"""

"""The backward formulas of the exercises, in NumPy: what is expected, and, shown after passing, the solution."""

"""The formulas of the exercises, in NumPy: they give what is expected, and are shown as solutions after passing."""

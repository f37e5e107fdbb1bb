"""The functions of the language of cells, and what to write in a cell for those that it does not have."""

FUNCTIONS: tuple[str, ...] = ("sigmoid", "tanh", "relu", "softplus", "exp", "log", "sqrt", "abs", "sin", "cos")
FUNCTIONS += ("floor", "sign", "erf", "maximum", "minimum", "clip", "where", "straight_through", "product", "dot")
FUNCTIONS += ("unit_mean", "unit_sum", "unit_max", "unit_norm", "unit_softmax")
LANGUAGE = f"functions of a cell: {', '.join(FUNCTIONS)}"
INSTEAD = {
    "mean": "write unit_mean(v), the mean over units",
    "sum": "write unit_sum(v), the sum over units",
    "max": "write unit_max(v), the largest of all units, or maximum(a, b) of two values",
    "norm": "write unit_norm(v), for zero mean and unit variance over units, or sqrt(unit_sum(v * v))",
    "softmax": "write unit_softmax(v), the softmax over units",
    "detach": "write straight_through(v, 0.0), which has no gradient",
    "%": "write v - n * floor(v / n)",
    "dtype": f"{LANGUAGE}; the softmax over units is unit_softmax(v)",
}
"""What to write for things that the language does not have."""

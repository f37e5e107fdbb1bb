"""ex02  The backward pass of a tape.

A tape is the list of operations in the order in which they were computed:

    ("mul",  4, (0, 1))        variable 4 = variable 0 * variable 1
    ("add",  5, (4, 4))        variable 5 = variable 4 + variable 4
    ("tanh", 6, (5,))          variable 6 = tanh(variable 5)

`values` holds the value of every variable, which is a float. The last variable is the loss.
"""


def backward(tape, values):
    """Return a list: the gradient of the last variable with respect to each one (1 with respect to itself)."""
    raise NotImplementedError("ex02")

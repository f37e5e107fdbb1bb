"""The work of a tape: it multiplies local gradients, and sums them over all paths."""

import numpy as np


def mul_add_backward(x, w, dy):
    # b appears in no gradient, because y changes by exactly as much as b does.
    dx = dy * w
    dw = (dy * x).sum(0)
    db = dy.sum(0)
    return dx, dw, db


def backward(tape, values):
    gradients = [0.0] * len(values)
    gradients[-1] = 1.0
    # From the end: when a variable's turn comes, everything that uses it has already contributed.
    for operation, out, inputs in reversed(tape):
        dy = gradients[out]
        if operation == "add":
            a, b = inputs
            gradients[a] += dy
            gradients[b] += dy
        elif operation == "mul":
            a, b = inputs
            gradients[a] += dy * values[b]
            gradients[b] += dy * values[a]
        elif operation == "tanh":
            (a,) = inputs
            gradients[a] += dy * (1 - values[out] ** 2)
    return np.array(gradients)


def numerical_gradient(f, x, eps):
    dx = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[k] = eps
        # The errors of order eps of the two sides are equal and cancel.
        dx[k] = (f(x + step) - f(x - step)) / (2 * eps)
    return dx


def slopes(f, gradient, x, v, eps):
    by_difference = (f(x + eps * v) - f(x - eps * v)) / (2 * eps)
    by_gradient = np.sum(gradient * v)
    return by_difference, by_gradient

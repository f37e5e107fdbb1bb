"""
2. Trust, but difference
========================

*How do I know that a gradient is right?*

You wrote a backward pass. It runs, the loss goes down, and one sign is wrong: that happens, since a slightly wrong
gradient still points downhill. The judge is older than backpropagation: change one number, look how the loss changes.
"""

# %%
# One number at a time
# --------------------
# :math:`\frac{\partial L}{\partial w} \approx \frac{L(w + s) - L(w - s)}{2s}`. How small should the step :math:`s` be?
# Smaller is better, until it isn't:

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, ORANGE

rng = np.random.default_rng(0)
steps = np.logspace(-12, 0, 61)
z, x = 0.7, 1.3
exact = x * (1 - np.tanh(x * z) ** 2)


def error(step: float, dtype: type) -> float:
    above, below = dtype(z + step), dtype(z - step)
    width = float(above) - float(below)  # what the step became after rounding
    if width == 0:
        return 1.0
    difference = float(np.tanh(dtype(x) * above)) - float(np.tanh(dtype(x) * below))
    return abs(difference / width - exact) / exact


fig = Figure(figsize=(8, 3.6), layout="constrained")
ax = fig.add_subplot()
for dtype, color in ((np.float64, BLUE), (np.float32, ORANGE)):
    errors = np.array([max(error(s, dtype), 1e-16) for s in steps])
    ax.loglog(steps, errors, color=color, marker=".", label=dtype.__name__)
    best = steps[errors.argmin()]
    print(f"{dtype.__name__}: smallest error {errors.min():.0e} at a step of {best:.0e}")
ax.set_xlabel("step s")
ax.set_ylabel("relative error of the difference")
ax.set_title("Too large: the curve bends.  Too small: rounding.")
ax.legend(frameon=False)

# %%
# On the right the error falls with :math:`s^2`: the curve is not straight. On the left it rises again, because two
# numbers that agree in all their digits leave only rounding when subtracted. ``float32`` has seven digits, and its best
# difference is good to about five of them at most. So gradients are checked in ``float64``, with a step near
# :math:`10^{-6}`. That is what ``minirnn.gradcheck`` does, for every input and every output:

w = mr.tensor(rng.normal(size=(5, 12)), requires_grad=True)
h = mr.tensor(rng.normal(size=(2, 3)), requires_grad=True)
x2 = mr.tensor(rng.normal(size=(2, 2)), requires_grad=True)
cs, none, b = np.zeros((2, 3)), np.zeros(3), rng.normal(size=12)
print(mr.gradcheck(lambda x, h, w: mr.ops.lstm_block_cell(x, cs, h, w, none, none, none, b).h, [x2, h, w]))

# %%
# A planted mistake
# -----------------
# Here is ``tanh`` with a backward pass that somebody wrote from memory: :math:`1 - y` instead of :math:`1 - y^2`.

from minirnn.engine.tape import Op, record  # noqa: E402


class WrongTanh(Op):
    """y = tanh(x)        dx = dy * (1 - y), which is wrong"""

    def backward(self, dy, y, x):
        return (dy * (1 - y),)


def wrong_tanh(x):
    return record(WrongTanh(), x.device, x.device.tanh(x.array), (x,))


try:
    mr.gradcheck(wrong_tanh, [x2])
except Exception as report:
    print(report)

# %%
# What a lazy check misses
# ------------------------
# The loss ``y.sum()`` asks every output with the same weight, 1. Some mistakes survive that: a gradient that mixes up
# two outputs, say. A random weight for each output has no such blind spot.


class Swapped(Op):
    """y = x ** 2, whose backward gives every row the gradient of its neighbor"""

    def backward(self, dy, y, x):
        return (2 * x * mr.ops.flip(dy, 0),)


def swapped(x):
    return record(Swapped(), x.device, x.device.multiply(x.array, x.array), (x,))


def gradient(weights):
    a = mr.tensor([[1.0], [2.0]], requires_grad=True)
    (swapped(a) * weights).sum().backward()
    return a.grad.numpy().ravel(), (2 * a.numpy() * weights).ravel()


for weights in (np.ones((2, 1)), rng.normal(size=(2, 1)).round(2)):
    got, expected = gradient(weights)
    assert np.allclose(got, expected) == (weights == 1).all()
    print(f"weights {weights.ravel()}: got {got.round(3)}, expected {expected.round(3)}")

# %%
# With weights of 1 the mistake is invisible. Every test in minirnn weighs its outputs at random, and has sizes that all
# differ, so that no two axes can be mixed up unseen. :doc:`/verified` counts them.
#
# Try it
# ------
# Make ``WrongTanh`` right. Then make it wrong by 1 %, and find the tolerance at which ``gradcheck`` stops seeing it.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex03`` (finite differences) and ``ex04`` (a random direction).

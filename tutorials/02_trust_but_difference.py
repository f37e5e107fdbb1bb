r"""
2. Trust, but difference
========================

*How do I know that a gradient is right?*

You wrote a backward pass. It runs and the loss goes down, and yet one of its terms is wrong. This is possible because a
step against a wrong gradient can still lower the loss. The test for it is older than backpropagation: change one number
and see how the loss changes.

| **You need** chapter 1 and Taylor's series.
| **You will be able to** choose the step of a finite difference, say how large its error is, and find a wrong backward
  pass.
| **Time**: 12 minutes.
"""

# %%
# One number at a time
# --------------------
# Let :math:`L_{w+s}` be the loss after one weight w has been changed to w + s, while everything else stays the same.
# The *central difference* compares the losses on both sides of w:
#
# .. math::
#    :label: central-difference
#
#    D_s = \frac{L_{w+s} - L_{w-s}}{2 s}
#
# Taylor's series gives its error. Let :math:`L^{(n)}` be the n-th derivative at w. In the difference all even terms
# cancel:
#
# .. math::
#    :label: central-error
#
#    D_s = L^{(1)} + \frac{s^2}{6} L^{(3)} + \frac{s^4}{120} L^{(5)} \qquad + \dots
#
# If the step is ten times smaller, the error is a hundred times smaller. The one-sided difference
# :math:`(L_{w+s} - L_w) / s` has an error of order s. But computers round. If the rounding error of each loss is at
# most :math:`\epsilon M`, the computed difference :math:`\hat D_s` satisfies
#
# .. math::
#    :label: difference-bound
#
#    \lvert \hat D_s - L^{(1)} \rvert \le \frac{\epsilon M}{s} + \frac{s^2}{6} Q
#
# where M is a bound on the loss and Q is a bound on its third derivative. The first term grows as s shrinks. The sum is
# smallest where its derivative with respect to s is zero:
#
# .. math::
#    :label: best-step
#
#    s_{\star} = \left( \frac{3 \epsilon M}{Q} \right)^{\frac{1}{3}}
#
# Let M and Q be near 1. For ``float64`` (:math:`\epsilon = 10^{-16}`) the best step is about :math:`10^{-5}`, and the
# error is near :math:`10^{-11}`. For ``float32`` (:math:`\epsilon = 10^{-7}`) the best step is near 0.01, and the error
# is near :math:`10^{-5}`. Two differences can be combined so that the errors of order :math:`s^2` cancel as well:
#
# .. math::
#    :label: richardson
#
#    \frac{4 D_{s/2} - D_s}{3} = L^{(1)} - \frac{s^4}{480} L^{(5)} \qquad + \dots
#
# The figure shows the relative error for the derivative of :math:`\tanh(x z)` with respect to z: central differences in
# both precisions, and the combination.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GREEN, ORANGE

rng = np.random.default_rng(0)
steps = np.logspace(-12, 0, 61)
z, x = 0.7, 1.3
exact = x * (1 - np.tanh(x * z) ** 2)


def difference(step: float, dtype: type) -> float:
    above, below = dtype(z + step), dtype(z - step)
    width = float(above) - float(below)  # what the step became after rounding
    if width == 0:
        return 0.0
    return (float(np.tanh(dtype(x) * above)) - float(np.tanh(dtype(x) * below))) / width


def combined(step: float, dtype: type) -> float:
    return (4 * difference(step / 2, dtype) - difference(step, dtype)) / 3


def error(slope: float) -> float:
    return max(abs(slope - exact) / exact, 1e-16)


fig = Figure(figsize=(8, 3.6), layout="constrained")
ax = fig.add_subplot()
errors = {}
for label, rule, dtype, color in (
    ("float32", difference, np.float32, ORANGE),
    ("float64", difference, np.float64, BLUE),
    ("float64, steps s and s/2 combined", combined, np.float64, GREEN),
):
    errors[label] = np.array([error(rule(s, dtype)) for s in steps])
    ax.loglog(steps, errors[label], color=color, marker=".", label=label)
    best = errors[label].argmin()
    print(f"{label}: smallest error {errors[label][best]:.0e} at a step of {steps[best]:.0e}")
ax.set_xlabel("step s")
ax.set_ylabel("relative error of the difference")
ax.set_title("Too large: the curve bends.  Too small: rounding.")
ax.legend(frameon=False)
mr.viz.show(fig)

ten_times = error(difference(1e-2, np.float64)) / error(difference(1e-3, np.float64))
print(f"float64: a step ten times smaller, an error {ten_times:.0f} times smaller")

# %%
# On the right the error is proportional to :math:`s^2`. On the left it rises again, because the difference of two
# numbers that agree in nearly all digits is mostly rounding error. ``float32`` has about seven digits, and its best
# difference here is correct to between five and six of them. Gradients are therefore checked in ``float64``.
#
# The green curve, :eq:`richardson`, allows a larger step, at which rounding matters less. At :math:`s = 10^{-3}` its
# error is near :math:`10^{-13}`. ``minirnn.gradcheck`` uses this rule for every input and every output:

w = mr.tensor(rng.normal(size=(5, 12)), requires_grad=True)
h = mr.tensor(rng.normal(size=(2, 3)), requires_grad=True)
x2 = mr.tensor(rng.normal(size=(2, 2)), requires_grad=True)
cs, none, b = np.zeros((2, 3)), np.zeros(3), rng.normal(size=12)
print(mr.gradcheck(lambda x, h, w: mr.ops.lstm_block_cell(x, cs, h, w, none, none, none, b).h, [x2, h, w]))

# %%
# A planted mistake
# -----------------
# Here is ``tanh`` with a backward pass that somebody wrote from memory. It multiplies by :math:`1 - y` instead of
# :math:`1 - y^2`.

from minirnn.engine.tape import Op, record  # noqa: E402


class WrongTanh(Op):
    """y = tanh(x)        dx = dy * (1 - y), which is wrong"""

    def backward(self, dy, y, x):
        return (dy * (1 - y),)


def wrong_tanh(x):
    return record(WrongTanh(), x.device, x.device.tanh(x.array), (x,))


try:
    mr.gradcheck(wrong_tanh, [x2])
except mr.gradcheck.GradcheckError as error_report:
    found_wrong = error_report
    print(found_wrong)

# %%
# The wrong slope :math:`1 - y` is positive everywhere, like the right one. So a small step of x against the wrong
# gradient still goes downhill. Only a check reveals the mistake.
#
# What a lazy check misses
# ------------------------
# The loss ``y.sum()`` gives every output the same weight, 1. It cannot reveal some mistakes, for example a backward
# pass that swaps the gradients of two outputs. A random weight for each output reveals them.


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
    print(f"weights {weights.ravel()}: got {got.round(3)}, expected {expected.round(3)}")

# %%
# With weights of 1 the mistake is invisible. ``gradcheck`` finds it:

try:
    mr.gradcheck(swapped, [mr.tensor([[1.0], [2.0]], requires_grad=True, dtype=np.float64)])
except mr.gradcheck.GradcheckError as error_report:
    found_swapped = error_report
    print(found_swapped)

# %%
#
# Summary
# -------
# - The central difference has an error of order :math:`s^2` and a rounding error of order :math:`\epsilon / s`,
#   :eq:`difference-bound`.
# - Check in ``float64``, with a random weight for every output.
# - A loss that goes down does not prove that the gradient is right.
#
# Further reading
# ---------------
# Griewank and Walther (2008) explain why a tape needs no compromise between two kinds of error. Press, Teukolsky,
# Vetterling and Flannery (2007), section 5.7, treat the choice of the step.
#
# Try it
# ------
# Correct ``WrongTanh``. Then give it an error of 1 %, and find the tolerance at which ``gradcheck`` no longer reports
# it. (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex03`` (finite differences) and ``ex04`` (a random direction).
#
# Next: :doc:`03_one_step_then_many`.

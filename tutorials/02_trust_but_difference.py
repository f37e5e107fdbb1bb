r"""
2. Trust, but difference
========================

*How do I know that a gradient is right?*

You wrote a backward pass. It runs, the loss goes down, and still a term is wrong. That happens, because a wrong
gradient can also point downhill. The test is older than backpropagation: change one number and see how the loss
changes.

| **You need** chapter 1 and Taylor's series.
| **You will be able to** choose the step of a finite difference, say how large its error is, and find a wrong backward
  pass.
| **Time**: 12 minutes.
"""

# %%
# One number at a time
# --------------------
# Let :math:`L_{w+s}` be the loss after one weight w has been changed to w + s, with everything else as it was. The
# *central difference* compares both sides:
#
# .. math::
#    :label: central-difference
#
#    D_s = \frac{L_{w+s} - L_{w-s}}{2 s}
#
# Taylor's series says how good it is, where :math:`L^{(n)}` is the n-th derivative at w. In the difference all even
# terms cancel:
#
# .. math::
#    :label: central-error
#
#    D_s = L^{(1)} + \frac{s^2}{6} L^{(3)} + \frac{s^4}{120} L^{(5)} \qquad + \dots
#
# So a step ten times smaller makes the error a hundred times smaller. The one-sided difference, with :math:`L_w` in the
# place of :math:`L_{w-s}`, has an error of the order s. But computers round. If each loss is off by at most
# :math:`\epsilon M`, the computed difference :math:`\hat D_s` obeys
#
# .. math::
#    :label: difference-bound
#
#    \lvert \hat D_s - L^{(1)} \rvert \le \frac{\epsilon M}{s} + \frac{s^2}{6} Q
#
# where M bounds the loss and Q its third derivative. The first term grows as s shrinks. The sum is smallest where its
# derivative with respect to s is zero:
#
# .. math::
#    :label: best-step
#
#    s_{\star} = \left( \frac{3 \epsilon M}{Q} \right)^{\frac{1}{3}}
#
# With :math:`\epsilon = 10^{-16}` (``float64``) that is a step of about :math:`10^{-5}` and an error near
# :math:`10^{-11}`. With :math:`\epsilon = 10^{-7}` (``float32``) it is a step near 0.01 and an error near
# :math:`10^{-5}`. Two differences can be combined so that the errors of order :math:`s^2` cancel as well:
#
# .. math::
#    :label: richardson
#
#    \frac{4 D_{s/2} - D_s}{3} = L^{(1)} - \frac{s^4}{480} L^{(5)} \qquad + \dots
#
# The figure shows all three for one number.

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
# On the right the error falls with :math:`s^2`. On the left it rises again, because two numbers that agree in nearly
# all their digits leave little but rounding when subtracted. ``float32`` has about seven digits, and its best
# difference here is good to between five and six of them. So gradients are checked in ``float64``.
#
# The green curve, :eq:`richardson`, allows a larger step, far away from the rounding. At :math:`s = 10^{-3}` its error
# is about :math:`10^{-12}`. ``minirnn.gradcheck`` uses this rule, for every input and every output:

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
except mr.gradcheck.GradcheckError as error_report:
    found_wrong = error_report
    print(found_wrong)

# %%
# The wrong slope :math:`1 - y` is positive everywhere, like the right one. So a step against it still goes downhill, a
# network would train, and nobody would notice without a check.
#
# What a lazy check misses
# ------------------------
# The loss ``y.sum()`` gives every output the same weight, 1. Some mistakes survive that, for example a gradient that
# mixes up two outputs. A random weight for each output has no such blind spot.


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
# With weights of 1 the mistake is invisible. ``gradcheck`` gives every output a random weight, and finds the mistake:

try:
    mr.gradcheck(swapped, [mr.tensor([[1.0], [2.0]], requires_grad=True, dtype=np.float64)])
except mr.gradcheck.GradcheckError as error_report:
    found_swapped = error_report
    print(found_swapped)

# %%
# :doc:`/verified` has the table of what has been checked in this way.
#
# Summary
# -------
# - The central difference has an error of order :math:`s^2` and a rounding error of order :math:`\epsilon / s`,
#   :eq:`difference-bound`.
# - Check in ``float64``, with a random weight for every output.
# - A loss that goes down does not prove a gradient right.
#
# Further reading
# ---------------
# Griewank and Walther (2008), *Evaluating Derivatives*, explain why a tape needs no such compromise between two errors.
# Press, Teukolsky, Vetterling and Flannery (2007), *Numerical Recipes*, section 5.7, treat the choice of the step.
#
# Try it
# ------
# Make ``WrongTanh`` right. Then make it wrong by 1 %, and find the tolerance at which ``gradcheck`` stops seeing it.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex03`` (finite differences) and ``ex04`` (a random direction).
#
# Next: :doc:`03_one_step_then_many`.

"""
5. The LSTM's highway
=====================

*Which path carries the gradient?*

The LSTM's cell state is a sum: :math:`c_t = f \\cdot c_{t-1} + i \\cdot \\tilde c`. One term of that sum leads
straight back to :math:`c_{t-1}`, multiplied by nothing but the forget gate: no matrix, no tanh. How much of the
gradient really goes there?
"""

# %%
# From :math:`c_{t-1}` to :math:`c_t` there are four ways: straight through ``f``, and three detours through
# :math:`h_{t-1}` into a gate. ``cell_paths`` computes each from the values that the op saved anyway.

import numpy as np

import minirnn as mr
from minirnn.viz import cell_paths, gradient_flow, path_strengths

T, I, H = 60, 4, 16
rng = np.random.default_rng(0)
x = rng.normal(size=(T, 1, I))
w = rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H)
state, none, b = np.zeros((1, H)), np.zeros(H), np.zeros(4 * H)


def lstm(forget_bias, x=x):
    return mr.ops.block_lstm(T, x, state, state, w, none, none, none, b, forget_bias=forget_bias, cell_clip=0.0)


def paths(forget_bias):
    y = lstm(forget_bias)
    return cell_paths(*[a.numpy()[:, 0] for a in (y.i, y.cs, y.f, y.o, y.ci)], w)


usual = path_strengths(paths(1.0))

# %%
# The forget path is the strongest by far. The detours are not nothing, but each goes through a gate's slope (at most
# 1/4) and through the output gate, and is small. Add the four matrices, and you have the whole Jacobian of the step;
# a test holds that to ten digits.
#
# One number that decides
# -----------------------
# ``forget_bias`` is added to the pre-activation of f. TensorFlow's default is 1, and it is there for the first hour of
# training, when the weights know nothing yet: sigmoid(0) = 0.5 would halve the highway at every step.

print(f"{'forget_bias':>11}  {'mean f':>7}  {'forget path over 60 steps':>26}")
kept = {}
for forget_bias in (0.0, 1.0, 3.0):
    f = paths(forget_bias)["forget path f"]
    diagonal = np.einsum("tjj->tj", f)
    kept[forget_bias] = float(np.exp(np.log(diagonal).sum(axis=0)).mean())
    print(f"{forget_bias:>11}  {diagonal.mean():>7.2f}  {kept[forget_bias]:>26.1e}")
assert kept[0.0] < 1e-10 < kept[1.0] < kept[3.0]

# %%
# The same as a picture: a loss on the last step, and what of its gradient reaches each earlier cell state.

norms = []
for forget_bias in (0.0, 1.0, 3.0):
    c, h = mr.tensor(state, requires_grad=True), mr.tensor(state)
    cells = [c]
    for t in range(T):
        y = mr.ops.lstm_block_cell(x[t], cells[-1], h, w, none, none, none, b, forget_bias=forget_bias, cell_clip=0.0)
        cells.append(y.cs)
        h = y.h
    norms.append([np.linalg.norm(g) for g in mr.grad((h**2).sum(), cells[:-1])])
flow = gradient_flow(norms, layers=["bias 0", "bias 1", "bias 3"], quantity="gradient norm of c")

# %%
# Against the plain network of the last tutorial: there the factor per step was a matrix, the same one every time.
# Here it is a number for each unit and step, between 0 and 1, *chosen by the network*. A unit that needs to remember
# holds its f near 1; one that needs to forget drops it. The gradient follows the same switches backwards.
#
# Saturated is not always bad
# ---------------------------
# A gate near 1 has almost no slope: :math:`f (1 - f)` is near zero, and the gate itself learns slowly. But the
# *highway* is widest exactly then. The slope of the gate and the strength of the path it guards are two different
# things.

f = np.array([0.5, 0.9, 0.99])
print("f:", f, "  slope of the gate:", (f * (1 - f)).round(3), "  left after 60 steps:", (f**60).round(6))

# %%
# Try it
# ------
# Peepholes let the gates see the cell state: ``use_peephole=True`` with ``wci, wcf, wco``. ``cell_paths`` leaves them
# out; which new paths would you have to add? (The docstring of ``minirnn/ops/lstm_block/cell.py`` has the two terms.)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex07`` (LSTM cell) and ``ex09`` (LSTM through time).

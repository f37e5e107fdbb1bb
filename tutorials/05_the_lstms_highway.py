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
mr.viz.show(usual)

forget, *detours = (usual.data[name].mean() for name in ("forget path f", "forget gate", "input gate", "candidate"))
print(f"mean strength: forget path {forget:.2f}, detours {np.round(detours, 2)}")
assert forget > 3 * max(detours) and max(detours) == detours[2]

# %%
# The forget path is the strongest, more than three times as strong as any detour. The detours are not nothing: each
# goes through the output gate and a tanh, then through R, and then through a slope. The slope of a sigmoid is at most
# 1/4, that of the candidate's tanh is up to 1: that is why the candidate is the strongest of them. Add the four
# matrices, and you have the whole Jacobian of the step. Let the tape say whether that is so:

t, y = 30, lstm(1.0)
o_before = y.o[t - 1].numpy()


def one_step(c):
    h = o_before * mr.ops.tanh(c)
    return mr.ops.lstm_block_cell(x[t], c, h, w, none, none, none, b, forget_bias=1.0, cell_clip=0.0).cs


jacobian = mr.jacobian(one_step, mr.tensor(y.cs[t - 1].numpy())).numpy()[0, :, 0, :]  # (H, H): d c_t[j] / d c_(t-1)[k]
four = sum(path[t - 1] for path in paths(1.0).values()).T
print(f"largest difference between the Jacobian and the sum of the four paths: {np.abs(jacobian - four).max():.0e}")
assert np.allclose(jacobian, four, atol=1e-12)

# %%
#
# One number that decides
# -----------------------
# ``forget_bias`` is added to the pre-activation of f. TensorFlow's default is 1, and it is there for the beginning of
# training, when the weights know nothing yet: sigmoid(0) = 0.5 would halve the highway at every step.

print(f"{'forget_bias':>11}  {'mean f':>7}  {'forget path over 60 steps':>26}")
kept = {}
for forget_bias in (0.0, 1.0, 3.0):
    f = paths(forget_bias)["forget path f"]
    diagonal = np.einsum("tjj->tj", f)
    kept[forget_bias] = float(np.exp(np.log(diagonal).sum(axis=0)).mean())
    print(f"{forget_bias:>11}  {diagonal.mean():>7.2f}  {kept[forget_bias]:>26.1e}")
    assert forget_bias or abs(diagonal.mean() - 0.5) < 0.02
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
flow = gradient_flow(norms, layers=["bias 0", "bias 1", "bias 3"], quantity="length of dL/dc_t\nover the 16 units")
mr.viz.show(flow)
reached = [row[0] / row[-1] for row in norms]
print("share of the gradient's length that reaches step 0:", ", ".join(f"{share:.0e}" for share in reached))
assert reached[0] < 1e-9 < reached[1] < 1e-2 < reached[2]

# %%
# With the bias 3 the gradient even grows a little on its way: the detours add to the highway. Compare the plain
# network of the last tutorial: there a step multiplied by the same matrix every time, and by slopes of tanh. On the
# highway it is a number for each unit and step, between 0 and 1, *chosen by the network*. A unit that needs to
# remember holds its f near 1; one that needs to forget drops it. The gradient follows the same switches backwards.
#
# Saturated is not always bad
# ---------------------------
# A gate near 1 has almost no slope: :math:`f (1 - f)` is near zero, and the gate itself learns slowly. But the
# *highway* is widest then. The slope of the gate and the strength of the path it guards are two different
# things.

f = np.array([0.5, 0.9, 0.99])
print("f:", f, "  slope of the gate:", (f * (1 - f)).round(3), "  left after 60 steps:", (f**60).round(6))
assert 0.0098 < f[2] * (1 - f[2]) < 0.01 and f[2] ** 60 > 0.5 and f[1] ** 60 < 0.002

# %%
# Try it
# ------
# Peepholes let the gates see the cell state: ``use_peephole=True`` with ``wci, wcf, wco``. ``cell_paths`` leaves them
# out; which new paths would you have to add? (The docstring of ``minirnn/ops/lstm_block/cell.py`` has the two terms.)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex07`` (LSTM cell), ``ex09`` (LSTM through time) and
# ``ex31`` (projection).

r"""
5. The LSTM's highway
=====================

*Which path carries the gradient?*

A plain network computes each state anew, and each step back multiplies the gradient by a matrix. The LSTM keeps a
second state, the cell state, and *adds* to it. Through one term of that sum the gradient goes straight back to the
previous step and is multiplied only by a gate. This straight path is the highway of the title. How much of the gradient
takes it?

| **You need** chapters 3 and 4.
| **You will be able to** write the LSTM's forward and backward pass, name the four paths between neighboring cell
  states, and choose a forget bias for a given time lag.
| **Time**: 20 minutes.
"""

# %%
# The cell
# --------
# The LSTM has three *gates*: the input gate i, the forget gate f and the output gate o. A gate is a number between 0
# and 1 for each unit. The *candidate* :math:`\tilde c` holds the values that may be added to the cell state. All four
# are computed in the same way, each with its own weights. The first line is for i. For f, c and o replace the letter i.
# The sigmoid :math:`\sigma` maps every number to a value between 0 and 1:
#
# .. math::
#    :label: lstm-gates
#
#    \begin{aligned}
#    z_{i,t} &= x_t W_i + h_{t-1} R_i + b_i \\
#    i_t &= \sigma(z_{i,t}) \\
#    f_t &= \sigma(z_{f,t}) \\
#    \tilde c_t &= \tanh(z_{c,t}) \\
#    o_t &= \sigma(z_{o,t})
#    \end{aligned}
#
# .. math::
#    :label: lstm-states
#
#    \begin{aligned}
#    c_t &= f_t \odot c_{t-1} + i_t \odot \tilde c_t \\
#    h_t &= o_t \odot \tanh(c_t)
#    \end{aligned}
#
# The *cell state* c is the memory. The *hidden state* h is the output, which the rest of the network and the gates of
# the next step use. The drawing shows the forward and the backward pass of one step, with the factor on each arrow (n
# is :math:`\tilde c`).

import numpy as np

import minirnn as mr
from minirnn.viz import cell_graph, cell_paths, gradient_flow, path_strengths

mr.viz.show(cell_graph("lstm"))

# %%
# One step back
# -------------
# Two gradients are carried back from step t + 1, one for each state. As in chapter 3 an arrow marks a carried gradient,
# and :math:`\delta y_t` arrives from outside. The rules for sums and products give
#
# .. math::
#    :label: lstm-back-states
#
#    \begin{aligned}
#    \delta h_t &= \delta y_t + \delta h_t^{\leftarrow} \\
#    \delta c_t &= \delta c_t^{\leftarrow} + \delta h_t \odot o_t \odot (1 - \tanh^2(c_t))
#    \end{aligned}
#
# The cell state receives its own carried gradient *and* a share of :math:`\delta h_t`. The most common mistake is to
# forget one of the two. In a product, the gradient of each factor is multiplied by the other factor:
#
# .. math::
#    :label: lstm-back-gates
#
#    \begin{aligned}
#    \delta z_{o,t} &= \delta h_t \odot \tanh(c_t) \odot o_t \odot (1 - o_t) \\
#    \delta z_{i,t} &= \delta c_t \odot \tilde c_t \odot i_t \odot (1 - i_t) \\
#    \delta z_{f,t} &= \delta c_t \odot c_{t-1} \odot f_t \odot (1 - f_t) \\
#    \delta z_{c,t} &= \delta c_t \odot i_t \odot (1 - \tilde c_t \odot \tilde c_t)
#    \end{aligned}
#
# The gradient reaches the previous cell state straight through f, and the previous hidden state through the three gates
# and the candidate:
#
# .. math::
#    :label: lstm-carry
#
#    \begin{aligned}
#    \delta c_{t-1}^{\leftarrow} &= \delta c_t \odot f_t \\
#    \delta h_{t-1}^{\leftarrow} &= \delta z_{i,t} R_i^{\top} + \delta z_{f,t} R_f^{\top} + \delta z_{c,t} R_c^{\top}
#    + \delta z_{o,t} R_o^{\top}
#    \end{aligned}
#
# The input gets the same sum with W in place of R. The gradients of the weights are those of four plain networks, each
# with its own :math:`\delta z`. Here they are for the forget gate:
#
# .. math::
#    :label: lstm-weights
#
#    \begin{aligned}
#    \delta x_t &= \delta z_{i,t} W_i^{\top} + \delta z_{f,t} W_f^{\top} + \delta z_{c,t} W_c^{\top}
#    + \delta z_{o,t} W_o^{\top} \\
#    \delta W_f &= \sum_{t=1}^{T} x_t^{\top} \delta z_{f,t} \\
#    \delta R_f &= \sum_{t=1}^{T} h_{t-1}^{\top} \delta z_{f,t} \\
#    \delta b_f &= \sum_{t=1}^{T} \operatorname{rows}(\delta z_{f,t})
#    \end{aligned}
#
# minirnn has these lines three times with the same names: in NumPy, in C++ and in CUDA. In
# :doc:`LSTMBlockCell </ops/lstm_block_cell>`, :math:`\tilde c` is called ``ci``, and the four :math:`\delta z` are the
# columns of ``dicfo``.
#
# Four paths
# ----------
# Four paths lead from :math:`c_{t-1}` to :math:`c_t`: the straight path through f, and three detours through
# :math:`h_{t-1}` into the forget gate, the input gate or the candidate. Let :math:`S_t` be the Jacobian of the path
# from :math:`c_t` to :math:`h_t`. The product rule, :eq:`paths-gate`, gives a term for each path:
#
# .. math::
#    :label: four-paths
#
#    \begin{aligned}
#    \frac{\mathrm{d} c_t}{\mathrm{d} c_{t-1}} = \operatorname{diag}(f_t)
#    & + \operatorname{diag}(c_{t-1} \odot f_t \odot (1 - f_t)) R_f^{\top} S_{t-1} \\
#    & + \operatorname{diag}(\tilde c_t \odot i_t \odot (1 - i_t)) R_i^{\top} S_{t-1} \\
#    & + \operatorname{diag}(i_t \odot (1 - \tilde c_t \odot \tilde c_t)) R_c^{\top} S_{t-1} \\
#    S_t &= \operatorname{diag}(o_t \odot (1 - \tanh^2(c_t)))
#    \end{aligned}
#
# ``cell_paths`` computes each of the four from values that the op saves for its backward pass.

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
means = {name: float(usual.data[name].mean()) for name in ("forget path f", "forget gate", "input gate", "candidate")}
print("mean strength:", {name: round(mean, 2) for name, mean in means.items()})

# %%
# The straight path is more than three times as strong as any detour, but the detours are not negligible. Each goes
# through the output gate and a tanh, then through a matrix, and then through a slope. The slope of a sigmoid is at most
# 1/4, and that of the candidate's tanh is up to 1. The detour through the candidate is therefore the strongest of the
# three. The tape can check that :eq:`four-paths` is complete:

t, y = 30, lstm(1.0)
o_before = y.o[t - 1].numpy()


def one_step(c):
    h = o_before * mr.tanh(c)
    return mr.ops.lstm_block_cell(x[t], c, h, w, none, none, none, b, forget_bias=1.0, cell_clip=0.0).cs


jacobian = mr.jacobian(one_step, mr.tensor(y.cs[t - 1].numpy())).numpy()[0, :, 0, :]  # (H, H): d c_t[j] / d c_(t-1)[k]
four = sum(path[t - 1] for path in paths(1.0).values()).T
print(f"largest difference between the Jacobian and the sum of the four paths: {np.abs(jacobian - four).max():.0e}")

# %%
# One number that decides
# -----------------------
# At the start of training f is about :math:`\sigma(b)`, where b is the bias of the forget gate. Over n steps the
# straight path multiplies the gradient by :math:`\sigma(b)^n`. Half of the gradient is left after
#
# .. math::
#    :label: half-life
#
#    n_{1/2} = \frac{\log(2)}{\log(1 + \exp(-b))}
#
# steps. This half-life grows about as :math:`e^b`. A bias of 0 halves the gradient at every step. A bias of 1,
# TensorFlow's default, halves it every 2 steps, and a bias of 3 every 14 steps. A task with a lag of 100 steps needs a
# bias of about :math:`\log(100 / \log 2) \approx 5`, or gates that training has opened.

half_life = {bias: np.log(2) / np.log1p(np.exp(-bias)) for bias in (0.0, 1.0, 3.0, 5.0)}
print("half-life in steps:", {bias: round(float(n), 1) for bias, n in half_life.items()})

# %%
# In the next figure the loss depends only on the last of 60 steps. The color is the norm of its gradient at each
# earlier cell state.

norms = []
for forget_bias in (0.0, 1.0, 3.0):
    c, h = mr.tensor(state, requires_grad=True), mr.tensor(state)
    cells = [c]
    for t in range(T):
        y = mr.ops.lstm_block_cell(x[t], cells[-1], h, w, none, none, none, b, forget_bias=forget_bias, cell_clip=0.0)
        cells.append(y.cs)
        h = y.h
    norms.append([np.linalg.norm(g) for g in mr.grad((h**2).sum(), cells[:-1])])
mr.viz.show(gradient_flow(norms, layers=["bias 0", "bias 1", "bias 3"], quantity="norm of dL/dc_t\nover the 16 units"))
reached = [float(row[0] / row[-1]) for row in norms]
print("share of the gradient's length that reaches step 0:", ", ".join(f"{share:.0e}" for share in reached))

# %%
# With a bias of 3 the gradient even grows a little on the way back, because the detours add to the straight path. In
# the plain network of chapter 4 every step multiplies by the same matrix and by slopes of tanh. On the straight path of
# the LSTM every step multiplies each unit by a number between 0 and 1, *which the network computes*. A unit that has to
# remember keeps its f near 1. A unit that has to forget lowers it. On the way back the gradient passes through the same
# gates.
#
# The straight path does not remove the products of chapter 4. If f is below 1, the gradient still shrinks
# exponentially, only more slowly. The detours can still explode, because their bound :eq:`paths-bound` in
# :doc:`/derivations` contains the norms of the recurrent matrices. What is new is that the network controls the rate.
#
# Saturated is not always bad
# ---------------------------
# A gate near 1 is *saturated*. Its slope :math:`f (1 - f)` is near zero, so the gate itself learns slowly. But the
# straight path through it is then at its strongest. The slope of a gate and the strength of its path are two different
# things.

f = np.array([0.5, 0.9, 0.99])
print("f:", f, "  slope of the gate:", (f * (1 - f)).round(3), "  left after 60 steps:", (f**60).round(6))

# %%
# Summary
# -------
# - The cell state is a sum, so its gradient has a path without a matrix: :math:`\delta c_t \odot f_t`.
# - The total :math:`\delta c_t` has a carried part and a part that comes through h, :eq:`lstm-back-states`.
# - Between neighboring cell states there are four paths, :eq:`four-paths`. The straight one dominates.
# - The forget bias sets the half-life of the gradient at the start of training, :eq:`half-life`.
#
# Further reading
# ---------------
# Hochreiter and Schmidhuber (1997) introduce the cell, still without a forget gate. Gers, Schmidhuber and Cummins
# (2000) add this gate. Jozefowicz, Zaremba and Sutskever (2015) show how much its bias matters. Greff et al. (2017)
# leave out one part of the LSTM at a time. Tallec and Ollivier (2018) choose the bias from the time lag, as above.
#
# Try it
# ------
# Peepholes let the gates see the cell state: ``use_peephole=True`` with ``wci, wcf, wco``. ``cell_paths`` leaves them
# out. Which new paths would you have to add to :eq:`four-paths`? (:doc:`LSTMBlockCell </ops/lstm_block_cell>` has the
# terms.)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex07`` (LSTM cell), ``ex09`` (LSTM through time), ``ex31``
# (projection) and ``ex21`` (kill the mutants).
#
# Next: :doc:`06_two_grus`.

r"""
5. The LSTM's highway
=====================

*Which path carries the gradient?*

A plain network computes each state anew, and on the way back every step multiplies the gradient by a matrix. The LSTM
keeps a second state, the cell state, and *adds* to it. One term of that sum leads straight back to the step before,
multiplied by nothing but a gate. How much of the gradient really goes there?

| **You need** chapters 3 and 4.
| **You will be able to** write the LSTM's forward and backward pass, name the four paths between neighboring cell
  states, and choose a forget bias for a given time lag.
| **Time**: 20 minutes.
"""

# %%
# The cell
# --------
# Three *gates* are numbers between 0 and 1, one for each unit: the input gate i, the forget gate f and the output gate
# o. The *candidate* :math:`\tilde c` is what could be added. All four are computed alike, each with its own weights.
# The first line is for i, and f, c and o have the same line with their own letters:
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
# The *cell state* c is the memory. The *hidden state* h is what the rest of the network sees of it, and what the gates
# of the next step see. The drawing has both ways through one step, with the factor on each arrow. (n is
# :math:`\tilde c`.)

import numpy as np

import minirnn as mr
from minirnn.viz import cell_graph, cell_paths, gradient_flow, path_strengths

mr.viz.show(cell_graph("lstm"))

# %%
# One step back
# -------------
# Two gradients are carried back from step t + 1, one for each state. As in chapter 3 an arrow marks what is carried,
# and what arrives from outside is :math:`\delta y_t`. The rules are those of sums and products:
#
# .. math::
#    :label: lstm-back-states
#
#    \begin{aligned}
#    \delta h_t &= \delta y_t + \delta h_t^{\leftarrow} \\
#    \delta c_t &= \delta c_t^{\leftarrow} + \delta h_t \odot o_t \odot (1 - \tanh^2(c_t))
#    \end{aligned}
#
# The cell state has its own carried gradient *and* a share of :math:`\delta h_t`. To forget one of the two is the most
# common mistake. Each factor of a product gets the other one:
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
# Now the step before. The cell state is reached straight through f, the hidden state through all four gates:
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
# The weights are those of four plain networks, each with its own :math:`\delta z`. For example,
#
# .. math::
#    :label: lstm-weights
#
#    \delta R_f = \sum_{t=1}^{T} h_{t-1}^{\top} \delta z_{f,t}
#
# minirnn has these lines three times with the same names: in NumPy, in C++ and in CUDA
# (:doc:`LSTMBlockCell </ops/lstm_block_cell>`; there :math:`\tilde c` is called ``ci``, and the four :math:`\delta z`
# are the columns of ``dicfo``).
#
# Four paths
# ----------
# From :math:`c_{t-1}` to :math:`c_t` a gradient has four ways: straight through f, and three detours through
# :math:`h_{t-1}` into a gate. Let :math:`S_t` be the way from c to h:
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
# ``cell_paths`` computes each of the four from the values that the op saved anyway.

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
# The straight path is more than three times as strong as any detour. The detours are not nothing. Each goes through the
# output gate and a tanh, then through a matrix, and then through a slope. The slope of a sigmoid is at most 1/4, and
# that of the candidate's tanh is up to 1, so the candidate's detour is the strongest of the three. Is :eq:`four-paths`
# complete? The tape can say:

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
# At the beginning of training the weights know nothing, and f is about :math:`\sigma(b)`, where b is the bias of the
# forget gate. The straight path keeps the factor :math:`\sigma(b)^n` after n steps. Half of the gradient is left after
#
# .. math::
#    :label: half-life
#
#    n_{1/2} = \frac{\log(2)}{\log(1 + \exp(-b))}
#
# steps, which grows about as :math:`e^b`. The bias 0 halves the gradient at every step. TensorFlow's default, the bias
# 1, halves it every 2 steps, and the bias 3 every 14. A task with a lag of 100 steps needs a bias of about
# :math:`\log(100 / \log 2) \approx 5`, or gates that training has opened.

half_life = {bias: np.log(2) / np.log1p(np.exp(-bias)) for bias in (0.0, 1.0, 3.0, 5.0)}
print("half-life in steps:", {bias: round(float(n), 1) for bias, n in half_life.items()})

# %%
# The picture shows a loss at the last of 60 steps, and what of its gradient reaches each earlier cell state.

norms = []
for forget_bias in (0.0, 1.0, 3.0):
    c, h = mr.tensor(state, requires_grad=True), mr.tensor(state)
    cells = [c]
    for t in range(T):
        y = mr.ops.lstm_block_cell(x[t], cells[-1], h, w, none, none, none, b, forget_bias=forget_bias, cell_clip=0.0)
        cells.append(y.cs)
        h = y.h
    norms.append([np.linalg.norm(g) for g in mr.grad((h**2).sum(), cells[:-1])])
mr.viz.show(
    gradient_flow(norms, layers=["bias 0", "bias 1", "bias 3"], quantity="length of dL/dc_t\nover the 16 units")
)
reached = [float(row[0] / row[-1]) for row in norms]
print("share of the gradient's length that reaches step 0:", ", ".join(f"{share:.0e}" for share in reached))

# %%
# With the bias 3 the gradient even grows a little on its way, because the detours add to the straight path. Compare the
# plain network of chapter 4: there every step multiplies by the same matrix and by slopes of tanh. Here it is a number
# for each unit and step, between 0 and 1, *chosen by the network*. A unit that needs to remember holds its f near 1.
# One that needs to forget drops it. The gradient passes the same gates on its way back.
#
# The highway does not remove the products of chapter 4. If f is below 1, the gradient still shrinks exponentially, only
# more slowly, and the detours can still explode. What has changed is that the network controls the rate.
#
# Saturated is not always bad
# ---------------------------
# A gate near 1 has almost no slope: :math:`f (1 - f)` is near zero, so the gate itself learns slowly. But the straight
# path is widest then. The slope of a gate and the strength of the path that it guards are two different things.

f = np.array([0.5, 0.9, 0.99])
print("f:", f, "  slope of the gate:", (f * (1 - f)).round(3), "  left after 60 steps:", (f**60).round(6))

# %%
# Summary
# -------
# - The cell state is a sum, so its gradient has a path without a matrix: :math:`\delta c_t \odot f_t`.
# - The total :math:`\delta c_t` has two parts: what is carried, and what comes through h, :eq:`lstm-back-states`.
# - Between neighboring cell states there are four paths, :eq:`four-paths`. The straight one dominates.
# - The forget bias sets the half-life of the gradient at the start of training, :eq:`half-life`.
#
# Further reading
# ---------------
# Hochreiter and Schmidhuber (1997) introduce the cell, still without a forget gate. Gers, Schmidhuber and Cummins
# (2000) add it. Jozefowicz, Zaremba and Sutskever (2015) show how much its bias matters. Greff et al. (2017) leave out
# one part of the LSTM at a time. Tallec and Ollivier (2018) choose the bias from the time lag, as above.
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

r"""
5. The LSTM's highway
=====================

*Which path carries the gradient?*

The LSTM keeps a second state, the cell state, and *adds* to it. Through one term of that sum the gradient goes
straight back to the previous step and is multiplied only by a gate. This straight path is the highway of the title.
But is it the only one that matters?

| **You need** chapters 3 and 4.
| **You will be able to** write the LSTM's forward and backward pass, name the four paths between neighboring cell
  states, and predict at which rate the gradient of an untrained LSTM shrinks or grows.
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
# the next step use. The drawing has both passes of one step, with the factor on each arrow.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import cell_graph, cell_paths, path_strengths
from minirnn.viz.colors import BLUE, GREEN, ORANGE, RED

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
# with its own :math:`\delta z` (:eq:`rnn-weights`).
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
# Early networks had no detours in the gradient. Hochreiter and Schmidhuber (1997) cut every gradient that leaves a
# memory cell through a gate or the candidate, and there was no forget gate, so the straight path passed all of the
# gradient on. Graves and Schmidhuber (2005) use the full gradient, which is that of this chapter.
#
# ``cell_paths`` computes each of the four from values that the op saves for its backward pass. The op calls the
# candidate ``ci``.

T, I, H = 60, 4, 16
rng = np.random.default_rng(0)
x, w = rng.normal(size=(T, 1, I)), rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H)
state, none, b = np.zeros((1, H)), np.zeros(H), np.zeros(4 * H)
y = mr.ops.block_lstm(T, x, state, state, w, none, none, none, b, forget_bias=1.0, cell_clip=0.0)
paths = cell_paths(*[a.numpy()[:, 0] for a in (y.i, y.cs, y.f, y.o, y.ci)], w)
picture = path_strengths(paths)
mr.viz.show(picture)
means = {name: float(picture.data[name].mean()) for name in paths}
print("mean strength:", {name: round(mean, 2) for name, mean in means.items()})

# %%
# The *strength* is the share of its norm that a gradient of random direction keeps. In one step, the straight path is
# more than three times as strong as any detour. Each detour goes through the output gate and a tanh, then through a
# matrix, and then through a slope. The slope of a sigmoid is at most 1/4, and that of the candidate's tanh is up to 1,
# so the detour through the candidate is the strongest of the three.
#
# The four paths are complete for *one* step. Over more steps there is a fifth path: :math:`c_{t-1}` changes
# :math:`h_{t-1}`, this changes the output gate :math:`o_t`, and so :math:`c_{t+1}`, without passing through
# :math:`c_t`. The Jacobian of many steps is therefore not exactly the product of the matrices :eq:`four-paths`. It is
# in :eq:`paths-fifth` of :doc:`/derivations`, which also shows that the fifth path hardly changes the rate.
#
# The detours add up
# ------------------
# At the start of training the states are small. At zero states, with zero inputs and no bias except that of the forget
# gate, i and o are 1/2, all slopes of tanh are 1, and the detours through i, f and o are closed, because each has a
# factor that is zero. What is left of :eq:`lstm-back-states` to :eq:`lstm-carry` is, for a loss at the last step,
#
# .. math::
#    :label: zero-step
#
#    \delta c_{t-1} = \delta c_t (\sigma(b) \mathbf{I} + \frac{1}{4} R_c^{\top})
#
# The straight path alone would multiply by :math:`\sigma(b)`, and one detour is weak. But a gradient that goes back n
# steps can take its detours at any of them. With :math:`f = \sigma(b)` and :math:`G = R_c^\top / 4`,
#
# .. math::
#    :label: zero-power
#
#    (f \mathbf{I} + G)^{n} = \sum_{k=0}^{n} \binom{n}{k} f^{n-k} G^{k}
#
# There are :math:`\binom{n}{k}` ways to take k detours. All of them multiply by the *same* matrix, so they add up.
# Chapter 4 says what becomes of a power: its largest eigenvalue decides. Adding :math:`f \mathbf{I}` adds f to every
# eigenvalue of G. The eigenvalues of a large random matrix fill a disc around zero, whose radius is the spectral radius
# :math:`\rho` of :math:`R_c`, here divided by 4. Per step the gradient is therefore multiplied by about
# :math:`\sigma(b) + \rho / 4`, and not by :math:`\sigma(b)`. This is 1 at the *critical bias*
# :math:`b^\star = \log(4 / \rho - 1)`. Weights that begin as in torch have a :math:`\rho` of about 0.58, so
# :math:`b^\star` is about 1.8. States and inputs that are not small change the slopes. Then the spectral radius of the
# *mean* of :eq:`four-paths` over the steps predicts the rate. The next cell compares both with a measured gradient.


def back(forget_bias, n=100, H=128, I=32):
    """What is left of the gradient 0 .. n steps back, of its straight part, and the mean Jacobian's radius."""
    rng = np.random.default_rng(1)
    w = rng.uniform(-1, 1, size=(I + H, 4 * H)) / np.sqrt(H)  # as torch begins
    x, zero, none, b = rng.normal(size=(n + 20, 1, I)), np.zeros((1, H)), np.zeros(H), np.zeros(4 * H)
    cells, h, steps = [mr.tensor(zero, requires_grad=True)], mr.tensor(zero), []
    for x_t in x:
        y = mr.ops.lstm_block_cell(x_t, cells[-1], h, w, none, none, none, b, forget_bias=forget_bias, cell_clip=0.0)
        steps, cells, h = [*steps, y], [*cells, y.cs], y.o * mr.tanh(y.cs)  # y.h would not see changes of y.cs
    saved = [np.concatenate([getattr(y, name).numpy() for y in steps[19:]]) for name in ("i", "cs", "f", "o", "ci")]
    mean = sum(path.mean(axis=0) for path in cell_paths(*saved, w).values())
    g = rng.normal(size=(1, H))
    whole = [np.linalg.norm(a) for a in mr.grad((cells[-1] * g).sum(), cells[20:])[::-1]]
    straight = [np.linalg.norm(g * np.prod(saved[2][n + 1 - k :], axis=0)) for k in range(n + 1)]
    return whole / whole[0], straight / whole[0], np.abs(np.linalg.eigvals(mean)).max()


ax = Figure(figsize=(8, 3.8), layout="constrained").add_subplot()
table, n = {}, np.arange(101)
for bias, color in ((0.0, RED), (1.0, BLUE), (2.0, GREEN), (3.0, ORANGE)):
    left, alone, radius = table[bias] = back(bias)
    f = 1 / (1 + np.exp(-bias))
    ax.semilogy(left, color=color, label=f"bias {bias:.0f}")
    ax.semilogy(radius**n, color=color, linestyle="--", linewidth=1)
    ax.semilogy(alone, color=color, linestyle=":", linewidth=1)
    rates = f"sigma(b) {f:.2f}, + rho/4 {f + 3**-0.5 / 4:.2f}, mean Jacobian {radius:.2f}"
    print(f"bias {bias:.0f}: {rates}, measured {(left[100] / left[20]) ** (1 / 80):.2f}")
    print(f"        left after 40 steps {left[40]:.0e}, on the straight path {alone[40]:.0e}")
ax.set(ylim=(1e-22, 1e2), xlabel="steps back n", ylabel="norm of dL/dc_(T-n)\nrelative to n = 0")
ax.set_title("Measured (solid),  mean Jacobian (dashed),  straight path (dotted)")
ax.legend(frameon=False, ncols=4, fontsize="small", loc="lower left")
mr.viz.show(ax.figure)

# %%
# With a bias of 1, about 200 times as much of the gradient is left after 40 steps as the straight path carries. The
# mean Jacobian predicts the rate within two percent for all four biases. If each step had a new random matrix, only the
# *squares* of the paths' norms would add up, and the factor would be :math:`\sqrt{f^2 + \rho^2/16}`, hardly more than
# f. The detours matter because the matrix is the same at every step (:eq:`random-tied`).
#
# Above :math:`b^\star` the gradient of a network with small states *grows* on its way back, and so do the states on
# their way forward. With the bias 3 its norm is 2.7 times as large after 100 steps. This ends when the cell states
# are so large that the slopes of the output's tanh shrink the detours: after 500 steps the factor is below 1.01. The
# bias 2 is only just above :math:`b^\star`. There the states soon make the factor 0.99. From a bias of about 3 on, a
# larger one therefore does not protect a gradient better. It makes the network slower to forget.
#
# For lags of up to n steps, Tallec and Ollivier (2018) draw a number between 1 and n - 1 for each unit and begin with
# its logarithm as :math:`b_f` *and* with :math:`b_i = -b_f` (*chrono initialization*). Then i is 1 - f instead of
# 1/2, and o is 1/2. The detour is :math:`(1 - f) \rho / 2`, and the factor is below 1 for every bias if
# :math:`\rho` is below 2.
#
# Move the bias of an LSTM of 12 units whose matrices have the radius 1, so that :math:`b^\star` is log 3, about 1.1.
# Its inputs are not small and close the slopes, so the gradient grows only at a bias of about 4:
#
# .. sliders:: curve gates
#    :controls: forget T
#    :settings: {"cell": "lstm", "T": 60, "forget": 2}
#
# The network controls the rate
# -----------------------------
# On the straight path every step multiplies each unit by a number between 0 and 1, *which the network computes*. A
# unit that has to remember keeps its f near 1.
#
# Saturated is not always bad
# ---------------------------
# A gate near 1 is *saturated*. Its slope :math:`f (1 - f)` is near zero, so the gate itself learns slowly. But the
# straight path through it is then at its strongest. A gate of 0.99 has the slope 0.01 and keeps 55 percent in 60 steps.
#
# Summary
# -------
# - The cell state is a sum, so its gradient has a path without a matrix: :math:`\delta c_t \odot f_t`.
# - The total :math:`\delta c_t` has a carried part and a part that comes through h, :eq:`lstm-back-states`.
# - Between neighboring cell states there are four paths, :eq:`four-paths`. The straight one is the strongest.
# - The detours use the same matrix at every step and add up: with small states a gradient is multiplied by about
#   :math:`\sigma(b) + \rho/4` per step, which is above 1 for large biases.
#
# Further reading
# ---------------
# Hochreiter and Schmidhuber (1997) introduce the cell, and Gers, Schmidhuber and Cummins (2000) its forget gate.
# Jozefowicz, Zaremba and Sutskever (2015) show how much its bias matters. Greff et al. (2017) leave out one part of
# the LSTM at a time. Can, Krishnamurthy and Schwab (2020) derive the spectral radius of the Jacobian of random LSTMs
# and GRUs.
#
# Try it
# ------
# Peepholes let the gates see the cell state: ``use_peephole=True`` with ``wci, wcf, wco``. ``cell_paths`` leaves them
# out. Which new paths would you have to add to :eq:`four-paths`? (:doc:`LSTMBlockCell </ops/lstm_block_cell>` has the
# terms.) (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex07`` (LSTM cell), ``ex09`` (LSTM through time), ``ex31``
# (projection) and ``ex21`` (kill the mutants).
#
# Next: :doc:`06_two_grus`.

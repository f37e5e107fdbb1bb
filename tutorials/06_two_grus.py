r"""
6. Two GRUs with one name
=========================

*Why do my converted weights fail?*

You load the weights of a GRU into another library. All shapes match, but the results are slightly wrong, because two
different cells are called GRU.

| **You need** chapters 3 and 5.
| **You will be able to** write the forward and backward pass of both GRUs, name the four paths between neighboring
  states, find out which one a library has, and say when they agree.
| **Time**: 17 minutes.
"""

# %%
# One state, two gates
# --------------------
# The GRU has a straight path like the LSTM's, but no second state. Its update gate u mixes the old state with a
# candidate :math:`\tilde h`, and its reset gate r decides how much of the old state the candidate sees:
#
# .. math::
#    :label: gru-both
#
#    \begin{aligned}
#    r_t &= \sigma(x_t W_r + h_{t-1} R_r + b_r) \\
#    u_t &= \sigma(x_t W_u + h_{t-1} R_u + b_u) \\
#    h_t &= u_t \odot h_{t-1} + (1 - u_t) \odot \tilde h_t
#    \end{aligned}
#
# The two GRUs differ in the candidate. In the first GRU r acts *before* the matrix product, and in the second *after*
# it:
#
# .. math::
#    :label: before-candidate
#
#    \tilde h_t = \tanh(x_t W_h + (r_t \odot h_{t-1}) R_h + b_h)
#
# .. math::
#    :label: after-candidate
#
#    \tilde h_t = \tanh(x_t W_h + b_h + r_t \odot (h_{t-1} R_h + b_R))
#
# The first is used in the published paper (Cho et al. 2014) and in TensorFlow's ``GRUBlockCell``. The second is used in
# the first preprint of the paper, in cuDNN and in torch, and it is the default in Keras. If the gate acts after the
# product, all three products with :math:`h_{t-1}` can be computed as one, before any gate is known. In the drawings
# :math:`x_c` and :math:`x_n` stand for :math:`x_t W_h + b_h`, and :math:`h_n` for :math:`h_{t-1} R_h + b_R`.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import cell_graph
from minirnn.viz.colors import BLUE, ORANGE

mr.viz.show(cell_graph("gru_block_cell"))
mr.viz.show(cell_graph("gru"))

# %%
# Do both give the same result for the same weights and the same state?

B, I, H = 3, 4, 5
rng = np.random.default_rng(0)
x, h = rng.normal(size=(B, I)), rng.normal(size=(B, H))
w_ru, w_c = rng.normal(size=(I + H, 2 * H)), rng.normal(size=(I + H, H))
b_ru, b_c = rng.normal(size=2 * H), rng.normal(size=H)

before = mr.ops.gru_block_cell(x, h, w_ru, w_c, b_ru, b_c)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def reset_after(h, w_ru, w_c, b_ru):
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ w_ru + b_ru), 2, axis=1)
    c = np.tanh(x @ w_c[:I] + b_c + r * (h @ w_c[I:]))
    return u * h + (1 - u) * c


difference = np.abs(before.h.numpy() - reset_after(h, w_ru, w_c, b_ru)).max(axis=1)
print("same weights, largest difference of h for each row:", difference.round(3))

# %%
# The differences are far too large for rounding errors. Over a sequence the two states remain apart:

fig = Figure(figsize=(8, 3), layout="constrained")
ax = fig.add_subplot()
apart = {}
for scale, color in ((0.3, BLUE), (1.0, ORANGE)):
    one, other, apart[scale] = h, h, []
    for _ in range(40):
        one = mr.ops.gru_block_cell(x, one, scale * w_ru, scale * w_c, b_ru, b_c).h.numpy()
        other = reset_after(other, scale * w_ru, scale * w_c, b_ru)
        apart[scale].append(np.abs(one - other).max())
    ax.plot(apart[scale], color=color, label=f"weights times {scale}")
ax.set_xlabel("time step t")
ax.set_ylabel("largest difference of h")
ax.set_title("Two GRUs, the same weights")
ax.legend(frameon=False)
mr.viz.show(fig)

# %%
# One step back
# -------------
# The last line of :eq:`gru-both` sends the gradient to the old state, the update gate and the candidate. This part is
# the same for both GRUs:
#
# .. math::
#    :label: gru-back
#
#    \begin{aligned}
#    \delta h_t &= \delta y_t + \delta h_t^{\leftarrow} \\
#    \delta z_{h,t} &= \delta h_t \odot (1 - u_t) \odot (1 - \tilde h_t \odot \tilde h_t) \\
#    \delta z_{u,t} &= \delta h_t \odot (h_{t-1} - \tilde h_t) \odot u_t \odot (1 - u_t)
#    \end{aligned}
#
# The update gate learns from the *difference* between the old state and the candidate. If they are equal, it does not
# matter which one is kept. From here on the two GRUs differ. If r acts before the product, the gradient goes first
# through the matrix and then to r and h. Let :math:`\delta q_t` be the gradient that arrives at
# :math:`r_t \odot h_{t-1}`. Then
#
# .. math::
#    :label: before-back
#
#    \begin{aligned}
#    \delta q_t &= \delta z_{h,t} R_h^{\top} \\
#    \delta z_{r,t} &= \delta q_t \odot h_{t-1} \odot r_t \odot (1 - r_t) \\
#    \delta h_{t-1}^{\leftarrow} &= \delta h_t \odot u_t + \delta q_t \odot r_t
#    + \delta z_{r,t} R_r^{\top} + \delta z_{u,t} R_u^{\top} \\
#    \delta R_h &= \sum_{t=1}^{T} (r_t \odot h_{t-1})^{\top} \delta z_{h,t}
#    \end{aligned}
#
# If r acts after the product, the gradient goes first to r and then through the matrix:
#
# .. math::
#    :label: after-back
#
#    \begin{aligned}
#    \delta z_{r,t} &= \delta z_{h,t} \odot (h_{t-1} R_h + b_R) \odot r_t \odot (1 - r_t) \\
#    \delta h_{t-1}^{\leftarrow} &= \delta h_t \odot u_t + (\delta z_{h,t} \odot r_t) R_h^{\top}
#    + \delta z_{r,t} R_r^{\top} + \delta z_{u,t} R_u^{\top} \\
#    \delta R_h &= \sum_{t=1}^{T} h_{t-1}^{\top} (\delta z_{h,t} \odot r_t)
#    \end{aligned}
#
# Four paths again
# ----------------
# The line for :math:`\delta h_{t-1}^{\leftarrow}` has four terms, one for each path from :math:`h_{t-1}` to
# :math:`h_t`. Written as Jacobians, they can be compared with the four paths of the LSTM, :eq:`four-paths`. Let
# :math:`a_t` be the factor from the candidate's pre-activation to the state. If r acts before the product,
#
# .. math::
#    :label: before-paths
#
#    \begin{aligned}
#    a_t &= (1 - u_t) \odot (1 - \tilde h_t \odot \tilde h_t) \\
#    \frac{\partial h_t}{\partial h_{t-1}} &= \operatorname{diag}(u_t)
#    + \operatorname{diag}(a_t) R_h^{\top} \operatorname{diag}(r_t) \\
#    & + \operatorname{diag}(a_t) R_h^{\top} \operatorname{diag}(h_{t-1} \odot r_t \odot (1 - r_t)) R_r^{\top} \\
#    & + \operatorname{diag}((h_{t-1} - \tilde h_t) \odot u_t \odot (1 - u_t)) R_u^{\top}
#    \end{aligned}
#
# and if it acts after the product,
#
# .. math::
#    :label: after-paths
#
#    \begin{aligned}
#    \frac{\partial h_t}{\partial h_{t-1}} &= \operatorname{diag}(u_t)
#    + \operatorname{diag}(a_t \odot r_t) R_h^{\top} \\
#    & + \operatorname{diag}(a_t \odot (h_{t-1} R_h + b_R) \odot r_t \odot (1 - r_t)) R_r^{\top} \\
#    & + \operatorname{diag}((h_{t-1} - \tilde h_t) \odot u_t \odot (1 - u_t)) R_u^{\top}
#    \end{aligned}
#
# In both, the first term is the straight path. The other terms are detours through a matrix, or through two: the path
# through r in :eq:`before-paths` multiplies by :math:`R_h` and :math:`R_r`. The LSTM can add to its memory without
# forgetting. Here u decides about both: where u is near 1, :math:`a_t` is near 0, so the detours close while the
# straight path opens. Near zero states a step multiplies a gradient by about :math:`u + (1 - u) r \rho`, where
# :math:`\rho` is the spectral radius of :math:`R_h`. With the reset bias 0, r is 1/2. Unlike in the LSTM, no bias of u
# makes this larger than 1 if :math:`r \rho` is below 1. But a large reset bias brings r near 1, so it can if
# :math:`\rho` is above 1.
#
# When do both agree?
# -------------------
# :math:`(r \odot h) R_h` and :math:`r \odot (h R_h)` are equal if r can be moved past the matrix. This is possible if r
# is the same number for all units:

w_flat = w_ru.copy()
w_flat[:, :H] = 0
b_flat = np.concatenate([np.full(H, 0.3), b_ru[H:]])
flat = mr.ops.gru_block_cell(x, h, w_flat, w_c, b_flat, b_c).h.numpy()
with_one_r = np.abs(flat - reset_after(h, w_flat, w_c, b_flat)).max()
print(f"with one r for all units they differ by {with_one_r:.0e}")

# %%
# For any r the two also agree if :math:`R_h` is diagonal, because then the product does not mix units:

w_diagonal = np.concatenate([w_c[:I], np.diag(rng.normal(size=H))])
diagonal = mr.ops.gru_block_cell(x, h, w_ru, w_diagonal, b_ru, b_c).h.numpy()
with_diagonal = np.abs(diagonal - reset_after(h, w_ru, w_diagonal, b_ru)).max()
print(f"with a diagonal matrix they differ by {with_diagonal:.0e}")

# %%
# Training does not in general lead to these cases. In general the weights of one GRU cannot be *converted* to the
# other, and minirnn raises an error:

gru = mr.nn.GRU(I, H)
state = mr.nn.GRUBlockCell(H, I).state_dict()
refused = None
try:
    gru.load_state_dict(state)
except (ValueError, KeyError) as error:
    refused = error
    print(type(error).__name__ + ":", error)

# %%
# The second confusion: who keeps the old state?
# ----------------------------------------------
# In :eq:`gru-both`, u = 1 keeps the old state. Other papers define the gate the other way around, so that u = 1 takes
# the candidate (Chung et al. 2014). To find out which one you have, push the gate to 1 and look at the result.

keep = np.concatenate([np.zeros(H), np.full(H, 50.0)])
kept = mr.ops.gru_block_cell(x, h, 0 * w_ru, w_c, keep, b_c)
print("u = 1 keeps the old state:", np.array_equal(kept.h.numpy(), h))

# %%
# Summary
# -------
# - The two GRUs differ in where the reset gate acts: :eq:`before-candidate` and :eq:`after-candidate`.
# - Their backward passes apply the same factors in another order: :eq:`before-back` and :eq:`after-back`.
# - The weights of one cannot be converted to the other, except in special cases.
# - The straight path of a GRU goes through its update gate, and the same gate closes the detours, :eq:`before-paths`.
#
# Further reading
# ---------------
# Cho et al. (2014) introduce the cell. Chung et al. (2014) compare it with the LSTM. Appleyard, Kocisky and Blunsom
# (2016) join the products of all gates, which needs the gate after the product.
#
# Try it
# ------
# Make :math:`R_h` nearly diagonal: add a small matrix to ``w_diagonal`` and plot the difference against its size.
# Multiplying by r is a product with a diagonal matrix. Which other pairs of matrices commute?
# (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex10`` (GRU, reset before) and ``ex11`` (GRU, reset after).
#
# Next: :doc:`07_long_lags`.

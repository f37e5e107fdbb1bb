r"""
23. Linear recurrences
======================

*Can a network compute all time steps at once?*

If a step is linear in its state, all steps can be computed in a few rounds. Many new networks are of this kind, and
Newton's method reduces the others to it.

| **You need** chapters 3 to 5, 11 and 22.
| **You will be able to** differentiate a linear recurrence, compute it by a scan, recognize it in minGRU, LRU, S4,
  Mamba and linear attention, and say when Newton's method replaces the loop over time.
| **Time**: 20 minutes.
"""

# %%
# One recurrence, forward and back
# --------------------------------
# Let :math:`a_t` and :math:`b_t` depend on the input only. The state is multiplied elementwise, and it is also the
# output:
#
# .. math::
#    :label: linear-diagonal
#
#    \begin{aligned}
#    h_t &= a_t \odot h_{t-1} + b_t \\
#    \delta h_t &= \delta y_t + a_{t+1} \odot \delta h_{t+1} \\
#    \delta b_t &= \delta h_t \\
#    \delta a_t &= \delta h_t \odot h_{t-1}
#    \end{aligned}
#
# The backward pass is the same recurrence from the end. minirnn uses this for ``cumsum`` and ``cumprod``. In each unit
# a gradient is multiplied by one number per step: no matrix, no detour, no chaos.
#
# A scan
# ------
# Two steps in a row are one step with other coefficients:
#
# .. math::
#    :label: linear-pair
#
#    h_{t+1} = (a_{t+1} \odot a_t) \odot h_{t-1} + (a_{t+1} \odot b_t + b_{t+1})
#
# Joining pairs is associative, so any grouping is right. After round r of the *associative scan* below, each row covers
# :math:`2^r` steps. It needs :math:`\log_2 T` rounds, and all work of a round is independent:

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GREEN, ORANGE, RED

rng = np.random.default_rng(0)


def loop(a, b):
    h = [np.zeros_like(b[0])]
    for a_t, b_t in zip(a, b, strict=True):
        h.append(a_t * h[-1] + b_t)
    return np.stack(h[1:])


def scan(a, b):
    a, b, distance, rounds = a.copy(), b.copy(), 1, 0
    while distance < len(a):
        b[distance:] += a[distance:] * b[:-distance]
        a[distance:] = a[distance:] * a[:-distance]
        distance, rounds = 2 * distance, rounds + 1
    return b, rounds


T, H = 1000, 16
a, b = mr.sigmoid(mr.tensor(rng.normal(size=(T, H)))).numpy(), rng.normal(size=(T, H))
h, rounds = scan(a, b)
print(f"{rounds} rounds for {T} steps, largest difference from the loop: {np.abs(h - loop(a, b)).max():.0e}")
leaves = [mr.tensor(array[:50], requires_grad=True) for array in (a, b)]  # the tape checks the last lines
steps = [mr.tensor(np.zeros(H))]
for t in range(50):
    steps.append(leaves[0][t] * steps[-1] + leaves[1][t])
dy = rng.normal(size=(50, H))
of_tape = mr.grad((mr.stack(steps[1:]) * dy).sum(), leaves)
dh = scan(np.concatenate([a[1:50], a[:1]])[::-1], dy[::-1])[0][::-1]  # nothing follows the last step
of_scan = dh * np.concatenate([np.zeros((1, H)), h[:49]]), dh
worst = max(np.abs(g.numpy() - found).max() for g, found in zip(of_tape, of_scan, strict=True))
print(f"largest difference of the gradients from the tape's: {worst:.0e}")

# %%
# The same cell under many names
# ------------------------------
# **minGRU** (Feng et al. 2024) is a GRU whose gate and candidate see the input only. Its authors also leave out the
# tanh, which changes nothing here. In minirnn's language of cells, names with ``x_`` see the input only. The layer's
# states are those of a scan with a = 1 - z and b = z n (``minirnn explain FILE.py:mingru`` finds a for any such cell):


@mr.cell(states=("h",))
def mingru(x_z, x_n, h):
    z, n = mr.sigmoid(x_z), mr.tanh(x_n)
    return (1 - z) * h + z * n


print(mingru.backward_formulas())
layer = mingru.layer(3, H)
found = mr.viz.layer_values(layer, rng.normal(size=(T, 1, 3)))
z, n = (found.gates[name] for name in ("z", "n"))
mingru_error = np.abs(scan(1 - z, z * n)[0] - found.states["h"]).max()
print(f"minGRU, layer and scan differ by {mingru_error:.0e} in float32")

# %%
# **LRU** (Orvieto et al. 2023) has constant complex factors :math:`a = r e^{i \theta}`, the eigenvalues of a linear
# network's matrix. One chooses r just below 1 instead of hoping for it. **S4** (Gu et al. 2022) also has constant
# factors. Therefore :math:`h_t = \sum_s a^{t-s} b_s` is a convolution. In **S6**, the core of **Mamba** (Gu and Dao
# 2023), the length of a step :math:`\Delta_t = \operatorname{softplus}(z_t)` depends on the input. In the simplest case
# :math:`a_t = e^{-\Delta_t}`. That is a forget gate, because :math:`e^{-\operatorname{softplus}(z)} = 1 - \sigma(z)`.

factor = 0.99 * np.exp(0.3j)
kernel, inputs = factor ** np.arange(T), rng.normal(size=T)
by_loop = loop(np.full(T, factor), inputs.astype(complex))
by_convolution = np.convolve(kernel, inputs)[:T]
print(f"convolution and recurrence differ by {np.abs(by_loop - by_convolution).max():.0e}")

# %%
# A matrix as state
# -----------------
# *Linear attention* (Katharopoulos et al. 2020) leaves out the softmax. Then the sum over the past is a state S of keys
# times values. The mLSTM (Beck et al. 2024) multiplies this state by a forget gate. *DeltaNet* (Schlag et al. 2021)
# first removes what is stored under the key. That is one step of gradient descent on the error of reading
# (:math:`\hat S`):
#
# .. math::
#    :label: linear-memory
#
#    \begin{aligned}
#    S_t &= S_{t-1} + k_t^{\top} v_t \\
#    y_t &= q_t S_t = \sum_{s=1}^{t} q_t k_s^{\top} v_s \\
#    \hat S_t &= (\mathbf{I} - \beta_t k_t^{\top} k_t) \hat S_{t-1} + \beta_t k_t^{\top} v_t
#    \end{aligned}
#
# All three are linear in S. For keys of norm 1, DeltaNet's factor has the eigenvalue :math:`1 - \beta` along the key
# and 1 elsewhere. With :math:`\beta` from 0 to 2 its norm is 1, so no gradient with respect to the state explodes.
# Above 1 the eigenvalue is negative. The state can then alternate, which a network with real factors needs to tell odd
# counts from even ones (Grazzi et al. 2025). Gated DeltaNet also multiplies :math:`\hat S_{t-1}` by a number
# :math:`\alpha_t` between 0 and 1, so that the norm of its factor is :math:`\alpha_t` (Yang, Kautz and Hatamizadeh
# 2025).
#
# Write one key twice, with two values, and read it:

key = np.linalg.qr(rng.normal(size=(8, 1)))[0][:, 0]  # norm 1
first, second = rng.normal(size=(2, 4))
attention = np.outer(key, first) + np.outer(key, second)
delta = np.outer(key, first)
delta = (np.eye(8) - np.outer(key, key)) @ delta + np.outer(key, second)
read = {name: key @ S for name, S in (("linear attention", attention), ("DeltaNet", delta))}
for name, got in read.items():
    print(f"{name} reads the second value with the error {np.linalg.norm(got - second):.1e}")

# %%
# What it costs
# -------------
# Let a layer have H units or keys of size H. In a recurrence, a gradient that goes back n steps is multiplied by n
# factors; in attention, by one. The price of attention is that it keeps all keys and values:


def costs(T, H=64):
    log = np.log2(T)  # path, rounds, multiplications, numbers kept to go on
    return {
        "LSTM": ("n", T, 4 * T * H**2, 2 * H),
        "diagonal, scan": ("n", log, 2 * T * log * H, H),
        "linear attention": ("n", log, 2 * T * H**2, H**2),
        "softmax attention": ("1", log, T**2 * H, 2 * T * H),
    }


print("T = 4096, H = 64: path, rounds, multiplications, numbers kept to go on")
for name, row in costs(4096).items():
    print(f"{name:18}", row[0], *(f"{value:10.0f}" for value in row[1:]))

# %%
# Products with W are left out, because all need them. On one processor a scan does not pay, because it multiplies about
# log T times as much. The scan of Blelloch (1990) multiplies only a few times as much, in twice as many rounds. On a
# GPU, moving numbers takes longer than multiplying them. There each block scans a piece of the sequence and publishes
# what its piece does. It then looks back over the pieces before it, until it finds one whose whole past is known
# already (*decoupled look-back*, Merrill and Garland 2016). So every number is read once and written once.
#
# A nonlinear recurrence as one system
# ------------------------------------
# Let one step of an LSTM map the row :math:`s_{t-1}` of all states to :math:`f_t(s_{t-1})`. Guess the states of *all*
# steps. The guess leaves the residuals :math:`r_t = f_t(s_{t-1}) - s_t`. Newton's method replaces each step by its
# tangent, with the Jacobian :math:`J_t` at the guess. The correction e of all steps is then a linear recurrence:
#
# .. math::
#    :label: linear-newton
#
#    e_t = e_{t-1} J_t^{\top} + r_t
#
# DEER (Lim et al. 2023) computes it by a scan, and ParaRNN (Danieli et al. 2025) trained variants of the LSTM and GRU
# with 7 billion parameters this way. minirnn derives the Jacobians. The steps are rows of one batch, so one backward
# pass for each of the 2H numbers of a state gives one row of every Jacobian.

T, I, H = 256, 4, 16


def newton(bias, rho, most=40):
    draw = np.random.default_rng(1)
    w = np.concatenate([draw.normal(size=(I, 4 * H)) / 2, rho * draw.normal(size=(H, 4 * H)) / np.sqrt(H)])
    x, none, b, zero = 0.5 * draw.normal(size=(T, I)), np.zeros(H), np.zeros(4 * H), np.zeros((1, H))
    fixed = {"forget_bias": bias, "cell_clip": 0.0}
    y = mr.ops.block_lstm(T, x[:, None], zero, zero, w, none, none, none, b, **fixed)
    right = np.concatenate([y.cs.numpy(), y.h.numpy()], axis=2)[:, 0]  # (T, 2H), by the loop over time
    s, errors = np.zeros((T, 2 * H)), []
    while len(errors) < most and (not errors or errors[-1] > 1e-9):
        before = mr.tensor(np.concatenate([np.zeros((1, 2 * H)), s[:-1]]), requires_grad=True)
        y = mr.ops.lstm_block_cell(x, before[:, :H], before[:, H:], w, none, none, none, b, **fixed)
        after = mr.cat([y.cs, y.h], dim=1)
        rows = [mr.grad(after[:, j].sum(), before, retain_graph=True).numpy() for j in range(2 * H)]
        J, r, e = np.stack(rows, axis=1), after.numpy() - s, np.zeros(2 * H)  # (T, 2H, 2H)
        for t in range(T):  # a scan on parallel hardware
            e = J[t] @ e + r[t]
            s[t] += e
        errors.append(np.abs(s - right).max())
    return errors


ax = Figure(figsize=(8, 3.6), layout="constrained").add_subplot()
iterations = {}
for bias, color, marker in ((0.0, BLUE, "o"), (1.0, ORANGE, "s"), (3.0, GREEN, "^")):
    keep = 1 / (1 + np.exp(-bias))
    points = {keep + rho / 4: len(newton(bias, rho)) for rho in (0.1, 0.5, 1.0, 1.5, 2.0) if keep + rho / 4 < 1.24}
    iterations[bias] = points
    ax.plot(*zip(*points.items(), strict=True), color=color, marker=marker, label=f"forget bias {bias:.0f}")
ax.axvline(1, color=RED, linestyle="--", label="rate 1")
ax.set(title=f"Newton's method for an LSTM of {T} steps", xlabel="rate of chapter 22", ylabel="iterations")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
errors = newton(1.0, 1.0)
print("largest error, bias 1, rho 1:", *(f"{error:.0e}" for error in errors))

# %%
# With a rate below 1, at most six iterations are enough for 256 steps, and each about doubles the number of right
# digits. In exact arithmetic T iterations are always enough, because iteration k makes the first k steps exact. But
# above 1 the corrections grow along the sequence like the gradients of chapter 22, and the count rises quickly.
#
# On a GPU, a few times :math:`\log_2 T` rounds replace T rounds. The price is arithmetic: joining two steps
# multiplies two Jacobians of size 2H, so a step costs about :math:`(2H)^3` instead of :math:`4 H^2`, 2 H times as much.
# ParaRNN therefore makes R diagonal, and each unit has a Jacobian of size 2. Keeping only the diagonals of the
# Jacobians is called quasi-DEER (Gonzalez et al. 2024). We have not measured any of them on a GPU.
#
# Summary
# -------
# - The backward pass of a linear recurrence is the same recurrence from the end, :eq:`linear-diagonal`.
# - Pairs of steps join, :eq:`linear-pair`, so a scan needs :math:`\log_2 T` rounds.
# - minGRU, LRU, S4, S6, mLSTM, DeltaNet and linear attention differ in the factor and in the shape of the state.
# - Newton's method solves a nonlinear recurrence by linear ones. Where the rate is below 1, it needs few iterations.
#
# Further reading
# ---------------
# Orvieto et al. (2023) choose the eigenvalues of linear networks. Yang et al. (2024) compute DeltaNet in parallel. Lim
# et al. (2023) and Danieli et al. (2025) use Newton's method. :doc:`Derivations </derivations>` has DeltaNet's chunks,
# the gradients of S6 and the matrix of S4.
#
# Try it
# ------
# Keep only the diagonal of each Jacobian in ``newton``. Does it still converge, and in how many iterations?
# (:doc:`Answer </on_paper>`)
#
# Next: :doc:`exercises </exercises>`, or :doc:`adjoints </adjoints>`, the limit of ever smaller steps.

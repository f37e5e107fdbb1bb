r"""
22. Products of random Jacobians
================================

*What do the initial weights decide before training?*

Untrained weights are random numbers, so a gradient meets products of random matrices. Their eigenvalues fill a disc,
and a few formulas say how fast a gradient shrinks or grows before the first training step.

| **You need** chapters 4 and 5.
| **You will be able to** compute the rate of an untrained network from its initial values, and choose a forget bias.
| **Time**: 20 minutes.
"""

# %%
# The circular law
# ----------------
# Let R have H rows and independent entries with mean 0 and variance :math:`\rho^2/H`. For large H its eigenvalues fill
# the disc of radius :math:`\rho` evenly, whatever the distribution of the entries (Girko 1985). torch draws from -1/√H
# to 1/√H, so :math:`\rho = 1/\sqrt 3`.
#
# With zero states and inputs an LSTM has the Jacobian of chapter 5. The 2H eigenvalues of one step are H zeros and
# :math:`\sigma(b) + \lambda_k/4`, with the eigenvalues :math:`\lambda_k` of :math:`R_c`. The disc is four times smaller
# and moves to the right with the forget bias b:

import math

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GREEN, ORANGE, RED

H = 128
rng = np.random.default_rng(0)
colors = (BLUE, ORANGE, GREEN, RED)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def uniform(rho):
    return rho * np.sqrt(3 / H) * rng.uniform(-1, 1, (H, H))


def axes(title, x_label, y_label):
    return Figure(figsize=(8, 3.6), layout="constrained").add_subplot(title=title, xlabel=x_label, ylabel=y_label)


R_c = uniform(1 / np.sqrt(3))
w = np.concatenate([rng.normal(size=(1, 4 * H)), np.tile(R_c, 4)])  # (I+H, 4H); at zero states only R_c counts


def one_step(state, b):
    c, h, x = state[None, :H], state[None, H:], np.zeros((1, 1))
    y = mr.ops.lstm_block_cell(x, c, h, w, *[np.zeros(H)] * 3, np.zeros(4 * H), forget_bias=b, cell_clip=0.0)
    return mr.cat([y.cs, y.h], dim=1)[0]


ax = axes("Eigenvalues of one step of an untrained LSTM", "real part", "imaginary part")
rightmost = {}
for b, color in zip((0.0, 1.0, 2.0), colors, strict=False):
    found = np.linalg.eigvals(mr.jacobian(lambda s, b=b: one_step(s, b), mr.tensor(np.zeros(2 * H))).numpy())
    rightmost[b] = float(found.real.max())
    print(f"forget bias {b:.0f}: largest real part {rightmost[b]:.3f}, rate {sigmoid(b) + 1 / np.sqrt(48):.3f}")
    ax.plot(found.real, found.imag, ".", color=color, markersize=3, label=f"forget bias {b:.0f}")
ax.plot(
    *(wave(np.linspace(-0.25, 0.25, 100)) for wave in (np.cos, np.sin)), "k--", linewidth=1, label="absolute value 1"
)
ax.set(aspect="equal", xlim=(0.3, 1.1))  # without the H zeros
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The rightmost point of the disc is the *rate* L, the factor per step after many steps. It is 1 at the *critical forget
# bias*:
#
# .. math::
#    :label: products-critical
#
#    \begin{aligned}
#    L &= \sigma(b) + \frac{\rho}{4} \\
#    b^\star &= \log(\frac{4}{\rho} - 1)
#    \end{aligned}
#
# With a larger bias small states and gradients grow. After about a hundred steps the states are so large that the
# slopes of tanh hold the rate between 0.97 and 1.01.
#
# Amplitudes or squares
# ---------------------
# Write the Jacobian as :math:`f I + G`, with a random G of radius g. Over n steps there are :math:`C_{n,k}`, n choose
# k, paths with k detours. If every step had a *new* G, only the squares of their contributions would add. A recurrent
# network uses the *same* G, so their amplitudes add. The root mean squares
# :math:`\bar v_n` (new) and :math:`\bar w_n` (same, for large H) of what is left of a gradient of norm 1 are
#
# .. math::
#    :label: random-same
#
#    \begin{aligned}
#    \bar v_n^2 &= (f^2 + g^2)^{n} \\
#    \bar w_n^2 &= \sum_{k=0}^{n} C_{n,k}^2 f^{2 (n-k)} g^{2 k}
#    \end{aligned}
#
# The rate of the first is :math:`\sqrt{f^2+g^2}`, and that of the second :math:`f + g`. Here are both for the bias 1:

f, g, steps = float(sigmoid(1.0)), 1 / np.sqrt(48), np.arange(61)
same_formula = [sum((math.comb(n, k) * f ** (n - k) * g**k) ** 2 for k in range(n + 1)) ** 0.5 for n in range(61)]


def measured(new):
    squares = []
    for _ in range(10):
        G, rows = uniform(g), [np.linalg.qr(rng.normal(size=(H, 20)))[0].T]  # 20 rows of norm 1
        for _ in steps[1:]:
            G = uniform(g) if new else G
            rows.append(f * rows[-1] + rows[-1] @ G)
        squares.append([np.mean(np.sum(row**2, axis=1)) for row in rows])
    return np.sqrt(np.mean(squares, axis=0))


same, new = measured(new=False), measured(new=True)
ax = axes("A gradient after n steps: formulas and measured (dots)", "number of steps n", "norm of the gradient")
ax.semilogy(steps, same_formula, color=BLUE, label="the same matrix at every step")
ax.semilogy(steps, (f**2 + g**2) ** (steps / 2), color=ORANGE, label="a new matrix at every step")
ax.semilogy(steps, f**steps, color=RED, linestyle="--", label="the straight path alone")
for dots, color in ((same, BLUE), (new, ORANGE)):
    ax.semilogy(steps[::5], dots[::5], "o", color=color, markersize=4)
ax.legend(frameon=False)
mr.viz.show(ax.figure)
print(f"after 40 steps: same {same[40]:.1e}, new {new[40]:.1e}, straight path {f**40:.1e}")
print(f"share of (f + g)^40: {same_formula[40] / (f + g) ** 40:.2f}")

# %%
# Few eigenvalues are near f + g, so a typical gradient falls behind :math:`(f + g)^n`: after 40 steps it has a third of
# that, and the share falls like :math:`n^{-1/4}`. A chosen direction can gain in a *transient*: G is not normal
# (chapter 4), so the norm of f I + G is larger than f + g. It is below f + 2g.
#
# The edge of chaos
# -----------------
# With tanh each Jacobian is :math:`D_t R^\top`, and the slopes :math:`D_t` change from step to step. Then no eigenvalue
# says what a product does. The *Lyapunov exponent* does. It is the mean logarithm of the factor per step,
# :math:`\frac 1 n \log (\lVert g_{t-n} \rVert / \lVert g_t \rVert)` for large n, and almost all directions g share it.
# The rate is its exponential. A rate above 1 is called *chaos*: a small change of a state grows.
#
# For large H the pre-activations are normally distributed with variance q, and the rate is :math:`\rho` times the root
# mean square of the slopes. The next figure compares this with H = 128, for inputs of standard deviation s. Below the
# edge and without inputs the state tends to zero and the slopes to 1, so the rate is the radius of the drawn matrix.

nodes, weights = np.polynomial.hermite_e.hermegauss(101)
weights /= weights.sum()


def tanh_formula(rho, s):
    q = s**2 + rho**2 / 2
    for _ in range(3000):
        q = s**2 + rho**2 * (weights * np.tanh(np.sqrt(q) * nodes) ** 2).sum()
    return rho * np.sqrt((weights * (1 - np.tanh(np.sqrt(q) * nodes) ** 2) ** 2).sum())


def tanh_rate(R, s, T=500, skipped=100):  # the first and last steps depend on the start
    h, slopes = 0.5 * rng.normal(size=len(R)), []
    for _ in range(T):
        h = np.tanh(h @ R + s * rng.normal(size=len(R)))
        slopes.append(1 - h**2)
    row, logs = rng.normal(size=len(R)), []
    for slope in slopes[:skipped:-1]:
        row = (row / np.linalg.norm(row) * slope) @ R.T  # norm 1 before each step
        logs.append(np.log(np.linalg.norm(row)))
    return float(np.exp(np.mean(logs[skipped // 2 :])))


radii = np.array([0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 2.5, 3.0])
ax = axes("Rate of a tanh network: lines for large H, dots for H = 128", "radius of R", "factor per step")
rates, edges = {}, {}
for s, color in zip((0.0, 0.3, 1.0), colors, strict=False):
    line = np.array([tanh_formula(rho, s) for rho in radii])
    rates[s] = np.array([tanh_rate(uniform(rho), s) for rho in radii])
    edges[s] = float(np.interp(1.0, line, radii))
    ax.plot(radii, line, color=color, label="no inputs" if s == 0 else f"inputs with s = {s}")
    ax.plot(radii, rates[s], "o", color=color, markersize=4)
ax.axhline(1, color="k", linestyle="--", linewidth=1, label="the edge")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
print("edge of chaos at the radius:", {s: f"{edge:.1f}" for s, edge in edges.items()})

# %%
# Without inputs the edge is at the radius 1 (Sompolinsky, Crisanti and Sommers 1988). Inputs move the units to flatter
# parts of tanh, so they move the edge to larger radii. Above it the rate grows more slowly than the radius: without
# inputs the formula gives 1.37 at the radius 3.
#
# The radius can be completely misleading. Rotate a strictly triangular matrix. All its eigenvalues are zero, and
# without tanh the gradient of 64 units is zero after 64 steps. Slopes destroy this cancellation:

Q, N = np.linalg.qr(rng.normal(size=(64, 64)))[0], np.triu(rng.normal(size=(64, 64)), 1) / 8
zero_radius = {a: tanh_rate(a * Q @ N @ Q.T, 0.1) for a in (1.0, 2.0, 3.0, 4.0)}
print("rate for the radius 0, by the scale of R:", {a: round(rate, 2) for a, rate in zero_radius.items()})

# %%
# Initial values
# --------------
# Keras draws *one* orthogonal matrix of shape (H, 4H) for four gates, so each gate gets entries of variance 1/(4H) and
# the radius 1/2. The table has the usual initial values, with measured radii:

limit, table = np.sqrt(6 / (32 + 5 * H)), {}  # I = 32
starts = {
    "torch: uniform up to 1/sqrt(H)": rng.uniform(-1, 1, (H, H)) / np.sqrt(H),
    "Keras: one orthogonal (H, 4H)": np.linalg.qr(rng.normal(size=(4 * H, H)))[0].T[:, :H],
    "TensorFlow 1: Glorot on (I+H, 4H)": rng.uniform(-limit, limit, (H, H)),
    "orthogonal for each gate": np.linalg.qr(rng.normal(size=(H, H)))[0],
    "He: normal, variance 2/H": rng.normal(size=(H, H)) * np.sqrt(2 / H),
}
print("initial values                     rho   radius   b*    rate for b = 0, 1, 3")
for name, R in starts.items():  # rho: H times the variance of the entries, square root; radius: measured
    rho = np.linalg.norm(R) / np.sqrt(H)
    at_biases = [sigmoid(b) + rho / 4 for b in (0, 1, 3)]
    table[name] = (rho, np.abs(np.linalg.eigvals(R)).max(), np.log(4 / rho - 1), *at_biases)
    print(f"{name:34}", "  ".join(f"{value:5.2f}" for value in table[name]))

# %%
# A GRU with the update bias b and no other bias has the rate :math:`u + (1 - u) \rho/2` at zero states, with
# :math:`u = \sigma(b)`. This mean of 1 and :math:`\rho/2` never reaches 1 if :math:`\rho < 2`. An LSTM can cross 1,
# because its gates i and f are independent. *Chrono initialization* (Tallec and Ollivier 2018) ties them again. For
# lags up to T the forget bias is the logarithm of a number that is uniform between 1 and T - 1, and the input bias is
# its negative, so i = 1 - f:

both = {b: float(sigmoid(b) + sigmoid(-b) / np.sqrt(12)) for b in (0.0, 2.0, 5.0)}
for b, rate in both.items():
    print(f"bias {b:.0f}: rate {rate:.3f}, without the input bias {sigmoid(b) + 1 / np.sqrt(48):.3f}")

# %%
# Summary
# -------
# - Eigenvalues of a random matrix fill a disc. An untrained LSTM has the rate and critical bias of
#   :eq:`products-critical`.
# - With the same matrix at every step amplitudes add; with new matrices only squares, :eq:`random-same`.
# - With tanh the Lyapunov exponent decides, not the radius. Inputs suppress chaos.
# - Chrono initialization needs its input bias to stay below the rate 1. No update bias takes a GRU above it if
#   :math:`\rho < 2` and the reset bias is 0.
#
# Further reading
# ---------------
# Girko (1985) states the circular law. Sompolinsky, Crisanti and Sommers (1988) find the edge of chaos. Can,
# Krishnamurthy and Schwab (2020) derive the spectra of untrained LSTMs and GRUs. :doc:`Derivations </derivations>`
# proves :eq:`random-same`.
#
# Try it
# ------
# Replace ``uniform`` by a function that returns ``rho`` times an orthogonal matrix. Where is the edge of chaos now?
# (:doc:`Answer </on_paper>`)
#
# Next: :doc:`23_linear_recurrences`.

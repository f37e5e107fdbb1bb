"""
4. Why gradients vanish and explode
===================================

*When does the signal die?*

Go back a hundred steps and you multiply a hundred matrices. Multiply a hundred numbers a bit below one, and almost
nothing is left; a bit above one, and the product is huge. Matrices can do both at once, each direction its own way.
"""

# %%
# A network without its tanh
# --------------------------
# A step of a recurrent network is a matrix and a nonlinearity. We begin with the matrix alone: :math:`h_t = h_{t-1} R
# + x_t`. The same random matrix is scaled so that the largest absolute value of its eigenvalues, the *spectral
# radius*, is 0.7, 1.0 and 1.3. ``state_jacobians`` asks the tape for :math:`\partial h_T / \partial h_t` at every step
# t. The largest singular value of this matrix says by how much it can lengthen a gradient on its way back from T to t.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import gradient_flow, state_jacobians
from minirnn.viz.colors import BLUE, GREEN, ORANGE, RED

T, H = 40, 32
rng = np.random.default_rng(0)
R = rng.normal(size=(H, H))
R /= np.abs(np.linalg.eigvals(R)).max()
x = 0.3 * rng.normal(size=(T, H))
start = mr.tensor(np.zeros(H))
colors = {0.7: BLUE, 1.0: GREEN, 1.3: ORANGE, 2.0: RED}
back = T - np.arange(T + 1)  # how many steps lie between t and T


def linear(radius):
    return lambda t, h: h @ (radius * R) + x[t]


def largest(jacobians):
    return np.linalg.norm(jacobians, 2, axis=(1, 2))  # (T+1,): the largest singular value at each step


def axes(title):
    ax = Figure(figsize=(8, 3.6), layout="constrained").add_subplot()
    ax.set_title(title)
    ax.set_xlabel("time step t   (\u2190 backpropagation goes this way)")
    ax.grid(alpha=0.25)
    return ax


ax = axes("Without tanh: solid what a gradient can keep, dashed radius to the power T - t")
without_tanh = {}
for radius in (0.7, 1.0, 1.3):
    without_tanh[radius] = largest(state_jacobians(linear(radius), start, T))
    ax.semilogy(without_tanh[radius], color=colors[radius], label=f"spectral radius {radius}")
    ax.semilogy(radius**back, color=colors[radius], linestyle="--", linewidth=1)
ax.set_ylabel("largest singular value\nof d h_T / d h_t")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

for radius, kept in without_tanh.items():
    print(f"spectral radius {radius}: after {T} steps {kept[0]:.1e}, radius to the power {T} is {radius**T:.1e}")
assert without_tanh[0.7][0] < 1e-5 and without_tanh[1.3][0] > 1e4

# %%
# The blue gradient vanishes, the orange one explodes, and in the long run both do it by the same factor at every step:
# lines that are straight on a logarithmic scale, parallel to the dashed ones. But they do not lie *on* the dashed
# lines. Going left they first rise above them, and at the end they are above by a factor that is the same for all
# three radii:

above = {radius: kept[0] / radius**T for radius, kept in without_tanh.items()}
print("above the dashed line:", {radius: round(float(factor), 2) for radius, factor in above.items()})
assert np.ptp(list(above.values())) < 1e-9 and above[1.0] > 1.5

# %%
# Eigenvalues and singular values
# -------------------------------
# Where does the factor come from? A *singular value* says how much a matrix stretches some direction in one
# application. An *eigenvalue* says what happens to a direction that the matrix maps to itself, and thus what happens
# in the long run. If the eigenvectors are perpendicular to each other (the matrix is *normal*), both agree. If they
# are not, a matrix can stretch first and shrink later. Two matrices of two numbers, with the same eigenvalues 0.7 and
# 0.6:

normal = np.array([[0.7, 0.0], [0.0, 0.6]])
skewed = np.array([[0.7, 2.0], [0.0, 0.6]])
ax = axes("Two matrices A with the eigenvalues 0.7 and 0.6")
norms = {}
for name, A, color in (("normal", normal, BLUE), ("not normal", skewed, ORANGE)):
    norms[name] = np.array([np.linalg.norm(np.linalg.matrix_power(A, k), 2) for k in range(21)])
    ax.semilogy(norms[name], color=color, marker=".", label=f"{name}: one step stretches by up to {norms[name][1]:.1f}")
ax.semilogy(0.7 ** np.arange(21), "k--", linewidth=1, label="0.7 to the power k")
ax.set_xlabel("number of steps k")
ax.set_xticks(range(0, 21, 5))
ax.set_ylabel("largest singular value of\nA to the power k")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

assert np.allclose(norms["normal"], 0.7 ** np.arange(21))
assert norms["not normal"].max() > 2 and norms["not normal"][-1] < 0.1

# %%
# The orange matrix makes a gradient longer at first, although both of its eigenvalues are below one; then it shrinks
# with the same slope as the blue one. So two questions have two answers: *what can one step do?* Look at singular
# values. *What will fifty steps do?* Look at eigenvalues.
#
# A random matrix of 32 units has 32 singular values. Here are all of them, beside the powers of the 32 eigenvalues,
# for the spectral radius 0.7:

jacobians = state_jacobians(linear(0.7), start, T)
values = np.linalg.svd(jacobians, compute_uv=False)  # (T+1, H), largest first
eigenvalues = np.sort(np.abs(np.linalg.eigvals(0.7 * R)))[::-1]  # (H,)
ax = axes("All directions: singular values (blue), eigenvalues to the power T - t (orange)")
ax.semilogy(np.where(values > 1e-17, values, np.nan), color=BLUE, linewidth=0.8)
ax.semilogy(eigenvalues ** back[:, None], color=ORANGE, linewidth=0.8, linestyle="--")
ax.set_ylim(1e-17, 10)
ax.set_ylabel("what a direction keeps")
mr.viz.show(ax.figure)

shares = values[0] / values[0, 0]
print("after 40 steps, as shares of the largest:", ", ".join(f"{shares[k]:.0e}" for k in (0, 1, 2, 3, 8, 16)))
assert np.isclose(eigenvalues[0], eigenvalues[1]) and shares[1] > 0.5
assert shares[2] < 0.01 and shares[16] < 1e-6

# %%
# Gradients do not vanish evenly. After 40 steps two directions are left: they belong to the two complex eigenvalues of
# the largest size, for complex eigenvalues come in pairs. The next directions have lost another factor of a hundred,
# and half of all have lost more than another factor of a million. What a loss asks of the lost directions, the early
# steps never hear.
#
# With the tanh
# -------------
# The slope of tanh is at most 1, so it can only shorten what the matrix hands on. Now the dashed lines are those of
# the network without tanh, and there is a fourth network, with the spectral radius 2:


def network(radius):
    return lambda t, h: mr.ops.tanh(h @ (radius * R) + x[t])


def mean_slope(radius):
    h, slopes = np.zeros(H), []
    for t in range(T):
        h = np.tanh(h @ (radius * R) + x[t])
        slopes.append((1 - h * h).mean())
    return float(np.mean(slopes))


ax = axes("With tanh (solid) and without (dashed)")
with_tanh, slopes = {}, {}
for radius, color in colors.items():
    with_tanh[radius] = largest(state_jacobians(network(radius), start, T))
    slopes[radius] = mean_slope(radius)
    label = f"radius {radius}: mean slope of tanh {slopes[radius]:.2f}"
    ax.semilogy(with_tanh[radius], color=color, label=label)
    ax.semilogy(largest(state_jacobians(linear(radius), start, T)), color=color, linestyle="--", linewidth=1)
ax.set_ylabel("largest singular value\nof d h_T / d h_t")
ax.set_ylim(1e-9, 1e12)
ax.legend(frameon=False, fontsize="small", loc="upper center", ncols=2)
mr.viz.show(ax.figure)

print("left after 40 steps:", {radius: f"{kept[0]:.1e}" for radius, kept in with_tanh.items()})
assert with_tanh[0.7][0] < 1e-7 and with_tanh[1.0][0] < 1e-2
assert 0.1 < with_tanh[1.3][0] < 10 and with_tanh[2.0][0] > 10
assert slopes[0.7] > slopes[1.0] > slopes[1.3] > slopes[2.0]

# %%
# With the radius 1.0 a gradient now vanishes, for every step also multiplies by a slope below 1. With 1.3 it is
# carried best: what the matrix adds, the slopes take away again. And with 2.0 it still explodes. The larger the matrix
# makes the states, the flatter is the tanh where they lie (the mean slopes in the legend), and this brake holds 1.3 at
# bay, but not 2.0. So tanh is no cure: it moves the border between vanishing and exploding to a larger radius, and it
# does not remove the border.
#
# In a loss
# ---------
# So far we asked what a gradient *can* keep. Here is what arrives at each state from the loss
# :math:`\sum_j h_{T,j}^2`, which is one gradient of the many; the color is the length (2-norm) of
# :math:`\partial L / \partial h_t` over all 32 units.

norms_of_loss = []
for radius in colors:
    states = [mr.tensor(np.zeros((1, H)), requires_grad=True)]
    for t in range(T):
        states.append(network(radius)(t, states[-1]))
    grads = mr.grad((states[-1] ** 2).sum(), states)
    norms_of_loss.append([np.linalg.norm(g) for g in grads])
names = [f"radius {radius}" for radius in colors]
flow = gradient_flow(norms_of_loss, layers=names, quantity="length of dL/dh_t\nover the 32 units")
mr.viz.show(flow)

first, last = np.array(norms_of_loss)[:, 0], np.array(norms_of_loss)[:, -1]
for radius, share in zip(colors, first / last, strict=True):
    print(f"radius {radius}: {share:.1e} of the gradient's length reaches step 0")
assert (first / last)[0] < 1e-6 and (first / last)[1] < 0.01 < (first / last)[2] < 1 < (first / last)[3]

# %%
# Clipping
# --------
# Against explosion there is a blunt and good remedy: if the gradient is longer than some limit, shorten it, and keep
# its direction. Against vanishing there is none of this kind: a factor that makes the share of the early steps longer
# makes the shares of the late steps longer, too. What helps there is another *path* for the gradient, one that does
# not multiply by a matrix at every step. That is the LSTM's idea, and the next tutorial.

p = mr.nn.Parameter(np.zeros(2, np.float32))
(p * np.float32([300.0, -400.0])).sum().backward()
before = mr.optim.clip_grad_norm_([p], 5.0)
after = p.grad.numpy()
print(f"length before {float(before):.0f}, after {np.linalg.norm(after):.0f}, direction {after / 5}")
assert np.isclose(before, 500) and np.allclose(after, [3, -4])

# %%
# Try it
# ------
# Make ``R`` orthogonal (``np.linalg.qr(R)[0]``), which is a normal matrix whose eigenvalues all have the size 1. What
# happens to the first and the third figure, and to the green line with tanh?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex15`` (clipping).

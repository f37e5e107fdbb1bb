r"""
4. Why gradients vanish and explode
===================================

*When does the signal die?*

A loss and a state that are n steps apart are connected by a product of n Jacobians. A product of many numbers below one
is almost nothing, and a product of many numbers above one is huge. Matrices can do both at once, each direction in its
own way.

| **You need** chapter 3, and from linear algebra: eigenvalues, singular values, the norm of a matrix.
| **You will be able to** bound what a gradient keeps over n steps, say when the bound is loose, and read from a picture
  whether a network can learn from the distant past.
| **Time**: 20 minutes.
"""

# %%
# A network without its tanh
# --------------------------
# We begin with the matrix alone: :math:`h_t = h_{t-1} R + x_t`. The Jacobian of each step is :math:`R^\top`, so that of
# n steps is its n-th power. One random matrix is scaled so that its *spectral radius* :math:`\rho`, the largest
# absolute value of its eigenvalues, is 0.7, 1.0 and 1.3. ``state_jacobians`` asks the tape for
# :math:`\partial h_T / \partial h_t` at every step t. The norm of this matrix is its largest singular value: the factor
# by which it can lengthen a gradient on its way from T back to t.

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


def network(radius, function=mr.tanh):
    return lambda t, h: function(h @ (radius * R) + x[t])


def linear(radius):
    return network(radius, lambda z: z)


def largest(jacobians):
    return np.linalg.norm(jacobians, 2, axis=(1, 2))  # (T+1,): the largest singular value at each step


def axes(title, y_label="norm of\nd h_T / d h_t", x_label="time step t   (\u2190 backpropagation goes this way)"):
    ax = Figure(figsize=(8, 3.6), layout="constrained").add_subplot()
    ax.set_title(title)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.grid(alpha=0.25)
    return ax


ax = axes("Without tanh: solid the norm, dashed radius to the power T - t")
without_tanh = {radius: largest(state_jacobians(linear(radius), start, T)) for radius in colors}
for radius in (0.7, 1.0, 1.3):
    ax.semilogy(without_tanh[radius], color=colors[radius], label=f"spectral radius {radius}")
    ax.semilogy(radius**back, color=colors[radius], linestyle="--", linewidth=1)
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The blue gradient vanishes and the orange one explodes. In the long run both lines are straight on this logarithmic
# scale and parallel to the dashed ones. But they are not *on* the dashed lines: going left they first rise above them,
# and at the end they are above by a factor that is the same for all radii.
#
# Eigenvalues and singular values
# -------------------------------
# Where does the factor come from? If R has H independent eigenvectors, the columns of a matrix V, then
# :math:`R^n = V \Lambda^n V^{-1}`. The norm of a product is at most the product of the norms, and a matrix stretches
# its own eigenvectors by the eigenvalues. So
#
# .. math::
#    :label: powers
#
#    \begin{aligned}
#    \rho^{n} &\le \lVert R^{n} \rVert \le \kappa \rho^{n} \\
#    \kappa &= \lVert V \rVert \lVert V^{-1} \rVert
#    \end{aligned}
#
# If the eigenvectors are perpendicular to each other, R is called *normal*, :math:`\kappa` is 1, and the norm is
# exactly :math:`\rho^n`. Otherwise a matrix can stretch first and shrink later. Here are two matrices of 2 x 2 numbers
# with the same eigenvalues, 0.7 and 0.6:

normal = np.array([[0.7, 0.0], [0.0, 0.6]])
skewed = np.array([[0.7, 2.0], [0.0, 0.6]])
ax = axes("Two matrices A with the eigenvalues 0.7 and 0.6", "norm of\nA to the power k", "number of steps k")
norms = {}
for name, A, color in (("normal", normal, BLUE), ("not normal", skewed, ORANGE)):
    norms[name] = np.array([np.linalg.norm(np.linalg.matrix_power(A, k), 2) for k in range(21)])
    ax.semilogy(norms[name], color=color, marker=".", label=f"{name}: one step stretches by up to {norms[name][1]:.1f}")
ax.semilogy(0.7 ** np.arange(21), "k--", linewidth=1, label="0.7 to the power k")
ax.set_xticks(range(0, 21, 5))
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The orange matrix makes a gradient longer at first, although both of its eigenvalues are below one. Then it shrinks
# with the same slope as the blue one. So two questions have two answers. *What can one step do?* Look at singular
# values. *What will fifty steps do?* Look at eigenvalues.
#
# A matrix of 32 units has 32 singular values. Here are all of them, next to the powers of the 32 eigenvalues, for the
# spectral radius 0.7:

values = np.linalg.svd(state_jacobians(linear(0.7), start, T), compute_uv=False)  # (T+1, H), largest first
eigenvalues = np.sort(np.abs(np.linalg.eigvals(0.7 * R)))[::-1]  # (H,)
title = "All directions: singular values (blue), eigenvalues to the power T - t (orange)"
ax = axes(title, "what a direction keeps")
ax.semilogy(np.where(values > 1e-17, values, np.nan), color=BLUE, linewidth=0.8)
ax.semilogy(eigenvalues ** back[:, None], color=ORANGE, linewidth=0.8, linestyle="--")
ax.set_ylim(1e-17, 10)
mr.viz.show(ax.figure)

shares = values[0] / values[0, 0]
print("after 40 steps, as shares of the largest:", ", ".join(f"{shares[k]:.0e}" for k in (0, 1, 2, 3, 8, 16)))

# %%
# Gradients do not vanish evenly. After 40 steps two directions are left. They belong to the largest pair of complex
# eigenvalues. The next directions have lost another factor of a hundred, and half of all have lost more than another
# factor of a million. Whatever a loss asks of those directions never reaches the early steps.
#
# With the tanh
# -------------
# Now each step also multiplies by the slopes of tanh, a diagonal matrix:
#
# .. math::
#    :label: slopes
#
#    \begin{aligned}
#    \frac{\partial h_t}{\partial h_{t-1}} &= D_t R^{\top} \\
#    D_t &= \operatorname{diag}(1 - h_t \odot h_t)
#    \end{aligned}
#
# Let :math:`\gamma_t` be the largest slope at step t. It is at most 1. A diagonal matrix stretches by at most its
# largest entry, and :math:`R^\top` by at most the largest singular value of R. So for any gradient g, a row,
#
# .. math::
#    :label: one-step-bound
#
#    \lVert g D_t R^{\top} \rVert \le \lVert g D_t \rVert \lVert R \rVert \le \gamma_t \lVert R \rVert \lVert g \rVert
#
# The same holds for the next step back, with the result in the place of g. After all steps from T back to t,
#
# .. math::
#    :label: bound
#
#    \lVert \frac{\partial h_T}{\partial h_t} \rVert \le \lVert R \rVert^{T-t} \prod_{k=t+1}^{T} \gamma_k
#    \le \lVert R \rVert^{T-t}
#
# which proves two statements, and only these two. If :math:`\lVert R \rVert < 1`, gradients vanish exponentially. If
# gradients explode, then :math:`\lVert R \rVert > 1`. Neither can be turned around: the bound is loose, because a
# gradient that one step stretches most is turned, and the next step stretches another direction most, and because most
# units have a smaller slope than the largest. In the next picture :math:`\lVert R \rVert` is 1.7 times the radius, so
# :eq:`bound` allows an explosion in all four networks. It happens in one.


def states_of(radius):
    states = [mr.tensor(np.zeros((1, H)), requires_grad=True)]
    for t in range(T):
        states.append(network(radius)(t, states[-1]))
    return states


ax = axes("With tanh (solid) and without (dashed)")
with_tanh, slopes = {}, {}
for radius, color in colors.items():
    with_tanh[radius] = largest(state_jacobians(network(radius), start, T))
    slopes[radius], norm = np.mean([1 - h.numpy() ** 2 for h in states_of(radius)[1:]]), np.linalg.norm(radius * R, 2)
    label = f"radius {radius}, norm {norm:.1f}: mean slope {slopes[radius]:.2f}"
    ax.semilogy(with_tanh[radius], color=color, label=label)
    ax.semilogy(without_tanh[radius], color=color, linestyle="--", linewidth=1)
ax.set_ylim(1e-9, 1e15)
ax.legend(frameon=False, fontsize="small", loc="upper center", ncols=2)
mr.viz.show(ax.figure)
print("left after 40 steps:", {radius: f"{kept[0]:.1e}" for radius, kept in with_tanh.items()})

# %%
# With the radius 1.0 a gradient now vanishes, because every step also multiplies by slopes below 1. With 1.3 it is
# carried best: what the matrix adds, the slopes take away again. With 2.0 it still explodes. The larger the matrix
# makes the states, the flatter tanh is there (the mean slopes in the legend). This brake is strong enough for 1.3, but
# not for 2.0. So tanh does not cure it. It moves the border between vanishing and exploding to a larger radius.
#
# An orthogonal matrix Q is the case without a stretch: all its singular values are 1. It keeps the length of every
# gradient, and then the slopes alone decide:
#
# .. math::
#    :label: orthogonal
#
#    \begin{aligned}
#    \lVert g Q^{\top} \rVert &= \lVert g \rVert \\
#    \lVert g D_t Q^{\top} \rVert &= \lVert g D_t \rVert \le \lVert g \rVert
#    \end{aligned}
#
# Hence the advice to start with orthogonal matrices, and hence its limit: with tanh the gradient still shrinks, unless
# the states stay near zero, where the slope is 1.
#
# What vanishes
# -------------
# Here is what arrives at each state from the loss :math:`\sum_j h_{T,j}^2`. The color is the length of
# :math:`\delta h_t` over all 32 units.

norms_of_loss = []
for states in map(states_of, colors):
    norms_of_loss.append([np.linalg.norm(g) for g in mr.grad((states[-1] ** 2).sum(), states)])
names = [f"radius {radius}" for radius in colors]
mr.viz.show(gradient_flow(norms_of_loss, layers=names, quantity="norm of dL/dh_t\nover the 32 units"))
reached = [float(row[0] / row[-1]) for row in norms_of_loss]
print("share of the norm that reaches step 0:", *(f"{share:.1e}" for share in reached))

# %%
# The gradient of the *weights* does not vanish. It is a sum over all steps, and the last steps always contribute.
# What vanishes is the share of the early steps, so the network learns from the recent past only, and nothing in the
# loss curve says so. An explosion is easier to see, and there is a blunt and good remedy: if the gradient is longer
# than some limit, shorten it and keep its direction (``mr.nn.utils.clip_grad_norm_``). Against vanishing there is no
# such remedy, because a factor that makes the early share longer makes the late share longer, too. What helps is
# another *path* for the gradient, one that does not multiply by a matrix at every step. That is the LSTM's idea, and
# the next chapter.
#
# Summary
# -------
# - Over n steps a gradient is multiplied by n matrices :math:`D_t R^\top`. Their norms bound what it keeps,
#   :eq:`bound`.
# - :math:`\lVert R \rVert < 1` is enough for vanishing, :math:`\lVert R \rVert > 1` is needed for exploding.
# - Singular values say what one step can do, eigenvalues what many steps do, :eq:`powers`.
# - An orthogonal R keeps lengths; tanh loses them.
#
# Further reading
# ---------------
# Hochreiter (1991), in German, and Bengio, Simard and Frasconi (1994) found the problem. Pascanu, Mikolov and Bengio
# (2013) prove both statements and introduce clipping by norm. Le, Jaitly and Hinton (2015) start with the identity
# matrix and relu. Arjovsky, Shah and Bengio (2016) keep R unitary throughout training.
#
# Try it
# ------
# Make ``R`` orthogonal (``np.linalg.qr(R)[0]``), a normal matrix whose eigenvalues all have the size 1. What happens to
# the first and the third figure, and to the green line with tanh?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex15`` (clipping).
#
# Next: :doc:`05_the_lstms_highway`.

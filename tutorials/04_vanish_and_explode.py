r"""
4. Why gradients vanish and explode
===================================

*When does the signal die?*

A product of many numbers below one is almost zero, and a product of many numbers above one is huge. A product of
matrices can shrink in some directions and grow in others.

| **You need** chapter 3, and from linear algebra: eigenvalues, singular values, the norm of a matrix.
| **You will be able to** bound how much of a gradient is left after n steps, say when the bound is loose, and see in a
  figure how much of a gradient comes from the distant past.
| **Time**: 20 minutes.
"""

# %%
# A network without its tanh
# --------------------------
# We begin with the matrix alone: :math:`h_t = h_{t-1} R + x_t`. The Jacobian of n steps is the n-th power of
# :math:`R^\top`. We scale one random matrix so that its *spectral radius* :math:`\rho`, the largest absolute value of
# its eigenvalues, is 0.7, 1.0 and 1.3. ``state_jacobians`` uses the tape to compute :math:`\partial h_T / \partial h_t`
# at every step t. Its norm is the largest factor by which it can enlarge a gradient on the way from T back to t.

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
functions = {"tanh": mr.tanh, "linear": lambda z: z}
colors = {0.7: BLUE, 1.0: GREEN, 1.3: ORANGE, 2.0: RED}
back = T - np.arange(T + 1)  # how many steps lie between t and T


def network(radius, kind="tanh", R=R):
    return lambda t, h: functions[kind](h @ (radius * R) + x[t])


def largest(jacobians):
    return np.linalg.norm(jacobians, 2, axis=(1, 2))  # (T+1,): the largest singular value at each step


def axes(title, y_label="norm of\nd h_T / d h_t", x_label="time step t   (\u2190 backpropagation goes this way)"):
    ax = Figure(figsize=(8, 3.6), layout="constrained").add_subplot()
    ax.set_title(title)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.grid(alpha=0.25)
    return ax


ax = axes("Without tanh: norm (solid) and radius to the power T - t (dashed)")
without_tanh = {radius: largest(state_jacobians(network(radius, "linear"), start, T)) for radius in colors}
for radius in (0.7, 1.0, 1.3):
    ax.semilogy(without_tanh[radius], color=colors[radius], label=f"spectral radius {radius}")
    ax.semilogy(radius**back, color=colors[radius], linestyle="--", linewidth=1)
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The blue gradient vanishes and the orange one explodes. Over many steps the lines become nearly straight on this
# logarithmic scale and parallel to the dashed ones. But they are not *on* the dashed lines. At the end they are above
# them by a factor that is the same for all radii.
#
# Eigenvalues and singular values
# -------------------------------
# Where does this factor come from? If R has H independent eigenvectors, the columns of a matrix V, then
# :math:`R^n = V \Lambda^n V^{-1}`, with the eigenvalues on the diagonal of :math:`\Lambda`. Therefore
#
# .. math::
#    :label: powers
#
#    \begin{aligned}
#    \rho^{n} &\le \lVert R^{n} \rVert \le \kappa \rho^{n} \\
#    \kappa &= \lVert V \rVert \lVert V^{-1} \rVert
#    \end{aligned}
#
# If the eigenvectors are orthonormal, R is called *normal*, :math:`\kappa` is 1, and the norm is :math:`\rho^n`.
# Otherwise a matrix can stretch first and shrink later. Here are two matrices with the eigenvalues 0.7 and 0.6:

normal = np.array([[0.7, 0.0], [0.0, 0.6]])
skewed = np.array([[0.7, 2.0], [0.0, 0.6]])
ax = axes("Two matrices A with the eigenvalues 0.7 and 0.6", "norm of\nA to the power k", "number of steps k")
norms = {}
for name, A, color in (("normal", normal, BLUE), ("not normal", skewed, ORANGE)):
    norms[name] = np.array([np.linalg.norm(np.linalg.matrix_power(A, k), 2) for k in range(21)])
    ax.semilogy(norms[name], color=color, marker=".", label=f"{name}: one step stretches by up to {norms[name][1]:.1f}")
ax.semilogy(0.7 ** np.arange(21), "k--", linewidth=1, label="0.7 to the power k")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The orange matrix can enlarge a gradient at first, although both of its eigenvalues are below one. Later the orange
# curve falls with the same slope as the blue one. Singular values say what one step can do, and eigenvalues what fifty
# steps with the same matrix will do.
#
# A Jacobian of 32 units has 32 singular values. Here they are, with the powers of the 32 eigenvalues, for the radius
# 0.7:

values = np.linalg.svd(state_jacobians(network(0.7, "linear"), start, T), compute_uv=False)  # (T+1, H), largest first
eigenvalues = np.sort(np.abs(np.linalg.eigvals(0.7 * R)))[::-1]  # (H,)
ax = axes("Singular values (blue), eigenvalues to the power T - t (orange)", "factor along a direction")
ax.semilogy(np.where(values > 1e-17, values, np.nan), color=BLUE, linewidth=0.8)
ax.semilogy(eigenvalues ** back[:, None], color=ORANGE, linewidth=0.8, linestyle="--")
ax.set_ylim(1e-17, 10)
mr.viz.show(ax.figure)

shares = values[0] / values[0, 0]
print("after 40 steps, as shares of the largest:", ", ".join(f"{shares[k]:.0e}" for k in (0, 1, 2, 3, 8, 16)))

# %%
# Gradients do not vanish equally in all directions. After 40 steps two directions are left. They belong to the
# largest pair of complex eigenvalues. The next directions are smaller by another factor of a hundred, and half of all
# directions by more than a factor of a million.
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
# Let :math:`\gamma_t` be the largest slope at step t. It is at most 1. A diagonal matrix stretches a row by at most its
# largest entry, and :math:`R^\top` by at most the largest singular value of R. Every gradient g, a row, satisfies
#
# .. math::
#    :label: one-step-bound
#
#    \lVert g D_t R^{\top} \rVert \le \lVert g D_t \rVert \lVert R \rVert \le \gamma_t \lVert R \rVert \lVert g \rVert
#
# The same holds for the next step back, with the result in place of g. Over all steps from T back to t this gives
#
# .. math::
#    :label: bound
#
#    \lVert \frac{\partial h_T}{\partial h_t} \rVert \le \lVert R \rVert^{T-t} \prod_{k=t+1}^{T} \gamma_k
#    \le \lVert R \rVert^{T-t}
#
# Without knowledge of the slopes, this proves two statements. If :math:`\lVert R \rVert < 1`, gradients vanish
# exponentially. If gradients explode, then :math:`\lVert R \rVert > 1`. The converse statements are not true, because
# the bound is loose. Each step turns the gradient away from the direction that the next step stretches most
# (:eq:`loose-swap`), and most units have a smaller slope than the largest one (:eq:`loose-slopes`). In the next figure
# :math:`\lVert R \rVert` is 1.7 times the radius, so :eq:`bound` allows an explosion in all four networks.
# It happens in one.


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
# preserved best, because the slopes nearly cancel the growth by the matrix. With 2.0 it still explodes. A larger matrix
# makes larger states, and there tanh is flatter (see the mean slopes in the legend). For this random matrix, tanh moves
# the border between vanishing and exploding to a larger radius. For other matrices it does the opposite. The next one
# is four times a triangular matrix N with zeros on its diagonal, in another basis. All of its eigenvalues are 0:

N, Q = np.triu(rng.normal(size=(H, H)), 1) / np.sqrt(H), np.linalg.qr(rng.normal(size=(H, H)))[0]
turned = {kind: largest(state_jacobians(network(4, kind, Q @ N @ Q.T), start, T))[0] for kind in functions}
print(f"left after 40 steps: with tanh {turned['tanh']:.0e}, without {turned['linear']:.0e}, which is 0 up to rounding")

# %%
# Without tanh every gradient is 0 after 32 steps. With tanh it explodes, because the slopes of each step turn a
# gradient into directions that R stretches. So with tanh the radius of R does not decide. The growth of the product
# does. Its mean logarithm per step is the *Lyapunov exponent*, and a network where it is above 0 is *chaotic*.
#
# Try other radii, with tanh and without, on a network of 12 units. A curve that is straight on the logarithmic axis is
# the power of one number:
#
# .. sliders:: curve
#    :controls: nonlinearity radius
#    :settings: {"T": 60, "radius": 1.3}
#
# All singular values of an orthogonal matrix Q are 1, so it preserves the norm of every gradient. Only the slopes can
# change the norm:
#
# .. math::
#    :label: orthogonal
#
#    \begin{aligned}
#    \lVert g Q^{\top} \rVert &= \lVert g \rVert \\
#    \lVert g D_t Q^{\top} \rVert &= \lVert g D_t \rVert \le \lVert g \rVert
#    \end{aligned}
#
# This is why training often starts with orthogonal matrices. But with tanh the gradient still shrinks, unless the
# states stay near zero, where the slope is 1 (:eq:`norms-mean-slope`).
#
# What vanishes
# -------------
# The next figure shows the gradient of the loss :math:`\sum_j h_{T,j}^2` at each state. The color is the norm of
# :math:`\delta h_t` over all 32 units.

norms_of_loss = []
for states in map(states_of, colors):
    norms_of_loss.append([np.linalg.norm(g) for g in mr.grad((states[-1] ** 2).sum(), states)])
names, quantity = [f"radius {radius}" for radius in colors], "norm of dL/dh_t\nover the 32 units"
mr.viz.show(gradient_flow(norms_of_loss, layers=names, quantity=quantity))
reached = [float(row[0] / row[-1]) for row in norms_of_loss]
print("share of the norm that reaches step 0:", *(f"{share:.1e}" for share in reached))

# %%
# The gradient of the *weights* does not vanish. It is a sum over all steps, and the last steps always contribute.
# Only the contribution of the early steps vanishes. The network then learns from the recent past, and the loss curve
# does not show it. An explosion has a simple remedy: scale a gradient down whose norm is above a limit
# (``mr.nn.utils.clip_grad_norm_``). Vanishing gradients have no remedy that is so simple, because a factor that
# enlarges the contribution of the early steps also enlarges that of the late steps. What helps is another *path* for
# the gradient, which does not multiply by a matrix at every step. The LSTM has such a path.
#
# Summary
# -------
# - Over n steps a gradient is multiplied by n matrices :math:`D_t R^\top`. Their norms bound its norm, :eq:`bound`.
# - If :math:`\lVert R \rVert < 1`, gradients vanish. They can explode only if :math:`\lVert R \rVert > 1`.
# - Singular values describe one step. Eigenvalues describe many steps without tanh, :eq:`powers`, but not with it.
# - An orthogonal R preserves norms. The slopes of tanh reduce them.
#
# Further reading
# ---------------
# Hochreiter (1991), in German, and Bengio, Simard and Frasconi (1994) discovered the problem. Pascanu, Mikolov and
# Bengio (2013) prove both statements. Arjovsky, Shah and Bengio (2016) keep R unitary throughout training.
#
# Try it
# ------
# Make ``R`` orthogonal (``np.linalg.qr(R)[0]``), a normal matrix whose eigenvalues all have the absolute value 1. How
# do the first and the third figure change, and the green line with tanh? (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex15`` (clipping).
#
# Next: :doc:`05_the_lstms_highway`.

r"""
13. Gradients of gradients
==========================

*What can I learn from a second derivative through an LSTM, and what does it cost?*

The gradient gives the direction of the steepest slope. The second derivative describes how quickly the gradient
changes. For n weights it is an n by n matrix, far too large to store, but its product with one vector takes only
about three times as much arithmetic as the gradient.

| **You need** chapters 3 to 5.
| **You will be able to** multiply by a Hessian, choose a learning rate from a curvature, say what clipping does to a
  gradient's direction, and choose the segments for checkpointing.
| **Time**: 20 minutes.
"""

# %%
# A product with the Hessian
# --------------------------
# Write all weights as one row w, and the gradient of the loss as the row g. The *Hessian* :math:`\mathbf{H}` is the
# Jacobian of g. It is symmetric, because the order of two derivatives does not matter. For a fixed row v, the number s
# is the slope of the loss in the direction of v, and its gradient is the product that we want:
#
# .. math::
#    :label: hessian-product
#
#    \begin{aligned}
#    \mathbf{H} &= \frac{\partial g}{\partial w} = \mathbf{H}^{\top} \\
#    s &= g v^{\top} \\
#    \nabla s &= v \mathbf{H}
#    \end{aligned}
#
# Compute the gradient with ``create_graph=True``, which records it on the tape. Then multiply it by v and go back once
# more. The network below is an LSTM. At each step it outputs which of four characters it read two steps before.

import tracemalloc

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GREEN, RED

T, B, I, H = 10, 16, 4, 8
rng = np.random.default_rng(0)
characters = rng.integers(0, I, (T, B))
x = np.eye(I)[characters]  # (T, B, I): one-hot
target = characters[:-2]  # (T-2, B): for the steps 2 .. T-1
state, none, b = np.zeros((B, H)), np.zeros(H), np.zeros(4 * H)
w = mr.tensor(rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H), requires_grad=True)
readout = 4 * rng.normal(size=(H, I)) / np.sqrt(H)


def loss_of(w):
    h = mr.ops.block_lstm(T, x, state, state, w, none, none, none, b, cell_clip=0.0).h
    return mr.ops.cross_entropy(h[2:] @ readout, target)  # nats per character


def hessian_times(v, at=w):
    (g,) = mr.grad(loss_of(at), [at], create_graph=True)
    return mr.grad((g * v).sum(), at).numpy()


def gradient_at(values):
    here = mr.tensor(values, requires_grad=True)
    return mr.grad(loss_of(here), here).numpy()


v, step = rng.normal(size=w.shape), 1e-5
product = hessian_times(v)
difference = (gradient_at(w.numpy() + step * v) - gradient_at(w.numpy() - step * v)) / (2 * step)
error = np.abs(product - difference).max() / np.abs(product).max()
print(f"largest relative difference from differences of gradients: {error:.1e}")

_, same = mr.hvp(loss_of, w, mr.tensor(v))
print(f"largest difference from mr.hvp: {np.abs(product - same.numpy()).max():.1e}")

# %%
#
# ``mr.hvp`` computes this product for any function (:doc:`/functions`). For the second derivative of ``block_lstm``
# minirnn goes back through the same function, *composed* of primitive ops. These are many small ops, so it takes
# not three but 10 to 20 times as long as the first (:doc:`/ops/README`).
#
# The largest curvature
# ---------------------
# If v has norm 1, the curvature of the loss in the direction v is :math:`v \mathbf{H} v^{\top}`. It is largest in the
# direction of the eigenvector u of the largest eigenvalue k:
#
# .. math::
#    :label: largest-curvature
#
#    \begin{aligned}
#    u \mathbf{H} &= k u \\
#    \frac{v \mathbf{H} v^{\top}}{v v^{\top}} &\le k = \frac{u \mathbf{H} u^{\top}}{u u^{\top}}
#    \end{aligned}
#
# *Power iteration* multiplies a row by :math:`\mathbf{H}` again and again. The row approaches the eigenvector whose
# eigenvalue has the largest absolute value. Here that eigenvalue is positive:


def largest_curvature(at=w, iterations=40):
    v = np.ones(at.shape) / np.sqrt(at.size)
    for _ in range(iterations):
        hv = hessian_times(v, at)
        v = hv / np.linalg.norm(hv)
    return float((v * hessian_times(v, at)).sum()), v


curvature, sharpest = largest_curvature()
print(f"largest curvature k = {curvature:.2f}, and 2 / k = {2 / curvature:.2f}")

# %%
# Near the current weights and along u, the loss is nearly a parabola with curvature k. At distance d from its
# lowest point the gradient is k d. A step with the rate :math:`\eta` subtracts :math:`\eta k d`, and n steps lead to
#
# .. math::
#    :label: descent
#
#    d_n = (1 - \eta k) d_{n-1} = (1 - \eta k)^{n} d_0
#
# It shrinks if :math:`\eta < 2 / k` and explodes if the rate is larger, like the products of Jacobians in chapter 4. A
# rate that is just right for the largest curvature is slow in a direction that is ten times as flat:
#
# .. sliders:: descent
#    :controls: rate
#
# But a loss is a parabola only nearby. Here are forty steps with rates well below 2/k, just below it, and far above it:

curves, ends = {}, {}
for factor in (0.5, 1.8, 20.0):
    values, losses = w.numpy().copy(), []
    for _ in range(40):
        losses.append(loss_of(mr.tensor(values)).item())
        values = values - factor / curvature * gradient_at(values)
    curves[factor], ends[factor] = losses, values
    print(f"rate {factor:>4} / k: loss {losses[0]:.3f} -> {losses[-1]:.3f}, largest on the way {max(losses):.3f}")

ax = Figure(figsize=(8, 3.2), layout="constrained").add_subplot()
for (factor, losses), color in zip(curves.items(), (GREEN, RED, BLUE), strict=True):
    ax.plot(losses, color=color, label=f"rate {factor:g} / k")
ax.legend(loc="lower left", frameon=False)
ax.set(xlabel="step", ylabel="loss (nats per character)", title="Three rates, k the largest curvature at the start")
mr.viz.show(ax.figure)

there, _ = largest_curvature(mr.tensor(ends[20.0], requires_grad=True))
print(f"largest curvature where the rate 20 / k ended: {there:.2f}")

# %%
# With a rate below 2/k the loss falls at every step. At ten times 2/k it first jumps up, but it does not keep rising.
# The weights move to a region that is about four times as flat. For the rate 20 / k this is still about 2.6 times too
# steep, so the loss falls in jumps, and it is rising when the forty steps end. Curvature is a property of one point.
#
# The direction of a clipped gradient
# -----------------------------------
# If the norm of a gradient is above :math:`\tau`, clipping by norm changes its norm and not its direction e:
#
# .. math::
#    :label: clip-direction
#
#    \begin{aligned}
#    e &= \frac{g}{\lVert g \rVert} \\
#    \hat g &= \tau e \\
#    \frac{\partial \hat g}{\partial w} &= \frac{\tau}{\lVert g \rVert} (\mathbf{H} - e^{\top} e \mathbf{H})
#    \end{aligned}
#
# The last line is the derivative of a quotient. The second term removes the part of the change that points along g.
# What is left changes the direction, never the norm. Clipping by value turns the gradient:

g = gradient_at(w.numpy())
by_value = np.clip(g, *(np.median(np.abs(g)) * np.array([-1, 1])))
turned = float((g * by_value).sum() / np.linalg.norm(g) / np.linalg.norm(by_value))
print(f"cosine of the gradient and the gradient clipped by value, at the median: {turned:.2f}")

# %%
# What the backward pass must remember
# ------------------------------------
# Let a be the number of arrays that the tape stores per step. Here a is 2, for the argument and the result of tanh.
# Backpropagation through time needs all :math:`aT` of them. *Checkpointing* stores only the first state of each
# segment of K steps. The backward pass goes from the last segment to the first and runs each one again. It stores T/K
# first states and the arrays of one segment. Completing the square gives the best length:
#
# .. math::
#    :label: checkpoint-memory
#
#    \begin{aligned}
#    M_K &= \frac{T}{K} + a K \\
#    M_K - 2 \sqrt{a T} &= (\sqrt{\frac{T}{K}} - \sqrt{a K})^{2} \ge 0
#    \end{aligned}
#
# The square is zero at :math:`K = \sqrt{T/a}`, and there :math:`M_K = 2 \sqrt{aT}`. The price is one more forward pass.
# If a backward pass costs two forward passes, training costs four forward passes instead of three. Here is the memory
# that Python allocates:

first = mr.tensor(rng.normal(size=(64, 64)))
R = mr.tensor(np.linalg.qr(rng.normal(size=(64, 64)))[0], requires_grad=True)


def segment(h, K):
    for _ in range(K):
        h = mr.tanh(h @ R)
    return h


def peak(T, K):
    """The most memory held at once, in arrays of one step; without checkpoints if K is None."""
    tracemalloc.start()
    h = segment(first, T) if K is None else first
    for _ in range(T // K if K else 0):
        h = mr.checkpoint(segment, h, K)
    (h**2).sum().backward()
    most = tracemalloc.get_traced_memory()[1] / (64 * 64 * 8)
    tracemalloc.stop()
    R.grad = None
    return most


peak(4, 2)  # what is allocated once does not count
left, right = Figure(figsize=(8.4, 3.6), layout="constrained").subplots(1, 2)
lengths, segments = (32, 72, 128, 200, 288, 392), (2, 4, 8, 16, 32, 64, 128)
everything = [peak(n, None) for n in lengths]
checkpoints = [peak(n, round(np.sqrt(n / 2))) for n in lengths]
left.plot(lengths, everything, color=RED, marker="o", label="no checkpoints")
left.plot(lengths, checkpoints, color=BLUE, marker="o", label="checkpoints")
left.plot(lengths, 2 * np.sqrt(2 * np.array(lengths)), color="0.4", linestyle="--", label="formula")
left.set(xlabel="number of steps T", ylabel="memory (arrays of one step)", title="Every T with its best K")
by_segment = [peak(256, K) for K in segments]
right.semilogx(segments, by_segment, base=2, color=BLUE, marker="o", label="measured")
right.plot(segments, [256 / K + 2 * K for K in segments], color="0.4", linestyle="--", label="formula")
right.set(xlabel="steps per segment K", title="T = 256")
right.set_xticks(segments, segments)
for ax in (left, right):
    ax.legend(frameon=False)
mr.viz.show(left.figure)
print("memory for T = 256, by K:", dict(zip(segments, np.round(by_segment).astype(int).tolist(), strict=True)))

# %%
# Both curves follow the formula, plus a few arrays for the work in progress. Segments inside segments need even less:
# each level costs one more forward pass, :eq:`levels-cost` in :doc:`/derivations`.
#
# Summary
# -------
# - A Hessian times a vector is the gradient of a number, :eq:`hessian-product`. It needs no matrix.
# - With a learning rate above 2/k, descent on a parabola diverges, :eq:`descent`. The curvature of a real loss changes.
# - Clipping by norm keeps the direction and ignores the steepness, :eq:`clip-direction`.
# - Checkpoints need :math:`2 \sqrt{aT}` arrays, not :math:`aT`, and one more forward pass, :eq:`checkpoint-memory`.
#
# Further reading
# ---------------
# Pearlmutter (1994) is the source of :eq:`hessian-product`. Cohen et al. (2021) find that descent with a constant rate
# leads to a curvature of about 2 / rate, the *edge of stability*. Griewank and Walther (2000) place checkpoints
# optimally. Chen et al. (2016) use segments as long as the square root of the depth.
#
# Try it
# ------
# Compute ``largest_curvature()`` every ten steps while training with Adam. Does it grow or shrink?
# (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex29`` (recomputation) and ``ex30`` (double backward).
#
# Next: :doc:`14_one_node_or_many` begins the track on libraries. The core goes on in
# :doc:`22_products_of_random_jacobians` and :doc:`23_linear_recurrences`.

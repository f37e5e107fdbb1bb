"""
12. Gradients of gradients
==========================

*What does the second derivative through an LSTM tell me?*

The gradient says which way is down. The second derivative says how long that stays true: whether the ground curves.
For n weights it is an n by n matrix, far too large to write down; but its product with one vector costs two
backward passes.
"""

# %%
# A product with the Hessian
# --------------------------
# :math:`H v = \frac{\partial}{\partial w} (\nabla L \cdot v)`. Ask for the gradient with ``create_graph=True``, so
# that it is on the tape itself, multiply it by v, and go back once more.

import numpy as np

import minirnn as mr
from minirnn.viz import loss_curve

T, B, I, H = 10, 4, 2, 8
rng = np.random.default_rng(0)
x = rng.normal(size=(T, B, I))
target = np.roll(x.sum(axis=2), 2, axis=0)  # the sum of the inputs two steps ago
state, none, b = np.zeros((B, H)), np.zeros(H), np.zeros(4 * H)
w = mr.tensor(rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H), requires_grad=True)
readout = rng.normal(size=H) / np.sqrt(H)


def loss_of(w):
    h = mr.ops.block_lstm(T, x, state, state, w, none, none, none, b, cell_clip=0.0).h
    return ((h @ readout - target) ** 2).mean()


def hessian_times(v):
    (g,) = mr.grad(loss_of(w), [w], create_graph=True)
    return mr.grad((g * v).sum(), w).numpy()


v = rng.normal(size=w.shape)
v /= np.linalg.norm(v)
product = hessian_times(v)
step = 1e-5


def gradient_at(values):
    moved = mr.tensor(values, requires_grad=True)
    return mr.grad(loss_of(moved), moved).numpy()


difference = (gradient_at(w.numpy() + step * v) - gradient_at(w.numpy() - step * v)) / (2 * step)
error = np.abs(product - difference).max() / np.abs(product).max()
print(f"largest relative difference from differences of gradients: {error:.1e}")
assert error < 1e-6

# %%
# ``block_lstm`` has a hand-written backward kernel, and no hand-written second one. Under ``create_graph=True``
# minirnn goes back through the kernel's *composition* from primitives instead, so that gradients of any order exist
# on every device.
#
# The largest curvature
# ---------------------
# Multiply again and again, and the direction of the largest curvature wins (power iteration):


def sharpness(iterations=25):
    v = np.ones(w.shape) / np.sqrt(w.size)
    for _ in range(iterations):
        hv = hessian_times(v)
        v = hv / np.linalg.norm(hv)
    return float((v * hessian_times(v)).sum())


curvature = sharpness()
print(f"largest curvature {curvature:.3f}: plain gradient descent is stable for steps up to {2 / abs(curvature):.1f}")

# %%
# On a parabola with curvature k, steps longer than 2/k overshoot by more than they gain. A loss is a parabola only
# nearby, so here are steps below the line and far above it:

curves = {}
for factor in (0.5, 1.8, 20.0):
    start, rate = w.numpy().copy(), factor / abs(curvature)
    values, losses = start.copy(), []
    for _ in range(40):
        here = mr.tensor(values, requires_grad=True)
        loss = loss_of(here)
        losses.append(loss.item())
        values = values - rate * mr.grad(loss, here).numpy()
    curves[factor] = losses
    print(
        f"step {factor:>3} / curvature: loss {losses[0]:.3f} -> {losses[-1]:.3f}, largest on the way {max(losses):.3f}"
    )
assert max(curves[0.5]) == curves[0.5][0] and max(curves[1.8]) == curves[1.8][0] and max(curves[20.0]) > curves[20.0][0]
picture = loss_curve(range(40), curves[20.0])

# %%
# Below the line the loss never rises. Ten times above it, it first climbs; then it is thrown to where the ground is
# flatter, and goes on there. Curvature tells what happens *here*, not where you will end up.
#
# A penalty on the gradient
# -------------------------
# A loss may contain a gradient: "be right, and don't react to small changes of the input". Training it needs the
# second derivative, and nothing else changes.


def train(penalty):
    w2 = mr.nn.Parameter(w.numpy().copy())
    optimizer = mr.optim.Adam([w2], lr=0.02)
    for _ in range(60):
        x2 = mr.tensor(x, requires_grad=True)
        h = mr.ops.block_lstm(T, x2, state, state, w2, none, none, none, b, cell_clip=0.0).h
        loss = ((h @ readout - target) ** 2).mean()
        sensitivity = (mr.grad(loss, x2, create_graph=True) ** 2).sum()
        total = loss + penalty * sensitivity
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    return loss.item(), sensitivity.item()


for penalty in (0.0, 3.0):
    loss, sensitivity = train(penalty)
    print(f"penalty {penalty}: loss {loss:.3f}, squared gradient by the input {sensitivity:.5f}")

# %%
# Try it
# ------
# Compute ``sharpness()`` every ten steps while training with Adam. Does the ground get steeper or flatter?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex21`` (kill the mutants).

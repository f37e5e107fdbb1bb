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
# that it is on the tape itself, multiply it by v, and go back once more. The network is an LSTM that reads characters
# out of four and says at each step which one it read two steps before. (The first two steps have no such character,
# and no loss.)

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import loss_curve
from minirnn.viz.colors import BLUE, GREEN, RED

T, B, I, H = 10, 16, 4, 8
rng = np.random.default_rng(0)
characters = rng.integers(0, I, (T, B))
x = np.eye(I)[characters]  # (T, B, I): one-hot
target = characters[:-2]  # (T-2, B): for the steps 2 .. T-1
state, none, b = np.zeros((B, H)), np.zeros(H), np.zeros(4 * H)
w = mr.tensor(rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H), requires_grad=True)
readout = 4 * rng.normal(size=(H, I)) / np.sqrt(H)


def loss_of(w, x=x):
    h = mr.ops.block_lstm(T, x, state, state, w, none, none, none, b, cell_clip=0.0).h
    return mr.ops.cross_entropy(h[2:] @ readout, target)  # nats per character


def hessian_times(v, at=w):
    (g,) = mr.grad(loss_of(at), [at], create_graph=True)
    return mr.grad((g * v).sum(), at).numpy()


def gradient_at(values):
    here = mr.tensor(values, requires_grad=True)
    return mr.grad(loss_of(here), here).numpy()


v = rng.normal(size=w.shape)
v /= np.linalg.norm(v)
product = hessian_times(v)
step = 1e-5
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


def largest_curvature(at=w, iterations=40):
    v = np.ones(at.shape) / np.sqrt(at.size)
    for _ in range(iterations):
        hv = hessian_times(v, at)
        v = hv / np.linalg.norm(hv)
    return float((v * hessian_times(v, at)).sum()), v


curvature, sharpest = largest_curvature()
print(f"largest curvature k = {curvature:.2f}, and 2 / k = {2 / curvature:.2f}")
assert np.linalg.norm(hessian_times(sharpest) - curvature * sharpest) < 0.01 * curvature

# %%
# Along this direction, and near the weights, the loss is a parabola with this curvature:

distances = np.linspace(-1.5, 1.5, 61)
along = [loss_of(mr.tensor(w.numpy() + d * sharpest)).item() for d in distances]
slope = float((gradient_at(w.numpy()) * sharpest).sum())
parabola = along[30] + slope * distances + curvature / 2 * distances**2
ax = Figure(figsize=(8, 3.2), layout="constrained").add_subplot()
ax.plot(distances, along, color=BLUE, label="loss")
ax.plot(distances, parabola, color=RED, linestyle="--", label="parabola from slope and curvature at 0")
ax.set_xlabel("distance from the weights, along the direction of the largest curvature")
ax.set_ylabel("loss (nats per character)")
ax.set_title("Curvature tells what happens here")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
near = np.abs(distances) < 0.11
assert np.abs(along - parabola)[near].max() < 2e-3 < 0.1 < np.abs(along - parabola).max()

# %%
# On a parabola with curvature k, a step of length rate times gradient overshoots by more than it gains as soon as the
# rate is above 2/k. A loss is a parabola only nearby, so here are forty steps of plain gradient descent below the
# line, just below it, and far above it:

curves, ends = {}, {}
for factor in (0.5, 1.8, 20.0):
    values, losses = w.numpy().copy(), []
    for _ in range(40):
        here = mr.tensor(values, requires_grad=True)
        loss = loss_of(here)
        losses.append(loss.item())
        values = values - factor / curvature * mr.grad(loss, here).numpy()
    curves[factor], ends[factor] = losses, values
    print(f"rate {factor:>4} / k: loss {losses[0]:.3f} -> {losses[-1]:.3f}, largest on the way {max(losses):.3f}")

picture = loss_curve(range(40), curves[20.0], baselines={"guessing, log 4": np.log(4)})
for factor, color in ((0.5, GREEN), (1.8, RED)):
    picture.ax.plot(curves[factor], color=color, label=f"rate {factor} / k")
picture.artists["train"].set_label("rate 20 / k")
picture.ax.legend(loc="lower left", frameon=False, ncols=3)
picture.ax.set_title("Gradient descent with three rates, k the largest curvature at the start")
mr.viz.show(picture)
assert all((np.diff(curves[factor]) < 0).all() for factor in (0.5, 1.8))
assert max(curves[20.0]) > curves[20.0][0] + 0.2 and curves[20.0][-1] < curves[1.8][-1]

there, _ = largest_curvature(mr.tensor(ends[20.0], requires_grad=True))
print(f"largest curvature where the rate 20 / k ended: {there:.2f}, at the start it was {curvature:.2f}")
assert there < curvature / 3

# %%
# Below the line the loss falls at every step. With a rate ten times above it, the loss first jumps up. But it does not
# go on to rise: the weights are thrown to where the ground is flatter, and there the same rate is of use. Curvature
# tells what happens *here*, not where you will end.
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
        loss = loss_of(w2, x2)
        sensitivity = (mr.grad(loss, x2, create_graph=True) ** 2).sum()
        optimizer.zero_grad()
        (loss + penalty * sensitivity).backward()
        optimizer.step()
    return loss.item(), sensitivity.item()


results = {}
for penalty in (0.0, 30.0):
    results[penalty] = train(penalty)
    print("penalty {:>4}: loss {:.3f}, squared gradient by the input {:.5f}".format(penalty, *results[penalty]))
assert results[30.0][1] < results[0.0][1] / 2 and results[30.0][0] > results[0.0][0]

# %%
# The penalty does what it says, and its price is a larger loss.
#
# Try it
# ------
# Compute ``largest_curvature()`` every ten steps while training with Adam. Does the ground get steeper or flatter?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex30`` (double backward).

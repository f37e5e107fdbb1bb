"""
3. One step, then many
======================

*What is backpropagation through time?*

A recurrent network is one small formula, used again and again: the state after a step is the state before it, mixed
with the next input. The chain rule, applied to such a loop, is called backpropagation through time.
"""

# %%
# One step
# --------
# :math:`h_t = \tanh(x_t W + h_{t-1} R)`. Six steps of it, and a loss that looks only at the last state:

import numpy as np

import minirnn as mr
from minirnn.viz import gradient_flow, gradient_shares, per_step_gradients, tape_graph

T, B, I, H = 6, 4, 3, 5
rng = np.random.default_rng(0)
x = rng.normal(size=(T, B, I))
W = mr.tensor(rng.normal(size=(I, H)) / np.sqrt(I), requires_grad=True)
R = mr.tensor(0.9 * np.linalg.qr(rng.normal(size=(H, H)))[0], requires_grad=True)


def step(t, R, h):
    return mr.ops.tanh(x[t] @ W + h @ R)


h = mr.tensor(np.zeros((B, H)))
states = []
for t in range(T):
    h = step(t, R, h)
    h.retain_grad()
    states.append(h)
loss = (h**2).sum()
picture = tape_graph(loss, names={"R": R, "W": W}, steps=states)
mr.viz.show(picture)

labels = [label.split("\n")[0] for label in picture.data["labels"]]
assert [labels[a] for a, _ in picture.data["edges"]].count("R") == T

# %%
# Unrolled, the loop is a chain like any other; the tape does not know that its parts are copies of one formula. What
# is new is only this: ``R`` is used six times. Its gradient is a sum with one term for each step.

loss.backward()
shares = per_step_gradients(step, R, mr.tensor(np.zeros((B, H))), T, lambda h: (h**2).sum())
print("terms:", shares.shape, "  their sum is R.grad:", np.allclose(shares.sum(axis=0), R.grad.numpy()))
assert np.allclose(shares.sum(axis=0), R.grad.numpy())
bars = gradient_shares(shares, name="R")
mr.viz.show(bars)

lengths = np.linalg.norm(shares, axis=(1, 2))  # (T,)
assert lengths[0] == 0 and lengths[-1] > 2 * lengths[:-1].max()

# %%
# The share of step 0 is zero: the state before it was zero, so ``R`` multiplied nothing. The last step speaks by
# far the loudest: its share is more than twice as long as any other. A reason stands in the next picture: the gradient
# that reaches each state.

norms = np.array([[np.linalg.norm(s.grad) for s in states]])
flow = gradient_flow(norms, layers=["h"], quantity="length of dL/dh_t\nover batch and units")
mr.viz.show(flow)
assert np.allclose(R.numpy() @ R.numpy().T, 0.9**2 * np.eye(H))  # R keeps lengths, times 0.9
assert (np.diff(norms[0]) > 0).all() and 40 < norms[0, -1] / norms[0, 0] < 60
print("norm of the gradient at each state:", norms[0].round(3))

# %%
# Each step back multiplies by the derivative of :math:`\tanh` (at most 1) and by ``R`` (which keeps lengths, times
# 0.9). So the gradient shrinks on its way back: in these five steps to about a fiftieth. What forty steps do to it is
# the subject of the next tutorial.
#
# What a fused op hides
# ---------------------
# ``nn.RNN`` computes the same loop as one node of the tape. Its gradient is the same sum, but its terms cannot be
# looked at any more.

fused = mr.nn.RNN(I, H, bias=False)
fused.load_state_dict({"weight_ih_l0": W.numpy().T.astype(np.float32), "weight_hh_l0": R.numpy().T.astype(np.float32)})
y, _ = fused(mr.tensor(x.astype(np.float32)))
(y[-1] ** 2).sum().backward()
difference = np.abs(fused.weight_hh_l0.grad.numpy().T - R.grad.numpy()).max()
print(f"largest difference between both gradients: {difference:.1e} (float32)")
assert difference < 1e-4

# %%
# Try it
# ------
# Put a loss on *every* step (``loss = sum((s**2).sum() for s in states)``) and predict how the bars change. Then
# replace 0.9 by 1.2.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex05`` (RNN cell) and ``ex06`` (backpropagation through
# time).

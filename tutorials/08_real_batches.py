"""
8. Real batches
===============

*Lengths, two directions, layers, dropout: where do the gradients go?*

Sentences have different lengths, but arrays are rectangles. So a batch is padded, and from then on every op has to know
what not to look at, forward and backward.
"""

# %%
# Padding must not matter
# -----------------------
# The hardest test is the simplest: fill the padding with NaN. One careless multiplication by zero, and the NaN spreads.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import SIZES

T, B, I, H = 9, 4, 3, 8
lengths = np.array([9, 2, 6, 4])
rng = np.random.default_rng(0)
clean = rng.normal(size=(T, B, I))
past = np.arange(T)[:, None] >= lengths  # (T, B)
dirty = clean.copy()
dirty[past] = np.nan

size = mr.ops.cudnn_rnn_params_size(2, H, I, rnn_mode="lstm", direction="bidirectional")
params = 0.4 * rng.normal(size=size)
states = np.zeros((4, B, H))  # 2 layers, 2 directions


def run(x):
    x, p = mr.tensor(x, requires_grad=True), mr.tensor(params, requires_grad=True)
    y = mr.ops.cudnn_rnn_v3(x, states, states, p, lengths, rnn_mode="lstm", direction="bidirectional", is_training=True)
    (y.output**2).sum().backward()
    return y.output.numpy(), x.grad.numpy(), p.grad.numpy()


for name, a, b in zip(("output", "gradient of x", "gradient of all weights"), run(clean), run(dirty), strict=True):
    print(f"{name:<24} equal with NaN in the padding: {np.array_equal(a, b)}")
    assert np.array_equal(a, b)

# %%
# Bit for bit. Past its end a sequence keeps its state, its output is 0, and no gradient arises there:

output, dx, _ = run(clean)
fig = Figure(figsize=(9, 3), layout="constrained")
left, right = fig.subplots(1, 2)
for ax, values, title in ((left, output, "size of the output"), (right, dx, "size of the gradient of x")):
    image = ax.imshow(np.linalg.norm(values, axis=2).T, cmap=SIZES, aspect="auto")
    ax.set_title(title)
    ax.set_xlabel("time step t")
    ax.set_ylabel("sequence of the batch")
    ax.set_yticks(range(B), [f"length {n}" for n in lengths])
    fig.colorbar(image, ax=ax, label="norm")
assert (np.linalg.norm(dx, axis=2)[past] == 0).all()

# %%
# Two directions
# --------------
# The second direction starts at the *end of each sequence*, not at the end of the rectangle. If you reverse a padded
# array by hand with ``x[::-1]``, short sequences begin with padding. Each must be turned around within its own
# length:

forward_params = mr.ops.cudnn_rnn_params_size(1, H, I, rnn_mode="gru")
p = 0.4 * rng.normal(size=forward_params)
one = np.zeros((1, B, H))


def gru(x):
    return mr.ops.cudnn_rnn_v3(x, one, np.zeros(0), p, lengths, rnn_mode="gru", is_training=True).output.numpy()


turned = clean.copy()
for k, n in enumerate(lengths):
    turned[:n, k] = clean[:n, k][::-1]
right_way, careless = gru(turned), gru(clean[::-1].copy())
for k, n in enumerate(lengths):
    same = np.allclose(right_way[0, k], careless[0, k])
    print(f"length {n}: reversing the whole rectangle {'is fine' if same else 'starts in the padding'}")

# %%
# Dropout between layers
# ----------------------
# A dropout mask is drawn from a counter-based generator: the numbers depend on the seed and on *which element* it is,
# on nothing else. So a mask is the same on every device, and the backward pass needs the mask itself to have been
# kept (``reserve_space``), not the state of a generator.


def dropped(device):
    with mr.use_device(device):
        y = mr.ops.cudnn_rnn_v3(
            *(mr.tensor(a, device=device) for a in (clean, states, states, params)), lengths,
            rnn_mode="lstm", direction="bidirectional", dropout=0.4, seed=7, is_training=True,
        )  # fmt: skip
        return y.output.numpy()


devices = [name for name in ("cpu", "cuda-sim") if mr.devices.available()[name] is None]
outputs = [dropped(name) for name in devices]
print("devices tried:", ", ".join(devices), "  largest difference:", max(np.abs(o - outputs[0]).max() for o in outputs))
assert all(np.allclose(o, outputs[0], atol=1e-12) for o in outputs)

# %%
# Try it
# ------
# Put a loss on the last *valid* output of each sequence (``output[lengths - 1, np.arange(B)]``) and look at ``dx``
# again. Which steps of the backward direction does that loss see?
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex12`` (lengths) and ``ex13`` (two directions).

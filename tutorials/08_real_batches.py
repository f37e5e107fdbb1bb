"""
8. Real batches
===============

*What must an op not look at when sequences have different lengths?*

Sentences have different lengths, but arrays are rectangles. So a batch is padded, and from then on every op has to know
what not to look at, forward and backward, in both directions of time.
"""

# %%
# Padding must not matter
# -----------------------
# The hardest test is simple: fill the padding with NaN. One careless multiplication by zero, and the NaN spreads.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import gradient_flow
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
# They are equal bit for bit. Past its end the output of a sequence is 0, and no gradient arises there:

output, dx, _ = run(clean)
fig = Figure(figsize=(9, 3), layout="constrained")
left, right = fig.subplots(1, 2)
for ax, values, title in ((left, output, "output"), (right, dx, "gradient of x")):
    sizes = np.linalg.norm(values, axis=2).T  # (B, T)
    image = ax.imshow(np.ma.masked_equal(sizes, 0), cmap=SIZES, aspect="auto")
    ax.set_title(f"{title}   (white: exactly 0)")
    ax.set_xlabel("time step t")
    ax.set_ylabel("sequence of the batch")
    ax.set_yticks(range(B), [f"length {n}" for n in lengths])
    fig.colorbar(image, ax=ax, label="norm")
mr.viz.show(fig)
assert (dx[past] == 0).all() and (output[past] == 0).all() and (dx[~past] != 0).all()

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
    assert same == (n == T)

# %%
# How much of the gradient of each output reaches each input? In a network of two directions, the output of step 2
# hears of the inputs before it and of those after it, but of nothing past the end:


def reach(t):
    """Norm of the gradient of output t by every input, (T, B); 0 for sequences that have ended before t."""
    leaf = mr.tensor(clean, requires_grad=True)
    y = mr.ops.cudnn_rnn_v3(leaf, states, states, params, lengths, rnn_mode="lstm", direction="bidirectional")
    return np.linalg.norm(mr.grad((y.output[t] ** 2).sum(), leaf).numpy(), axis=2)


heard = reach(2)
picture = gradient_flow(
    heard[:, ::-1].T, layers=[f"length {n}" for n in lengths[::-1]], quantity="norm of the gradient\nover the 3 inputs"
)
picture.ax.set_title("Which inputs does the output of step 2 hear?")
picture.ax.set_xlabel("time step t of the input   (hatched: exactly zero)")
mr.viz.show(picture)
assert (heard[past] == 0).all() and (heard[:, 1] == 0).all() and (heard[:, [0, 2, 3]][~past[:, [0, 2, 3]]] > 0).all()

# %%
# The sequence of length 2 has no step 2, and so nothing of it is heard. All others are heard up to their ends, and not
# one step further.
#
# Try it
# ------
# Put a loss on the last *valid* output of each sequence (``output[lengths - 1, np.arange(B)]``) and look at ``dx``
# again. Which steps of the backward direction does that loss see?
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex13`` (two directions), ``ex32`` (two layers) and ``ex12``
# (lengths).

"""
6. Two GRUs with one name
=========================

*Why do my converted weights fail?*

You load the weights of a GRU trained in one library into another. Shapes fit, names fit, nothing complains; the results
are close, and wrong. There are two GRUs, and both are called GRU.
"""

# %%
# The difference is where the reset gate acts
# -------------------------------------------
# .. math::
#
#    \text{before:}\quad c = \tanh(x W_x + (r \cdot h)\, W_h + b)
#    \qquad
#    \text{after:}\quad c = \tanh(x W_x + b_x + r \cdot (h\, W_h + b_h))
#
# The first is that of the paper (Cho et al. 2014) and of TensorFlow's ``GRUBlockCell``; the second that of cuDNN,
# torch and Keras today. The reason is speed: with the gate *after* the product, all three products with h become one.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, ORANGE

B, I, H = 3, 4, 5
rng = np.random.default_rng(0)
x, h = rng.normal(size=(B, I)), rng.normal(size=(B, H))
w_ru, w_c = rng.normal(size=(I + H, 2 * H)), rng.normal(size=(I + H, H))
b_ru, b_c = rng.normal(size=2 * H), rng.normal(size=H)

before = mr.ops.gru_block_cell(x, h, w_ru, w_c, b_ru, b_c)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def reset_after(h, scale=1.0):
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ (scale * w_ru) + b_ru), 2, axis=1)
    c = np.tanh(scale * (x @ w_c[:I]) + b_c + r * (scale * (h @ w_c[I:])))
    return u * h + (1 - u) * c


difference = np.abs(before.h.numpy() - reset_after(h)).max(axis=1)
print("same weights, largest difference of h for each row:", difference.round(3))
assert (difference > 0.01).all()

# %%
# Close enough to look like a rounding problem, far enough to ruin a model. Over a sequence the two go their own ways:

fig = Figure(figsize=(8, 3), layout="constrained")
ax = fig.add_subplot()
for scale, color in ((0.3, BLUE), (1.0, ORANGE)):
    one, other, apart = h, h, []
    for _ in range(40):
        one = mr.ops.gru_block_cell(x, one, scale * w_ru, scale * w_c, b_ru, b_c).h.numpy()
        other = reset_after(other, scale)
        apart.append(np.abs(one - other).max())
    ax.plot(apart, color=color, label=f"weights times {scale}")
ax.set_xlabel("time step t")
ax.set_ylabel("largest difference of h")
ax.set_title("Two GRUs, the same weights")
ax.legend(frameon=False)

# %%
# When do both agree? If r is the same for all
# units, it can move through the product:

w_flat = w_ru.copy()
w_flat[:, :H] = 0
b_flat = np.concatenate([np.full(H, 0.3), b_ru[H:]])
flat = mr.ops.gru_block_cell(x, h, w_flat, w_c, b_flat, b_c)
w_ru, b_ru = w_flat, b_flat
print("with one r for all units:", np.abs(flat.h.numpy() - reset_after(h)).max().round(15))
assert np.allclose(flat.h.numpy(), reset_after(h))

# %%
# No choice of weights makes the two equal otherwise. So nothing can be *converted* from one to the other, and minirnn
# refuses instead of pretending:

gru = mr.nn.GRU(I, H)
state = mr.nn.GRUBlockCell(H, I).state_dict()
try:
    gru.load_state_dict(state)
except (ValueError, KeyError) as error:
    print(type(error).__name__ + ":", error)

# %%
# The second confusion: who keeps the old state?
# ----------------------------------------------
# ``h = u * h_prev + (1 - u) * c`` here, so u = 1 keeps. Half of the papers write it the other way round. A check that
# takes one line: push the gate to 1 and look what comes out.

keep = np.concatenate([np.zeros(H), np.full(H, 50.0)])
kept = mr.ops.gru_block_cell(x, h, 0 * w_ru, w_c, keep, b_c)
print("u = 1 keeps the old state:", np.array_equal(kept.h.numpy(), h))
assert np.array_equal(kept.h.numpy(), h)

# %%
# Gate orders, halves and transposes
# ----------------------------------
# Three libraries, three orders of the same numbers. ``minirnn.io.find_layout`` tries them all on one input with a known
# output, and says which fits. Here are weights that somebody sent without a word, and what their network computed:

lstm = mr.nn.LSTM(I, H)
given = lstm.state_dict()
sequence = rng.normal(size=(6, 2, I)).astype(np.float32)
output, _ = lstm(mr.tensor(sequence))
print(mr.io.find_layout(list(given.values()), sequence, output.numpy()))

# %%
# Try it
# ------
# Exchange two gates in ``given["weight_ih_l0"]`` and ``given["weight_hh_l0"]`` (rows H:2H and 2H:3H) and in the biases,
# and ask the finder again. ``docs/disagreements`` lists what else libraries do not agree on.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex10`` (GRU, reset before) and ``ex11`` (GRU, reset after).

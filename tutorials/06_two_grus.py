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
# torch and Keras' default. With the gate *after* the product, all three products with h can be computed as one, before
# any gate is known.

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


def reset_after(h, w_ru, w_c, b_ru):
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ w_ru + b_ru), 2, axis=1)
    c = np.tanh(x @ w_c[:I] + b_c + r * (h @ w_c[I:]))
    return u * h + (1 - u) * c


difference = np.abs(before.h.numpy() - reset_after(h, w_ru, w_c, b_ru)).max(axis=1)
print("same weights, largest difference of h for each row:", difference.round(3))
assert (difference > 0.05).all()

# %%
# These are no rounding errors: h lies between -1 and 1 when it starts there. Over a sequence the two go their own
# ways, with small weights as with large ones:

fig = Figure(figsize=(8, 3), layout="constrained")
ax = fig.add_subplot()
for scale, color in ((0.3, BLUE), (1.0, ORANGE)):
    one, other, apart = h, h, []
    for _ in range(40):
        one = mr.ops.gru_block_cell(x, one, scale * w_ru, scale * w_c, b_ru, b_c).h.numpy()
        other = reset_after(other, scale * w_ru, scale * w_c, b_ru)
        apart.append(np.abs(one - other).max())
    ax.plot(apart, color=color, label=f"weights times {scale}")
    assert min(apart) > 0.05
ax.set_xlabel("time step t")
ax.set_ylabel("largest difference of h")
ax.set_title("Two GRUs, the same weights")
ax.legend(frameon=False)
mr.viz.show(fig)

# %%
# When do both agree?
# -------------------
# :math:`(r \cdot h)\, W_h` and :math:`r \cdot (h\, W_h)` are equal when r can move through the product. That is so if
# r is the same number for all units:

w_flat = w_ru.copy()
w_flat[:, :H] = 0
b_flat = np.concatenate([np.full(H, 0.3), b_ru[H:]])
flat = mr.ops.gru_block_cell(x, h, w_flat, w_c, b_flat, b_c).h.numpy()
print("with one r for all units they differ by", np.abs(flat - reset_after(h, w_flat, w_c, b_flat)).max())
assert np.allclose(flat, reset_after(h, w_flat, w_c, b_flat))

# %%
# It is also so if the product does not mix units, that is, if :math:`W_h` is a diagonal matrix, whatever r is:

w_diagonal = np.concatenate([w_c[:I], np.diag(rng.normal(size=H))])
diagonal = mr.ops.gru_block_cell(x, h, w_ru, w_diagonal, b_ru, b_c).h.numpy()
print("with a diagonal W_h they differ by", np.abs(diagonal - reset_after(h, w_ru, w_diagonal, b_ru)).max())
assert np.allclose(diagonal, reset_after(h, w_ru, w_diagonal, b_ru))

# %%
# Both are special cases, and training leads to neither of them by itself. In general no weights of one GRU make the
# other compute the same, so nothing can be *converted* from one to the other, and minirnn refuses instead of
# pretending:

gru = mr.nn.GRU(I, H)
state = mr.nn.GRUBlockCell(H, I).state_dict()
try:
    gru.load_state_dict(state)
except (ValueError, KeyError) as error:
    print(type(error).__name__ + ":", error)
else:
    raise AssertionError("the weights of the other GRU were taken")

# %%
# The second confusion: who keeps the old state?
# ----------------------------------------------
# ``h = u * h_prev + (1 - u) * c`` here, so u = 1 keeps the old state. Other papers write it the other way round, with
# u = 1 for the new one (Chung et al. 2014). A check that takes one line: push the gate to 1 and look what comes out.

keep = np.concatenate([np.zeros(H), np.full(H, 50.0)])
kept = mr.ops.gru_block_cell(x, h, 0 * w_ru, w_c, keep, b_c)
print("u = 1 keeps the old state:", np.array_equal(kept.h.numpy(), h))
assert np.array_equal(kept.h.numpy(), h)

# %%
# Try it
# ------
# Make ``W_h`` nearly diagonal: add a small matrix to ``w_diagonal`` and plot the difference against its size. Which
# other pair of matrices commutes? :doc:`/disagreements` lists what else libraries do not agree on.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex10`` (GRU, reset before) and ``ex11`` (GRU, reset after).

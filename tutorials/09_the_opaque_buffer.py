"""
9. The opaque buffer
====================

*What is inside cuDNN's parameter blob?*

cuDNN takes all weights and biases of a network as one long array, whose layout is "opaque": subject to change, not
to be looked at. People save it, load it into another version, and get noise. Let us look.
"""

# %%
# Two bidirectional LSTM layers of five units, three inputs:

import numpy as np

import minirnn as mr
from minirnn.viz import parameter_buffer

sizes = dict(rnn_mode="lstm", direction="bidirectional")
L, H, I = 2, 5, 3
total = mr.ops.cudnn_rnn_params_size(L, H, I, **sizes)
picture = parameter_buffer(L, H, I, **sizes)

# %%
# Weights first, layer by layer and direction by direction; for each the four matrices that read the input (full),
# then the four that read the state (hatched). All biases come after all weights: two for each gate, although their
# sum is all that an LSTM uses. Layer 1 reads the outputs of both directions, so its input matrices are wider.

names, offsets = picture.data["name"], picture.data["offset"]
print(f"{total} numbers in {len(names)} blocks; the first three:")
for name, offset in list(zip(names, offsets, strict=True))[:3]:
    print(f"  {offset:>5}  {name}")

# %%
# Canonical form
# --------------
# The way out of the blob: one array for each block. ``params_to_canonical`` cuts it up, ``canonical_to_params`` puts it
# together again.

rng = np.random.default_rng(0)
params = rng.normal(size=total).astype(np.float32)
settings = dict(sizes, num_params=2 * 4 * L * 2)
weights, biases = mr.ops.cudnn_rnn_params_to_canonical(L, H, I, params, **settings)
print("weights:", [w.shape for w in weights[:10]], "...")
back = mr.ops.cudnn_rnn_canonical_to_params(L, H, I, weights, biases, **sizes)
print("round trip is exact:", np.array_equal(back.numpy(), params))
assert np.array_equal(back.numpy(), params)

# %%
# Both are ops with gradients: cut the buffer, regularize one gate alone, and the gradient lands in the right place of
# the buffer.

p = mr.tensor(params, requires_grad=True)
weights, _ = mr.ops.cudnn_rnn_params_to_canonical(L, H, I, p, **settings)
(weights[1] ** 2).sum().backward()  # layer 0, forward: the input matrix of gate f
touched = np.flatnonzero(p.grad.numpy())
print(f"gradient at {touched.min()} .. {touched.max()}, block 1 starts at {offsets[1]}")
assert touched.min() == offsets[1]

# %%
# The gate-order puzzle
# ---------------------
# cuDNN's order is i, f, n, o. TensorFlow's cells use i, n, f, o, torch the same as cuDNN, ONNX i, o, f, n. Take two
# of them for each other, and the network computes *something*. It even trains, if you go on training, since every
# gate is a sigmoid or a tanh of a sum; it is only not the network you saved.

x = rng.normal(size=(6, 2, I)).astype(np.float32)
zero = np.zeros((1, 2, H), np.float32)
n = mr.ops.cudnn_rnn_params_size(1, H, I, rnn_mode="lstm")
weights, biases = mr.ops.cudnn_rnn_params_to_canonical(1, H, I, params[:n], rnn_mode="lstm", num_params=8)
swap = [0, 2, 1, 3, 4, 6, 5, 7]  # f and n exchanged, in W and in R
wrong = mr.ops.cudnn_rnn_canonical_to_params(
    1, H, I, [weights[k] for k in swap], [biases[k] for k in swap], rnn_mode="lstm"
)
right = mr.ops.cudnn_rnn(x, zero, zero, params[:n], rnn_mode="lstm").output.numpy()
exchanged = mr.ops.cudnn_rnn(x, zero, zero, wrong, rnn_mode="lstm").output.numpy()
print(f"correlation of both outputs: {np.corrcoef(right.ravel(), exchanged.ravel())[0, 1]:.2f}")

# %%
# ``minirnn convert`` knows these orders and writes weights for torch, Keras, TensorFlow's cells, cuDNN and ONNX.
#
# Try it
# ------
# Draw ``parameter_buffer(1, 5, 5, rnn_mode="gru", input_mode="skip_input")``. Where did the input matrices go?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex14`` (gate orders).

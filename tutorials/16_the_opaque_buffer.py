r"""
16. The opaque buffer
=====================

*What is inside cuDNN's parameter blob?*

cuDNN takes all weights and biases of a network as one long array. Its documentation calls the layout "opaque". Let us
look inside.

| **You need** chapters 5 and 15.
| **You will be able to** find the weights of a gate in cuDNN's buffer, and take the buffer apart and put it together
  again.
| **Time**: 6 minutes.
"""

# %%
# Here is the buffer of two bidirectional LSTM layers with five units and three inputs:

import numpy as np

import minirnn as mr
from minirnn.viz import parameter_buffer

sizes = dict(rnn_mode="lstm", direction="bidirectional")
L, H, I = 2, 5, 3
total = mr.ops.cudnn_rnn_params_size(L, H, I, **sizes)
picture = parameter_buffer(L, H, I, **sizes)
mr.viz.show(picture)

# %%
# The weights come first, ordered by layer and then by direction. Each direction has four matrices that read the input
# (solid), then four that read the state (hatched). All biases come after all weights. There are two for each gate,
# although an LSTM uses only their sum. Layer 1 reads the outputs of both directions, so its input matrices are wider.

names, offsets = picture.data["name"], picture.data["offset"]
print(f"{total} numbers in {len(names)} blocks; the first three:")
for name, offset in list(zip(names, offsets, strict=True))[:3]:
    print(f"  {offset:>5}  {name}")

# %%
# How many numbers are there? Let G be the number of gates (4 for an LSTM, 3 for a GRU, 1 for a plain network), D the
# number of directions, and :math:`n_l` the number of inputs of layer l. For each direction and gate there is a matrix
# for the input, one for the state, and two biases:
#
# .. math::
#    :label: buffer-size
#
#    \begin{aligned}
#    n_1 &= I \\
#    n_l &= D H \qquad l = 2, \dots, L \\
#    N &= \sum_{l=1}^{L} D G (n_l H + H H + 2 H)
#    \end{aligned}
#
# The biases are the last :math:`2 D G H L` numbers.
#
# Canonical form
# --------------
# The canonical form has one array for each block. ``params_to_canonical`` splits the buffer, and
# ``canonical_to_params`` puts it together again.

rng = np.random.default_rng(0)
params = rng.normal(size=total).astype(np.float32)
settings = dict(sizes, num_params=2 * 4 * L * 2)
weights, biases = mr.ops.cudnn_rnn_params_to_canonical(L, H, I, params, **settings)
print("a matrix of layer 0:", weights[0].shape, "and of layer 1, which reads both directions:", weights[16].shape)
back = mr.ops.cudnn_rnn_canonical_to_params(L, H, I, weights, biases, **sizes)
print("round trip is exact:", np.array_equal(back.numpy(), params))

# %%
# Both are ops with gradients. If you split the buffer and regularize a single gate, the gradient arrives at the right
# place in the buffer.

p = mr.tensor(params, requires_grad=True)
weights, _ = mr.ops.cudnn_rnn_params_to_canonical(L, H, I, p, **settings)
(weights[1] ** 2).sum().backward()  # layer 0, forward: the input matrix of gate f
touched = np.flatnonzero(p.grad.numpy())
print(f"gradient at {touched.min()} .. {touched.max()}, block 1 starts at {offsets[1]}")

# %%
# Further reading
# ---------------
# Appleyard, Kocisky and Blunsom (2016) explain why cuDNN stores the matrices of all gates next to each other. Sak,
# Senior and Beaufays (2014) introduce the projection, whose matrix is also in the buffer.
#
# Try it
# ------
# Draw ``parameter_buffer(1, 5, 5, rnn_mode="gru", input_mode="skip_input")``. Where did the input matrices go? What
# is the gradient of ``(biases[1] ** 2).sum()`` with respect to the buffer? (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex33`` (cuDNN's buffer).
#
# Next: :doc:`17_your_own_cell`.

r"""
9. Real batches
===============

*What must an op ignore when sequences have different lengths?*

Sentences have different lengths, but arrays are rectangles. Shorter sequences are *padded*, and every op has to
ignore the padding, forward and backward.

| **You need** chapters 3 and 5.
| **You will be able to** write the forward and backward pass of a recurrent layer with lengths, say which gradients
  arrive at the first and the last state in each direction, and test that padding has no effect.
| **Time**: 15 minutes.
"""

# %%
# A step that does nothing
# ------------------------
# For one sequence of the batch with n steps, let the *mask* :math:`m_t` be 1 for :math:`t \le n` and 0 for later steps.
# A padded step keeps the old state, and its output is 0. Let :math:`\hat h_t` be the state that an ordinary step would
# compute. Then
#
# .. math::
#    :label: padded-step
#
#    \begin{aligned}
#    \hat h_t &= \tanh(x_t W + h_{t-1} R + b) \\
#    h_t &= m_t \hat h_t + (1 - m_t) h_{t-1} \\
#    y_t &= m_t h_t
#    \end{aligned}
#
# The last state of the array is therefore the last *valid* state of each sequence, which is the one that a loss needs:
#
# .. math::
#    :label: padded-last
#
#    h_T = h_n
#
# For the backward pass, each line is a sum or a product with a constant:
#
# .. math::
#    :label: padded-back
#
#    \begin{aligned}
#    \delta h_t &= m_t \delta y_t + \delta h_t^{\leftarrow} \\
#    \delta z_t &= m_t \delta h_t \odot (1 - \hat h_t \odot \hat h_t) \\
#    \delta h_{t-1}^{\leftarrow} &= \delta z_t R^{\top} + (1 - m_t) \delta h_t
#    \end{aligned}
#
# A padded step is the identity, both forward and backward. The gradient that arrives at the last state passes through
# it unchanged. :math:`\delta z_t` is zero at a padded step, which therefore adds nothing to the gradients of x and of
# the weights:
#
# .. math::
#    :label: padded-weights
#
#    \delta R = \sum_{t=1}^{n} h_{t-1}^{\top} \delta z_t
#
# Padding must not matter
# -----------------------
# These formulas have a trap in code. A product with a mask is wrong where the padding is NaN or infinite, because
# :math:`0 \cdot \text{NaN}` is NaN. Instead of multiplying, an op has to *select* (``where``) or not read the padding
# at all. The hardest test is therefore simple: fill the padding with NaN. Here is that test for a fused LSTM with two
# layers and two directions:

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import gradient_flow
from minirnn.viz.colors import BLUE, ORANGE, SIZES

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


output, dx, _ = of_clean = run(clean)
of_dirty = run(dirty)
for name, a, b in zip(("output", "gradient of x", "gradient of all weights"), of_clean, of_dirty, strict=True):
    print(f"{name:<24} equal with NaN in the padding: {np.array_equal(a, b)}")

# %%
# The results are equal bit for bit. Past the end of a sequence the output is 0, and no gradient reaches the input:

fig = Figure(figsize=(9, 3), layout="constrained")
for ax, values, title in zip(fig.subplots(1, 2), (output, dx), ("output", "gradient of x"), strict=True):
    sizes = np.linalg.norm(values, axis=2).T  # (B, T)
    image = ax.imshow(np.ma.masked_equal(sizes, 0), cmap=SIZES, aspect="auto", extent=(0.5, T + 0.5, B - 0.5, -0.5))
    ax.set_title(f"{title}   (white: exactly 0)")
    ax.set_xlabel("time step t")
    ax.set_ylabel("sequence of the batch")
    ax.set_yticks(range(B), [f"length {n}" for n in lengths])
    fig.colorbar(image, ax=ax, label="norm")
mr.viz.show(fig)

# %%
# Two directions
# --------------
# The second direction reads the sequence from its end. Let :math:`a_t` be the state of the forward direction and
# :math:`b_t` that of the backward direction, each with its own weights. The output joins both in one row:
#
# .. math::
#    :label: two-directions
#
#    \begin{aligned}
#    a_t &= \tanh(x_t W_a + a_{t-1} R_a) \\
#    b_t &= \tanh(x_t W_b + b_{t+1} R_b) \\
#    y_t &= [a_t \mid b_t]
#    \end{aligned}
#
# The backward direction starts at the end of *each sequence* with its initial state :math:`b_{n+1}`. Its gradient runs
# forward in time. Let :math:`\delta y_{a,t}` and :math:`\delta y_{b,t}` be the two halves of the arriving gradient.
# Then
#
# .. math::
#    :label: two-directions-back
#
#    \begin{aligned}
#    \delta a_t &= \delta y_{a,t} + \left( \delta a_{t+1} \odot (1 - a_{t+1} \odot a_{t+1}) \right) R_a^{\top} \\
#    \delta b_t &= \delta y_{b,t} + \left( \delta b_{t-1} \odot (1 - b_{t-1} \odot b_{t-1}) \right) R_b^{\top}
#    \end{aligned}
#
# At the last step of each direction one term is missing, because no step follows:
#
# .. math::
#    :label: two-directions-ends
#
#    \begin{aligned}
#    \delta a_n &= \delta y_{a,n} \\
#    \delta b_1 &= \delta y_{b,1}
#    \end{aligned}
#
# At step n the forward direction has read the whole sequence, and a gradient arrives only from the loss of this step.
# The backward direction has read only one input there, and gradients arrive from the losses of all steps. At step 1
# it is the other way around. A classifier should therefore take :math:`a_n` and :math:`b_1`, not ``output[-1]``.

x, p = mr.tensor(clean[:, :1], requires_grad=True), 0.4 * rng.normal(size=(2, I, H))
matrices = [np.linalg.qr(rng.normal(size=(H, H)))[0] for _ in range(2)]
arriving = {}
for name, W, R, order in (
    ("forward a", p[0], matrices[0], range(T)),
    ("backward b", p[1], matrices[1], range(T)[::-1]),
):
    h, of_steps = mr.tensor(np.zeros((1, H))), {}
    for t in order:
        h = of_steps[t] = mr.tanh(x[t] @ W + h @ R)
    last = mr.grad((of_steps[order[-1]] ** 2).sum(), list(of_steps.values()))
    arriving[name] = np.array([np.linalg.norm(g) for _, g in sorted(zip(of_steps, last, strict=True))])
ax = Figure(figsize=(8, 2.8), layout="constrained").add_subplot()
for (name, sizes), color in zip(arriving.items(), (BLUE, ORANGE), strict=True):
    ax.semilogy(np.arange(1, T + 1), sizes, color=color, marker="o", label=f"{name}: a loss at its own last state")
ax.set(xlabel="time step t", ylabel="norm of the gradient", title="The gradient runs against each direction")
ax.legend(frameon=False, fontsize="small")
mr.viz.show(ax.figure)

# %%
# If you reverse a padded array with ``x[::-1]``, short sequences begin with padding. Each sequence has to be reversed
# within its own length:

p = 0.4 * rng.normal(size=mr.ops.cudnn_rnn_params_size(1, H, I, rnn_mode="gru"))
one = np.zeros((1, B, H))


def gru(x):
    return mr.ops.cudnn_rnn_v3(x, one, np.zeros(0), p, lengths, rnn_mode="gru", is_training=True).output.numpy()


turned = clean.copy()
for k, n in enumerate(lengths):
    turned[:n, k] = clean[:n, k][::-1]
right_way, careless = gru(turned), gru(clean[::-1].copy())
same = [np.allclose(right_way[0, k], careless[0, k]) for k in range(B)]
for n, fine in zip(lengths, same, strict=True):
    print(f"length {n}: reversing the whole rectangle {'is fine' if fine else 'starts in the padding'}")

# %%
# How strongly does one output depend on each input? In a network with two directions, the output of step 3 depends on
# the inputs before and after it, but on nothing past the end:


def reach(t):
    """Norm of the gradient of output t with respect to every input, (T, B)."""
    leaf = mr.tensor(clean, requires_grad=True)
    y = mr.ops.cudnn_rnn_v3(leaf, states, states, params, lengths, rnn_mode="lstm", direction="bidirectional")
    return np.linalg.norm(mr.grad((y.output[t] ** 2).sum(), leaf).numpy(), axis=2)


reached = reach(2)  # step 3
picture = gradient_flow(
    reached[:, ::-1].T,
    layers=[f"length {n}" for n in lengths[::-1]],
    quantity="norm of the gradient\nover the 3 inputs",
    first=1,
)
picture.ax.set_title("Which inputs does the output of step 3 depend on?")
picture.ax.set_xlabel("time step t of the input   (hatched: exactly zero)")
mr.viz.show(picture)

# %%
# The sequence of length 2 has no step 3, so all its gradients are zero.
#
# Summary
# -------
# - A padded step copies the state forward and the gradient backward, :eq:`padded-step` and :eq:`padded-back`.
# - Select, do not multiply: a mask of 0 does not stop a NaN.
# - The backward direction begins at the end of each sequence. Its gradient runs forward in time.
#
# Further reading
# ---------------
# Schuster and Paliwal (1997) introduce the second direction. Graves and Schmidhuber (2005) use it with the LSTM.
#
# Try it
# ------
# Put a loss on the last *valid* output of each sequence (``output[lengths - 1, np.arange(B)]``) and look at ``dx``
# again. On which steps of the backward direction does that loss depend? (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex13`` (two directions), ``ex32`` (two layers) and ``ex12``
# (lengths).
#
# Next: :doc:`10_from_beginning_to_end`.

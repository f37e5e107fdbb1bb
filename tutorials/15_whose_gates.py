r"""
15. Whose gates are these?
==========================

*Which of these numbers is the forget gate?*

An LSTM's weights are four matrices for the input, four for the state, and some biases. Every library stacks them in its
own order. If you take one order for another, nothing complains, because all shapes fit.

| **You need** chapter 5.
| **You will be able to** list the orders of gates that libraries use, and find the order of unknown weights from one
  known output.
| **Time**: 8 minutes.
"""

# %%
# Four gates, many orders
# -----------------------
# cuDNN and torch stack the gates as i, f, n, o, where n is the candidate; TensorFlow's cells as i, n, f, o; ONNX as i,
# o, f, n. Here is an LSTM that computes with the right order, and with every other order of its four gates:

import itertools

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GREEN, ORANGE

T, B, I, H = 6, 2, 4, 5
rng = np.random.default_rng(0)
mr.manual_seed(0)
lstm = mr.nn.LSTM(I, H)
given = lstm.state_dict()
x = rng.normal(size=(T, B, I)).astype(np.float32)


def reordered(order, state=given):
    """The same numbers, with the gates taken in another order: (3, 1, 2, 0) exchanges the first and the last."""
    return {name: np.concatenate([np.split(array, 4)[k] for k in order]) for name, array in state.items()}


def outputs(state):
    other = mr.nn.LSTM(I, H)
    other.load_state_dict(state)
    return other(mr.tensor(x))[0].numpy()


right = outputs(given)
orders = list(itertools.permutations(range(4)))
apart = np.array([np.abs(outputs(reordered(order)) - right).max() for order in orders])
agree = np.array([np.corrcoef(outputs(reordered(order)).ravel(), right.ravel())[0, 1] for order in orders])

letters = ["".join("ifno"[k] for k in order) for order in orders]
known = {"ifno": BLUE, "info": ORANGE, "iofn": GREEN}
fig = Figure(figsize=(8.4, 3.4), layout="constrained")
ax = fig.add_subplot()
ax.bar(letters, agree, color=[known.get(name, "0.8") for name in letters])
ax.set_title("One LSTM, its gates taken in all 24 orders: how well do the outputs agree?")
ax.set_ylabel("correlation with the\noutputs of the right order")
ax.set_xlabel("blue: cuDNN, torch    orange: TensorFlow's cells    green: ONNX")
ax.tick_params(axis="x", rotation=90)
ax.axhline(0, color="0.3", linewidth=0.8)
mr.viz.show(fig)

print("orders that give the same outputs:", [name for name, a in zip(letters, apart, strict=True) if a < 1e-6])
wrong = agree[1:]
print(f"correlations of the other 23: {wrong.min():.2f} to {wrong.max():.2f}")
assert (apart[1:] > 1e-3).all() and apart[0] == 0 and wrong.max() > 0.8

# %%
# Only the right order gives the right numbers. But some wrong orders give outputs that look much like them, so that a
# glance at a plot, or at a loss, may not tell. All gates are sigmoids or a tanh of a sum: every order computes
# *something*.
#
# A test that tells
# -----------------
# What does tell is one input with a known output. ``minirnn.io.find_layout`` tries all readings of some arrays (gate
# orders, transposes, the two kinds of GRU, the order of axes) and says which of them gives this output:

finding = mr.io.find_layout(list(given.values()), x, right)
print(finding)
assert "gates i, f, n, o" in str(finding)

# %%
# Now somebody has sent the arrays in another order, and without a word:

sent = list(reordered(orders[letters.index("iofn")]).values())
found = mr.io.find_layout(sent, x, right)
print(found)
assert "gates i, o, f, n" in str(found)

# %%
# The answer is only as good as the known output. Take the output of the network that somebody *believes* to be right,
# and no reading fits, or a wrong one does:

nothing = mr.io.find_layout(list(given.values()), x, right + 0.1)
print(nothing)
assert finding.status == found.status == "found" and nothing.status != "found"

# %%
# What no output can tell
# -----------------------
# The order of the *gates* can be found, because each gate has its own place in the formulas. The order of the *units*
# cannot, if the layer after it has been reordered as well. Let P be a permutation matrix: it has one 1 in each row and
# each column, and :math:`P P^\top` is the identity. Take the columns of every gate g in another order, and with them
# the rows of :math:`R_g` and of the next layer's matrix V:
#
# .. math::
#    :label: permuted-weights
#
#    \begin{aligned}
#    \hat W_g &= W_g P \\
#    \hat R_g &= P^\top R_g P \\
#    \hat b_g &= b_g P \\
#    \hat V &= P^\top V
#    \end{aligned}
#
# All states are then permuted, and the output of the next layer is the same, number for number:
#
# .. math::
#    :label: permuted-states
#
#    \begin{aligned}
#    \hat h_t &= h_t P \\
#    \hat h_t \hat V &= h_t V
#    \end{aligned}
#
# So a network of H units has H! sets of weights that compute the same function. Two networks that were trained from
# different seeds cannot be compared unit by unit.
#
# In ``minirnn convert`` the same knowledge is a command, which writes weights for torch, Keras, TensorFlow's cells,
# cuDNN and ONNX.
#
# Further reading
# ---------------
# Hochreiter and Schmidhuber (1997) have an input gate and an output gate, and Gers, Schmidhuber and Cummins (2000)
# add the forget gate. No paper fixes an order: each library chose its own. Greff et al. (2017) write all variants of
# the cell in one notation.
#
# Try it
# ------
# Exchange the *input* matrices of two gates only (``weight_ih_l0``), and ask the finder again. Why can it not find
# this?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex14`` (gate orders).
#
# Next: :doc:`16_the_opaque_buffer`.

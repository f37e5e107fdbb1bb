r"""
15. Whose gates are these?
==========================

*Which of these numbers is the forget gate?*

Every library stacks the matrices of an LSTM's gates in its own order. If you confuse two orders, you get no error,
because all shapes match.

| **You need** chapter 5.
| **You will be able to** list the orders of gates that libraries use, and find the order of unknown weights from one
  known output.
| **Time**: 8 minutes.
"""

# %%
# Four gates, many orders
# -----------------------
# cuDNN and torch stack the gates as i, f, n, o, where n is the candidate. TensorFlow's cells use i, n, f, o, and ONNX
# uses i, o, f, n. We run an LSTM with the right order, and with every other order of its four gates:

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
print("orders that give the same outputs:", [name for name, a in zip(letters, apart, strict=True) if a < 1e-6])
wrong = agree[1:]
print(f"correlations of the other 23: {wrong.min():.2f} to {wrong.max():.2f}")

# %%
# How similar are the outputs? Each bar is one order, and its height is the correlation with the outputs of the right
# order:

known = {"ifno": (BLUE, "cuDNN, torch"), "info": (ORANGE, "TensorFlow's cells"), "iofn": (GREEN, "ONNX")}
ax = Figure(figsize=(8.4, 3.4), layout="constrained").add_subplot()
bars = ax.bar(letters, agree, color=[known.get(name, ("0.7", ""))[0] for name in letters])
ax.set_title("Outputs of one LSTM with its gates in all 24 orders")
ax.set_ylabel("correlation with the\nright order")
ax.tick_params(axis="x", rotation=90)
ax.axhline(0, color="0.3", linewidth=0.8)
ax.legend([bars[letters.index(name)] for name in known], [label for _, label in known.values()], frameon=False)
mr.viz.show(ax.figure)

# %%
# Some wrong orders give very similar outputs, so you may not notice the mistake in a plot or in the loss.
#
# A test that tells
# -----------------
# One input with a known output is enough to find the order. ``minirnn.io.find_layout`` tries all ways to read the
# arrays (gate orders, transposes, the two kinds of GRU, the order of axes) and reports which of them gives this output:

finding = mr.io.find_layout(list(given.values()), x, right)
print(finding)

# %%
# Now suppose that somebody sends the arrays in another order without saying so:

sent = list(reordered(orders[letters.index("iofn")]).values())
found = mr.io.find_layout(sent, x, right)
print(found)

# %%
# The answer is only as good as the known output. If that output is wrong, either no reading fits or a wrong one does:

nothing = mr.io.find_layout(list(given.values()), x, right + 0.1)
print(nothing)

# %%
# What no output can tell
# -----------------------
# You can find the order of the *gates*, because each gate has its own place in the formulas. You cannot find the order
# of the *units* if the next layer has been reordered to match. Let P be a permutation matrix. It has one 1 in each row
# and each column, and :math:`P P^\top` is the identity. Permute the columns of every gate g, and in the same way the
# rows of :math:`R_g` and of the next layer's matrix V:
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
# This permutes all states, and every value in the output of the next layer stays the same:
#
# .. math::
#    :label: permuted-states
#
#    \begin{aligned}
#    \hat h_t &= h_t P \\
#    \hat h_t \hat V &= h_t V
#    \end{aligned}
#
# So a network of H units has at least H! sets of weights that compute the same function (signs of units can also be
# exchanged). You cannot compare two networks unit by unit if they were trained from different seeds.
#
# ``minirnn convert`` uses the same layouts.
#
# Further reading
# ---------------
# No paper fixes an order, so each library chose its own. Greff et al. (2017) write all variants of the cell in one
# notation.
#
# Try it
# ------
# Exchange only the *input* matrices of two gates (``weight_ih_l0``), and call ``find_layout`` again. Why can it not
# find this order? (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex14`` (gate orders).
#
# Next: :doc:`16_the_opaque_buffer`.

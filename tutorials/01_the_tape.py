r"""
1. The tape
===========

*What does backward() actually do, and why does .grad add up?*

A gradient is a statement about small changes: if ``w`` grows by a little, by how many times that little does the loss
grow? For one multiplication everyone knows the answer. The tape's whole job is to remember which multiplications there
were.

| **You need** the chain rule and some Python.
| **You will be able to** follow ``backward()`` node by node, write the rule of a node as a vector-Jacobian product, and
  say why gradients add up.
| **Time**: 10 minutes.
"""

# %%
# A neuron
# --------
# Here is a neuron with one input and a loss that uses its output several times:
#
# .. math::
#    :label: tape-neuron
#
#    \begin{aligned}
#    z &= x w + b \\
#    h &= \tanh(z) \\
#    L &= h \odot h + h
#    \end{aligned}
#
# Everything computed from a Tensor that requires a gradient is recorded.

import numpy as np

import minirnn as mr
from minirnn.viz import TapePlayer, tape_graph, tape_player

x = mr.tensor([2.0], requires_grad=True)
w = mr.tensor([-3.0], requires_grad=True)
b = mr.tensor([6.9], requires_grad=True)

h = mr.ops.tanh(x * w + b)
loss = (h * h + h).sum()

names = {"x": x, "w": w, "b": b, "h": h, "loss": loss}
picture = tape_graph(loss, names=names)
mr.viz.show(picture)

# %%
# Read the picture from left to right and you have the program; read it from right to left and you have the derivative.
# ``h`` has three arrows leaving it: it is used three times, twice in ``h * h`` and once in the sum.
#
# The rule of a node
# ------------------
# This book writes :math:`\delta v` for the derivative of L with respect to :math:`v`. A node gets :math:`\delta u` for
# its result u and sends a share to each of its arguments. If the argument is a row, the derivatives of u form a matrix,
# the *Jacobian*, and the share is a row times this matrix, a *vector-Jacobian product*. An argument that is used n
# times gets n shares, and they add up:
#
# .. math::
#    :label: sum-over-uses
#
#    \delta v = \sum_{k=1}^{n} \delta u_k \frac{\partial u_k}{\partial v}
#
# No node builds the matrix. For tanh it is diagonal, so the product is elementwise. For a matrix product
# :math:`y = a M` the matrix is the transpose of M, which is already there:
#
# .. math::
#    :label: tape-rules
#
#    \begin{aligned}
#    \delta z &= \delta h \odot (1 - h \odot h) \\
#    \delta a &= \delta y M^{\top} \\
#    \delta M &= a^{\top} \delta y
#    \end{aligned}
#
# With these rules the neuron's gradients are
#
# .. math::
#    :label: tape-neuron-back
#
#    \begin{aligned}
#    \delta h &= 2 h + 1 \\
#    \delta w &= x \delta z \\
#    \delta x &= w \delta z \\
#    \delta b &= \delta z
#    \end{aligned}
#
# Walking back, one node at a time
# --------------------------------
# ``tape_player`` goes back the way ``backward()`` does. A value waits until all its uses have sent their share; what
# *arrives* is their sum.

frames = tape_player(loss, names)
for frame in frames:
    print(frame)

# %%
# A ``TapePlayer`` draws each of these frames. On the site and in a notebook it has buttons:

TapePlayer(loss, names)

# %%
# In the third frame the product has its turn, and ``h`` has got all three shares:

mr.viz.show(TapePlayer(loss, names).draw(2))

# %%
# Look at ``h``: the two uses in ``h * h`` send ``h`` each, the sum sends 1, and :math:`2h + 1` arrives. That is the
# derivative of :math:`h^2 + h`. No node knows this formula. Each one knows only its own rule.

shares_of_h = [share for frame in frames for name, share in frame.sends if name == "h"]
print("sent to h:", np.concatenate(shares_of_h).round(4), " sum:", sum(shares_of_h).round(4))

# %%
# ``backward()`` does all of this at once and leaves the result in ``.grad`` of the leaves. A nudge of ``w`` agrees:

loss.backward()
nudge = 1e-3


def loss_at(w: float) -> float:
    h = np.tanh(2.0 * w + 6.9)
    return h * h + h


slope = (loss_at(-3.0 + nudge) - loss_at(-3.0 - nudge)) / (2 * nudge)
print(f"w.grad {w.grad.item():.4f}, nudging w {slope:.4f}")

# %%
# Why ``.grad`` adds up
# ---------------------
# Call ``backward()`` on a second loss, and the gradient does not replace the first one:

first = w.grad.item()
again = mr.ops.tanh(x * w + b).sum()
again.backward()
print(f"after the first loss {first:.4f}, after the second {w.grad.item():.4f}")

# %%
# This is the same rule as for ``h``: a value used in two places gets the sum of what both send. Two losses are two
# uses. A recurrent network uses its weights once in *every time step*, and the gradient of these weights is a sum over
# all steps (chapter 3). (Between training steps you want to start at zero: ``optimizer.zero_grad()``, or ``w.grad =
# None``.)
#
# Summary
# -------
# - The tape records every node. ``backward()`` visits them in the reverse order.
# - Each node computes a vector-Jacobian product with its own local rule.
# - A value that is used several times gets the sum of what its uses send, :eq:`sum-over-uses`.
#
# Further reading
# ---------------
# Griewank and Walther (2008), *Evaluating Derivatives*, is the standard book on differentiation by programs. Baydin,
# Pearlmutter, Radul and Siskind (2018), *Automatic differentiation in machine learning: a survey*, is a shorter start.
#
# Try it
# ------
# Change ``h * h`` to ``h * h * h`` and predict what arrives at ``h`` before you run the player. Then read
# ``minirnn/engine/tape.py`` and ``minirnn/engine/backward.py``: the engine that you just watched.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex01`` (product and sum), ``ex02`` (the tape, backwards) and
# ``ex22`` (broadcasting, backwards).
#
# Next: :doc:`02_trust_but_difference`.

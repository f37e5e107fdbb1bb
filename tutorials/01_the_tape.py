r"""
1. The tape
===========

*What does backward() actually do, and why does .grad add up?*

A gradient describes small changes. If ``w`` grows by a small amount, the loss grows by that amount times the gradient.
For a single multiplication the gradient is easy to write down. The *tape* records every operation of a program, and
``backward()`` combines their gradients by the chain rule.

| **You need** the chain rule and some Python.
| **You will be able to** follow ``backward()`` node by node, write the rule of a node as a vector-Jacobian product, and
  say why gradients add up.
| **Time**: 12 minutes.
"""

# %%
# A neuron
# --------
# Here is a neuron with one input and a loss that uses its output several times. The sign :math:`\odot` multiplies
# element by element.
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
# The tape records every operation on a Tensor that requires a gradient. Each record is a *node*.

import numpy as np

import minirnn as mr
from minirnn.viz import TapePlayer, tape_graph

x = mr.tensor([2.0], requires_grad=True)
w = mr.tensor([-3.0], requires_grad=True)
b = mr.tensor([6.9], requires_grad=True)

h = mr.ops.tanh(x * w + b)
loss = (h * h + h).sum()

names = {"x": x, "w": w, "b": b, "h": h, "loss": loss}
picture = tape_graph(loss, names=names)
mr.viz.show(picture)

# %%
# From left to right, the figure is the program, and from right to left the computation of the derivative. Three
# arrows leave ``h``, because it is used three times: twice in ``h * h`` and once in the sum.
#
# The rule of a node
# ------------------
# This book writes :math:`\delta v` for the derivative of L with respect to :math:`v`. A node receives :math:`\delta u`
# for its result u and sends a *share* of the gradient to each of its arguments. If u and the argument are rows, the
# derivatives of u with respect to the argument form a matrix, the *Jacobian*. The share is the row :math:`\delta u`
# times this matrix, a *vector-Jacobian product*. An argument that is used n times receives n shares, and they add up:
#
# .. math::
#    :label: sum-over-uses
#
#    \delta v = \sum_{k=1}^{n} \delta u_k \frac{\partial u_k}{\partial v}
#
# No node builds the Jacobian. For tanh it is diagonal, so the product is elementwise. For a matrix product
# :math:`y = a M` the Jacobian with respect to a is the transpose of M, and M is already in memory:
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
# Why rows
# --------
# Why does a tape send rows back, and not multiply Jacobians on the way forward? Consider n nodes in a chain, each
# with H numbers in and out. The gradient of the chain's input is a row times n Jacobians. From the left, as a tape
# does it, each product is a row times a matrix, with :math:`H^2` multiplications. From the right, all but one are
# products of two matrices, with :math:`H^3` multiplications. In total this takes
#
# .. math::
#    :label: cost-of-order
#
#    \begin{aligned}
#    p_n &= n H^{2} \qquad \text{from the left} \\
#    q_n &= (n - 1) H^{3} + H^{2} \qquad \text{from the right}
#    \end{aligned}
#
# For 100 units and a long chain the second order costs nearly a hundred times as much. The first is possible because
# a loss is a single number.
#
# Walking back, one node at a time
# --------------------------------
# A node can send its shares only after all uses of its result have sent theirs. The tape ensures this without
# recursion. It stores the nodes in the order in which they were created, and a value exists before it is used. In
# reverse order each node therefore comes after all its uses. ``backward()`` is a loop over this list, so a sequence of
# a million steps does not overflow the stack. ``TapePlayer`` visits the nodes in the same order. The gradient that
# *arrives* at a value is the sum of the shares.

frames = TapePlayer(loss, names).frames
for frame in frames:
    print(frame)

# %%
# A ``TapePlayer`` draws each of these frames. On the site and in a notebook it has buttons:

TapePlayer(loss, names)

# %%
# In the third frame the product ``h * h`` has sent its shares, and ``h`` has received all three:

mr.viz.show(TapePlayer(loss, names).draw(2))

# %%
# Each of the two uses in ``h * h`` sends ``h``, and the sum sends 1. At ``h`` the gradient :math:`2h + 1` arrives,
# which is the derivative of :math:`h^2 + h`.

shares_of_h = [share for frame in frames for name, share in frame.sends if name == "h"]
print("sent to h:", np.concatenate(shares_of_h).round(4), " sum:", sum(shares_of_h).round(4))

# %%
# ``backward()`` does all of this in one call. It stores the gradients in ``.grad`` of the *leaves*, the Tensors that
# are not the result of an operation. A small change of ``w`` gives the same slope:

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
# If you call ``backward()`` on a second loss, its gradient does not replace the first one:

first = w.grad.item()
again = mr.ops.tanh(x * w + b).sum()
again.backward()
print(f"after the first loss {first:.4f}, after the second {w.grad.item():.4f}")

# %%
# The rule is the same as for ``h``. A value that is used in two places receives the sum of both shares, and two losses
# are two uses. A recurrent network uses its weights at *every time step*, so the gradient of these weights is a sum
# over all steps (chapter 3). Before each training step, set the gradient back to zero with ``optimizer.zero_grad()`` or
# ``w.grad = None``.
#
# Summary
# -------
# - The tape records every operation as a node. ``backward()`` visits the nodes in reverse order.
# - Each node computes a vector-Jacobian product with its own local rule. A row times a matrix is cheap,
#   :eq:`cost-of-order`.
# - A value that is used several times receives the sum of the shares from all its uses, :eq:`sum-over-uses`.
#
# Further reading
# ---------------
# Griewank and Walther (2008) is the standard book on automatic differentiation. Baydin, Pearlmutter, Radul and
# Siskind (2018) is a shorter introduction.
#
# Try it
# ------
# Change ``h * h`` to ``h * h * h`` and predict what arrives at ``h`` before you run the player. The code is in
# ``minirnn/engine/tape.py`` and ``minirnn/engine/backward.py``.
# (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex01`` (product and sum), ``ex02`` (the tape, backwards) and
# ``ex22`` (broadcasting, backwards).
#
# Next: :doc:`02_trust_but_difference`.

"""
1. The tape
===========

*What does backward() actually do, and why does .grad add up?*

A gradient is a rule about small changes: if ``w`` grows by a little, by how many times that little does the loss grow?
For one multiplication everyone knows the answer. The tape's whole job is to remember which multiplications there were.
"""

# %%
# A neuron with one input. Everything computed from a Tensor that requires a gradient is written down.

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

labels = [label.split("\n")[0] for label in picture.data["labels"]]
assert [labels[a] for a, _ in picture.data["edges"]].count("h = Tanh") == 3

# %%
# Read the picture from left to right and you have the program; read it from right to left and you have the derivative.
# ``h`` has three arrows leaving it: it is used three times, twice in ``h * h`` and once in the sum.
#
# Walking back, one node at a time
# --------------------------------
# ``tape_player`` goes back the way ``backward()`` does. A value waits until all its uses have sent their share; what
# *arrives* is their sum.

frames = tape_player(loss, names)
for frame in frames:
    print(frame)

# %%
# A ``TapePlayer`` draws each of these frames. In the third one the product has its turn, and ``h`` has got all three
# shares:

mr.viz.show(TapePlayer(loss, names).draw(2))

# %%
# Look at ``h``: the two uses in ``h * h`` send ``h`` each, the sum sends 1, and :math:`2h + 1` arrives. That is the
# derivative of :math:`h^2 + h`, and nobody had to know it: each node knew only its own rule.

shares_of_h = [share for frame in frames for name, share in frame.sends if name == "h"]
print("sent to h:", np.concatenate(shares_of_h).round(4), " sum:", sum(shares_of_h).round(4))
assert sorted(np.concatenate(shares_of_h)) == sorted([1.0, h.item(), h.item()])
assert np.allclose(sum(shares_of_h), 2 * h.numpy() + 1)

# %%
# ``backward()`` does all of this at once and leaves the result in ``.grad`` of the leaves. A nudge of ``w`` agrees:

loss.backward()
nudge = 1e-3


def loss_at(w: float) -> float:
    h = np.tanh(2.0 * w + 6.9)
    return h * h + h


slope = (loss_at(-3.0 + nudge) - loss_at(-3.0 - nudge)) / (2 * nudge)
print(f"w.grad {w.grad.item():.4f}, nudging w {slope:.4f}")
assert abs(w.grad.item() - slope) < 1e-3

# %%
# Why ``.grad`` adds up
# ---------------------
# Call ``backward()`` on a second loss, and the gradient does not replace the first one:

first = w.grad.item()
again = mr.ops.tanh(x * w + b).sum()
again.backward()
print(f"after the first loss {first:.4f}, after the second {w.grad.item():.4f}")
slope_of_second = (1 - np.tanh(0.9) ** 2) * 2.0  # tanh'(x w + b) x
assert np.isclose(w.grad.item(), first + slope_of_second)

# %%
# This is the same rule as for ``h``: a value used in two places gets the sum of what both send. Two losses are two
# uses. A recurrent network uses its weights once in *every time step*, and the gradient of these weights is a sum over
# all steps (tutorial 3). (Between training steps you want to start at zero: ``optimizer.zero_grad()``, or ``w.grad =
# None``.)
#
# Try it
# ------
# Change ``h * h`` to ``h * h * h`` and predict what arrives at ``h`` before you run the player. Then read
# ``minirnn/engine/tape.py`` and ``minirnn/engine/backward.py``: the engine that you just watched.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex01`` (product and sum), ``ex02`` (the tape, backwards) and
# ``ex22`` (broadcasting, backwards).

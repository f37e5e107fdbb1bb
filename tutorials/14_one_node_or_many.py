r"""
14. One node or many?
=====================

*What does a fused op save, and is it still right?*

You can write ``lstm_block_cell`` with peepholes as 25 calls of primitives, such as products, activations and sums. You
can also write it as one op with its own backward formula. Both give the same numbers.

| **You need** chapter 5.
| **You will be able to** say what a fused op saves and what it does not, and name what proves its backward pass.
| **Time**: 10 minutes.
"""

# %%
# The same step twice
# -------------------
# A device without fused kernels computes the op by its *composition*, which is its definition in primitives. We wrap
# both devices in a counting device, which counts their calls, operations and bytes.

import numpy as np

import minirnn as mr
from minirnn.devices.base import Device
from minirnn.devices.counting import Counting
from minirnn.devices.cpu.primitives import Primitives
from minirnn.viz import tape_graph


class Plain(Primitives, Device):
    """NumPy without a single fused kernel."""

    name = "plain"


B, I, H = 16, 32, 64
rng = np.random.default_rng(0)
shapes = [(B, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,)]
arrays = [rng.normal(size=s).astype(np.float32) / 4 for s in shapes]


def gradients(device):
    inputs = [mr.tensor(a, requires_grad=True, device=device) for a in arrays]
    device.reset()
    with device.section("forward"):
        y = mr.ops.lstm_block_cell(*inputs, use_peephole=True)
    with device.section("backward"):
        (y.h.sum() + y.cs.sum()).backward(retain_graph=True)
    return y, inputs, [t.grad.numpy() for t in inputs]


composed, fused = Counting(Plain()), Counting("cpu")
y_many, leaves_many, many = gradients(composed)
y_one, leaves_one, one = gradients(fused)
worst = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(many, one, strict=True))
print(f"largest relative difference of any gradient: {worst:.1e}")

# %%
# The gradients are equal up to rounding, but the tapes differ. This is the tape of the composition:

inputs = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")


def named(y, leaves):
    """What to call the values of this step: the inputs, and the outputs i, cs, f, o, ci, co, h."""
    return dict(zip(inputs, leaves, strict=True)) | y._asdict()


many_nodes = tape_graph(y_many.h, names=named(y_many, leaves_many), max_nodes=60)
mr.viz.show(many_nodes)

# %%
# The fused op puts all of it into one box:

one_node = tape_graph(y_one.h, names=named(y_one, leaves_one), max_nodes=60)
mr.viz.show(one_node)

boxes = {name: len(p.data["labels"]) - len(inputs) for name, p in (("composed", many_nodes), ("fused", one_node))}
print("boxes without the inputs:", boxes)

# %%
# What the fusion saves
# ---------------------

print(f"{'':<10}{'':<10}{'calls':>7}{'MFLOP':>8}{'MB moved':>10}")
for name, device in (("composed", composed), ("fused", fused)):
    for section in ("forward", "backward"):
        total = device.total(section)
        print(f"{name:<10}{section:<10}{total.calls:>7}{total.flops / 1e6:>8.2f}{total.bytes / 1e6:>10.2f}")
many, one = ([device.total(section) for section in ("forward", "backward")] for device in (composed, fused))
ratios = {}
for what in ("flops", "calls", "bytes"):
    ratios[what] = sum(getattr(part, what) for part in many) / sum(getattr(part, what) for part in one)
print("composed / fused:", {what: round(ratio, 2) for what, ratio in ratios.items()})

# %%
# The amount of arithmetic is nearly the same. Fusion reduces the number of *calls* and the bytes that go through
# memory between them. On a GPU every call is at least one launch (chapter 19).
#
# How much work is there for each byte? Divide F, the number of additions and multiplications, by M, the number of bytes
# read and written. For the product of a step, the row :math:`[x \mid h]` times a matrix of shape (I + H, 4H) in
# float32,
#
# .. math::
#    :label: product-intensity
#
#    \begin{aligned}
#    F &= 8 B H (I + H) \\
#    M &= 4 (B (I + H) + 4 H (I + H) + 4 B H) \\
#    \frac{F}{M} &\le \frac{B}{2}
#    \end{aligned}
#
# because each weight has four bytes and is used B times, for a multiplication and an addition each time. A product of
# two gates, element by element, reads two arrays of B H numbers and writes one:
#
# .. math::
#    :label: gates-intensity
#
#    \frac{F_g}{M_g} = \frac{B H}{4 \cdot (B H + B H + B H)} = \frac{1}{12}
#
# A processor that can do 12 operations in the time it needs to move one byte uses only 1/144 of its arithmetic here.
# Fusing leaves F unchanged and reduces M.
#
# Is it still right?
# ------------------
# A fused backward pass is written by hand, so it can contain mistakes. :doc:`/verified` compares each output of each
# fused op with its composition, with finite differences, and with results of other libraries.
#
# One disagreement is intentional. TensorFlow clips the cell state to the limit m, but passes the gradient through *as
# if it had not clipped*, although the derivative of the clip is 0 wherever it is active:
#
# .. math::
#    :label: straight-through
#
#    \begin{aligned}
#    \bar c_j &= \max(-m, \min(m, c_j)) \\
#    \delta c_j &= \delta \bar c_j
#    \end{aligned}

x = mr.tensor([[2.0]], requires_grad=True)
w = mr.tensor(np.float32([[3, 3, 3, 3], [0, 0, 0, 0]]))
zero, none, b = np.zeros((1, 1), np.float32), np.zeros(1, np.float32), np.zeros(4, np.float32)
y = mr.ops.lstm_block_cell(x, 4 + zero, zero, w, none, none, none, b, cell_clip=3.0)
y.cs.sum().backward()
print(f"cs is held at {y.cs.item()}, and the gradient of x is {x.grad.item():.4f}, not 0")

# %%
# This *straight-through gradient* is not the derivative. minirnn follows TensorFlow here (:doc:`/disagreements`).
#
# Further reading
# ---------------
# Appleyard, Kocisky and Blunsom (2016) fuse an LSTM step on a GPU and measure what each fusion gains. Bengio et al.
# (2013) compare the straight-through estimator with others.
#
# Try it
# ------
# Print ``composed.report()``. Which primitive moves the most bytes? Then set ``B = 1`` and compare the MFLOP of the
# products with the rest. (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex08`` (peepholes).
#
# Next: :doc:`15_whose_gates`.

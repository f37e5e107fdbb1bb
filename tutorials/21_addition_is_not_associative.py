r"""
21. Addition is not associative
===============================

*Why do two ranks not give the bits of one, and how can they?*

For real numbers, (a + b) + c equals a + (b + c). A computer rounds after each addition, so another order gives other
rounding errors. In this chapter you follow the last bits of a sum through a training run, and then fix the order.

| **You need** chapter 20.
| **You will be able to** say why the order of a sum changes its last bits, and fix the order.
| **Time**: 12 minutes.
"""

# %%
# Three numbers
# -------------

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn import nn, parallel
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, RED

left, right = (0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3)
print(left, right, left == right)

# %%
# Every single addition is rounded as well as possible, so neither result is wrong. They differ by one *ulp*, a unit
# in the last place. That is the gap to the next number that can be stored.
#
# A sum over ranks
# ----------------
# Here are the gradients of 64 examples for 20 000 weights, in float32. P ranks add up 64 / P examples each, one after
# the other, and then the P results are added. How far is the result from that of one rank, in ulps?

rng = np.random.default_rng(0)
gradients = rng.normal(size=(64, 20_000)).astype(np.float32)


def one_after_the_other(parts):
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def sum_on(P):
    return one_after_the_other([one_after_the_other(own) for own in np.split(gradients, P)])


one = sum_on(1)
places = np.arange(-4, 5)
ulps = {P: np.round((sum_on(P) - one) / np.spacing(np.abs(one))) for P in (2, 4, 8)}
share_equal = {P: (found == 0).mean() for P, found in ulps.items()}
print("share of the weights that are equal:", {P: f"{share:.0%}" for P, share in share_equal.items()})

# %%

ax = Figure(figsize=(8, 3.2), layout="constrained").add_subplot()
for k, (P, color) in enumerate(zip(ulps, (BLUE, ORANGE, GREEN), strict=True)):
    shares = [(ulps[P] == place).mean() for place in places]
    ax.bar(places + 0.27 * (k - 1), shares, 0.27, color=color, label=f"{P} ranks")
ax.set_xticks(places)
ax.set_xlabel("difference from the sum of one rank (ulps)")
ax.set_ylabel("share of the weights")
ax.set_title("The same 64 numbers, added in different orders")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# How large can the error of a sum be? One addition in float32 rounds its result to 24 binary digits. Its relative error
# e is at most :math:`u = 2^{-24}` in magnitude:
#
# .. math::
#    :label: one-addition
#
#    \begin{aligned}
#    \hat s &= (a + b) (1 + e) \\
#    \lvert e \rvert &\le u
#    \end{aligned}
#
# In a sum of n numbers, let d be the largest number of additions that one of them goes through. Each number is then
# multiplied by at most d factors 1 + e, so
#
# .. math::
#    :label: sum-bound
#
#    \lvert \hat S - S \rvert \le \frac{d u}{1 - d u} \sum_{k=1}^{n} \lvert x_k \rvert
#
# If you add one number after the other, d is n - 1. If you add pairs, then pairs of pairs, d is the logarithm of n to
# the base 2.
#
# Most sums in the figure differ, usually by a few units. Which order is closest to the true sum? float64 is accurate
# enough to answer this:

exact = gradients.astype(np.float64).sum(0)
size = {}
for name, total in {"1 rank": one, "8 ranks": sum_on(8), "in pairs": parallel.tree_sum(list(gradients))}.items():
    size[name] = np.sqrt(np.mean((total - exact) ** 2))
    print(f"{name:8} has an error of {size[name]:.2e} (root of the mean square)")

# %%
# More ranks make the sum *more* accurate, because each number goes through fewer roundings. Adding pairs, then pairs of
# pairs, is the best of the three, because a number goes through six additions instead of up to 63.
#
# What a last bit becomes
# -----------------------
# Does a difference in the last bit matter? Two runs begin with equal weights. One computes the gradient of a batch in
# two parts and adds them, and the other computes it in one part. The figure shows the largest distance between their
# weights:

T, B, I, H = 12, 16, 4, 16
x = rng.normal(size=(T, B, I)).astype(np.float32)
y = np.tanh(np.cumsum(x.sum(2, keepdims=True), axis=0))  # (T, B, 1): what the network has seen so far


class Net(nn.Module):
    def __init__(self):
        mr.manual_seed(1)
        self.recurrent, self.output = nn.LSTM(I, H), nn.Linear(H, 1)

    def forward(self, x):
        return self.output(self.recurrent(x)[0])


def train(world, shards, order="tree", steps=300):
    """The weights after each step, on one rank of a world."""
    net = Net()
    model = parallel.DistributedDataParallel(net, world, shards=shards, order=order)
    optimizer = mr.optim.Adam(net.parameters(), lr=0.02)
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        for shard in world.shards(shards):
            rows = slice(shard * B // shards, (shard + 1) * B // shards)
            ((model(mr.tensor(x[:, rows])) - mr.tensor(y[:, rows])) ** 2).mean().backward()
        optimizer.step()
        history.append(np.concatenate([p.numpy().ravel() for p in net.parameters()]))
    return np.array(history)


alone, again = (train(parallel.World(), shards=1) for _ in range(2))
halves = train(parallel.World(), shards=2)
apart = np.abs(halves - alone).max(axis=1)
print("the same run twice gives the same bits:", np.array_equal(alone, again))
print(f"two parts against one: {apart[0]:.1e} after 1 step, {apart[-1]:.1e} after {len(apart)} steps")

# %%

ax = Figure(figsize=(8, 3.2), layout="constrained").add_subplot()
ax.semilogy(np.arange(1, len(apart) + 1), np.maximum(apart, 1e-9), color=RED, label="two parts against one")
ax.axhline(np.spacing(np.float32(0.25)), color="0.5", linestyle=":", label="one unit in the last place of 0.25")
ax.set_xlabel("step")
ax.set_ylabel("largest difference of a weight")
ax.set_title("Two runs that differ in the order of addition")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The runs move apart by far more than the last bit. Each step turns the difference of the weights into a difference
# of gradients, and Adam amplifies small gradients because it divides them by small numbers. Neither run is worse. But
# you can no longer distinguish the effect of another number of ranks from that of a changed program.
#
# One order for any number of ranks
# ---------------------------------
# The order should depend on the *shards*, the parts of a batch that are computed one by one, and not on the ranks. We
# add neighbors in pairs, then pairs of pairs, and so on. Each rank adds up the part of the tree that it owns, and sends
# the results for the rest of the tree. This is the tree of eight shards on two ranks. The blue sums are computed by one
# rank and the orange ones by the other, and the gray one needs a message:

ax = Figure(figsize=(4.6, 3), layout="constrained").add_subplot()
ax.set_axis_off()
centers = {(0, k): float(k) for k in range(8)}
for level in range(1, 4):
    for k in range(8 >> level):
        a, b = centers[level - 1, 2 * k], centers[level - 1, 2 * k + 1]
        centers[level, k] = (a + b) / 2
        for child in (a, b):
            ax.plot([child, centers[level, k]], [level - 1, level], color="0.5", zorder=1)
for (level, k), center in centers.items():
    owner = GRAY if level == 3 else (BLUE, ORANGE)[(k << level) // 4]
    ax.scatter(center, level, s=420, color=owner, zorder=2)
    ax.text(center, level, str(k) if level == 0 else "+", color="white", ha="center", va="center", weight="bold")
for level, text in enumerate(["shards", "pairs", "fours", "batch"]):
    ax.text(7.7, level, text, va="center")
ax.set_xlim(-0.5, 9.5)
ax.set_ylim(-0.4, 3.4)  # the circles are not cut
ax.set_title("The tree of eight shards on two ranks")
mr.viz.show(ax.figure)

# %%
# With ``order="tree"``, eight shards give the same weights on 1, 2, 4 and 8 ranks:

runs = {P: parallel.simulate(lambda world: train(world, 8, steps=20), P) for P in (1, 2, 4, 8)}
for P, histories in runs.items():
    same = all(np.array_equal(history, runs[1][0]) for history in histories)
    print(f"{P} ranks: {'the same bits' if same else 'other bits'} after 20 steps")

# %%
# ``mpiexec -n 4 minirnn train --shards 8`` does this with processes. Its checkpoint and metrics files are identical,
# byte for byte, on 1, 2, 4 and 8 ranks. A shard of another size rounds differently, so the result depends on the
# number of shards. :doc:`../determinism` lists the guarantees.
#
# Further reading
# ---------------
# Higham and Mary (2019) prove that the error of a sum grows roughly like the square root of its length, if rounding
# errors behave like independent random numbers. Salmon et al. (2011) generate random numbers that are the same on any
# number of processors.
#
# Try it
# ------
# Use four shards instead of eight in ``runs``. Which numbers of ranks give the same bits? Are these the bits of eight
# shards? (:doc:`Answer </on_paper>`)
#
# Next: :doc:`22_products_of_random_jacobians`, or :doc:`your own cell </own_cell>`.

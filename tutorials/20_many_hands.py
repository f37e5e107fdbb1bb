"""
20. Many hands
==============

*How do several processes train one network, and when does it pay?*

Data-parallel training gives each part of a batch to a process. The processes add up their gradients, and each takes
the same step. Here four *ranks* run as threads of one process, without MPI, and a formula gives the time of each
message.

| **You need** chapter 3.
| **You will be able to** say when the gradients of parts add up to the gradient of a batch, and what sending them
  costs.
| **Time**: 15 minutes.
"""

# %%
# The gradient of a batch, from its parts
# ---------------------------------------
# A mean over a batch is a weighted mean of means over its parts, and a gradient is linear:
#
# .. math::
#    :label: mean-of-parts
#
#    \nabla L = \sum_{r=1}^{P} \frac{n_r}{n} \nabla L_r
#
# where part r of P has :math:`n_r` of the n examples. Seven sequences on four ranks make parts of 1, 2, 2 and 2.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn import nn, parallel
from minirnn.parallel.buckets import in_buckets
from minirnn.parallel.costs import NETWORKS, ring
from minirnn.viz.colors import BLUE, GREEN, ORANGE, RED

T, B, I, H = 6, 7, 5, 8
rng = np.random.default_rng(0)
x, y = rng.normal(size=(T, B, I)), rng.normal(size=(T, B, H))


class Net(nn.Module):
    def __init__(self):
        mr.manual_seed(0)
        self.recurrent = nn.LSTM(I, H, num_layers=2, dtype=np.float64)

    def forward(self, x):
        return self.recurrent(x)[0]


def loss_of(net, rows=slice(None)):
    return ((net(mr.tensor(x[:, rows])) - mr.tensor(y[:, rows])) ** 2).mean()


def gradient(net):
    return np.concatenate([p.grad.numpy().ravel() for p in net.parameters()])


whole = Net()
loss_of(whole).backward()


def rank(world, weighted=True):
    net = Net()
    model = parallel.DistributedDataParallel(net, world)
    rows = world.rows(B)
    model.weight = rows.stop - rows.start if weighted else 1
    loss_of(model, rows).backward()
    return gradient(net)


def distance(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


found = parallel.simulate(rank, 4)
print(f"weighted: the relative error on rank 0 is {distance(found[0], gradient(whole)):.1e}")

# %%
# Every rank has the gradient of the whole batch. Without the weights it is wrong, because the rank with one sequence
# then counts as much as a rank with two.

wrong = parallel.simulate(lambda world: rank(world, weighted=False), 4)
print(f"unweighted: the relative error is {distance(wrong[0], gradient(whole)):.1%}")

# %%
# What the formula asks of a loss
# -------------------------------
# The formula holds for losses that are means over examples. It also holds for a mean over *characters*, with the number
# of characters as the weight. But if sequences differ in length, ranks with the same number of sequences have different
# numbers of characters. Here the lengths of 32 sequences vary more and more. Two ranks take 16 sequences each, and one
# of them gets all the long ones:

spreads = np.linspace(0, 1, 11)
errors = {"weighted by characters": [], "weighted by sequences": []}
values = rng.normal(size=(32, 3))  # the gradient of each sequence's mean loss: any numbers will do
for spread in spreads:
    lengths = np.round(10 * (1 + spread * np.linspace(-0.9, 0.9, 32)))
    right = (lengths[:, None] * values).sum(0) / lengths.sum()
    halves = slice(0, 16), slice(16, 32)
    of_ranks = [(lengths[h, None] * values[h]).sum(0) / lengths[h].sum() for h in halves]
    characters = [lengths[h].sum() for h in halves]
    by_characters = sum(n * g for n, g in zip(characters, of_ranks, strict=True)) / sum(characters)
    errors["weighted by characters"].append(distance(by_characters, right))
    errors["weighted by sequences"].append(distance(sum(of_ranks) / 2, right))

# %%

ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
for (name, line), color in zip(errors.items(), (BLUE, RED), strict=True):
    ax.plot(10 * 0.9 * spreads, line, "o-", color=color, label=name)
ax.set_xlabel("largest deviation from 10 characters")
ax.set_ylabel("relative error of the gradient")
ax.set_title("Sequences of different lengths: which weights are right?")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The error of the second kind of weights grows with the spread of the lengths. Weighted by characters, the gradient is
# right for all of them.
#
# No weights can help if the loss of one example depends on other examples, as in a layer that takes means over the
# batch. The losses of the parts are then different functions.
#
# When gradients travel
# ---------------------
# A backward pass goes from the last layer to the first. The gradient of the last layer can be sent long before the
# pass ends, if the tape returns it early. If a network of four layers is *one* node, the tape returns all its
# gradients at the end. That is why ``nn.LSTM`` has a node for each layer.
#
# In the figure below, the backward pass is measured on one rank, and the times of the messages are computed. Each
# message is an all-reduce among eight ranks over 1 Gb/s Ethernet, which starts when the previous one is complete.

network = NETWORKS["1 Gb/s Ethernet"]
ranks = 8


class Deep(nn.Module):
    def __init__(self):
        mr.manual_seed(0)
        self.recurrent, self.output = nn.LSTM(32, 64, num_layers=4), nn.Linear(64, 32)

    def forward(self, x):
        return self.output(self.recurrent(x)[0])


inputs = mr.tensor(rng.normal(size=(100, 8, 32)).astype(np.float32))


def backward_pass(times=5):
    """The fastest of some backward passes: its begin and end, and an event for each gradient when it is complete."""
    net = Deep()
    model = parallel.DistributedDataParallel(net, parallel.World(), bucket_bytes=1)
    runs = []
    for _ in range(times):
        net.zero_grad()
        (model(inputs) ** 2).mean().backward()
        runs.append(list(model.events))
    return min(runs, key=lambda events: events[0].end - events[0].begin)


backward, *complete, wait = backward_pass()
parameters = list(Deep().parameters())


def with_messages(bucket_bytes, at_the_end=False):
    """The events of messages of at least so many bytes, one after the other, and the wait for the last one."""
    free, messages, last = backward.begin, [], -1
    for bucket in in_buckets(parameters, bucket_bytes):
        last += len(bucket.members)  # a message leaves when its last gradient is complete
        begin = max(backward.end if at_the_end else complete[last].begin, free)
        free = begin + ring(ranks, 4 * bucket.size, network)
        messages.append(complete[last]._replace(name=f"bucket {len(messages)}", begin=begin, end=free))
    return [backward, *messages, wait._replace(begin=backward.end, end=max(backward.end, free))]


early, late = with_messages(64_000), with_messages(64_000, at_the_end=True)
ends = {name: max(e.end for e in es) - es[0].begin for name, es in (("one node", late), ("layers", early))}
print("milliseconds until all sums are there:", {name: round(1e3 * seconds, 1) for name, seconds in ends.items()})

# %%

picture = mr.viz.backward_timeline({"one node": late, "a node for\neach layer": early})
picture.ax.set_title("Messages after the backward pass, and during it (computed)")
mr.viz.show(picture)

# %%
# With a node for each layer, the first message starts while the backward pass is still computing the lower layers, so
# all sums are complete earlier.
#
# How large a message?
# --------------------
# Every message has a latency, whatever its size. Many small messages pay it many times, whereas one large message can
# start only when the last gradient is ready. How do both show in the time until all sums are there?

choices = [1, 32_000, 128_000, 200_000, 1_000_000]
finished, counts = [], []
for choice in choices:
    events = with_messages(choice)
    finished.append(1e3 * (max(e.end for e in events) - backward.begin))
    counts.append(len(events) - 2)
    print(f"at least {choice:>9,} bytes: {counts[-1]:>2} messages, {finished[-1]:.1f} ms")

# %%

ax = Figure(figsize=(8, 3.2), layout="constrained").add_subplot()
ax.bar([str(n) for n in counts], finished, color=GREEN)
alone = 1e3 * (backward.end - backward.begin)
ax.axhline(alone, color="black", linestyle="--", linewidth=1, label="the backward pass alone")
ax.set_ylim(0, 1.3 * max(finished))
ax.legend(frameon=False)
ax.set_xlabel("number of messages")
ax.set_ylabel("until all sums are there (ms)")
ax.set_title("Backward pass and messages (computed)")
mr.viz.show(ax.figure)

# %%
#
# How many hands?
# ---------------
# The time of the computation falls with the number of ranks, but the time of the messages does not. The figure shows
# the cost of adding up one megabyte with four algorithms, according to the usual model of a network:

picture = mr.viz.all_reduce_costs(1e6)
mr.viz.show(picture)

# %%
# A single server that adds up everything becomes a bottleneck. In a ring, each rank handles a share, and the bytes that
# one rank sends hardly grow with the number of ranks. But the number of latencies does grow, and for thousands of ranks
# halving is faster.
#
# With a fixed batch, more ranks make the parts smaller, but the messages keep their size. At some number of ranks the
# messages take longer than the backward pass that should hide them:

seconds = backward.end - backward.begin  # of the whole batch on one rank
total = sum(4 * p.size for p in parameters)  # bytes
P = np.array([2, 4, 8, 16, 32, 64])
computed = seconds / P
messages = np.array([ring(int(p), total, network) for p in P])

# %%

ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
ax.loglog(P, 1e3 * computed, "o-", color=BLUE, label="backward pass of one rank")
ax.loglog(P, 1e3 * messages, "o-", color=ORANGE, label="its messages, in a ring")
ax.set_xticks(P, [str(p) for p in P])
ax.set_xticks([], minor=True)
ax.set_xlabel("ranks")
ax.set_ylabel("time (ms)")
ax.set_title("The same batch on more and more ranks (computed)")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# More ranks therefore need larger batches or a faster network. :doc:`../parallel` has the commands for your machine.
#
# Further reading
# ---------------
# Thakur, Rabenseifner and Gropp (2005) derive the cost of each algorithm of this chapter. Rabenseifner (2004)
# describes the all-reduce by halves.
#
# Try it
# ------
# Make the batch of the last figure ten times larger, and then ten times smaller. At how many ranks do the messages
# begin to take longer than the arithmetic? (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex42`` (adding up in a ring).
#
# Next: :doc:`21_addition_is_not_associative`.

"""
20. Many hands
==============

*How do several processes train one network, and when does it pay?*

Data-parallel training splits a batch into parts and gives each part to a process. The processes add up their gradients,
and each of them takes the same step. In this chapter you see when the parts add up to the right gradient, when the
gradients are sent, and what sending them costs. You do not need MPI. Four *ranks* run as threads of one process, and a
formula gives the time of each message.

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
print(f"weighted: {distance(found[0], gradient(whole)):.1e} of the largest gradient off, on rank 0")
assert distance(found[0], gradient(whole)) < 1e-13
assert all(np.array_equal(g, found[0]) for g in found)

# %%
# Every rank has the same gradient, and it equals the gradient of the whole batch. Without the weights it does not,
# because the rank with one sequence then counts as much as a rank with two.

wrong = parallel.simulate(lambda world: rank(world, weighted=False), 4)
print(f"unweighted: {distance(wrong[0], gradient(whole)):.1%} off")
assert distance(wrong[0], gradient(whole)) > 0.01

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
ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
for (name, line), color in zip(errors.items(), (BLUE, RED), strict=True):
    ax.plot(10 * 0.9 * spreads, line, "o-", color=color, label=name)
ax.set_xlabel("lengths are 10 plus or minus so many characters")
ax.set_ylabel("relative error of the gradient")
ax.set_title("As many sequences are not as many characters")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
assert max(errors["weighted by characters"]) < 1e-12
assert errors["weighted by sequences"][0] < 1e-12 and errors["weighted by sequences"][-1] > 0.1

# %%
# No weights can help if the loss of one example depends on other examples. Such a loss may compare each sequence with
# all others of the batch, or the network may have a layer that takes means over the batch. The losses of the parts are
# then different functions, and their gradients do not add up to the gradient of the batch.
#
# When gradients travel
# ---------------------
# A backward pass goes from the last layer to the first. The gradient of the last layer is complete long before the pass
# ends, so it can be sent during the pass. That works only if the tape returns this gradient early. If a network of four
# layers is *one* node, the tape returns all its gradients at the end. That is why ``nn.LSTM`` has a node for each
# layer.
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


def passes(bucket_bytes, times=5):
    """The events of the fastest of some backward passes, and the bytes of each bucket."""
    net = Deep()
    model = parallel.DistributedDataParallel(net, parallel.World(), bucket_bytes=bucket_bytes)
    runs = []
    for _ in range(times):
        net.zero_grad()
        (model(inputs) ** 2).mean().backward()
        runs.append(list(model.events))
    fastest = min(runs, key=lambda events: events[0].end - events[0].begin)
    return fastest, sum(p.size for p in net.parameters()) * 4


def with_messages(events, nbytes):
    """The same events with messages of so many bytes each, one after the other, and the wait for the last one."""
    backward, free, new = events[0], 0.0, []
    sent = [event for event in events if event.name.startswith("bucket")]
    for event, n in zip(sent, nbytes, strict=True):
        begin = max(event.begin, free)
        free = begin + ring(ranks, n, network)
        new.append(event._replace(end=free))
    return [backward, *new, events[-1]._replace(begin=backward.end, end=max(backward.end, free))]


def sizes_of(bucket_bytes):
    """Bytes of each bucket."""
    from minirnn.parallel.buckets import in_buckets

    return [4 * bucket.size for bucket in in_buckets(list(Deep().parameters()), bucket_bytes)]


events, total = passes(64_000)
early = with_messages(events, sizes_of(64_000))
late = [e._replace(begin=events[0].end, end=0) if e.name.startswith("bucket") else e for e in events]
late = with_messages(late, sizes_of(64_000))  # what would happen if all gradients came at the end
picture = mr.viz.backward_timeline({"one node": late, "a node for each layer": early})
picture.ax.set_title("Messages during the backward pass, and after it (computed)")
mr.viz.show(picture)

ends = {name: max(e.end for e in es) - es[0].begin for name, es in (("one node", late), ("layers", early))}
print({name: f"{1e3 * seconds:.1f} ms" for name, seconds in ends.items()})
assert ends["layers"] < ends["one node"]
begins = [e.begin for e in early if e.name.startswith("bucket")]
assert sum(begin < early[0].end for begin in begins) > len(begins) / 2

# %%
# More than half of the messages start before the backward pass is over. The remaining wait is there because the network
# is slower than the computation.
#
# How large a message?
# --------------------
# Every message has a latency, whatever its size. Many small messages pay it many times, whereas one large message can
# start only when the last gradient is ready. The best size is in between, and the minimum is flat:

choices = [2_000, 8_000, 32_000, 128_000, 512_000, 2_000_000]
finished, counts = [], []
for choice in choices:
    events, _ = passes(choice, times=3)
    start, width = early[0].begin, early[0].end - early[0].begin
    share = [(e.begin - events[0].begin) / (events[0].end - events[0].begin) for e in events[1:-1]]
    scaled = [e._replace(begin=start + s * width) for e, s in zip(events[1:-1], share, strict=True)]
    done = with_messages([early[0], *scaled, early[-1]], sizes_of(choice))
    finished.append(1e3 * (max(e.end for e in done) - start))
    counts.append(len(scaled))
ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
ax.semilogx(choices, finished, "o-", color=GREEN)
for choice, ms, n in zip(choices, finished, counts, strict=True):
    ax.annotate(
        f"{n} messages" if n > 1 else "1 message", (choice, ms), (0, 7), textcoords="offset points", ha="center"
    )
ax.set_xlim(choices[0] / 2, 2 * choices[-1])
ax.set_ylim(0.9 * min(finished), 1.15 * max(finished))
ax.set_xlabel("bucket_bytes")
ax.set_ylabel("until all sums are there (ms)")
ax.set_title("Backward pass and messages, by the size of a message (computed)")
mr.viz.show(ax.figure)
assert counts == sorted(counts, reverse=True) and counts[-1] == 1

# %%
# How many hands?
# ---------------
# The time of the computation falls with the number of ranks, but the time of the messages does not. The figure shows
# the cost of adding up one megabyte with four algorithms, according to the usual model of a network:

picture = mr.viz.all_reduce_costs(1e6)
mr.viz.show(picture)
data = picture.data
assert data["parameter server"][-1] > 100 * data["ring"][-1] > 100 * data["halving"][-1]

# %%
# A single server that adds up everything becomes a bottleneck. In a ring, each rank handles a share, and the bytes that
# one rank sends hardly grow with the number of ranks. But the number of latencies does grow, and for thousands of ranks
# halving is faster.
#
# With a fixed batch, more ranks make the parts smaller, but the messages keep their size. At some number of ranks the
# messages take longer than the backward pass that should hide them:

seconds = early[0].end - early[0].begin  # of the whole batch on one rank
P = np.array([2, 4, 8, 16, 32, 64])
computed = seconds / P
messages = np.array([ring(int(p), total, network) for p in P])
ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
ax.loglog(P, 1e3 * computed, "o-", color=BLUE, label="backward pass of a rank")
ax.loglog(P, 1e3 * messages, "o-", color=ORANGE, label="messages, ring")
ax.set_xticks(P, [str(p) for p in P])
ax.set_xticks([], minor=True)
ax.set_xlabel("ranks")
ax.set_ylabel("time (ms)")
ax.set_title("A batch of one size on more and more ranks (computed)")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
assert (np.diff(computed) < 0).all() and (np.diff(messages) > 0).all() and messages[-1] > computed[-1]

# %%
# More ranks therefore need larger batches or a faster network. Try it on your machine with
# ``mpiexec -n 2 minirnn train --shards 2``. :doc:`../parallel` has the commands. The gradients of the ranks agree with
# those of one process only up to rounding. The next chapter explains why, and how to make them the same to the last
# bit.
#
# Further reading
# ---------------
# Thakur, Rabenseifner and Gropp (2005) derive the cost of each algorithm of this chapter from latency and bandwidth.
# Rabenseifner (2004) describes the all-reduce by halves.
#
# Try it
# ------
# Make the batch of the last figure ten times larger, and then ten times smaller. From how many ranks on do the messages
# take longer than the arithmetic?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex42`` (adding up in a ring).
#
# Next: :doc:`21_addition_is_not_associative`.

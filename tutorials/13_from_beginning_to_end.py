"""
13. A model from beginning to end
=================================

*Which decisions make a character model, and what does each of them change?*

A model that writes text needs few lines: characters, an embedding, an LSTM, a linear layer, an optimizer. In between
there are decisions that are easy to copy and hard to see: how weights begin, where the gradient is cut, how long it may
get, how a character is drawn. Here each of them is measured.
"""

# %%
# Text
# ----
# The text is Python's own standard library, which every reader of this page has. Characters become numbers; rare ones
# share one. The last tenth is kept for validation.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import loss_curve
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, RED

text = mr.data.python_source_text()
vocabulary = mr.data.CharVocabulary.from_text(text, min_count=20)
ids = vocabulary.encode(text)
train_ids, validation_ids = mr.data.train_validation_split(ids)
V, H = len(vocabulary), 128
rng = np.random.default_rng(0)
print(f"{len(ids):,} characters, {V} different ones")


class CharModel(mr.nn.Module):
    """Embedding, recurrent layer, linear layer: scores for the next character at every step."""

    def __init__(self, recurrent):
        super().__init__()
        self.embedding = mr.nn.Embedding(V, 32)
        self.recurrent = recurrent
        self.head = mr.nn.Linear(H, V)

    def forward(self, characters, state=None):
        h, state = self.recurrent(self.embedding(characters), state)
        return self.head(h), state


# %%
# How weights begin
# -----------------
# Before training, a network should let gradients through: from a step of which the loss says nothing, nothing is
# learned. Two habits serve this. An *orthogonal* recurrent matrix keeps the length of what passes through it. A
# *forget bias* of 1 opens the forget gates. We let a loss look at the last of 64 steps and ask what arrives at each
# earlier state.


def lengths_on_the_way_back(recurrent, T=64, B=8):
    """The length of dL/d(state) after each step, where L is the loss at the last step alone; the mean over B texts."""
    model = CharModel(recurrent)
    starts = rng.integers(0, len(train_ids) - T - 1, B)
    characters = np.stack([train_ids[k : k + T + 1] for k in starts], axis=1)  # (T+1, B)
    state, states = None, []
    for t in range(T):
        scores, state = model(characters[t : t + 1], state)
        states.append(state if isinstance(state, tuple) else (state,))  # of an LSTM h and c, else h
    loss = mr.ops.cross_entropy(scores[0], characters[T], "sum")
    lengths = []
    for parts in states[:-1]:  # the state after the last step leads nowhere
        grads = np.concatenate([g.numpy()[0] for g in mr.grad(loss, parts, retain_graph=True)], axis=1)  # (B, H or 2H)
        lengths.append(np.linalg.norm(grads, axis=1).mean())
    return lengths


def orthogonal(recurrent, gain=1.0):
    """Makes the recurrent matrix of each gate orthogonal."""
    gates = recurrent.weight_hh_l0.shape[0] // H
    blocks = [mr.nn.init.orthogonal_(mr.nn.Parameter(np.zeros((H, H), np.float32)), gain).numpy() for _ in range(gates)]
    recurrent.weight_hh_l0.assign(np.concatenate(blocks))
    return recurrent


mr.manual_seed(0)
beginnings = {
    "tanh network": {
        "uniform, as in torch": mr.nn.RNN(32, H),
        "orthogonal": orthogonal(mr.nn.RNN(32, H)),
    },
    "LSTM": {
        "uniform, as in torch": mr.nn.LSTM(32, H),
        "orthogonal": orthogonal(mr.nn.LSTM(32, H)),
        "forget bias 1": mr.nn.LSTM(32, H, forget_bias=1.0),
        "both": orthogonal(mr.nn.LSTM(32, H, forget_bias=1.0)),
    },
}
fig = Figure(figsize=(8.4, 3.6), layout="constrained")
reach = {}
for ax, (cell, networks) in zip(fig.subplots(1, 2, sharey=True), beginnings.items(), strict=True):
    for (name, recurrent), color in zip(networks.items(), (BLUE, ORANGE, GREEN, RED), strict=False):
        lengths = lengths_on_the_way_back(recurrent)
        reach[cell, name] = lengths[0] / lengths[-1]
        ax.semilogy(lengths, color=color, label=name)
    ax.set_title(f"{cell}, untrained")
    ax.set_xlabel("time step t   (\u2190 backpropagation)")
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
fig.axes[0].set_ylabel("length of the loss's gradient\nby h_t (left), by h_t and c_t (right)")
mr.viz.show(fig)
for (cell, name), share in reach.items():
    print(f"{cell:<13} {name:<21} share of the gradient that reaches step 0: {share:.0e}")

# %%
# For the tanh network the orthogonal matrix is what counts: the gradient still shrinks, by the slopes of tanh, but by
# many powers of ten less than with uniform weights. For the LSTM the forget bias counts most, for the forget gate is
# all that stands on the highway from cell state to cell state. The orthogonal matrices add to it, since the detours
# through h lead through them (tutorial 5): with both, most gradient arrives.

assert reach["tanh network", "orthogonal"] > 1e6 * reach["tanh network", "uniform, as in torch"]
assert reach["LSTM", "forget bias 1"] > 1e6 * reach["LSTM", "uniform, as in torch"]
assert reach["LSTM", "orthogonal"] < 1e-3 * reach["LSTM", "forget bias 1"] < 0.1 * reach["LSTM", "both"]

# %%
# Training
# --------
# Batches of 16 rows and 32 steps; each row goes on where it stopped in the batch before, so the state is handed on.
# But the gradient must stop somewhere, or the tape would grow with the text. ``detach()`` cuts it: the state stays,
# the tape behind it is let go. This is *truncated backpropagation through time*.
#
# Then the gradient is clipped: if it is longer than 0.5, it is shortened to that.

mr.manual_seed(1)
model = CharModel(mr.nn.LSTM(32, H, forget_bias=1.0))
untrained = model.state_dict()
optimizer = mr.optim.Adam(model.parameters(), lr=0.008)
batches = mr.data.CharBatches(train_ids, T=32, B=16)
LIMIT, state = 0.5, None
losses, lengths, checked = [], [], []


def validation_loss():
    with mr.no_grad():
        x, y = mr.data.CharBatches(validation_ids, T=200, B=32).batch(0)
        return mr.ops.cross_entropy(model(x)[0], y).item()


for step in range(301):
    if step % 50 == 0:
        checked.append((step, validation_loss()))
    x, y = next(batches)
    if state is not None:
        state = mr.nn.LSTMHidden(h=state.h.detach(), c=state.c.detach())  # here the gradient is cut
    scores, state = model(x, state)
    loss = mr.ops.cross_entropy(scores, y)
    optimizer.zero_grad()
    loss.backward()
    lengths.append(float(mr.nn.utils.clip_grad_norm_(model.parameters(), LIMIT)))
    optimizer.step()
    losses.append(loss.item())

unigram = mr.data.unigram_entropy(train_ids, V)
picture = loss_curve(
    range(len(losses)),
    losses,
    validation=tuple(zip(*checked, strict=True)),
    baselines={f"all {V} characters equally likely": np.log(V), "only their frequencies known": unigram},
)
mr.viz.show(picture)
print(f"validation loss {checked[0][1]:.2f} -> {checked[-1][1]:.2f} nats per character, without memory {unigram:.2f}")
assert abs(checked[0][1] - np.log(V)) < 0.2 and checked[-1][1] < 0.75 * unigram

# %%
# It begins at guessing, as it must, and falls below what can be reached without memory.
#
# What clipping did
# -----------------

ax = Figure(figsize=(8, 2.8), layout="constrained").add_subplot()
ax.plot(lengths, color=BLUE, linewidth=1, label="length of the gradient over all weights")
ax.axhline(LIMIT, color=RED, linestyle="--", label=f"limit {LIMIT}")
ax.set_ylim(bottom=0)
ax.set_xlabel("training step")
ax.set_title("Which steps were clipped?")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
clipped = np.flatnonzero(np.array(lengths) > LIMIT)
print(f"clipped: {len(clipped)} of {len(lengths)} steps, at the latest step {clipped.max()}")
assert 0 < len(clipped) < 60 and np.median(clipped) < 30

# %%
# Only a few steps were touched, most of them at the beginning. So the limit is there for the rare long gradient, and
# leaves the others as they are.
#
# What the cut loses
# ------------------
# How much of the gradient is lost by cutting it every K steps? We can afford to compute the full one: 256 characters
# in one piece. Then the same in pieces of K, with the state handed on and detached. The losses are the same numbers;
# the gradients are not.


def gradient(K, T=256, B=8):
    """Loss and gradient of all weights over T steps, cut every K."""
    x, y = mr.data.CharBatches(validation_ids, T=T, B=B).batch(0)
    model.zero_grad()
    state, total = None, 0.0
    for t in range(0, T, K):
        scores, state = model(x[t : t + K], state)
        state = mr.nn.LSTMHidden(h=state.h.detach(), c=state.c.detach())
        loss = mr.ops.cross_entropy(scores, y[t : t + K]) * (K / T)
        loss.backward()
        total += loss.item()
    return total, np.concatenate([p.grad.numpy().ravel() for p in model.recurrent.parameters()]).astype(np.float64)


pieces = [1, 2, 4, 8, 16, 32, 64, 128]
ax = Figure(figsize=(8, 3.2), layout="constrained").add_subplot()
lost = {}
trained = model.state_dict()
for name, weights, color in (("untrained", untrained, GRAY), ("trained", trained, BLUE)):
    model.load_state_dict(weights)
    full_loss, full = gradient(256)
    found = {K: gradient(K) for K in pieces}
    assert all(np.isclose(loss, full_loss, rtol=1e-5) for loss, _ in found.values())
    lost[name] = {K: np.linalg.norm(g - full) / np.linalg.norm(full) for K, (_, g) in found.items()}
    ax.loglog(pieces, list(lost[name].values()), color=color, marker="o", label=name)
ax.set_xticks(pieces, [str(K) for K in pieces])
ax.set_yticks([0.05, 0.1, 0.2, 0.5, 1], ["5 %", "10 %", "20 %", "50 %", "100 %"])
ax.minorticks_off()
ax.set_xlabel("the gradient is cut every K steps")
ax.set_ylabel("length of what is lost\n/ length of the gradient")
ax.set_title("The gradient of the LSTM's weights that truncation loses")
ax.grid(alpha=0.25)
ax.legend(frameon=False)
mr.viz.show(ax.figure)
for K in (1, 8, 32):
    print(f"cut every {K:>2} steps: lost {lost['untrained'][K]:.1%} untrained, {lost['trained'][K]:.1%} trained")

# %%
# The longer the pieces, the less is lost, and pieces of 32 steps, with which we have trained, still lose about a
# tenth, in the trained network as in the untrained one. What is lost is the part of the gradient that would tell a
# step what it did to steps more than K later: nothing teaches this network directly to remember for longer than 32
# characters.

for shares in lost.values():
    values = list(shares.values())
    assert (np.diff(values) < 0).all() and values[0] > 0.6 and 0.03 < shares[32] < 0.25

# %%
# Sampling
# --------
# The model gives scores z for the next character. A *temperature* divides them before the softmax: :math:`p \propto
# e^{z / \tau}`. Below 1 the likely characters become likelier, above 1 all become more alike. Here are the
# probabilities of the next character after one line, at three temperatures.

prompt = "    def __init__(self, "
with mr.no_grad():
    scores, after_prompt = model(vocabulary.encode(prompt)[:, None])
z = scores[-1, 0].numpy().astype(np.float64)


def probabilities(z, temperature):
    p = np.exp((z - z.max()) / temperature)
    return p / p.sum()


top = np.argsort(-z)[:20]
ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
entropies = {}
for k, (temperature, color) in enumerate(((0.5, BLUE), (1.0, GREEN), (1.5, ORANGE))):
    p = probabilities(z, temperature)
    entropies[temperature] = float(-(p * np.log(p)).sum())
    label = f"temperature {temperature}: entropy {entropies[temperature]:.1f} nats"
    ax.bar(np.arange(20) + 0.27 * (k - 1), p[top], 0.27, color=color, label=label)
ax.set_xticks(range(20), [repr(vocabulary.characters[k])[1:-1] for k in top], family="monospace")
ax.set_title(f"The next character after {prompt.strip()!r}: the twenty most likely")
ax.set_ylabel("probability")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
assert entropies[0.5] < entropies[1.0] < entropies[1.5]


def write(temperature, length=160, seed=0):
    draw = np.random.default_rng(seed)
    written, state, z = [], after_prompt, scores[-1, 0].numpy().astype(np.float64)
    with mr.no_grad():
        for _ in range(length):
            written.append(draw.choice(V, p=probabilities(z, temperature)))
            found, state = model(np.array([[written[-1]]]), state)
            z = found[0, 0].numpy().astype(np.float64)
    return vocabulary.decode(written)


different = {}
for temperature in (0.3, 0.8, 1.5):
    written = write(temperature)
    different[temperature] = len(set(written))
    print(f"--- temperature {temperature}, {different[temperature]} different characters\n{prompt}{written}")
assert different[0.3] < different[0.8] < different[1.5]

# %%
# Cold text repeats what is safe, hot text spells badly. ``minirnn train`` does all of this with a larger network.
#
# Try it
# ------
# Leave ``detach()`` out, and see how long a step takes after ten, twenty, thirty batches. Then set the state to None
# before each batch: what does the validation loss say?
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex23`` (stable exponentials), ``ex24`` (softmax and
# cross-entropy), ``ex25`` (embedding), ``ex34`` (truncated in windows), ``ex35`` (initialization), ``ex36`` (RMSprop
# with momentum), ``ex16`` (Adam) and ``ex41`` (capstone: a character model).

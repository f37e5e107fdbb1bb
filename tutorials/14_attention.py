"""
14. From the last state to attention
====================================

*How much fits into one state, and what helps when it is too little?*

Sequence in, sequence out: an encoder reads, a decoder writes. What the decoder knows of the input is the encoder's last
state, a vector of fixed size, whether the input had two symbols or twenty. That works for two.

| **You need** chapters 3 to 6.
| **You will be able to** write additive attention forward and backward, say which path it opens for the gradient, and
  explain what teacher forcing hides.
| **Time**: 20 minutes.
"""

# %%
# The task, and two models
# ------------------------
# Read n symbols out of twelve and write them backwards. Nothing in it can be guessed: every symbol must be remembered.
#
# Both models have an encoder, a GRU that reads in both directions, and a decoder, a GRU that begins with the encoder's
# last state and says one symbol per step. The second model also *looks back*, by additive attention: the decoder's
# state :math:`d_t` is compared with every one of the S states :math:`k_s` of the encoder, a softmax turns the scores
# :math:`z_{t,s}` into weights, and the sum :math:`c_t` of the states with these weights is used next to :math:`d_t`:
#
# .. math::
#    :label: attention
#
#    \begin{aligned}
#    z_{t,s} &= \tanh(d_t W + k_s U) v^{\top} \\
#    a_{t,s} &= \frac{\exp(z_{t,s})}{\sum_{k=1}^{S} \exp(z_{t,k})} \\
#    c_t &= \sum_{s=1}^{S} a_{t,s} k_s
#    \end{aligned}
#
# On the way back, what arrives at :math:`c_t` reaches every :math:`k_s` directly, with its weight as the only factor,
# however many steps lie between. It also reaches the weights, and through the softmax all scores:
#
# .. math::
#    :label: attention-back
#
#    \begin{aligned}
#    \delta k_s &= \sum_{t=1}^{T} a_{t,s} \delta c_t + \sum_{t=1}^{T} \delta p_{t,s} U^{\top} \\
#    \delta a_{t,s} &= \delta c_t k_s^{\top} \\
#    \delta z_{t,s} &= a_{t,s} (\delta a_{t,s} - \sum_{k=1}^{S} a_{t,k} \delta a_{t,k}) \\
#    \delta p_{t,s} &= \delta z_{t,s} v \odot (1 - \tanh^2(p_{t,s})) \\
#    p_{t,s} &= d_t W + k_s U
#    \end{aligned}

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.nn import functional as F
from minirnn.viz import gradient_flow
from minirnn.viz.colors import BLUE, ORANGE, SIZES

V, H, A = 12, 48, 32  # symbols, units, width of the comparison
BEGIN = V  # what the decoder is given before the first symbol
rng = np.random.default_rng(0)


class Model(mr.nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.embedding = mr.nn.Embedding(V + 1, 16)
        self.encoder = mr.nn.GRU(16, H // 2, bidirectional=True)
        self.decoder = mr.nn.GRU(16, H)
        self.attention = attention
        if attention:
            self.W, self.U = mr.nn.Linear(H, A), mr.nn.Linear(H, A, bias=False)
            self.v = mr.nn.Linear(A, 1, bias=False)
        self.head = mr.nn.Linear(2 * H if attention else H, V)

    def encode(self, source):
        """All states of the encoder, (S, B, H), and its last one, (1, B, H)."""
        states, last = self.encoder(self.embedding(source))
        return states, mr.concat([last[0:1], last[1:2]], axis=2)  # both directions side by side

    def decode(self, before, state, states):
        """Scores (T, B, V), the decoder's state, and the weights a (T, S, B), None without attention."""
        d, state = self.decoder(self.embedding(before), state)
        if not self.attention:
            return self.head(d), state, None
        compared = mr.ops.tanh(mr.ops.expand_dims(self.W(d), 1) + mr.ops.expand_dims(self.U(states), 0))  # (T, S, B, A)
        a = F.softmax(self.v(compared)[..., 0], dim=1)
        c = mr.einsum("tsb,sbh->tbh", a, states)
        return self.head(mr.concat([d, c], axis=2)), state, a

    def forward(self, source, before):
        states, last = self.encode(source)
        return self.decode(before, last, states)


def task(n, B):
    """Source and target (n, B), and what the decoder is given: the right symbol before."""
    source = rng.integers(0, V, (n, B))
    target = source[::-1]
    return source, target, np.concatenate([np.full((1, B), BEGIN), target[:-1]])


# %%
# Training
# --------
# Each batch has one length between 2 and 16. In training the decoder is always given the *right* symbol before. This is
# called *teacher forcing*: all steps can be computed at once, and a mistake at one step does not spoil the next.


def trained(attention, steps=450):
    mr.manual_seed(0)
    model = Model(attention)
    optimizer = mr.optim.Adam(model.parameters(), lr=0.01)
    for k in range(steps):
        optimizer.lr = 0.01 * min(1.0, 2 * (1 - k / steps))  # the second half ever more carefully
        source, target, before = task(int(rng.integers(2, 17)), 64)
        scores, _, _ = model(source, before)
        loss = mr.ops.cross_entropy(scores, target)
        optimizer.zero_grad()
        loss.backward()
        mr.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


models = {"last state": trained(False), "attention": trained(True)}
colors = {"last state": ORANGE, "attention": BLUE}


def right_symbols(model, n, B=256):
    source, target, before = task(n, B)
    with mr.no_grad():
        return (model(source, before)[0].numpy().argmax(axis=2) == target).mean()


n_symbols = range(2, 25, 2)
ax = Figure(figsize=(8, 3.4), layout="constrained").add_subplot()
accuracy = {name: [right_symbols(model, n) for n in n_symbols] for name, model in models.items()}
for name, shares in accuracy.items():
    ax.plot(n_symbols, shares, color=colors[name], marker="o", label=name)
ax.axvspan(16, 24.5, color="0.93", label="longer than any in training")
ax.axhline(1 / V, color="0.4", linestyle="--", linewidth=1, label="guessing: 1/12")
ax.set(xlim=(1.5, 24.5), ylim=(0, 1.05), title="How much fits into the last state?")
ax.set(xlabel="length of the sequence", ylabel="share of right symbols")
ax.legend(frameon=False, loc=(0.02, 0.17), ncols=2)
mr.viz.show(ax.figure)
for name, shares in accuracy.items():
    print(f"{name:<10} right symbols, by length:", dict(zip(n_symbols, np.round(shares, 2).tolist(), strict=True)))

# %%
# The last state holds four symbols nearly without a mistake. It loses some of eight, and more than a third of sixteen.
# With attention the state only has to hold the place, because the symbols stay where they were read. This even works at
# lengths that the model has never seen.
#
# Where it looks
# --------------
# The picture shows the weights :math:`a_{t,s}`, one row for each step of the decoder.

source, target, before = task(12, 1)
with mr.no_grad():
    weights = models["attention"](source, before)[2].numpy()[:, :, 0]  # (T, S)
ax = Figure(figsize=(5.2, 4.2), layout="constrained").add_subplot()
image = ax.imshow(weights, cmap=SIZES, vmin=0, vmax=1)
ax.set_xticks(range(12), [str(k) for k in source[:, 0]])
ax.set_yticks(range(12), [str(k) for k in target[:, 0]])
ax.set(xlabel="symbols read, first to last", ylabel="symbols to write, first on top")
ax.set_title("Which states does each step look at?")
ax.figure.colorbar(image, ax=ax, label="weight a")
mr.viz.show(ax.figure)
places = weights.argmax(axis=1)
print("looks at:", places, " should look at:", np.arange(12)[::-1])

# %%
# From the top right to the bottom left: the model begins at the end of the input and goes back. It was never told to.
#
# A short way for the gradient
# ----------------------------
# The last symbol to write is the first that was read. How large is the gradient of the last step's loss at each input
# *before* training, when everything must still be learned?

source, target, before = task(16, 64)
heard = {}
for name in models:
    mr.manual_seed(0)
    model = Model(name == "attention")
    x = mr.tensor(model.embedding(source).numpy(), requires_grad=True)
    states, last = model.encoder(x)
    scores, _, _ = model.decode(before, mr.concat([last[0:1], last[1:2]], axis=2), states)
    loss = mr.ops.cross_entropy(scores[-1], target[-1], "sum")
    heard[name] = np.linalg.norm(mr.grad(loss, x).numpy(), axis=2).mean(axis=1)  # (S,)
picture = gradient_flow(
    list(heard.values()), layers=list(heard), quantity="length of dL/dx_s,\nmean over\n64 sequences"
)
picture.ax.set_title("The gradient of the last symbol's loss at each input, before training")
picture.ax.set_xlabel("place of the input   (the symbol to write is that of place 0)")
mr.viz.show(picture)
ratio = heard["attention"][0] / heard["last state"][0]
print(f"gradient at input 0: {ratio:.0f} times as long with attention")

# %%
# Without attention the path leads through sixteen steps of the decoder, a product of sixteen Jacobians, and little
# arrives. With attention there is a path from the last step straight to every state of the encoder,
# :eq:`attention-back`, also to the one where the symbol was read.
#
# Exposure bias
# -------------
# In use there is no teacher. The decoder is given its own symbols, mistakes included, and it has never met a mistake in
# training. How many symbols are right with the teacher, and how many without?


def alone(model, source):
    """What the model writes when it is given its own symbols, (n, B)."""
    n, B = source.shape
    with mr.no_grad():
        states, state = model.encode(source)
        said = [np.full(B, BEGIN)]
        for _ in range(n):
            scores, state, _ = model.decode(said[-1][None], state, states)
            said.append(scores.numpy()[0].argmax(axis=1))
    return np.array(said[1:])


def with_teacher(model, source, before):
    with mr.no_grad():
        return model(source, before)[0].numpy().argmax(axis=2)


source, target, before = task(16, 512)
one_wrong = before.copy()
one_wrong[4] = (one_wrong[4] + 1) % V  # step 4 is told a wrong symbol
fig = Figure(figsize=(8.4, 3.4), layout="constrained")
result = {}
for ax, (name, model) in zip(fig.subplots(1, 2, sharey=True), models.items(), strict=True):
    for label, written, style in (
        ("with the teacher", with_teacher(model, source, before), "-"),
        ("alone", alone(model, source), "--"),
        ("teacher, one wrong symbol", with_teacher(model, source, one_wrong), ":"),
    ):
        result[name, label] = (written == target).mean(axis=1)  # (n,)
        ax.plot(result[name, label], color=colors[name], linestyle=style, label=label)
    ax.axvline(4, color="0.7", linewidth=1)
    ax.set_title(name)
    ax.set_xlabel("step of the decoder")
    ax.set_ylim(0, 1.05)
    ax.legend(frameon=False, fontsize="small", loc="upper right" if name == "last state" else "lower right")
fig.axes[0].set_ylabel("share of right symbols")
mr.viz.show(fig)
for (name, label), shares in result.items():
    print(f"{name:<11} {label:<26} all steps {shares.mean():.2f}, the last step {shares[-1]:.2f}")

# %%
# Without the teacher both lose, the weak model far more, because one mistake leads to the next. The dotted lines show
# how. A single wrong symbol at step 4 (gray line) spoils everything that the first model says afterwards, although all
# later symbols that it is given are right. The model with attention finds its place again after some steps.
#
# Summary
# -------
# - A last state of fixed size loses more symbols the longer the input is.
# - Attention is a weighted mean of all states with weights from a softmax, :eq:`attention`.
# - It connects each loss to each state by one step, :eq:`attention-back`, not by a product of Jacobians.
# - Teacher forcing never shows the decoder its own mistakes.
#
# Further reading
# ---------------
# Sutskever, Vinyals and Le (2014), *Sequence to sequence learning*, work without attention and reverse the input to
# shorten the path. Bahdanau, Cho and Bengio (2015) introduce additive attention, with pictures like the second one.
# Bengio et al. (2015), *Scheduled sampling*, treat exposure bias. Vaswani et al. (2017) keep the attention and drop the
# recurrence.
#
# Try it
# ------
# Train with the decoder's own symbols in half of the batches (*scheduled sampling*): write them with ``alone`` and pass
# them in place of ``before``. What happens to the dashed and dotted lines?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex28`` (attention).
#
# Next: :doc:`15_what_dropout_may_touch`.

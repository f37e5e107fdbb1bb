"""
11. From the last state to attention
====================================

*How much fits into one state, and what helps when that is not enough?*

An encoder reads a sequence, and a decoder writes another. The decoder gets only the encoder's last state, a vector of
fixed size, whether the input has two symbols or twenty. This works for two.

| **You need** chapters 3 to 6, and softmax from chapter 10.
| **You will be able to** write the forward and backward pass of additive attention, say which path it opens for the
  gradient, and explain what teacher forcing hides.
| **Time**: 20 minutes.
"""

# %%
# The task, and two models
# ------------------------
# The task is to read n random symbols out of twelve and to write all of them in reverse order. Both models have an
# encoder, a GRU that reads in both directions (chapter 9), and a decoder, a GRU that begins with the encoder's last
# state and writes one symbol per step. The second model also has *additive attention*. It compares the decoder's state
# :math:`d_t` with each of the S states :math:`k_s` of the encoder. A softmax turns the scores :math:`z_{t,s}` into
# weights. The weighted sum :math:`c_t` of the states is then used together with :math:`d_t`:
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
# On the way back, the gradient at :math:`c_t` reaches every :math:`k_s` directly, with its weight as the only factor,
# over any number of steps. It also reaches the weights and, through the softmax (:eq:`softmax-jacobian`), all scores:
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

V, H, A, BEGIN = 12, 48, 32, 12  # symbols, units, width of the comparison, what the decoder is given first
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
    return source, source[::-1], np.concatenate([np.full((1, B), BEGIN), source[:0:-1]])


# %%
# Training
# --------
# All sequences of a batch have the same length, from 2 to 16. In training the decoder always gets the *right* previous
# symbol. With this *teacher forcing* one call computes all steps, and a mistake does not affect the next step.


def trained(attention, steps=450):
    mr.manual_seed(0)
    model = Model(attention)
    optimizer = mr.optim.Adam(model.parameters(), lr=0.01)
    for k in range(steps):
        optimizer.lr = 0.01 * min(1.0, 2 * (1 - k / steps))  # falls linearly in the second half
        source, target, before = task(int(rng.integers(2, 17)), 64)
        scores, _, _ = model(source, before)
        optimizer.zero_grad()
        mr.ops.cross_entropy(scores, target).backward()
        mr.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


models, colors = {"last state": trained(False), "attention": trained(True)}, {"last state": ORANGE, "attention": BLUE}


def with_teacher(model, source, before):
    with mr.no_grad():
        return model(source, before)[0].numpy().argmax(axis=2)


def right_symbols(model, n, B=256):
    source, target, before = task(n, B)
    return (with_teacher(model, source, before) == target).mean()


n_symbols = range(2, 25, 2)
ax = Figure(figsize=(8, 3.4), layout="constrained").add_subplot()
accuracy = {name: [right_symbols(model, n) for n in n_symbols] for name, model in models.items()}
for name, shares in accuracy.items():
    ax.plot(n_symbols, shares, color=colors[name], marker="o", label=name)
ax.axvspan(16, 24.5, color="0.93", label="longer than any in training")
ax.axhline(1 / V, color="0.4", linestyle="--", label="guessing: 1/12")
ax.set(xlim=(1.5, 24.5), ylim=(0, 1.05), xlabel="length of the sequence", ylabel="share of right symbols")
ax.set_title("How much fits into the last state?")
ax.legend(frameon=False, loc=(0.02, 0.17), ncols=2)
mr.viz.show(ax.figure)
print("with 16 symbols:", {name: round(float(shares[7]), 2) for name, shares in accuracy.items()})

# %%
# The last state keeps four symbols nearly without a mistake, but loses more than a third of sixteen. With attention the
# state only has to keep the position. This works even at lengths that the model has never seen.
#
# Where it looks
# --------------
# The figure shows the weights :math:`a_{t,s}`, one row for each step of the decoder.

source, target, before = task(12, 1)
with mr.no_grad():
    weights = models["attention"](source, before)[2].numpy()[:, :, 0]  # (T, S)
ax = Figure(figsize=(5.2, 4.2), layout="constrained").add_subplot()
image = ax.imshow(weights, cmap=SIZES, vmin=0, vmax=1)
ax.set_xticks(range(12), source[:, 0].tolist())
ax.set_yticks(range(12), target[:, 0].tolist())
ax.set(xlabel="symbols read, first to last", ylabel="symbols to write, first on top")
ax.set_title("Which states does each step look at?")
ax.figure.colorbar(image, ax=ax, label="weight a")
mr.viz.show(ax.figure)
places = weights.argmax(axis=1)
print("looks at:", places)

# %%
# The decoder looks at the end of the input first and then moves back.
#
# A short way for the gradient
# ----------------------------
# The last symbol to write was read first. How large is the gradient of its loss at each input *before* training?

(source, target, before), heard = task(16, 64), {}
for name in models:
    mr.manual_seed(0)
    model = Model(name == "attention")
    x = mr.tensor(model.embedding(source).numpy(), requires_grad=True)
    states, last = model.encoder(x)
    scores, _, _ = model.decode(before, mr.concat([last[0:1], last[1:2]], axis=2), states)
    loss = mr.ops.cross_entropy(scores[-1], target[-1], "sum")
    heard[name] = np.linalg.norm(mr.grad(loss, x).numpy(), axis=2).mean(axis=1)  # (S,)
picture = gradient_flow(list(heard.values()), layers=list(heard), quantity="norm of dL/dx_s,\nmean over sequences")
picture.ax.set_title("The gradient of the last symbol's loss at each input, before training")
picture.ax.set_xlabel("place of the input   (the symbol to write is that of place 0)")
mr.viz.show(picture)
print("norm at input 0:", {name: f"{lengths[0]:.1e}" for name, lengths in heard.items()})

# %%
# Without attention the path is a product of sixteen Jacobians of the decoder, and little arrives. With attention a path
# leads straight from the last step to every state of the encoder, :eq:`attention-back`.
#
# Exposure bias
# -------------
# After training there is no teacher. The decoder gets its own symbols, and in training it never met a wrong one.


def alone(model, source):
    """What the model writes when it is given its own symbols, (n, B)."""
    said = [np.full(source.shape[1], BEGIN)]
    with mr.no_grad():
        states, state = model.encode(source)
        for _ in source:
            scores, state, _ = model.decode(said[-1][None], state, states)
            said.append(scores.numpy()[0].argmax(axis=1))
    return np.array(said[1:])


source, target, before = task(16, 512)
one_wrong = np.where(np.arange(16)[:, None] == 4, (before + 1) % V, before)  # step 4 is given a wrong symbol
fig, result = Figure(figsize=(8.4, 3.4), layout="constrained"), {}
for ax, (name, model) in zip(fig.subplots(1, 2, sharey=True), models.items(), strict=True):
    taught, fooled = with_teacher(model, source, before), with_teacher(model, source, one_wrong)
    written = {"with the teacher": taught, "alone": alone(model, source), "teacher, one wrong symbol": fooled}
    for (label, symbols), style in zip(written.items(), ("-", "--", ":"), strict=True):
        result[name, label] = (symbols == target).mean(axis=1)  # (n,)
        ax.plot(result[name, label], color=colors[name], linestyle=style, label=label)
    ax.axvline(4, color="0.7", linewidth=1)
    ax.set(title=name, xlabel="step of the decoder", ylim=(0, 1.05))
    ax.legend(frameon=False, fontsize="small", loc="upper right" if name == "last state" else "lower right")
fig.supylabel("share of right symbols")
mr.viz.show(fig)
print({", ".join(key): round(float(shares.mean()), 2) for key, shares in result.items()})

# %%
# Without the teacher both get worse, and the weak model far more, because one mistake leads to the next. The dotted
# lines show this effect. A wrong symbol at step 4 (gray line) spoils everything that the first model writes afterwards,
# although the later symbols that it gets are right. The model with attention recovers after some steps.
#
# Summary
# -------
# - The longer the input is, the more symbols a last state of fixed size loses.
# - Attention is a weighted mean of all states with weights from a softmax, :eq:`attention`.
# - It connects each loss directly to each state, :eq:`attention-back`. Teacher forcing hides the decoder's mistakes.
#
# Further reading
# ---------------
# Sutskever, Vinyals and Le (2014) reverse the input to shorten the path. Bahdanau, Cho and Bengio (2015) introduce
# additive attention. Bengio et al. (2015) reduce exposure bias by *scheduled sampling*. Vaswani et al. (2017) drop
# the recurrence.
#
# Try it
# ------
# In half of the batches, pass the output of ``alone`` in place of ``before``. What happens to the dashed and dotted
# lines? (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex28`` (attention).
#
# Next: :doc:`12_what_dropout_may_touch`.

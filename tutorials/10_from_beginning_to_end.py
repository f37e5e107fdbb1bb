r"""
10. A model from beginning to end
=================================

*Which decisions go into a character model, and what does each of them change?*

A model that writes text needs only a few lines of code. They contain decisions that are easy to copy and hard to
notice. This chapter measures the effect of each.

| **You need** chapters 3 to 5.
| **You will be able to** choose initial weights, clip a gradient and say how that changes the update, derive the
  gradient of softmax with cross-entropy, and sample with a temperature.
| **Time**: 20 minutes.
"""

# %%
# The model
# ---------
# The text is the source code of Python's standard library. Each character becomes a number, and rare characters share
# one. The last tenth of the text is kept for validation. The model has an embedding (a row of weights for each
# character), a recurrent layer, and a linear layer that gives a score to each possible next character.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import loss_curve
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, RED

text = mr.data.python_source_text()
vocabulary = mr.data.CharVocabulary.from_text(text, min_count=20)
train_ids, validation_ids = mr.data.train_validation_split(vocabulary.encode(text))
V, H = len(vocabulary), 128


class CharModel(mr.nn.Module):
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
# torch draws the entries of R uniformly between :math:`-1/\sqrt{H}` and :math:`1/\sqrt{H}`. Their variance is
# :math:`1/(3H)`. Each entry of :math:`\delta z R^\top` is a sum of H terms, so a step back multiplies the squared norm
# of a gradient by 1/3 on average (:eq:`norms-random`), and the norm by about 0.58. Over 62 steps this factor is
# :math:`10^{-15}`, even without the slopes of tanh. An orthogonal R preserves the norm (:eq:`orthogonal`). In an LSTM
# the factor of a step near zero states is about :math:`\sigma(b) + \rho/4` (chapter 5). A *forget bias* of 1 moves
# :math:`\sigma(b)` from 0.5 to 0.73, and an orthogonal matrix for each gate moves :math:`\rho` from 0.58 to 1.
#
# In the figure the loss depends only on the last of 64 steps. The lines show the gradient norm at each earlier state.


def norms_on_the_way_back(recurrent, T=64, B=8):
    """The norm of dL/d(state) after each step, where L is the loss at the last step alone; the mean over B texts."""
    model, state, states = CharModel(recurrent), None, []
    characters = np.stack([train_ids[k : k + T + 1] for k in range(0, 1000 * B, 1000)], axis=1)  # (T+1, B)
    for t in range(T):
        scores, state = model(characters[t : t + 1], state)
        states.append(state if isinstance(state, tuple) else (state,))  # of an LSTM h and c, else h
    grads = mr.grad(mr.ops.cross_entropy(scores[0], characters[T], "sum"), [a for parts in states[:-1] for a in parts])
    by_step = np.concatenate(grads).reshape(T - 1, -1, B, H)
    return np.sqrt((by_step**2).sum(axis=(1, 3))).mean(axis=1)


def orthogonal(recurrent):
    gates = np.split(recurrent.weight_hh_l0.numpy(), recurrent.weight_hh_l0.shape[0] // H)
    recurrent.weight_hh_l0.assign(np.concatenate([np.linalg.qr(block)[0] for block in gates]))
    return recurrent


mr.manual_seed(0)
networks = {
    "tanh, uniform": (mr.nn.RNN(32, H), BLUE),
    "tanh, orthogonal": (orthogonal(mr.nn.RNN(32, H)), GREEN),
    "LSTM, uniform": (mr.nn.LSTM(32, H), GRAY),
    "LSTM, forget bias 1": (mr.nn.LSTM(32, H, forget_bias=1.0), ORANGE),
    "LSTM, both": (orthogonal(mr.nn.LSTM(32, H, forget_bias=1.0)), RED),
}
ax = Figure(figsize=(8, 3.2), layout="constrained").add_subplot()
reach = {}
for name, (recurrent, color) in networks.items():
    norms = norms_on_the_way_back(recurrent)
    reach[name] = norms[0] / norms[-1]
    ax.semilogy(norms / norms[-1], color=color, label=f"{name}: {reach[name]:.0e} arrives")
ax.set(title="Untrained networks: the norm of the gradient", xlabel="time step t   (\u2190 backpropagation)")
ax.legend(frameon=False, fontsize="small", loc="lower right")
mr.viz.show(ax.figure)

# %%
# In the tanh network the orthogonal matrix raises the norm at the first state by more than ten powers of ten. In the
# LSTM the forget bias raises it by eight powers of ten. Orthogonal matrices then add a factor of more than a hundred,
# because they enlarge :math:`\rho/4` from 0.14 to 0.25 at each of the 62 steps.
#
# Training
# --------
# A batch has 16 rows of 32 characters. Each row continues where it stopped in the previous batch. The state is passed
# on, but ``detach()`` cuts its gradient. This is the truncation of chapter 8. During training the model writes some
# text.


def write(temperature, length=120, prompt="    def __init__(self, "):
    draw, written, characters, state = np.random.default_rng(0), [], vocabulary.encode(prompt), None
    with mr.no_grad():
        for _ in range(length):
            scores, state = model(np.array(characters)[:, None], state)
            q = np.exp(scores[-1, 0].numpy().astype(np.float64) / temperature)
            characters = [draw.choice(V, p=q / q.sum())]
            written += characters
    return vocabulary.decode(written)


mr.manual_seed(1)
model = CharModel(mr.nn.LSTM(32, H, forget_bias=1.0))
optimizer = mr.optim.Adam(model.parameters(), lr=0.008)
batches = mr.data.CharBatches(train_ids, T=32, B=16)
LIMIT, state = 0.5, None
losses, norms, checked = [], [], []
for step in range(301):
    if step % 100 == 0:
        with mr.no_grad():
            x, y = mr.data.CharBatches(validation_ids, T=200, B=32).batch(0)
            checked.append((step, mr.ops.cross_entropy(model(x)[0], y).item()))
        print(f"--- after {step} steps\n{write(0.8, length=70)}")
    x, y = next(batches)
    scores, state = model(x, state and mr.nn.LSTMHidden(*(a.detach() for a in state)))  # here the gradient is cut
    loss = mr.ops.cross_entropy(scores, y)
    optimizer.zero_grad()
    loss.backward()
    norms.append(float(mr.nn.utils.clip_grad_norm_(model.parameters(), LIMIT)))
    optimizer.step()
    losses.append(loss.item())

unigram = mr.data.unigram_entropy(train_ids, V)
lines = {f"all {V} characters equally likely": np.log(V), "only their frequencies known": unigram}
validation = tuple(zip(*checked, strict=True))
mr.viz.show(loss_curve(range(len(losses)), losses, validation=validation, baselines=lines))

# %%
# The loss begins at the level of guessing and falls below that of a model that only knows how frequent each character
# is. Later texts have the indents, brackets and lengths of words of the language, but only a few of its words.
#
# What units keep
# ---------------
# Nobody told a unit what to keep. For three properties of the text, we look for the unit with the best correlation:

passage = vocabulary.decode(validation_ids[20_000:22_000])
with mr.no_grad():
    states = model.recurrent(model.embedding(vocabulary.encode(passage)[:, None]))[0].numpy()[:, 0]  # (T, H)
lines_before = [passage[:k].rpartition("\n")[2] for k in range(1, len(passage) + 1)]  # up to this character
properties = {
    "a letter or digit": [character.isalnum() for character in passage],
    "before the first word of a line": [not line.strip() for line in lines_before],
    "the place in the line": [len(line) for line in lines_before],
}
follows = {}
for name, values in properties.items():
    correlations = np.corrcoef(states.T, np.array(values, float))[-1, :-1]
    correlations[list(follows)] = 0  # each property gets its own unit
    unit = int(np.abs(correlations).argmax())
    follows[unit] = name, float(correlations[unit])
labels = [f"unit {unit}: {name}, correlation {r:.2f}" for unit, (name, r) in follows.items()]
mr.viz.show(mr.viz.colored_text(states[400:640, list(follows)], passage[400:640], labels=labels))

# %%
# Red is above zero and blue below. One unit tells letters and digits from other characters, and another one knows that
# a line has only spaces so far. The place in the line is harder: no single unit counts well.
#
# What clipping does
# ------------------
# Let the row a be the gradient of all weights, and let m be the limit. If the norm of a is above the limit, *clipping
# by norm* scales it down:
#
# .. math::
#    :label: clip-norm
#
#    \begin{aligned}
#    \hat a &= \min \left( 1, \frac{m}{\lVert a \rVert} \right) a \\
#    \frac{\hat a}{\lVert \hat a \rVert} &= \frac{a}{\lVert a \rVert} \\
#    \lVert \eta \hat a \rVert &\le \eta m
#    \end{aligned}
#
# The direction does not change, and the norm of an update of gradient descent with the learning rate :math:`\eta` is at
# most :math:`\eta m`. *Clipping by value* bounds each entry separately:
#
# .. math::
#    :label: clip-value
#
#    \bar a_j = \max(-m, \min(m, a_j))
#
# This turns the gradient, by up to almost a right angle (:eq:`clipped-angle` in :doc:`/derivations`), because it
# reduces only the large entries. Clipping by norm keeps the direction of each gradient, but not that of their *mean*:
# it is biased against rare long gradients, :eq:`clipped-bias`. Adam divides the gradient by a running average of its
# size. A factor that is common to all steps cancels there, but one large gradient would stay in the averages.

ax = Figure(figsize=(8, 2.5), layout="constrained").add_subplot()
ax.plot(norms, color=BLUE, linewidth=1, label="norm of the gradient of all weights")
ax.axhline(LIMIT, color=RED, linestyle="--", label=f"limit {LIMIT}")
ax.set(ylim=(0, None), xlabel="training step", title="Which steps were clipped?")
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# Only a few of the 301 steps were clipped, most of them at the beginning.
#
# From scores to a character
# --------------------------
# The row z holds a score for each of the V characters. Softmax turns the scores into probabilities. The loss of a step
# is the *cross-entropy*, where y is the number of the character that actually follows:
#
# .. math::
#    :label: cross-entropy
#
#    \begin{aligned}
#    p_j &= \frac{\exp(z_j)}{\sum_{k=1}^{V} \exp(z_k)} \\
#    \ell &= -\log(p_y) = \log \left( \sum_{k=1}^{V} \exp(z_k) \right) - z_y
#    \end{aligned}
#
# The derivative of the logarithm of the sum with respect to :math:`z_j` is :math:`p_j`. With the row :math:`e_y`, which
# is 1 at y and 0 elsewhere,
#
# .. math::
#    :label: cross-entropy-back
#
#    \begin{aligned}
#    \delta z &= p - e_y \\
#    \lVert \delta z \rVert &\le \sqrt{2}
#    \end{aligned}
#
# The gradient of a single prediction is never large (:eq:`softmax-bound`). Gradients explode on the way through time.
#
# To write text, a *temperature* :math:`\tau` divides the scores before the softmax:
#
# .. math::
#    :label: temperature
#
#    \begin{aligned}
#    q_j &= \frac{\exp(\frac{z_j}{\tau})}{\sum_{k=1}^{V} \exp(\frac{z_k}{\tau})} \\
#    \frac{q_j}{q_y} &= \left( \frac{p_j}{p_y} \right)^{\frac{1}{\tau}}
#    \end{aligned}
#
# A temperature below 1 enlarges all ratios, so likely characters become more likely. Above 1 all become more equal.


for temperature in (0.3, 0.8, 1.5):
    print(f"--- temperature {temperature}\n{write(temperature)}")

# %%
# A low temperature repeats likely phrases, and a high one misspells.
#
# Summary
# -------
# - Start a tanh network with an orthogonal R, and an LSTM with a forget bias.
# - Clipping by norm keeps the direction of a gradient. Clipping by value does not.
# - The gradient of cross-entropy is :math:`p - e_y`, whose norm is never large.
#
# Further reading
# ---------------
# Pascanu, Mikolov and Bengio (2013) introduce clipping by norm. Saxe, McClelland and Ganguli (2014) analyze
# orthogonal initial weights.
#
# Try it
# ------
# Set the state to None before each batch. How does the validation loss change? Then train with a limit of 0.05, once
# with Adam and once with ``mr.optim.SGD``, and predict which of the two becomes slower. (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex23`` (stable exponentials), ``ex24`` (softmax and
# cross-entropy), ``ex25`` (embedding), ``ex35`` (initialization), ``ex36`` (RMSprop with momentum), ``ex16`` (Adam)
# and ``ex41`` (capstone: a character model).
#
# Next: :doc:`11_attention`.

r"""
8. What a cut loses
===================

*Which part of the gradient does truncation throw away?*

On a long text, a network is trained in windows. This chapter shows which terms of the gradient are lost, and why more
data does not bring them back.

| **You need** chapters 3 to 5.
| **You will be able to** say which terms of a gradient survive a cut, explain why the error is a bias, say how much a
  network with a long memory loses, and compute where training with cuts ends in a small example.
| **Time**: 15 minutes.
"""

# %%
# Which terms survive a cut
# -------------------------
# A text can be very long, so a training step uses a window of K characters. The state is passed on to the next window,
# but the gradient is not: ``detach()`` keeps the value of the state and cuts the tape. This is *truncated
# backpropagation through time*. Which gradient does it compute? For a plain network, let :math:`v_{t,s}` be the
# gradient of the loss of step s alone at the state of step t. It is one term of :eq:`rnn-unrolled`:
#
# .. math::
#    :label: sent-back
#
#    v_{t,s} = \delta y_s \prod_{k=t+1}^{s} \frac{\partial h_k}{\partial h_{k-1}} \qquad t \le s
#
# Substituting it into :eq:`rnn-weights` gives a double sum. Its pairs are a step t that uses R, and a later step s
# whose loss depends on t.
#
# .. math::
#    :label: double-sum
#
#    \delta R = \sum_{s=1}^{T} \sum_{t=1}^{s} h_{t-1}^{\top} \left( v_{t,s} \odot (1 - h_t \odot h_t) \right)
#
# A cut between t and s replaces a factor of the product in :eq:`sent-back` with zero, so the whole term is zero. Let
# :math:`C_{t,s}` be 1 if t and s are in the same window and 0 otherwise. The truncated gradient is
#
# .. math::
#    :label: truncated
#
#    \delta R_K = \sum_{s=1}^{T} \sum_{t=1}^{s} C_{t,s} \cdot h_{t-1}^{\top}
#    \left( v_{t,s} \odot (1 - h_t \odot h_t) \right)
#
# Every pair across a cut is lost, even two neighboring steps. If T is a multiple of K, the number of pairs with the
# distance :math:`d = s - t` that survive is
#
# .. math::
#    :label: survivors
#
#    \sum_{s=d+1}^{T} C_{s-d,s} = \frac{T}{K} (K - d) \qquad 0 \le d \le K
#
# There are :math:`T - d` pairs in all, so the share of survivors is about :math:`1 - d/K`. One neighboring pair in K is
# lost, half of the pairs at distance K/2, and all pairs at distance K or more. The error is the sum of the
# missing terms:
#
# .. math::
#    :label: truncation-bias
#
#    \delta R_K - \delta R = - \sum_{s=1}^{T} \sum_{t=1}^{s} (1 - C_{t,s}) \cdot h_{t-1}^{\top}
#    \left( v_{t,s} \odot (1 - h_t \odot h_t) \right)
#
# This is a *bias*. It does not average out over many batches, because there is no reason why the mean of the missing
# terms should be zero. Windows that begin at random positions do not help, because they lose each pair with the
# probability :math:`d/K`. By the bound of chapter 4, the missing terms are small if the network forgets quickly. The
# bias is large where gradients reach far back.
#
# In the figure, the left plot shows the pairs. The right plot shows the bias for three LSTMs with different forget
# biases, which remember for different times (chapter 5). It compares the gradient for 256 characters in one piece with
# the gradient for the same characters in windows of K.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, RED

text = mr.data.python_source_text()
vocabulary = mr.data.CharVocabulary.from_text(text, min_count=20)
V, H, T, B = len(vocabulary), 64, 256, 8
x, y = mr.data.CharBatches(vocabulary.encode(text[:100_000]), T=T, B=B).batch(0)


def gradient(layers, K):
    """Loss and gradient of the LSTM's weights over T steps, cut every K."""
    embedding, recurrent, head = layers
    state, total = None, 0.0
    recurrent.zero_grad()
    for t in range(0, T, K):
        state = state and mr.nn.LSTMHidden(*(part.detach() for part in state))  # the cut
        h, state = recurrent(embedding(x[t : t + K]), state)
        loss = mr.ops.cross_entropy(head(h), y[t : t + K]) * (K / T)
        loss.backward()
        total += loss.item()
    return total, np.concatenate([p.grad.numpy().ravel() for p in recurrent.parameters()])


fig = Figure(figsize=(8.4, 3.6), layout="constrained")
left, right = fig.subplots(1, 2)
t, s = np.mgrid[1:25, 1:25]
same_window = (t - 1) // 8 == (s - 1) // 8
for pairs, color, marker, label in ((same_window, BLUE, "s", "survives"), (~same_window, RED, "x", "lost")):
    left.scatter(t[pairs & (t <= s)], s[pairs & (t <= s)], s=9, color=color, marker=marker, label=label)
left.set(title="Windows of K = 8", xlabel="step t that uses R", ylabel="step s of the loss")
left.legend(frameon=False, loc="lower right")

pieces, lost, losses = [1, 2, 4, 8, 16, 32, 64, 128], {}, {}
for bias, color in ((0.0, GRAY), (1.0, BLUE), (3.0, ORANGE)):
    mr.manual_seed(0)
    layers = mr.nn.Embedding(V, 32), mr.nn.LSTM(32, H, forget_bias=bias), mr.nn.Linear(H, V)
    full_loss, full = gradient(layers, T)
    found = [gradient(layers, K) for K in pieces]
    losses[bias] = np.array([loss / full_loss for loss, _ in found])
    lost[bias] = [float(np.linalg.norm(g - full) / np.linalg.norm(full)) for _, g in found]
    right.loglog(pieces, lost[bias], color=color, marker="o", label=f"forget bias {bias:.0f}")
right.set_xticks(pieces, pieces)
right.set_yticks([0.03, 0.1, 0.3, 1], ["3 %", "10 %", "30 %", "100 %"])
right.minorticks_off()
right.set(title="Norm of the bias / norm of the gradient", xlabel="window K")
right.grid(alpha=0.25)
right.legend(frameon=False)
mr.viz.show(fig)
for bias, shares in lost.items():
    print(f"forget bias {bias:.0f}:", *(f"K = {K} loses {share:.1%}" for K, share in zip(pieces, shares, strict=True)))

# %%
# With windows of 32 steps the LSTM with the forget bias 0 loses 4 % of its gradient, the one with the bias 1 a tenth,
# and the one with the bias 3 three quarters. An LSTM is cut at both h and c, and the count :eq:`survivors` is the
# same.
#
# The state crosses every cut, so a network can *use* characters from before its window. But no gradient reaches the
# steps that have to store them.
#
# Where training ends
# -------------------
# A biased gradient does not only have the wrong norm. It is zero at other weights, so training ends somewhere else.
# The smallest example has one linear unit. Its inputs are independent, with mean 0 and variance 1, and it has to output
# the input of n steps ago:
#
# .. math::
#    :label: unit-network
#
#    \begin{aligned}
#    h_t &= r h_{t-1} + x_t \\
#    y_t &= w h_t \\
#    \ell_t &= \frac{1}{2} (y_t - x_{t-n})^{2}
#    \end{aligned}
#
# The state is a sum of all inputs so far, in which the input of k steps ago has the factor :math:`r^k`. After many
# steps the mean of :math:`h_t^2` is :math:`1 / (1 - r^2)`, and the mean of :math:`h_t x_{t-n}` is :math:`r^n`. For a
# given r the mean loss :math:`\bar\ell` is smallest at one w. With this w, the best r depends only on the lag:
#
# .. math::
#    :label: unit-optimum
#
#    \begin{aligned}
#    w &= r^{n} (1 - r^{2}) \\
#    \bar \ell &= \frac{1}{2} (1 - r^{2n} (1 - r^{2})) \\
#    r_{\star} &= \sqrt{\frac{n}{n + 1}}
#    \end{aligned}
#
# In the gradient of r, let :math:`\bar g_d` be the mean of the terms of :eq:`double-sum` with the distance d. From the
# means of :math:`h_t^2` and :math:`h_t x_{t-n}`,
#
# .. math::
#    :label: unit-terms
#
#    \bar g_d = r^{2n-1} (1 - r^{2}) (r^{2d+2} - u_d)
#
# where :math:`u_d` is 1 for :math:`d < n` and 0 otherwise. Descent subtracts the gradient. So the negative terms, those
# with :math:`d < n`, make r larger ("remember"), and all others make it smaller ("forget"), because the other inputs
# only disturb. Windows of K steps keep the share :eq:`survivors` of each term:
#
# .. math::
#    :label: unit-sums
#
#    \begin{aligned}
#    \bar g &= \sum_{d=0}^{T-1} \bar g_d = r^{2n-1} (r^{2} - n (1 - r^{2})) \qquad \text{for a large } T \\
#    \hat g_K &= \sum_{d=0}^{K-1} \left( 1 - \frac{d}{K} \right) \bar g_d
#    \end{aligned}
#
# The full gradient is zero at :math:`r_{\star}`. The truncated one is not. These are means over infinitely many
# sequences, so no amount of data helps. The figure shows both for a lag of 5.

n, r = 5, np.linspace(0.75, 1.0, 501)[:-1]


def mean_gradient(r, K=None):
    """The mean gradient of r over all sequences, in windows of K steps or in one piece."""
    if K is None:
        return r ** (2 * n - 1) * (r**2 - n * (1 - r**2))
    d = np.arange(K)[:, None]
    terms = r ** (2 * n - 1) * (1 - r**2) * (r ** (2 * d + 2) - (d < n))
    return ((1 - d / K) * terms).sum(axis=0)


ax = Figure(figsize=(8, 3.4), layout="constrained").add_subplot()
ends = {}
for K, color in ((None, "black"), (40, BLUE), (20, GREEN), (10, ORANGE), (5, RED)):
    g = mean_gradient(r, K)
    ax.plot(r, g, color=color, label=f"K = {K}" if K else "one piece")
    rises = np.flatnonzero((g[:-1] < 0) & (g[1:] >= 0))  # training ends where the gradient changes its sign
    ends[K] = float(r[rises[0]]) if len(rises) else None
    ax.plot(r[rises], 0 * rises, color=color, marker="o")
ax.axhline(0, color="0.6", linewidth=0.8)
ax.set(xlabel="recurrent weight r", ylabel="mean gradient of r", ylim=(-0.2, 0.35), title="Where is the gradient zero?")
ax.legend(frameon=False, loc="upper left")
mr.viz.show(ax.figure)
print("training ends at r =", {K or "one piece": end and round(end, 3) for K, end in ends.items()})

# %%
# Descent ends at the dots. The shorter the windows are, the larger is the r that training finds. Windows lose more of
# the distant terms, and those are the terms that say "forget". With windows of 5 steps, as long as the lag, all terms
# that are left say "remember". Training then never stops below r = 1, where the state grows without bound. The bias
# of a larger network has the same reason, but its direction is hard to predict.
#
# Move the lag and the window:
#
# .. sliders:: cut
#    :controls: n K
#
# Is a longer window worth its price? In a test on text, windows of 4 and of 16 characters with more rows were better
# than windows of 64 with every seed (:doc:`questions </questions>`).
#
# Unbiased, but noisy
# -------------------
# A cut at random places can keep the mean (Tallec and Ollivier 2017). With probability p step k is not cut, and
# :math:`w_k` is 1. Otherwise :math:`w_k` is 0. The gradient that crosses the step is divided by p:
#
# .. math::
#    :label: random-cuts
#
#    \begin{aligned}
#    \hat v_{t,s} &= v_{t,s} \prod_{k=t+1}^{s} \frac{w_k}{p} \\
#    V_n &= \frac{1}{p^{n}} - 1
#    \end{aligned}
#
# Each factor has the mean 1, so every pair keeps its mean. The price is :math:`V_n`, the variance of the factor at
# the distance n. With p = 0.97 the windows have 33 steps on average, and at a distance of 100 the variance is 20. A
# small bias may be better than such noise. A table in :doc:`derivations </derivations>` compares methods that carry
# derivatives *forward* in time and need no cuts.
#
# Summary
# -------
# - A gradient through time is a sum over pairs of steps, :eq:`double-sum`. A cut removes every pair that it separates.
# - At distance d, a share of about :math:`d/K` of the pairs is lost. At distance K or more, all of them are.
# - The error :eq:`truncation-bias` is a bias. More data and a smaller learning rate do not remove it, and training ends
#   at other weights, :eq:`unit-sums`.
#
# Further reading
# ---------------
# Williams and Peng (1990) describe truncated backpropagation. Tallec and Ollivier (2017) choose the places of random
# cuts.
#
# Try it
# ------
# Leave ``detach()`` out of ``gradient``. Which error does ``backward()`` raise in the second window, and why? Then
# let the windows overlap. Start each one K/2 steps early, without a loss on these extra steps. Which pairs come back?
# (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex34`` (truncated in windows).
#
# Next: :doc:`09_real_batches`.

r"""
8. What a cut loses
===================

*Which part of the gradient does truncation throw away?*

On a long text, a network is trained in windows. The state crosses from one window to the next, but the gradient does
not. This chapter shows which terms of the gradient are lost, and why more data does not bring them back.

| **You need** chapters 3 to 5.
| **You will be able to** say which terms of a gradient survive a cut, explain why the error is a bias, and say how much
  a network with a long memory loses.
| **Time**: 10 minutes.
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
# Substituting it into :eq:`rnn-weights` gives a double sum over pairs of a step t, which uses R, and a step s, whose
# loss depends on it.
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
# You might expect to lose only the pairs that are more than K steps apart. But every pair across a cut is lost, even
# two neighboring steps. If T is a multiple of K, the number of pairs with the distance :math:`d = s - t` that survive
# is
#
# .. math::
#    :label: survivors
#
#    \sum_{s=d+1}^{T} C_{s-d,s} = \frac{T}{K} (K - d) \qquad 0 \le d \le K
#
# There are :math:`T - d` pairs in all, so the share of survivors is about :math:`1 - d/K`. One neighboring pair in K is
# lost, half of the pairs at the distance K/2, and all pairs at the distance K or more. The error is the sum of the
# missing terms:
#
# .. math::
#    :label: truncation-bias
#
#    \delta R_K - \delta R = - \sum_{s=1}^{T} \sum_{t=1}^{s} (1 - C_{t,s}) \cdot h_{t-1}^{\top}
#    \left( v_{t,s} \odot (1 - h_t \odot h_t) \right)
#
# This is a *bias*. The noise of a random batch averages out over many batches. This error does not, because there is no
# reason why the mean of the missing terms should be zero. Windows that begin at random positions do not help, because
# they lose each pair with the probability :math:`d/K`. By the bound of chapter 4, the missing terms are small if the
# network forgets quickly. The bias is largest for a network that remembers.
#
# In the figure, the left plot shows the pairs. The right plot shows the bias for three LSTMs with different forget
# biases, which remember for different times (chapter 5). It compares the gradient for 256 characters in one piece with
# the gradient for the same characters in windows of K.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GRAY, ORANGE, RED

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
# and the one with the bias 3 three quarters. The better a network remembers, the more of its gradient it loses at a
# cut. An LSTM is cut at both h and c, and the count :eq:`survivors` is the same.
#
# The losses do not depend on K, because the state crosses every cut. A network can therefore *use* characters from
# before its window. But no gradient trains it to keep them for that long.
#
# Summary
# -------
# - A gradient through time is a sum over pairs of steps, :eq:`double-sum`. A cut removes every pair that it separates.
# - At the distance d a share of about :math:`d/K` of the pairs is lost, and at the distance K or more all of them.
# - The error :eq:`truncation-bias` is a bias. More data and a smaller learning rate do not remove it.
#
# Further reading
# ---------------
# Williams and Peng (1990) describe truncated backpropagation and compare it with the full algorithm. Tallec and
# Ollivier (2017), *Unbiasing truncated backpropagation through time*, remove the bias with windows of random length and
# weights for the terms, at the price of more variance.
#
# Try it
# ------
# Leave ``detach()`` out of ``gradient``. Which error does ``backward()`` raise in the second window, and why? Then let
# the windows overlap. Start each one K/2 steps early, without a loss on these extra steps. Which pairs come back?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex34`` (truncated in windows).
#
# Next: :doc:`09_real_batches`.

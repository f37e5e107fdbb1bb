r"""
12. What dropout may touch
==========================

*Where in a recurrent network can values be dropped without dropping its memory?*

During training, dropout multiplies values by a random *mask*, which sets some to zero and scales up the rest, so that
no unit can rely on a single other unit. In a recurrent network a mask on the path through time acts again at every
step. This chapter puts masks at each place in turn and measures the gradient at earlier states.

| **You need** chapters 3 to 5.
| **You will be able to** write the backward pass of dropout, variational dropout, weight drop, zoneout and layer norm,
  and say which of them leave a memory intact.
| **Time**: 20 minutes.
"""

# %%
# One mask, forward and backward
# ------------------------------
# Each entry of a mask m is 0 with probability p and :math:`1/(1-p)` otherwise. The backward pass uses the same mask:
#
# .. math::
#    :label: dropout
#
#    \begin{aligned}
#    \hat x_t &= m_t \odot x_t \\
#    \delta x_t &= m_t \odot \delta \hat x_t \\
#    \bar m &= p \cdot 0 + (1 - p) \frac{1}{1 - p} = 1 \qquad \text{the mean over all masks}
#    \end{aligned}
#
# A dropped value gets no gradient. The mean of a mask is 1, so evaluation needs no rescaling.
#
# Three masks in one step
# -----------------------
# A plain step has three places for a mask: the input, the previous state, and the recurrent weights.
#
# .. math::
#    :label: masks-step
#
#    \begin{aligned}
#    z_t &= (m^{(x)}_t \odot x_t) W + (m^{(h)}_t \odot h_{t-1}) (M \odot R) + b \\
#    h_t &= \tanh(z_t)
#    \end{aligned}
#
# *Variational dropout* draws :math:`m^{(x)}` and :math:`m^{(h)}` once per sequence and uses the same mask at all steps.
# *Weight drop* (also called DropConnect) draws one mask M for R, which is the same for all steps and all rows of the
# batch. The step back follows from :eq:`rnn-carry` and :eq:`rnn-weights`, with each mask in its place:
#
# .. math::
#    :label: masks-back
#
#    \begin{aligned}
#    \delta z_t &= \delta h_t \odot (1 - h_t \odot h_t) \\
#    \delta x_t &= m^{(x)}_t \odot (\delta z_t W^{\top}) \\
#    \delta h_{t-1}^{\leftarrow} &= m^{(h)}_t \odot (\delta z_t (M \odot R)^{\top}) \\
#    \delta W &= \sum_{t=1}^{T} (m^{(x)}_t \odot x_t)^{\top} \delta z_t \\
#    \delta R &= M \odot \sum_{t=1}^{T} (m^{(h)}_t \odot h_{t-1})^{\top} \delta z_t
#    \end{aligned}
#
# Masks on the straight path
# --------------------------
# The LSTM's cell state has a straight path through time (:doc:`05_the_lstms_highway`). With a mask on :math:`c_{t-1}`
# and with fixed gates, this path over several steps is
#
# .. math::
#    :label: mask-path
#
#    \frac{\partial c_t}{\partial c_s} = \prod_{k=s+1}^{t} \operatorname{diag}(m_k \odot f_k)
#
# If m is drawn anew at each step, a unit survives n steps with the probability :math:`P_n`. The product of its n
# factors still has mean 1, but its variance :math:`V_n` grows exponentially:
#
# .. math::
#    :label: dropout-noise
#
#    \begin{aligned}
#    P_n &= (1 - p)^{n} \\
#    V_n &= \frac{1}{(1 - p)^{n}} - 1
#    \end{aligned}
#
# If all steps use one mask, a unit is either always dropped or multiplied by :math:`(1-p)^{-n}` in n steps. *Zoneout*
# puts no zeros on the path. Let :math:`\hat c_t` be the new cell state that the step computes. If a random :math:`q_t`
# is 1 (with probability p), the unit keeps its old value instead. The new :math:`\hat h_t = o_t \odot \tanh(\hat c_t)`
# is mixed with :math:`h_{t-1}` in the same way.
#
# .. math::
#    :label: zoneout
#
#    \begin{aligned}
#    \hat c_t &= f_t \odot c_{t-1} + i_t \odot \tilde c_t \\
#    c_t &= q_t \odot c_{t-1} + (1 - q_t) \odot \hat c_t \\
#    \delta \hat c_t &= (1 - q_t) \odot \delta c_t + \delta \hat h_t \odot o_t \odot (1 - \tanh^2(\hat c_t)) \\
#    \delta c_{t-1} &= q_t \odot \delta c_t + f_t \odot \delta \hat c_t \\
#    \bar c_t &= p c_{t-1} + (1 - p) \hat c_t
#    \end{aligned}
#
# Its straight path is *stronger* than that of the LSTM, because 1 replaces some of the forget gates at random:
#
# .. math::
#    :label: zoneout-path
#
#    \frac{\partial c_t}{\partial c_s} = \prod_{k=s+1}^{t} \operatorname{diag}(q_k + (1 - q_k) \odot f_k)
#
# In evaluation zoneout uses the mean over all masks, the last line of :eq:`zoneout`. The function ``cells`` is an LSTM
# with masks on the input, h, the weights or c, or with zoneout:

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED, SIZES

T, B, I, H, p = 40, 8, 8, 32, 0.3
rng = np.random.default_rng(0)
x = rng.normal(size=(T, B, I))
w = rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H)
upstream = rng.normal(size=(B, H))


def cells(place, draw):
    """The cell states c_0 .. c_T, with masks at one place."""

    def mask(*shape):
        return (draw.random(shape) >= p) / (1 - p)

    weights = w * np.concatenate([np.ones((I, 4 * H)), mask(H, 4 * H)]) if place == "weights" else w
    c, h = (mr.tensor(np.zeros((B, H)), requires_grad=True) for _ in "ch")
    none, b, one, states = np.zeros(H), np.zeros(4 * H), mask(B, H), [c]
    for x_t in x:
        x_in = x_t * mask(B, I) if place == "input" else x_t
        h_in = h * mask(B, H) if place == "h" else h
        c_in = c * {"c": mask(B, H), "c, one mask": one}.get(place, 1.0)
        y = mr.ops.lstm_block_cell(x_in, c_in, h_in, weights, none, none, none, b, forget_bias=3.0, cell_clip=0.0)
        q_c, q_h = (draw.random((2, B, H)) < p) * (place == "zoneout")
        c, h = q_c * c + (1 - q_c) * y.cs, q_h * h + (1 - q_h) * y.h
        states.append(c)
    return states


def gradients(place, seed=0):
    """dL/dc_t for t = 0 .. T, (T+1, B*H), of a loss that looks at c_T only."""
    states = cells(place, np.random.default_rng(seed))
    return np.stack([g.numpy().ravel() for g in mr.grad((states[-1] * upstream).sum(), states)])


# %%
# What reaches each cell state
# ----------------------------
# The figure shows a single sequence. Each row is a unit, each column a time step, and the color is the size of the
# gradient that arrives there. White is exactly zero.

titles = {"none": "no masks", "c": "c, a mask for each step", "c, one mask": "c, one mask", "zoneout": "zoneout"}
maps = {place: np.abs(gradients(place)[:, :H].T) for place in titles}  # (H, T+1)
fig = Figure(figsize=(8.4, 5), layout="constrained")
for ax, (place, sizes) in zip(fig.subplots(2, 2, sharex=True, sharey=True).flat, maps.items(), strict=True):
    image = ax.imshow(np.ma.masked_equal(sizes, 0), cmap=SIZES, norm=LogNorm(1e-3, 1e3), aspect="auto")
    ax.set_title(titles[place])
fig.supxlabel("time step t   (\u2190 backpropagation)")
fig.supylabel("unit")
fig.colorbar(image, ax=fig.axes, label="size of dL/dc_t", extend="both")
mr.viz.show(fig)

# %%
# A new mask on c at each step cuts the path again and again. With one mask for all steps, dropped units never remember,
# and the gradients of the others explode. Zoneout does not cut the path.
#
# How much of the gradient is still signal? In the next figure, the right plot shows the cosine of its angle to the
# gradient without masks, averaged over 10 draws. A value of 1 is the same direction, and 0 is noise.

signal = gradients("none")
colors = {"input": BLUE, "h": GREEN, "zoneout": PURPLE, "weights": ORANGE, "c, one mask": GRAY, "c": RED}
fig = Figure(figsize=(8.4, 4), layout="constrained")
left, right = fig.subplots(1, 2)
left.semilogy(np.linalg.norm(signal, axis=1), color="black", linewidth=1, label="no masks")
cosines, lengths = {}, {}
for place, color in colors.items():
    drawn = np.stack([gradients(place, seed) for seed in range(10)])  # (10, T+1, B*H)
    norms = np.linalg.norm(drawn, axis=2)  # (10, T+1)
    lengths[place] = norms.mean(axis=0)
    cosines[place] = ((drawn * signal).sum(axis=2) / norms / np.linalg.norm(signal, axis=1)).mean(axis=0)
    left.semilogy(lengths[place], color=color, label=place)
    right.plot(cosines[place], color=color)
    print(f"{place:<12} at step 0: norm {lengths[place][0]:10.3g}, cosine {cosines[place][0]:5.2f}")
left.set_title("Norm of dL/dc_t over all units and rows")
right.set_title("Cosine with the gradient without masks")
right.axhline(0, color="0.6", linewidth=0.8)
fig.supxlabel("time step t   (\u2190 backpropagation)")
fig.legend(*left.get_legend_handles_labels(), frameon=False, loc="outside upper center", ncols=7, fontsize="small")
mr.viz.show(fig)

# %%
# Masks on the input and on h, and zoneout, preserve much of the direction over forty steps, because they are not on the
# straight path or do not cut it. A mask on the weights stays the same at all steps and makes a different network, so
# less is left. With a new mask on c at each step nothing is left, because :math:`V_{40}` in :eq:`dropout-noise` is
# above a million. ``mr.nn.LSTM`` therefore offers ``input_dropout``, ``dropout``, ``weight_dropout`` and ``zoneout``,
# but no mask on c.
#
# Layer norm in a cell
# --------------------
# Layer norm also acts at every step. It shifts and scales each row, with means over the units:
#
# .. math::
#    :label: norm-step
#
#    \begin{aligned}
#    \mu_t &= \operatorname{mean}(z_t) \\
#    s_t &= \sqrt{\operatorname{mean}((z_t - \mu_t) \odot (z_t - \mu_t)) + \varepsilon} \\
#    \hat z_t &= \frac{z_t - \mu_t}{s_t} \\
#    h_t &= \tanh(\gamma \odot \hat z_t + \beta)
#    \end{aligned}
#
# Each entry of :math:`z_t` affects its own unit, :math:`\mu_t` and :math:`s_t`. The backward pass has a term for each:
#
# .. math::
#    :label: norm-back
#
#    \begin{aligned}
#    \delta \hat z_t &= \delta h_t \odot (1 - h_t \odot h_t) \odot \gamma \\
#    \delta z_t &= \frac{1}{s_t} \left( \delta \hat z_t - \operatorname{mean}(\delta \hat z_t)
#    - \hat z_t \odot \operatorname{mean}(\delta \hat z_t \odot \hat z_t) \right) \\
#    \delta h_{t-1}^{\leftarrow} &= \delta z_t R^{\top}
#    \end{aligned}
#
# The division by :math:`s_t` matters over time. If W, R and b are all multiplied by 10, :math:`s_t` is ten times as
# large (apart from :math:`\varepsilon`), and the product of :math:`1/s_t` with R does not change. The common scale of
# the weights can therefore no longer make carried gradients explode or vanish. :doc:`/derivations` has the proofs, from
# :eq:`centered-jacobian` on, and an LSTM with layer norm, :eq:`centered-cell`.
#
# Summary
# -------
# - The backward pass uses the same masks as the forward pass, :eq:`masks-back`.
# - The noise of a mask on the straight path grows exponentially with the number of steps, :eq:`dropout-noise`.
# - Zoneout puts 1 where dropout puts 0, :eq:`zoneout-path`, so memory is preserved.
# - With layer norm the carried gradient does not depend on the common scale of the weights, :eq:`norm-back`.
#
# Further reading
# ---------------
# Gal and Ghahramani (2016) derive one mask for all steps from Bayesian inference. Krueger et al. (2017) introduce
# zoneout, Merity, Keskar and Socher (2018) weight drop, and Ba, Kiros and Hinton (2016) layer norm.
#
# Try it
# ------
# Put a mask on the candidate alone (Semeniuta et al. 2016). Where is its line in the second figure?
# (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex26`` (variational dropout) and ``ex27`` (layer norm).
#
# Next: :doc:`13_gradients_of_gradients`.

r"""
3. One step, then many
======================

*What is backpropagation through time (BPTT)?*

A recurrent network repeats one small formula, which computes the next state from the current state and the next
input. This chapter applies the chain rule to that loop.

| **You need** chapters 1 and 2: what a tape records, and how a gradient is checked.
| **You will be able to** write the backward pass of a recurrent network, explain each term in the gradient of its
  weights, and say what the backward pass costs.
| **Time**: 20 minutes.
"""

# %%
# One step
# --------
# A plain recurrent network, also called an Elman network, has this step:
#
# .. math::
#    :label: rnn-step
#
#    \begin{aligned}
#    z_t &= x_t W + h_{t-1} R + b \\
#    h_t &= \tanh(z_t) \qquad t = 1, \dots, T
#    \end{aligned}
#
# An input :math:`x_t` has B rows (one for each sequence of the batch) and I columns. A state :math:`h_t` has B rows and
# H columns, one for each unit. W has the shape (I, H), R has the shape (H, H), and b is one row. All steps use the same
# W, R and b. The initial state :math:`h_0` is given, often as zeros. The drawing shows the step from :math:`z_t` on,
# where it is called :math:`z_a`, and below it the backward pass that this chapter derives.

import numpy as np

import minirnn as mr
from minirnn.viz import cell_graph, gradient_flow, gradient_shares, per_step_gradients, tape_graph

mr.viz.show(cell_graph("rnn_tanh"))

# %%
# Each step may have a loss :math:`\ell_t`, which depends only on the state of that step:
#
# .. math::
#    :label: rnn-loss
#
#    L = \sum_{t=1}^{T} \ell_t
#
# Here are six steps. Only the last step has a loss, the sum of the squares of its state.

T, B, I, H = 6, 4, 3, 5
rng = np.random.default_rng(0)
x = rng.normal(size=(T, B, I))
W = mr.tensor(rng.normal(size=(I, H)) / np.sqrt(I), requires_grad=True)
R = mr.tensor(0.9 * np.linalg.qr(rng.normal(size=(H, H)))[0], requires_grad=True)


def step(t, R, h):
    return mr.tanh(x[t] @ W + h @ R)


h = mr.tensor(np.zeros((B, H)))
states = []
for t in range(T):
    h = step(t, R, h)
    h.retain_grad()
    states.append(h)
loss = (h**2).sum()
picture = tape_graph(loss, names={"R": R, "W": W}, steps=states)
mr.viz.show(picture)

# %%
# Unrolled over time, the loop is a chain of operations. Unlike in a chain of layers, every state may have a loss, and
# R is used six times.
#
# Two derivatives of one loss
# ---------------------------
# A state influences the loss in two ways: directly through its own :math:`\ell_t`, and indirectly through the next
# state. The *partial* derivative holds all other states fixed and includes only the direct way. The *total* derivative
# includes both. This book writes :math:`\delta v` for the total derivative of L with respect to :math:`v`, an array
# with the shape of :math:`v`. For a state it has two parts:
#
# .. math::
#    :label: rnn-parts
#
#    \delta h_t = \frac{\mathrm{d} L}{\mathrm{d} h_t} = \frac{\partial L}{\partial h_t} + \delta h_t^{\leftarrow}
#    = \delta y_t + \delta h_t^{\leftarrow}
#
# - :math:`\delta y_t` *arrives* from the loss of step t. It is the partial derivative.
# - :math:`\delta h_t^{\leftarrow}` is *carried* back from step t + 1. No step follows the last one, so
#   :math:`\delta h_T^{\leftarrow} = 0`.
# - :math:`\delta h_t` is the *total*, their sum.
#
# In code these are ``dy``, ``dh_carried`` and ``dh``.
#
# One step back
# -------------
# How does :math:`\delta h_t` reach the arguments of the step? Tanh acts on each unit separately, and its slope follows
# from its value, because :math:`\tanh' = 1 - \tanh^2`:
#
# .. math::
#    :label: rnn-slope
#
#    \delta z_t = \delta h_t \odot (1 - h_t \odot h_t)
#
# In the matrix product :math:`h_{t-1} R` each unit :math:`j` of :math:`h_{t-1}` contributes to every unit :math:`k` of
# :math:`z_t` with the weight :math:`R_{jk}`. The chain rule sums over all :math:`k`. This sum is a product with the
# transposed matrix. The same holds for the input:
#
# .. math::
#    :label: rnn-carry
#
#    \begin{aligned}
#    \delta h_{t-1}^{\leftarrow} &= \delta z_t R^{\top} \\
#    \delta x_t &= \delta z_t W^{\top}
#    \end{aligned}
#
# No Jacobian matrix is ever built. A backward formula multiplies a row (the gradient so far) by the Jacobian of one
# step, and this *vector-Jacobian product* costs as much as the step itself. Combined, these formulas give
# backpropagation through time in one line:
#
# .. math::
#    :label: bptt
#
#    \delta h_{t-1} = \delta y_{t-1} + \left( \delta h_t \odot (1 - h_t \odot h_t) \right) R^{\top}
#
# The gradient of the weights
# ---------------------------
# R is used at every step. Imagine a separate copy :math:`R_t` for each step. In the product :math:`h_{t-1} R_t`, the
# weight from :math:`j` to :math:`k` is multiplied by unit :math:`j` of :math:`h_{t-1}` and added to unit :math:`k` of
# :math:`z_t`. This gives the gradient of each copy. All copies are the same matrix, so their gradients add up:
#
# .. math::
#    :label: rnn-weights
#
#    \begin{aligned}
#    \delta R &= \sum_{t=1}^{T} h_{t-1}^{\top} \delta z_t \\
#    \delta W &= \sum_{t=1}^{T} x_t^{\top} \delta z_t \\
#    \delta b &= \sum_{t=1}^{T} \operatorname{rows}(\delta z_t)
#    \end{aligned}
#
# The operator "rows" sums over the rows, that is, over the batch. Each term of :math:`\delta R` is a product of two
# factors: the *memory* of the network before step t (:math:`h_{t-1}`), and the gradient of the losses from step t on
# (:math:`\delta z_t`). If either factor is zero, step t contributes nothing to the gradient of R.
#
# In code, a loop goes backwards through the states that the forward pass stored:


def backward_through_time(x, states, dy, W, R):
    """The gradients of W and R; ``dy[t]`` arrives at the state after step t."""
    dW, dR = np.zeros_like(W), np.zeros_like(R)
    dh_carried = np.zeros_like(states[0])
    for t in reversed(range(len(states))):
        dh = dy[t] + dh_carried
        dz = dh * (1 - states[t] ** 2)
        dW += x[t].T @ dz
        if t > 0:  # the state before the first step is zero
            dR += states[t - 1].T @ dz
        dh_carried = dz @ R.T
    return dW, dR


loss.backward()
dy = np.zeros((T, B, H))
dy[-1] = 2 * h.numpy()  # the loss looks at the last state alone
dW, dR = backward_through_time(x, [s.numpy() for s in states], dy, W.numpy(), R.numpy())
print(f"largest difference from the tape: {max(abs(dW - W.grad.numpy()).max(), abs(dR - R.grad.numpy()).max()):.0e}")

# %%
# How far back does a term reach?
# -------------------------------
# The bars show the norm of each of the six terms of :math:`\delta R`, and the line shows its part along their sum.

shares = per_step_gradients(step, R, mr.tensor(np.zeros((B, H))), T, lambda h: (h**2).sum())
mr.viz.show(gradient_shares(shares, name="R"))

# %%
# The term of the first step is zero because the state before it is zero. The term of the last step is more than twice
# as large as any other. The next figure shows the reason: the norm of the gradient at each state.

norms = np.array([[np.linalg.norm(s.grad) for s in states]])
mr.viz.show(gradient_flow(norms, layers=["h"], quantity="norm of dL/dh_t\nover batch and units", first=1))

# %%
# On the way back each step multiplies by the slopes of tanh, which are at most 1, and by the transpose of R, which here
# multiplies every norm by 0.9. After five steps a fiftieth of the norm is left. To see all distances at once,
# substitute :eq:`bptt` into itself until only the arriving gradients are left. For a batch of one sequence, whose state
# is one row, the result is
#
# .. math::
#    :label: rnn-unrolled
#
#    \delta h_t = \sum_{s=t}^{T} \delta y_s \prod_{k=t+1}^{s} \frac{\partial h_k}{\partial h_{k-1}}
#
# where the product has the latest step on the left and is the identity matrix for :math:`s = t`. Its factors are the
# *Jacobians* of the steps:
#
# .. math::
#    :label: rnn-jacobian
#
#    \frac{\partial h_k}{\partial h_{k-1}} = \operatorname{diag}(1 - h_k \odot h_k) R^{\top}
#
# The gradient of a loss at step s reaches the state at step t through a product of :math:`s - t` matrices. If such
# products shrink, hardly any gradient tells a network of distant events.
#
# What it costs
# -------------
# At each step the forward pass multiplies by W and R once. The backward pass needs two products for each of them,
# :eq:`rnn-carry` and :eq:`rnn-weights`, and therefore takes about twice as long. It also needs every state, which takes
# memory for T B H numbers. Chapter 13 shows how to trade memory for time. The same gradient can also be computed
# *forward* in time, without any old states, but with about :math:`H^2` times as many multiplications.
# :doc:`Derivations </derivations>` has this sum, :eq:`time-forward-sum`, and the proof of :eq:`rnn-unrolled`.
#
# What a fused op hides
# ---------------------
# ``nn.RNN`` computes the same loop as one node of the tape. Its gradient is the same sum, but its terms are hidden.

fused = mr.nn.RNN(I, H, bias=False)
fused.load_state_dict({"weight_ih_l0": W.numpy().T.astype(np.float32), "weight_hh_l0": R.numpy().T.astype(np.float32)})
y, _ = fused(mr.tensor(x.astype(np.float32)))
(y[-1] ** 2).sum().backward()
difference = np.abs(fused.weight_hh_l0.grad.numpy().T - R.grad.numpy()).max()
print(f"largest difference between both gradients: {difference:.0e} (float32)")

# %%
# Summary
# -------
# - Backpropagation through time is the chain rule on the unrolled loop: :eq:`bptt`.
# - At each state the gradient is the sum of two parts: one arrives from the loss of that step, and one is carried back
#   from the next step.
# - The gradient of a shared weight is a sum over its uses, :eq:`rnn-weights`.
# - A loss and a state that are n steps apart are connected by a product of n Jacobians, :eq:`rnn-unrolled`.
#
# Further reading
# ---------------
# Werbos (1990) is the classic description, with pseudocode. Goodfellow, Bengio and Courville (2016), section 10.2,
# derive the same equations for a softmax output.
#
# Try it
# ------
# Put a loss on *every* step (``loss = sum((s**2).sum() for s in states)``) and predict how the bars change. Then
# replace 0.9 with 1.2. (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex05`` (RNN cell) and ``ex06`` (backpropagation through time).
#
# Next: :doc:`04_vanish_and_explode`.

r"""
17. Your own cell
=================

*What if I change the equations?*

To try a new cell, you need its step, the gradient of its step, and code that is fast enough to train. In this chapter
you invent a cell, and minirnn derives the rest.

| **You need** chapters 2, 5 and 6.
| **You will be able to** write your own cell, read its derived backward pass, and compare its training with that of the
  LSTM and the GRU.
| **Time**: 12 minutes.
"""

# %%
# A step in Python
# ----------------
# The LSTM has two gates for its memory: f decides how much to keep, and i how much to write. What if one gate decides
# both? Each unit also gets its own value, ``slow``, which is added to the pre-activation of this gate. Units with a
# large value keep their memory longer from the start.
#
# The names of the parameters define their roles. ``z_NAME`` is a gate that reads x and h, c and h are the states, and
# each parameter after the ``*`` is a learned vector.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn import cell, sigmoid, tanh
from minirnn.data import adding_problem
from minirnn.viz import gradient_flow
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE


@cell(states=("c", "h"))
def patient(z_k, z_n, z_o, c, h, *, slow):
    k = sigmoid(z_k + slow)
    n = tanh(z_n)
    c = k * c + (1 - k) * n
    o = sigmoid(z_o)
    h = o * tanh(c)
    return c, h


print(patient.backward_formulas())
mr.viz.show(mr.viz.cell_graph(patient))

# %%
# Nobody wrote these lines. minirnn derived them from the step. Read the first one from the right: ``dh`` arrives at
# h, is multiplied by the output gate and the slope of tanh, and is added to ``c_grad``, which arrives from the next
# step. ``dc_prev = dc * k`` is the highway of chapter 5. The line of ``dz_k`` is new. The gradient of this gate is
# proportional to the difference between the value it keeps, ``c_prev``, and the value it could write, ``n``. In the
# picture, follow an orange arrow from right to left, and multiply by the factor on it.
#
# In the notation of this book, with s for the row ``slow``, the step and its derived backward pass are
#
# .. math::
#    :label: patient-step
#
#    \begin{aligned}
#    k_t &= \sigma(z_{k,t} + s) \\
#    c_t &= k_t \odot c_{t-1} + (1 - k_t) \odot n_t \\
#    h_t &= o_t \odot \tanh(c_t)
#    \end{aligned}
#
# .. math::
#    :label: patient-back
#
#    \begin{aligned}
#    \delta c_t &= \delta c_t^{\leftarrow} + \delta h_t \odot o_t \odot (1 - \tanh^2(c_t)) \\
#    \delta z_{k,t} &= \delta c_t \odot (c_{t-1} - n_t) \odot k_t \odot (1 - k_t) \\
#    \delta z_{n,t} &= \delta c_t \odot (1 - k_t) \odot (1 - n_t \odot n_t) \\
#    \delta c_{t-1}^{\leftarrow} &= \delta c_t \odot k_t \\
#    \delta s &= \sum_{t=1}^{T} \operatorname{rows}(\delta z_{k,t})
#    \end{aligned}
#
# Is it right?
# ------------
# ``verify`` compares the kernels with finite differences and with the same step composed from single operations on the
# tape. Every entry is the largest error divided by the allowed error, so all entries must be below 1.

proof = patient.verify(["cpu"])
print(proof)

# %%
# You can also derive the lines by hand and have minirnn check them. Here is a typical mistake. The gate k
# also decides how much is written, so ``dz_n`` needs the factor ``1 - k``, which is missing below.

try:

    @patient.backward
    def by_hand(c_grad, dh, c_prev, k, n, o, tanh_c):
        dc = c_grad + dh * o * (1 - tanh_c * tanh_c)
        dz_k = dc * (c_prev - n) * k * (1 - k)
        return {
            "dz_o": dh * tanh_c * o * (1 - o),
            "dz_n": dc * (1 - n * n),
            "dz_k": dz_k,
            "dc_prev": dc * k,
            "dslow": dz_k,
        }
except TypeError as error:
    print(error)

# %%
# How far does a gradient reach?
# ------------------------------
# Before any training, we put a loss on the last of 60 steps and measure how much of its gradient arrives at each
# earlier input. ``slow = 0`` is the cell without patience. In the other one, ``slow`` ranges from 0 to 4, so the gates
# k of the units begin between 0.5 and 0.98.

T, B, H = 60, 32, 16


def layers(seed):
    mr.manual_seed(seed)
    return {
        "LSTM": mr.nn.LSTM(2, H, forget_bias=1.0),
        "GRU": mr.nn.GRU(2, H),
        "slow = 0": patient.layer(2, H, initial={"slow": 0.0}),
        "slow 0 .. 4": patient.layer(2, H, initial={"slow": np.linspace(0, 4, H)}),
    }


def reach(layer):
    x = mr.tensor(adding_problem(np.random.default_rng(0), T, B).x, requires_grad=True)
    (layer(x)[0][-1] ** 2).sum().backward()
    return np.linalg.norm(x.grad.numpy(), axis=(1, 2))


norms = {name: reach(layer) for name, layer in layers(0).items()}
share = {name: norm[0] / norm[-1] for name, norm in norms.items()}
print({name: f"{s:.0e}" for name, s in share.items()})

# %%

mr.viz.show(gradient_flow(list(norms.values()), layers=list(norms), quantity="norm of dL/dx_t", first=1))

# %%
# With the gates spread out, about five thousandths of the gradient norm reach the first step. For the GRU and for the
# cell without patience, it is less than a ten-billionth.
#
# Does it learn?
# --------------
# The task is the adding problem of chapter 7 with 60 numbers. A network that always answers 1 has an error of 0.167.


def train(layer, updates=400):
    rng, out = np.random.default_rng(1), mr.nn.Linear(H, 1)
    parameters = [*layer.parameters(), *out.parameters()]
    optimizer, losses = mr.optim.Adam(parameters, lr=0.01), []
    for _ in range(updates):
        x, target, _ = adding_problem(rng, T, B)
        loss = mr.nn.functional.mse_loss(out(layer(mr.tensor(x))[0][-1]), mr.tensor(target))
        optimizer.zero_grad()
        loss.backward()
        mr.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


curves = {name: train(layer) for name, layer in layers(0).items()}
end = {name: losses[-50:].mean() for name, losses in curves.items()}
print("error over the last 50 updates:", {name: round(float(e), 3) for name, e in end.items()})
first = {name: int(np.argmax(np.convolve(losses, np.ones(20) / 20, "valid") < 0.05)) for name, losses in curves.items()}
print("updates until the mean of 20 errors is below 0.05:", {name: k for name, k in first.items() if k})

# %%

ax = Figure(figsize=(8, 3.6), layout="constrained").add_subplot()
for (name, losses), color in zip(curves.items(), (GRAY, GREEN, ORANGE, BLUE), strict=True):
    ax.plot(np.convolve(losses, np.ones(20) / 20, "valid"), color=color, label=name)
ax.axhline(1 / 6, color="black", linestyle=":", linewidth=1)
ax.set_ylim(0, 0.25)
ax.set_xlabel("update")
ax.set_ylabel("mean squared error,\nmean of 20 updates")
ax.set_title("The adding problem, 60 steps; dotted: always answer 1")
ax.legend(frameon=False, loc="lower left")
ax.grid(alpha=0.25)
mr.viz.show(ax.figure)

# %%
# The GRU and both versions of our cell learn the task. The LSTM does not begin to learn within these 400 updates,
# although its reach at the start is more than ten thousand times the GRU's. Patience does not make our cell learn
# sooner either. Training changes the gates and therefore the reach (chapter 7).
#
# Fast on other devices
# ---------------------
# The whole sequence is one node of the tape. With ``mr.use_device("native")``, C++ generated from the same plan
# computes it, and with ``"cuda-sim"`` or ``"cuda"``, a kernel does. Commands read a cell from a file, such as
# ``minirnn explain patient.py:patient``.
#
# Further reading
# ---------------
# Jozefowicz, Zaremba and Sutskever (2015) try thousands of cells. Greff et al. (2017) remove or change single parts
# of the LSTM. One of their variants couples two gates like this chapter's cell. Zhou et al. (2016) get by with one
# gate. Beck et al. (2024) and Feng et al. (2024) are recent cells.
#
# Try it
# ------
# Give the cell a separate input gate (``z_i``), and look at how ``dz_k`` changes. Then remove the output gate. What
# does the cell now save for its backward pass? ``patient.saved()`` lists it. (:doc:`Answer </on_paper>`)
#
# :doc:`/own_cell` describes the whole language, and :doc:`/cells` shows cells from the literature.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex43`` (your own cell, backward), ``ex44`` (what a step saves)
# and ``ex45`` (a long memory).
#
# This is the end of the track on libraries. Next: :doc:`18_a_kernel_without_a_gpu` begins the track on hardware.

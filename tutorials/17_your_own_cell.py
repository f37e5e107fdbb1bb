r"""
17. Your own cell
=================

*What if I change the equations?*

The LSTM and the GRU are two of the many cells that people have tried. To try one more, you need its step, the
gradient of its step, and code that is fast enough to train. This chapter invents a cell, lets minirnn derive its
gradient, proves it, and trains it against the LSTM and the GRU.

| **You need** chapters 2, 5 and 6.
| **You will be able to** write a cell of your own, read its derived backward pass, and train it against the LSTM and
  the GRU.
| **Time**: 12 minutes.
"""

# %%
# A step in Python
# ----------------
# The LSTM has two gates for its memory: f says how much to keep, and i how much to write. What if one gate decides
# both? A unit that keeps 90 % then writes 10 %. Each unit also gets its own number, ``slow``, which is added to
# this gate, so that some units can be patient by nature.
#
# The names of the parameters say what they are: ``z_NAME`` is a gate that reads x and h, c and h are the states, and
# what comes after the ``*`` is a learned vector.

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
# Nobody wrote these lines: they are derived from the step. Read the first one from the right. ``dh`` arrives at h,
# passes the output gate and the slope of tanh, and joins ``c_grad``, which arrives from the next step. ``dc_prev =
# dc * k`` is the highway of chapter 5. The line of ``dz_k`` is new: the gate is told the difference between what it
# keeps, ``c_prev``, and what it could write, ``n``. In the picture, follow an orange arrow from right to left, and
# multiply by what is written on it.
#
# In the notation of this book, with s for the row ``slow``, the step and what is derived from it are
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
# ``verify`` compares the kernels with finite differences and with the same step composed from single operations on
# the tape. Every entry is the worst error as a part of what is allowed, so all of them must be below 1.

proof = patient.verify(["cpu"])
print(proof)
assert proof

# %%
# You can also derive the lines by hand and have them judged. Here is a typical slip: the cell also writes with the
# gate k, but ``dz_n`` forgets the factor ``1 - k``.

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
# Before any training: a loss on the last of 60 steps, and how much of its gradient arrives at each earlier input.
# ``slow = 0`` is the cell without patience. In the other one, ``slow`` is spread from 0 to 4, so that the gates k of
# the units begin between 0.5 and 0.98.

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
mr.viz.show(gradient_flow(list(norms.values()), layers=list(norms), quantity="norm of dL/dx_t"))
share = {name: norm[0] / norm[-1] for name, norm in norms.items()}
print({name: f"{s:.0e}" for name, s in share.items()})
assert 4e-3 < share["slow 0 .. 4"] < 6e-3 and max(share["slow = 0"], share["GRU"]) < 1e-10

# %%
# With the gates spread out, some five thousandths of the gradient reach the first step. Of the GRU's gradient, and of
# that of the cell without patience, less than a ten-billionth does.
#
# Does it learn?
# --------------
# The adding problem: two of the 60 numbers carry a mark, and their sum is wanted at the end. Whoever answers 1 every
# time has an error of 0.167.


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

end = {name: losses[-50:].mean() for name, losses in curves.items()}
print("error over the last 50 updates:", {name: round(float(e), 3) for name, e in end.items()})
assert end["LSTM"] > 0.15 and all(e < 0.05 for name, e in end.items() if name != "LSTM")
first = {name: int(np.argmax(np.convolve(losses, np.ones(20) / 20, "valid") < 0.05)) for name, losses in curves.items()}
print("updates until the mean of 20 errors is below 0.05:", {name: k for name, k in first.items() if k})
assert share["LSTM"] > 1e4 * share["GRU"] and 0 < first["GRU"] < first["slow = 0"] < first["slow 0 .. 4"]

# %%
# The GRU and both versions of our cell learn the task. The LSTM does not begin within these 400 updates. Compare this
# with the reach at the start: the LSTM's is more than ten thousand times the GRU's, and yet the GRU learns first; and
# in this run patience does not make our cell learn sooner. So the reach of the initial weights does not tell which
# network learns first at 60 steps: training changes the gates, and with them the reach.
#
# Fast on other devices
# ---------------------
# The whole sequence is one node of the tape: here in NumPy, with ``mr.use_device("native")`` in C++ that is generated
# from the same plan, and with ``"cuda-sim"`` or ``"cuda"`` in a kernel. Nothing in this script would change.
#
# The commands read the cell from a file: ``minirnn explain patient.py:patient`` prints what each device makes of
# it, ``minirnn bench --cell patient.py:patient`` measures it, and ``minirnn train --cell patient.py:patient`` trains it
# on text.
#
# Further reading
# ---------------
# Jozefowicz, Zaremba and Sutskever (2015) try thousands of cells, and Greff et al. (2017) take the LSTM apart; their
# coupled gates are those of this chapter's cell. Zhou et al. (2016) get by with one gate. Beck et al. (2024) and Feng
# et al. (2024) are two recent answers to the question of this chapter.
#
# Try it
# ------
# Give the cell a separate input gate (``z_i``), and look at how ``dz_k`` changes. Or take away the output gate:
# what does the cell save then for its way back? ``patient.saved()`` tells.
#
# :doc:`/own_cell` has the whole language, and :doc:`/cells` thirteen cells from the literature.
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex43`` (a cell of your own, backward), ``ex44`` (what a step
# saves) and ``ex45`` (a long memory).
#
# This is the end of the track on libraries. Next: :doc:`18_a_kernel_without_a_gpu` begins the track on hardware.

r"""
19. From one launch per step to a persistent kernel
===================================================

*How many kernels must be started for a sequence?*

A launch takes time, however small the kernel is. One way to go faster is to launch fewer kernels. Taken to its limit,
a single kernel stays on the GPU and loops over time itself.

| **You need** chapters 5 and 18.
| **You will be able to** count the launches of a sequence, and explain what a persistent kernel must keep and
  wait for.
| **Time**: 18 minutes.
"""

# %%
# Counting launches
# -----------------
# We compute the same LSTM in three ways on the simulated GPU: from primitives, with one fused cell per step, and as a
# whole layer that multiplies the inputs of all steps at once.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.viz import between_steps, roofline
from minirnn.viz.colors import BLUE, GREEN, ORANGE

if missing := mr.devices.available()["cuda-sim"]:
    raise SystemExit("This page needs the simulator: " + " ".join(missing.split()))


class Unfused(Cuda):
    """The same device without its fused kernels."""

    kernels = frozenset()


driver = SimDriver(SimOptions())
fused, unfused = Cuda(driver), Unfused(driver, "unfused")
B, I, H = 4, 8, 16
rng = np.random.default_rng(0)
w = rng.normal(size=(I + H, 4 * H)).astype(np.float32) / 5
state, none, b = np.zeros((B, H), np.float32), np.zeros(H, np.float32), np.zeros(4 * H, np.float32)


def step_by_step(x):
    c = h = mr.tensor(state, device=fused)
    weights = mr.tensor(w, device=fused)
    for t in range(len(x)):
        y = mr.ops.lstm_block_cell(mr.tensor(x[t], device=fused), c, h, weights, none, none, none, b)
        c, h = y.cs, y.h
    return h


def whole_layer(x, device=fused):
    return mr.ops.block_lstm(len(x), mr.tensor(x, device=device), state, state, w, none, none, none, b).h


lengths = [1, 2, 4, 8, 16, 32]
ways = {
    "from primitives": lambda x: whole_layer(x, unfused),
    "one fused cell per step": step_by_step,
    "inputs of all steps at once": whole_layer,
}
launches = {name: [] for name in ways}
for T in lengths:
    x = rng.normal(size=(T, B, I)).astype(np.float32)
    for name, way in ways.items():
        before = driver.launches
        way(x)
        launches[name].append(driver.launches - before)

per_step = {name: counts[-1] / lengths[-1] for name, counts in launches.items()}
for name, counts in launches.items():
    print(f"{name:<28} {counts[-1]:>4} launches for {lengths[-1]} steps, {per_step[name]:.0f} per step")

# %%

ax = Figure(figsize=(8, 3.4), layout="constrained").add_subplot()
for (name, counts), color in zip(launches.items(), (ORANGE, GREEN, BLUE), strict=True):
    ax.loglog(lengths, counts, marker="o", color=color, label=name)
ax.loglog(lengths, [1] * len(lengths), "k--", linewidth=1, label="a persistent kernel: 1")
ax.set_xlabel("time steps T")
ax.set_ylabel("kernels launched")
ax.set_title("How many launches does a sequence need?")
ax.set_xticks(lengths, [str(n) for n in lengths])
ax.minorticks_off()
ax.legend(frameon=False)
mr.viz.show(ax.figure)

# %%
# The first way launches 15 kernels for each step. If a launch takes 5 microseconds, a thousand steps wait for
# :math:`1000 \cdot 15 \cdot 5\,\mu s = 75` milliseconds, no matter how fast the GPU is. The last way still launches two
# kernels per step (a product and the rest). Each step must wait for the previous one, and the end of a kernel is the
# usual way to wait for all threads.
#
# Staying
# -------
# A *persistent* kernel does not end between steps. Each block keeps its rows of the recurrent matrix in shared memory
# for the whole sequence. After each step all blocks meet at a barrier. The kernel builds this barrier from a counter in
# memory: every block increments it and then waits until it reaches the goal.

persistent = """
// h_t = tanh(x_t + R h_{t-1}) for all steps in one launch.   x: (T, H), R: (H, H) as in torch, h: (T+1, H)
//   one block = ROWS units; one thread = one unit. R's rows stay in shared memory for the whole sequence, with a gap
//   of one number after each, so that the threads read from different banks.
#define ROWS 4

__device__ void meet(unsigned *counter) {         // a barrier for the whole grid
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();                          // this block's h is in memory before the block counts as here
        const unsigned goal = (atomicAdd(counter, 1u) / gridDim.x + 1) * gridDim.x;
        while (*(volatile unsigned *)counter < goal) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void whole_sequence(int T, int H, const float *x, const float *R, float *h, unsigned *counter) {
    extern __shared__ float rows[];               // (ROWS, H+1)
    const int unit = blockIdx.x * ROWS + threadIdx.x;
    for (int k = 0; k < H; k++) rows[threadIdx.x * (H + 1) + k] = R[unit * H + k];
    for (int t = 0; t < T; t++) {
        float z = x[t * H + unit];
        for (int k = 0; k < H; k++) z += rows[threadIdx.x * (H + 1) + k] * ((volatile float *)h)[t * H + k];
        h[(t + 1) * H + unit] = tanhf(z);
        MEET
    }
}
"""
T, H = 12, 32
x = rng.normal(size=(T, H)).astype(np.float32)
R = (rng.normal(size=(H, H)) / np.sqrt(H)).astype(np.float32)
expected = [np.zeros(H, np.float32)]
for t in range(T):
    expected.append(np.tanh(x[t] + R @ expected[-1]))


def run(meet="meet(counter);", **options):
    driver = SimDriver(SimOptions(**options))
    kernel = driver.module(persistent.replace("MEET", meet), "whole_sequence.cu").function("whole_sequence")
    arrays = [x, R, np.zeros((T + 1, H), np.float32), np.zeros(1, np.uint32)]
    memory = [driver.alloc(a.nbytes) for a in arrays]
    for m, a in zip(memory, arrays, strict=True):
        driver.h2d(m.ptr, a)
    kernel(np.int32(T), np.int32(H), *memory, grid=(H // 4,), block=(4,), shared=4 * 4 * (H + 1))
    h = np.empty((T + 1, H), np.float32)
    driver.d2h(h, memory[2].ptr)
    return h, driver


h, driver = run()
error = np.abs(h - expected).max()
print(f"launches: {driver.launches}, blocks at once: {driver.stats.resident_blocks}, largest error: {error:.1e}")

# %%
# All twelve steps take one launch. Without the barrier, a block would run ahead and read states that are not ready yet:

h, _ = run(meet="", seed=1)
wrong = np.abs(h - expected).max(axis=1) > 1e-3
print("steps that come out wrong without a barrier:", np.flatnonzero(wrong))

# %%
# The catch
# ---------
# A barrier waits for *all* blocks, so all of them must be on the chip at once. A GPU would wait forever for a block
# that has not started, but the simulator reports the deadlock:

report = ""
try:
    run(resident=6)
except LaunchError as refused:
    report = str(refused).splitlines()[0]
print(report)

# %%
# So ask first how many blocks fit (``max_resident_blocks``), and never start more. In return, weights that stay on
# the chip are read once instead of T times.
#
# The ladder
# ----------
# minirnn has three ways to compute a layer of CudnnRNN, the rungs of a ladder. They differ in how the state gets from
# one step to the next, and in where R is kept. Each block of threads keeps the part of R of its units:

sketch = between_steps()
mr.viz.show(sketch)

# %%
# *barrier* is the kernel above for all cells, forward and backward. *persistent* needs no barrier. In the forward pass,
# each value has its own place in memory for each step. The place is empty at first, so a thread waits until it is
# filled. The backward pass has too many values for that, so it reuses places, and the last bit of a value shows whether
# it is new or left from before. A loop of *steps* can also be recorded once and launched as a whole (a CUDA graph). All
# rungs run in the simulator, and their results agree up to rounding:

T, B, I, H = 16, 2, 8, 32
x, dy = rng.normal(size=(T, B, I)), rng.normal(size=(T, B, H))
params = rng.normal(size=mr.ops.cudnn_rnn_params_size(1, H, I)) / np.sqrt(H)


def on(rung, recorded=False):
    device = Cuda(SimDriver(SimOptions()), rung)
    device.cudnn_rnn_rung, device.recordings.enabled = rung, recorded
    leaves = [mr.tensor(a, requires_grad=True, device=device) for a in (x, params)]
    zero, upstream = (mr.tensor(a, device=device) for a in (np.zeros((1, B, H)), dy))
    for _ in range(8 if recorded else 1):  # a recording needs a loop that comes again
        before = device.driver.launches
        y = mr.ops.cudnn_rnn(leaves[0], zero, zero, leaves[1]).output
        launches = device.driver.launches - before
        grads = mr.grad([y], leaves, [upstream])
    return launches, [t.numpy() for t in (y, *grads)]


found = {}
for rung, recorded in (("steps", False), ("steps", True), ("barrier", False), ("persistent", False)):
    found[f"{rung}, recorded" if recorded else rung] = on(rung, recorded)
differences = {}
for rung, (count, arrays) in found.items():
    differences[rung] = max(np.abs(a - b).max() for a, b in zip(arrays, found["steps"][1], strict=True))
    print(f"{rung:<16} {count:>3} launches forward, largest difference from steps {differences[rung]:.0e}")

# %%
# The first way on this page would need 15 times 16 launches. How many does each rung need?

sixteen = {"from primitives": int(T * per_step["from primitives"])} | {rung: n for rung, (n, _) in found.items()}

ax = Figure(figsize=(8, 2.6), layout="constrained").add_subplot()
bars = ax.barh(list(sixteen), list(sixteen.values()), color=[ORANGE, BLUE, BLUE, GREEN, GREEN])
ax.bar_label(bars, padding=4)
ax.set_xscale("log")
ax.set_xlim(0.8, 700)
ax.set_title("Launches for 16 steps of an LSTM, forward")
ax.set_xlabel("kernels launched")
ax.invert_yaxis()
mr.viz.show(ax.figure)

# %%
# The 33 launches are one product for the inputs of all steps, plus two per step (a product and the gates). Where the
# total is 2, the first launch is that same product, so all sixteen steps take a single launch.
#
# Arithmetic or memory?
# ---------------------
# A layer with B sequences and H units does F operations for the products with R over T steps. The number of bytes it
# moves depends on where R is kept. With a launch per step, R is read from memory T times. A persistent kernel reads it
# once. At every step both read the four pre-activations and both states of each unit, and write both states. These are
# eight numbers of four bytes. (The states that blocks gather from each other stay in the cache.) With s for *steps* and
# p for *persistent*,
#
# .. math::
#    :label: layer-bytes
#
#    \begin{aligned}
#    F &= 8 T B H^2 \\
#    M_s &= T (16 H^2 + 32 B H) \\
#    M_p &= 16 H^2 + 32 T B H
#    \end{aligned}
#
# The quotient a = F / M is the *arithmetic intensity*. R and the states give upper bounds for it:
#
# .. math::
#    :label: layer-intensity
#
#    \begin{aligned}
#    \frac{F}{M_s} &\le \frac{B}{2} \\
#    \frac{F}{M_p} &\le \frac{H}{4} \\
#    \frac{F}{M_p} &\le \frac{T B}{2}
#    \end{aligned}
#
# A chip that can do r operations and move w bytes per second is limited by its arithmetic or by its memory. Its speed v
# is at most
#
# .. math::
#    :label: roofline
#
#    v = \min(r, a w)
#
# This is the *roofline*. The figure shows it for an H200, according to its data sheet (67 trillion operations in
# float32 and 4.8 trillion bytes per second). The points are computed bounds, not measurements.

r, w, T, H = 67e12, 4.8e12, 64, 512
work = {}
for B in (1, 8, 64):
    F, R_bytes, state_bytes = 8 * T * B * H**2, 16 * H**2, 32 * T * B * H
    work[f"steps, B = {B}"] = F, T * R_bytes + state_bytes, np.nan
    work[f"persistent, B = {B}"] = F, R_bytes + state_bytes, np.nan
intensity = {name: F / M for name, (F, M, _) in work.items()}
print("operations per byte:", {name: float(round(a, 1)) for name, a in intensity.items()})
nanoseconds = {name: 1e9 * max(F / r, M / w) / T for name, (F, M, _) in work.items()}
print("ns per step under the roof:", {name: round(ns) for name, ns in nanoseconds.items()})
shared = 132 * 128 * 1.8e9  # bytes per second: multiprocessors, bytes per clock cycle of each, clock cycles per second
print(f"shared memory allows {shared / 2:.0e} operations per second, {shared / 2 / r:.2f} of the flat part")

# %%

drawn = {name: work[name] for name in ("steps, B = 1", "steps, B = 8", "persistent, B = 1", "persistent, B = 64")}
roof = roofline(drawn, peak=r, bandwidth=w)
roof.ax.get_legend().remove()
roof.ax.set_title("Bounds for an LSTM of 512 units over 64 steps")
for label, place in zip(roof.ax.texts, ((8, -14), (8, -14), (8, -30), (0, 10)), strict=True):
    label.set_position(place)
    label.set_horizontalalignment("left" if place[0] else "center")
roof.ax.texts[2].set_text("persistent, B = 1\nsteps, B = 64")  # at the same place
roof.ax.set_ylim(top=2 * r)
mr.viz.show(roof)

# %%
# With a launch per step and a single sequence, memory is the limit, because there is only half an operation for each
# byte. For a persistent kernel with one sequence the roof is flat, but such a kernel does not come near it. It reads R
# from shared memory at every step, again half an operation for each byte, and all multiprocessors together read about
# 30 trillion bytes per second there. This allows less than a quarter of the flat part. And the roof itself would mean
# 31 ns per step, while a barrier between blocks takes several times as long (:doc:`/cudnn_ladder`). With one sequence
# the *latency* of a step is therefore the limit. More sequences share each barrier and each read of R. For 64 sequences
# keeping R on the chip no longer helps, because arithmetic is the bound for both ways.
#
# These numbers assume that all bytes come from memory. In this example R has 4 MiB and fits into the H200's L2 cache of
# 50 MB. With a launch per step it may then come from the cache, whose roof is higher, and one sequence need not take
# 877 ns per step. A persistent kernel can also keep c in registers, so that it need not read it.
#
# The speedup on a GPU must be measured. :doc:`/cudnn_ladder` has the details of each rung.
#
# Further reading
# ---------------
# Diamos et al. (2016) keep R on the chip for all steps. Pöppel, Beck and Hochreiter (2025) do so on current GPUs.
# Williams, Waterman and Patterson (2009) introduce the roofline.
#
# Try it
# ------
# Give each block 8 units instead of 4. How many blocks are left, and how many bytes of shared memory does each need?
# For which numbers of sequences is arithmetic the bound for both ways of the last figure? (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex38`` (softmax of rows), ``ex18`` (a shared tile) and
# ``ex40`` (a sequence in one launch).
#
# Next: :doc:`20_many_hands`.

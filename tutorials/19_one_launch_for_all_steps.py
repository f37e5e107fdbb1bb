r"""
19. From one launch per step to a persistent kernel
===================================================

*How many kernels must be started for a sequence?*

Every kernel that a GPU runs must be launched, and a launch takes time, however small the kernel is. One way to go
faster is to launch fewer kernels. Taken to its limit, a single kernel stays on the GPU and loops over time itself.

| **You need** chapters 5 and 18.
| **You will be able to** count the launches of a sequence, and explain what a persistent kernel must keep and
  wait for.
| **Time**: 25 minutes.
"""

# %%
# Counting launches
# -----------------
# We compute the same LSTM in three ways on the simulated GPU: from primitives, with one fused launch per step, and as a
# whole layer that multiplies the inputs of all steps at once. A real GPU would need the same number of launches.

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.bench.ladder import counted
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.viz import between_steps, ladder_counts, roofline, weight_holders
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED

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


def from_primitives(x):
    return mr.ops.block_lstm(len(x), mr.tensor(x, device=unfused), state, state, w, none, none, none, b).h


def step_by_step(x):
    c = h = mr.tensor(state, device=fused)
    weights = mr.tensor(w, device=fused)
    for t in range(len(x)):
        y = mr.ops.lstm_block_cell(mr.tensor(x[t], device=fused), c, h, weights, none, none, none, b)
        c, h = y.cs, y.h
    return h


def whole_layer(x):
    return mr.ops.block_lstm(len(x), mr.tensor(x, device=fused), state, state, w, none, none, none, b).h


lengths = [1, 2, 4, 8, 16, 32]
ways = {
    "from primitives": from_primitives,
    "one fused launch a step": step_by_step,
    "inputs of all steps at once": whole_layer,
}
launches = {name: [] for name in ways}
for T in lengths:
    x = rng.normal(size=(T, B, I)).astype(np.float32)
    for name, way in ways.items():
        before = driver.launches
        way(x)
        launches[name].append(driver.launches - before)

fig = Figure(figsize=(8, 3.4), layout="constrained")
ax = fig.add_subplot()
for (name, counts), color in zip(launches.items(), (ORANGE, GREEN, BLUE), strict=True):
    ax.loglog(lengths, counts, marker="o", color=color, label=f"{name}: {counts[-1] / lengths[-1]:.0f} a step")
ax.loglog(lengths, [1] * len(lengths), "k--", linewidth=1, label="a persistent kernel: 1")
ax.set_xlabel("time steps T")
ax.set_ylabel("kernels launched")
ax.set_title("How many launches does a sequence need?")
ax.set_xticks(lengths, [str(n) for n in lengths])
ax.minorticks_off()
ax.legend(frameon=False, fontsize="small")
mr.viz.show(fig)
for name, counts in launches.items():
    print(f"{name:<28} {counts[-1]:>5} launches for {lengths[-1]} steps")
per_step = {name: counts[-1] / lengths[-1] for name, counts in launches.items()}
assert per_step["from primitives"] == 15 and per_step["one fused launch a step"] == 3
assert launches["inputs of all steps at once"] == [2 * n + 1 for n in lengths]

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
// h_t = tanh(x_t + R h_{t-1}) for all steps in one launch.   x: (T, H), R: (H, H), h: (T+1, H)
//   one block = ROWS units; one thread = one unit. R's rows stay in shared memory for the whole sequence.
#define ROWS 4

__device__ unsigned arrive(unsigned *counter) {  // the first half of a barrier for the whole grid
    unsigned goal = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();                          // my h is in memory before I say so
        goal = (atomicAdd(counter, 1u) / gridDim.x + 1) * gridDim.x;
    }
    return goal;
}

__device__ void wait(unsigned *counter, unsigned goal) {
    if (threadIdx.x == 0) {
        while (*(volatile unsigned *)counter < goal) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

// saved: (T, 4, H), what a way back will need
#define SAVE for (int k = 0; k < 4; k++) saved[(t * 4 + k) * H + unit] = z;

extern "C" __global__ void whole_sequence(int T, int H, const float *x, const float *R, float *h, unsigned *counter,
                                          float *saved) {
    extern __shared__ float rows[];               // (ROWS, H)
    const int unit = blockIdx.x * ROWS + threadIdx.x;
    for (int k = 0; k < H; k++) rows[threadIdx.x * H + k] = R[unit * H + k];
    for (int t = 0; t < T; t++) {
        float z = x[t * H + unit];
        for (int k = 0; k < H; k++) z += rows[threadIdx.x * H + k] * ((volatile float *)h)[t * H + k];
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


def run(meet, blocks=H // 4, **options):
    driver = SimDriver(SimOptions(**options))
    kernel = driver.module(persistent.replace("MEET", meet), "whole_sequence.cu").function("whole_sequence")
    arrays = [x, R, np.zeros((T + 1, H), np.float32), np.zeros(1, np.uint32), np.zeros((T, 4, H), np.float32)]
    memory = [driver.alloc(a.nbytes) for a in arrays]
    for m, a in zip(memory, arrays, strict=True):
        driver.h2d(m.ptr, a)
    start = kernel.traced if driver.options.check else kernel
    trace = start(np.int32(T), np.int32(H), *memory, grid=(blocks,), block=(4,), shared=4 * 4 * H)
    h = np.empty((T + 1, H), np.float32)
    driver.d2h(h, memory[2].ptr)
    return h, driver, trace, memory


together = "wait(counter, arrive(counter));"
h, driver, *_ = run(together)
error = np.abs(h - expected).max()
print(
    f"launches: {driver.launches}, blocks resident at once: {driver.stats.resident_blocks}, largest error {error:.1e}"
)
assert driver.launches == 1 and error < 1e-5

# %%
# All twelve steps take one launch. Without the barrier, a block would run ahead and read states that are not ready yet:

h, *_ = run("", seed=1)
wrong = np.abs(h - expected).max(axis=1) > 1e-3
print("steps that come out wrong without a barrier:", np.flatnonzero(wrong))
assert wrong.any()

# %%
# What a fence waits for
# ----------------------
# ``__threadfence()`` makes a thread wait until all its stores are visible to every other thread. The wait lasts as long
# as its most recent store needs to get there. A kernel for training also stores the values that the backward pass
# needs. It can store them before the barrier or between the two halves of the barrier. The figure shows every memory
# access of one thread, from one barrier to the one after the next:

orders = {
    "save, then meet": f"SAVE {together}",
    "arrive, save, wait": "const unsigned goal = arrive(counter); SAVE wait(counter, goal);",
}
kinds = {
    "reads R": GRAY,
    "reads h": GREEN,
    "stores h": BLUE,
    "stores what is saved": ORANGE,
    "fence, then says so": RED,
    "looks whether all are there": PURPLE,
}
fig = Figure(figsize=(8, 2.9), layout="constrained")
axes = fig.subplots(2, sharex=True)
fresh = {}
for ax, (title, meet) in zip(axes, orders.items(), strict=True):
    _, driver, trace, memory = run(meet, check=True)
    mine = trace.accesses[(trace.accesses["block"] == 2) & (trace.accesses["thread"] == 0)]
    mine = mine[np.argsort(mine["order"])]
    numbers = {m.number: name for m, name in zip(memory, ("x", "R", "h", "counter", "saved"), strict=True)}
    where = [numbers.get(int(n), "R") for n in mine["allocation"]]  # shared memory has the rows of R
    says = [
        ("stores h" if write else "reads h") if place == "h"
        else "stores what is saved" if place == "saved"
        else ("fence, then says so" if write else "looks whether all are there") if place == "counter"
        else "reads R"
        for place, write in zip(where, mine["write"], strict=True)
    ]  # fmt: skip
    fences = [k for k, what in enumerate(says) if what == "fence, then says so"]
    part = says[fences[4] : fences[6] + 1]
    for name, color in kinds.items():
        at = [k for k, what in enumerate(part) if what == name]
        ax.vlines(at, 0, 1, color=color, linewidth=3 if "stores" in name or "fence" in name else 1.2, label=name)
    ax.set(title=title, yticks=[])
    before = says[: fences[5]][::-1]
    fresh[title] = next(k for k, what in enumerate(before) if "stores" not in what)
axes[1].set_xlabel("accesses to memory of one thread, from the fence of one step to that of the step after the next")
fig.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside lower center", frameon=False, fontsize="small")
mr.viz.show(fig)
print("stores that were made just before the fence:", fresh)
assert fresh == {"save, then meet": 5, "arrive, save, wait": 1}

# %%
# In the upper row, five stores are still under way at the fence. In the lower row there is only one. The other four
# were made before the thread began to wait and to read, so they had the time of the whole next product to arrive. Both
# orders give the same numbers:

found = [run(meet)[0] for meet in orders.values()]
assert np.array_equal(*found)

# %%
# The catch
# ---------
# A barrier waits for *all* blocks, so all of them must be on the chip at once. A block that has not started cannot
# arrive, and the blocks that wait for it never make room. A GPU would wait forever, but the simulator reports the
# deadlock:

try:
    run(together, resident=6)
except LaunchError as report:
    print(str(report).splitlines()[0])
    assert "deadlock" in str(report)
else:
    raise AssertionError("eight blocks met although only six were there")

# %%
# This gives the rules for persistent kernels: ask first how many blocks fit (``max_resident_blocks``), never start
# more, and give every wait a limit. In return, weights that stay on the chip are read once instead of T times.

weights_read = {"one product a step": T * R.nbytes, "persistent": R.nbytes}
for name, nbytes in weights_read.items():
    print(f"{name:<20} reads {nbytes:>7,} bytes of R")

# %%
# The ladder
# ----------
# minirnn has three ways to compute a layer of CudnnRNN. We call them the rungs of a ladder. They differ in how the
# state gets from one step to the next, and in where R is kept:

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
    zero = mr.tensor(np.zeros((1, B, H)), device=device)
    upstream = mr.tensor(dy, device=device)
    for _ in range(8 if recorded else 1):  # a recording needs a loop that comes again
        before = device.driver.launches
        y = mr.ops.cudnn_rnn(leaves[0], zero, zero, leaves[1]).output
        launches = device.driver.launches - before
        grads = mr.grad([y], leaves, [upstream])
    assert set(device.rungs) == {f"{rung} forward", f"{rung} backward"}
    return launches, [t.numpy() for t in (y, *grads)]


expected = on("steps")[1]
for rung, recorded in (("steps", False), ("steps", True), ("barrier", False), ("persistent", False)):
    launches, found = on(rung, recorded)
    apart = max(np.abs(a - b).max() for a, b in zip(found, expected, strict=True))
    print(f"{rung + (', recorded' if recorded else ''):<16} {launches:>3} launches forward, apart by {apart:.0e}")
    assert apart < 1e-12 and (launches > 2 * T) == (rung == "steps" and not recorded)

# %%
# From 33 launches to one
# -----------------------
# How many launches remain when no gradient is needed? ``minirnn bench --ladder`` counts them for the layouts of a large
# GPU. The first way on this page would launch 15 kernels for each of these sixteen steps:

sizes = [(4, 1, 48, 48), (16, 1, 48, 48), (16, 4, 48, 48), (16, 1, 96, 96)]
rows = [row for size in sizes for rung in ("steps", "persistent") for row in counted(size, rung)]
sixteen = {"from primitives": int(16 * per_step["from primitives"])}
for row in rows:
    if row["size"] == [16, 1, 48, 48] and row["pass"] == "forward":
        sixteen[row["rung"]] = row["counts"]["launches"]
fig = Figure(figsize=(8, 2.4), layout="constrained")
ax = fig.add_subplot()
bars = ax.barh(list(sixteen), list(sixteen.values()), color=[ORANGE, BLUE, BLUE, GREEN])
ax.bar_label(bars, padding=4)
ax.set(xscale="log", xlim=(0.8, 500), xlabel="launches for 16 steps of an LSTM, forward")
ax.invert_yaxis()
mr.viz.show(fig)
assert sixteen == {"from primitives": 240, "steps": 33, "steps, recorded": 2, "persistent": 2}

# %%
# The 33 launches are one product for the inputs of all steps, plus two per step (a product and the gates). Where the
# total is 2, the first launch is that same product, so all sixteen steps take a single launch.
#
# Who holds which weight
# ----------------------
# In the simplest matrix product, each thread computes one sum and reads one row of R for it. When the launch ends, the
# values of R are lost and must be read again.

plain = weight_holders("plain", 128)
mr.viz.show(plain)
assert (plain.data["register"] == -1).all()

# %%
# A persistent kernel distributes R once. The four rows of a unit, one per gate, must be in the same warp, because the
# unit needs all four sums at once. That is why every block has a stripe in each quarter of R. Within a warp, each lane
# holds four numbers of each row, which is as much as a lane can read at once:

persistent = weight_holders("persistent", 128)
mr.viz.show(persistent)
held = persistent.data
quarters = held["block"].reshape(4, 128, 128)
assert (quarters == quarters[0]).all() and held["register"].max() + 1 == 32
print("numbers of R in the registers of a lane:", held["register"].max() + 1)

# %%
# Each lane multiplies its weights by its four numbers of h, and then the lanes add up their products. A lane reads four
# numbers of h from shared memory for 32 multiplications with R, because it uses each of them for eight rows.

# %%
# What it moves
# -------------
# We also counted the bytes that each rung reads, and how often its threads must wait for each other:

counts = ladder_counts({"rows": rows, "device": "cuda-sim with the layouts of an H200"})
mr.viz.show(counts)
moved = {(axis, rung): counts.data[f"bytes.{axis}.{rung}"][-1] for axis in "TBH" for rung in ("steps", "persistent")}
shares = {axis: moved[axis, "persistent"] / moved[axis, "steps"] for axis in "TBH"}
for axis, share in shares.items():
    print(f"at the largest {axis} persistent moves {share:.0%} of the bytes of steps")
assert max(shares, key=shares.get) == "B" and shares["B"] < 1

# %%
# Longer sequences and larger layers favor *persistent*, because it reads R only once. Larger batches favor *steps*. It
# uses each row of R for the whole batch at once, whereas every block of a persistent kernel must gather all states.
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
roof = roofline(work, peak=r, bandwidth=w)
roof.ax.get_legend().remove()
roof.ax.set_title("Bounds for an LSTM of 512 units over 64 steps")
for label, height in zip(roof.ax.texts, (-10, -10, -10, -38, -24, -10), strict=True):
    label.set_position((6, height))  # below each other
mr.viz.show(roof)
intensity = dict(zip(work, roof.data["intensity"], strict=True))
print("operations per byte:", {name: round(a, 1) for name, a in intensity.items()})
assert intensity["steps, B = 8"] < r / w < min(intensity["persistent, B = 1"], intensity["steps, B = 64"])

# %%
# With a launch per step and a single sequence, memory is the limit, because there is only half an operation for each
# byte. One sequence is enough to move the persistent kernel to the flat part of the roof, where arithmetic is the
# limit. With 64 sequences both are there, and keeping R on the chip no longer helps. A small R stays in the cache
# between launches. The bytes then come from the cache, whose roof is higher.
#
# The speedup on a GPU depends on its barriers, its caches and the size of the network, and must be measured.
# :doc:`/cudnn_ladder` lists what has been measured so far.
#
# Further reading
# ---------------
# Diamos et al. (2016) keep R on the chip for all steps. Pöppel, Beck and Hochreiter (2025) do so on current GPUs and
# search for the best division of the work. Appleyard, Kocisky and Blunsom (2016) describe the intermediate
# optimizations. Williams, Waterman and Patterson (2009) introduce the roofline.
#
# Try it
# ------
# Give each block 8 units instead of 4. How many blocks are left, and how many bytes of shared memory does each need?
# From which batch size does the lowest rung move the fewest bytes?
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex38`` (softmax of rows), ``ex18`` (a shared tile) and
# ``ex40`` (a sequence in one launch).
#
# Next: :doc:`20_many_hands`.

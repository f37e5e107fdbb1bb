r"""
18. A CUDA kernel with no GPU
=============================

*What do threads do, and what goes wrong?*

A CUDA kernel is one small program that thousands of threads run at once, each with its own index. The simulator
compiles minirnn's CUDA C++ with the host's compiler and runs it on your CPU.

| **You need** chapter 5 and a little C.
| **You will be able to** read and write a CUDA kernel, and say what a barrier is for and what a race is.
| **Time**: 12 minutes.
"""

# %%
# One thread, one unit
# --------------------
# An LSTM step has B rows and H units. The cell kernels use one thread for each unit of each row. Here are 5 rows and 12
# units, in blocks of 8 by 4 threads:

import numpy as np

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.viz import bank_conflicts, thread_map, warp_accesses

if missing := mr.devices.available()["cuda-sim"]:
    raise SystemExit("This page needs the simulator: " + " ".join(missing.split()))

threads = thread_map(5, 12, grid=(2, 2), block=(8, 4))
mr.viz.show(threads)

# %%
# The amount of work is rarely a multiple of the size of a block. For N elements in blocks of S threads, thread k of
# block j works on element i, and J is the smallest number of blocks that is enough:
#
# .. math::
#    :label: grid-index
#
#    \begin{aligned}
#    i &= j S + k \\
#    (J - 1) S + 1 &\le N \le J S
#    \end{aligned}
#
# Threads beyond the edge have nothing to do. That is why kernels like these begin with
# ``if (row >= B || unit >= H) return;``. If you forget it, these threads write outside the array.

driver = SimDriver(SimOptions(check=True))


def run(source, *arguments, grid=(1,), block=(64,), name="kernel"):
    kernel = driver.module(source, f"{name}.cu").function(name)
    try:
        kernel(*arguments, grid=grid, block=block)
        said = "no complaint"
    except LaunchError as error:
        said = str(error)
    print(said)
    return said


x = driver.alloc(4 * 100)  # 100 floats
no_guard = run(
    """extern "C" __global__ void forgot_the_guard(float *x) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    x[k] = 2.0f * k;
}
""",
    x, grid=(2,), name="forgot_the_guard",
)  # fmt: skip

# %%
# There are 128 threads but only 100 numbers. Thread 36 of block 1 is the first one outside. On a GPU this might
# silently overwrite another array. The simulator checks every access.
#
# A race
# ------
# Threads of a block can share memory, but then they must wait for each other. This kernel reverses 64 numbers:

turn_around = """extern "C" __global__ void turn_around(float *x) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    BARRIER
    x[threadIdx.x] = s[63 - threadIdx.x];
}
"""
y = driver.alloc(4 * 64)
no_barrier = run(turn_around.replace("BARRIER", ""), y, name="turn_around")

# %%
# Thread 0 read an element before thread 63 had written it. With the barrier, each thread waits until all have written:

barrier = run(turn_around.replace("BARRIER", "__syncthreads();"), y, name="turn_around")

# %%
# What happens if only half of the threads reach the barrier?

half = run(turn_around.replace("BARRIER", "if (threadIdx.x < 32) __syncthreads();"), y, name="turn_around")

# %%
# The other half does not wait, and the race is back.
#
# Neighbors should read neighbors
# -------------------------------
# Memory is read in sectors of 32 bytes. If the 32 threads of a warp read 32 neighboring floats, 4 sectors are enough.
# If they read down a column of a matrix with 32 columns, each needs a different sector:

source = """extern "C" __global__ void read(const float *x, float *y, int step) {
    y[threadIdx.x] = x[threadIdx.x * step];
}
"""
wide, out = driver.alloc(4 * 32 * 33), driver.alloc(4 * 32)
kernel = driver.module(source, "read.cu").function("read")
rows = kernel.traced(wide, out, np.int32(1), grid=(1,), block=(32,))
columns = kernel.traced(wide, out, np.int32(32), grid=(1,), block=(32,))
coalesced = warp_accesses(rows, 2)
mr.viz.show(coalesced)

# %%
# Blue is what the threads read, and orange is what the memory sends. Along a row, every byte that is sent is used. Down
# a column it is one in eight:

strided = warp_accesses(columns, 2)
mr.viz.show(strided)
print("sectors per warp:", len(coalesced.data["sectors"]), "against", len(strided.data["sectors"]))

# %%
# This is eight times the traffic for the same 128 bytes. It is a *count*, not a time. If neighboring threads read
# floats that are d places apart, 32 of them spread over 128 d bytes, and no thread needs more than one sector. If the
# first float is at the beginning of a sector, a warp reads
#
# .. math::
#    :label: sectors
#
#    q_d = \min(4 d, 32)
#
# sectors.
#
# Shared memory has its own rule. It has 32 banks, and each bank delivers one word at a time. A column of a 32-wide tile
# is in a single bank. A tile of width 33 spreads the column over all of them. That is why tiles in CUDA programs often
# have an extra column. In general, if words are d places apart, the banks repeat after :math:`32 / \gcd(d, 32)` words.
# The number of rounds is therefore the greatest common divisor
#
# .. math::
#    :label: bank-rounds
#
#    w_d = \operatorname{gcd}(d, 32)
#
# which is 1 for every odd d.

tile = """extern "C" __global__ void tile(int width) {
    __shared__ float s[32 * 33];
    s[threadIdx.x * width] = 1;
}
"""
kernel = driver.module(tile, "tile.cu").function("tile")
worst = bank_conflicts(kernel.traced(np.int32(32), grid=(1,), block=(32,)), 3)
mr.viz.show(worst)
padded = kernel.traced(np.int32(33), grid=(1,), block=(32,))
print("rounds with width 32 and 33:", worst.data["words"].max(), padded.bank_conflicts(3)[0])

# %%
# The real thing
# --------------
# ``minirnn/devices/cuda/kernels/sequence/steps.cu`` runs a step of the cell in ``minirnn/ops/lstm_block/cells.py`` on
# a GPU. Here it runs on your CPU, and we compare it with NumPy's step:

rng = np.random.default_rng(0)
B, I, H = 5, 3, 12
inputs = [rng.normal(size=s) for s in ((B, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,))]
on_cpu = mr.ops.lstm_block_cell(*(mr.tensor(a) for a in inputs))
simulated = mr.ops.lstm_block_cell(*(mr.tensor(a, device="cuda-sim") for a in inputs))
print("largest difference:", np.abs(on_cpu.h.numpy() - simulated.h.numpy()).max())

# %%
# What the simulator cannot tell
# ------------------------------
# It cannot measure time, and it has no caches. A kernel that passes here may still fail on a GPU. :doc:`/cuda` lists
# the errors that the simulator finds.
#
# Further reading
# ---------------
# Williams, Waterman and Patterson (2009) explain when memory and when arithmetic limits the speed of a kernel.
#
# Try it
# ------
# Replace ``__syncthreads()`` with ``__syncwarp()``. With 64 threads the race is back, but with 32 it is gone. Why?
# (:doc:`Answer </on_paper>`)
#
# Then write it yourself: :doc:`exercises </exercises>` ``ex17`` (a pointwise kernel), ``ex39`` (fused gates),
# ``ex20`` (coalescing), ``ex19`` (a race) and ``ex37`` (a reduction).
#
# Next: :doc:`19_one_launch_for_all_steps`.

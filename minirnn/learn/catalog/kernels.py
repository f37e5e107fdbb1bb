"""More CUDA kernels: a reduction, softmax, a fused backward pass, and a sequence in one launch."""

from __future__ import annotations

from functools import partial

import numpy as np

from minirnn.learn.catalog.cuda import nans, shared_by
from minirnn.learn.catalog.edited import slips
from minirnn.learn.exercise import Count, CudaExercise, Inputs, Sizes, Wrong
from minirnn.learn.formulas import kernels

# ---- ex37: a reduction over rows

ROWS, COLUMNS = 8, 32
"""The block of ex37: threads along y share the rows of a column, threads along x have one column each."""


def many_rows(rng: np.random.Generator, s: Sizes) -> Inputs:
    N, H = 40 + s.T, COLUMNS + s.H
    return dict(N=np.int32(N), H=np.int32(H), dz=rng.normal(size=(N, H)).astype(np.float32), db=nans(H))


def added_along_x(N: np.int32, H: np.int32, dz: np.ndarray, db: np.ndarray, first: int) -> np.ndarray:
    """The shares of the threads with y = 0, after rounds that add those of other columns to them."""
    blocks = np.zeros((-(-H // COLUMNS), COLUMNS), np.float32)
    blocks.flat[:H] = dz[::ROWS].sum(0)
    half = first
    while half:
        blocks[:, :half] += blocks[:, half : 2 * half]
        half //= 2
    return blocks.ravel()[:H]


ALONG_X = "the rounds add along x, where each thread has another column: the shares of one column are along y"
REDUCTION_SLIPS = slips(
    ("no barrier after the threads have written their sums", "never written",
     "part[y][x] = sum;\n    __syncthreads();", "part[y][x] = sum;"),
    ("no barrier between the rounds", "race", "part[y + half][x];\n        __syncthreads();", "part[y + half][x];"),
    ("threads without a column leave before the barrier", "", "float sum = 0;",
     "if (k >= H) return;\n    float sum = 0;"),
    ("threads without a column read beyond the row", "", "if (k < H)\n        for", "for"),
    ("only half of the threads come to the barrier", "",
     "if (y < half) part[y][x] += part[y + half][x];\n        __syncthreads();",
     "if (y < half) {\n part[y][x] += part[y + half][x];\n __syncthreads();\n }"),
    ("the last round is missing", "", "half > 0", "half > 1"),
    ("every thread writes the result", "", "if (y == 0 && k < H)", "if (k < H)"),
    ("one thread adds up a whole column", "reads", "for (int n = y; n < N; n += ROWS) sum += dz[n * H + k];",
     "for (int n = 0; n < N; ++n) sum += dz[n * H + k] / ROWS;"),
)  # fmt: skip

# ---- ex38: softmax


def big_rows(rng: np.random.Generator, s: Sizes) -> Inputs:
    B, H = s.B + 1, 70 + s.H
    x = 3 * rng.normal(size=(B, H)) + 200.0 * (np.arange(B)[:, None] - 1)
    return dict(H=np.int32(H), x=x.astype(np.float32), y=nans(B, H))


SOFTMAX_SLIPS = slips(
    ("the maximum is not subtracted", "", "expf(x[b * H + j] - largest)", "expf(x[b * H + j])"),
    ("no barrier between reading the maximum and using the memory again", "race",
     "    const float largest = part[0];\n    __syncthreads();", "    const float largest = part[0];"),
    ("no barrier in the rounds of the maximum", "race", "part[k + half]);\n        __syncthreads();",
     "part[k + half]);"),
    ("the maximum begins at zero", "", "float most = -INFINITY;", "float most = 0;"),
    ("only the first 64 numbers of a row", "", "for (int j = k; j < H; j += THREADS) y",
     "if (k < H) { const int j = k; y", "/ sum;", "/ sum; }"),
    ("it is not divided by the sum", "", " / sum;", ";"),
)  # fmt: skip

# ---- ex39: the backward pass of an LSTM's gates in one kernel


def gates(rng: np.random.Generator, s: Sizes) -> Inputs:
    B, H = 5 + s.B, 11 + s.H
    cs_prev, dcs, dh, cs = (a.astype(np.float32) for a in rng.normal(size=(4, B, H)))
    i, f, o = (a.astype(np.float32) for a in rng.uniform(0.1, 0.9, size=(3, B, H)))
    ci = np.tanh(rng.normal(size=(B, H))).astype(np.float32)
    return dict(B=np.int32(B), H=np.int32(H), cs_prev=cs_prev, i=i, f=f, o=o, ci=ci, co=np.tanh(cs), dcs=dcs, dh=dh,
                dz=nans(B, 4 * H), dcs_prev=nans(B, H))  # fmt: skip


GATE_SLIPS = slips(
    ("no guard for threads that have no number", "", "if (n >= B * H) return;", ""),
    ("the gates in torch's order i, f, ci, o", "", "row[H + k] =", "row[HOLD + k] =", "row[2 * H + k] =",
     "row[H + k] =", "row[HOLD + k] =", "row[2 * H + k] ="),
    ("a row of dz has H columns", "", "dz + 4 * H * b", "dz + H * b"),
    ("the way of dcs from the next step is missing", "", "dcs[n] + dhn * on", "dhn * on"),
    ("the square in the slope of tanh is missing", "", "1 - con * con", "1 - con"),
    ("dcs_prev without f", "", "dcs_prev[n] = c * fn;", "dcs_prev[n] = c;"),
    ("numbers are read again for every use", "reads", "c * in * (1 - cin * cin)", "c * i[n] * (1 - ci[n] * ci[n])"),
)  # fmt: skip

# ---- ex40: all steps in one launch

THREADS = 32


def steps(rng: np.random.Generator, s: Sizes) -> Inputs:
    T, H = s.T, 64 + s.H
    a, h0 = (rng.normal(size=shape).astype(np.float32) for shape in ((T, H), H))
    R = (rng.normal(size=(H, H)) / 8).astype(np.float32)
    return dict(T=np.int32(T), H=np.int32(H), a=a, R=R, h0=h0, arrived=np.zeros(1, np.uint32), h=nans(T, H))


SEQUENCE_SLIPS = slips(
    ("no barrier between the steps", "", "        barrier(arrived, t + 1);\n", ""),
    ("a barrier of the block alone", "", "        barrier(arrived, t + 1);\n", "        __syncthreads();\n"),
    ("the barrier waits for the first step only", "", "barrier(arrived, t + 1)", "barrier(arrived, 1)"),
    ("every thread counts itself, and blocks are waited for", "", "if (threadIdx.x == 0) {", "{"),
    ("one block computes everything, so that it needs no barrier of the grid", "every block has its share",
     "    const int k = blockIdx.x * blockDim.x + threadIdx.x;\n", "    if (blockIdx.x > 0) return;\n",
     "        if (k < H) {", "        for (int k = threadIdx.x; k < H; k += blockDim.x) {", "barrier(arrived, t + 1)",
     "__syncthreads()"),
    ("h0 is taken at every step", "", "t > 0 ? h + (t - 1) * H : h0", "h0"),
    ("R is transposed", "", "R[j * H + k]", "R[k * H + j]"),
    ("threads without a number leave before the barrier", "", "    for (int t = 0;",
     "    if (k >= H) return;\n    for (int t = 0;"),
)  # fmt: skip


EXERCISES = (
    CudaExercise(
        "13_kernels/ex37_reduction.cu", many_rows, kernels.bias_gradient, {"db": "(H,)"},
        launch=lambda a: ((-(-int(a["H"]) // COLUMNS),), (COLUMNS, ROWS)),
        counts=(
            Count("reads", "reads", lambda a: int(a["N"]) * int(a["H"]),
                  "each number of dz is read once: the threads along y share the rows of a column"),
            shared_by(ROWS, lambda a: int(a["N"]), 1),
        ),
        slips=REDUCTION_SLIPS,
        wrong=tuple(Wrong(ALONG_X, partial(added_along_x, first=n)) for n in (ROWS // 2, COLUMNS // 2)),
    ),
    CudaExercise(
        "13_kernels/ex38_softmax.cu", big_rows, kernels.softmax_rows, {"y": "(B, H)"},
        launch=lambda a: ((len(a["x"]),), (64,)), counts=(shared_by(64, lambda a: int(a["H"]), 3),),
        slips=SOFTMAX_SLIPS,
    ),
    CudaExercise(
        "13_kernels/ex39_fused_gates.cu", gates, kernels.lstm_gates_gradient, {"dz": "(B, 4H)", "dcs_prev": "(B, H)"},
        launch=lambda a: ((-(-int(a["B"]) * int(a["H"]) // 64),), (64,)),
        counts=(
            Count("reads", "reads", lambda a: 8 * int(a["B"]) * int(a["H"]),
                  "a fused kernel reads each number once: keep what you use twice in a local variable"),
        ),
        slips=GATE_SLIPS,
    ),
    CudaExercise(
        "13_kernels/ex40_sequence.cu", steps, kernels.rnn_sequence, {"h": "(T, H)"},
        launch=lambda a: ((-(-int(a["H"]) // THREADS),), (THREADS,)),
        counts=(
            Count("idle blocks", "idle", lambda a: 0,
                  "one thread computes one number of each h[t], so every block has its share and the whole grid "
                  "needs a barrier"),
        ),
        slips=SEQUENCE_SLIPS,
    ),
)  # fmt: skip

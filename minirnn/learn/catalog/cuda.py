"""Chapter 9: CUDA kernels. The simulator checks every access; what it counts is the same on every machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minirnn.learn.exercise import Count, CudaExercise, Inputs, Sizes
from minirnn.learn.formulas import cuda


def nans(*shape: int) -> np.ndarray:
    """An output before the launch, full of NaN, which shows what no thread writes."""
    return np.full(shape, np.nan, np.float32)


def blend(rng: np.random.Generator, s: Sizes) -> Inputs:
    N = 16 * s.B * s.H + s.I  # not a multiple of the block
    dh, h_prev, c = (a.astype(np.float32) for a in rng.normal(size=(3, N)))
    u = rng.uniform(0.1, 0.9, size=N).astype(np.float32)
    return dict(N=np.int32(N), dh=dh, h_prev=h_prev, u=u, c=c, dh_prev=nans(N), du=nans(N), dc=nans(N))


TILE = 8


def product(rng: np.random.Generator, s: Sizes) -> Inputs:
    M, K, N = 3 * TILE + s.B, 2 * TILE + s.I, TILE + s.H
    x, w = rng.normal(size=(M, K)).astype(np.float32), rng.normal(size=(K, N)).astype(np.float32)
    return dict(M=np.int32(M), K=np.int32(K), N=np.int32(N), x=x, w=w, y=nans(M, N))


def tiles(n: int) -> int:
    return -(-int(n) // TILE)


def tile_reads(inputs: Inputs) -> int:
    M, K, N = (int(inputs[k]) for k in "MKN")
    return tiles(N) * M * K + tiles(M) * K * N


def rows(rng: np.random.Generator, s: Sizes) -> Inputs:
    B, H = s.B + 1, 96 + 20 * s.H  # more than the 128 threads of a block, and no multiple of them
    return dict(H=np.int32(H), x=rng.normal(size=(B, H)).astype(np.float32), norm=nans(B))


def cell_output(rng: np.random.Generator, s: Sizes) -> Inputs:
    B, H = 38 + s.B, 31 + s.H
    o, cs = (a.astype(np.float32) for a in rng.normal(size=(2, B, H)))
    return dict(B=np.int32(B), H=np.int32(H), o=o, cs=cs, h=nans(B, H))


def shared_by(threads: int, numbers: Callable[[Inputs], int], times: int) -> Count:
    """A count that checks that the threads of a block share its reads, each number being read `times` times."""
    return Count("reads per thread", "thread", lambda a: times * -(-numbers(a) // threads),
                 f"the {threads} threads share the work, so each reads every {threads}th number")  # fmt: skip


EXERCISES = (
    CudaExercise(
        "13_kernels/ex17_pointwise.cu", blend, cuda.blend_gradient, {"dh_prev": "(N,)", "du": "(N,)", "dc": "(N,)"},
        launch=lambda a: ((-(-int(a["N"]) // 64),), (64,)),
    ),
    CudaExercise(
        "13_kernels/ex18_shared_tile.cu", product, cuda.product, {"y": "(M, N)"},
        launch=lambda a: ((tiles(a["N"]), tiles(a["M"])), (TILE, TILE)),
        counts=(
            Count("reads", "reads", tile_reads, "let each block read the numbers of a tile once, into shared memory",
                  lambda a: 2 * int(a["M"]) * int(a["K"]) * int(a["N"])),
        ),
    ),
    CudaExercise(
        "13_kernels/ex19_race.cu", rows, cuda.row_norms, {"norm": "(B,)"}, launch=lambda a: ((len(a["x"]),), (128,)),
        counts=(shared_by(128, lambda a: int(a["H"]), 2),),
    ),
    CudaExercise(
        "13_kernels/ex20_coalescing.cu", cell_output, cuda.cell_output, {"h": "(B, H)"},
        launch=lambda a: ((2, 11), (32, 4)),
        counts=(
            Count("sectors", "sectors", lambda a: 3 * 7 * int(a["B"]),
                  "the 32 threads of a warp differ in threadIdx.x, so neighbors should access neighboring numbers",
                  lambda a: 3 * a["h"].size),
        ),
    ),
)  # fmt: skip

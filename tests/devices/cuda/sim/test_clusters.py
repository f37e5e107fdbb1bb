"""Clusters of blocks in the simulator: who is in one, its barrier, its shared memory, and what check mode says.

Tests `minirnn/devices/cuda/sim/runtime/`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cuda.driver import CompileError, LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take

SOURCE = r"""
#define KERNEL extern "C" __global__ void __cluster_dims__(4, 1, 1)

__device__ void meet() { __cluster_barrier_arrive(); __cluster_barrier_wait(); }

// Each block hands its number to its right neighbor, through that one's shared memory.
KERNEL pass_on(int *got, int *ranks) {
    __shared__ int hand[32];
    const int rank = __clusterRelativeBlockRank(), size = __clusterSizeInBlocks();
    int *right = (int *)__cluster_map_shared_rank(hand, (rank + 1) % size);
    FIRST
    right[threadIdx.x] = blockIdx.x + 100 * blockIdx.y;
    SECOND
    got[(blockIdx.y * gridDim.x + blockIdx.x) * 32 + threadIdx.x] = hand[threadIdx.x];
    if (threadIdx.x == 0) ranks[blockIdx.y * gridDim.x + blockIdx.x] = rank;
}

// A counter of block 0, which all blocks of the cluster raise, many times over.
KERNEL count(int *total) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    meet();
    for (int k = 0; k < 5; k++) {
        atomicAdd((int *)__cluster_map_shared_rank(&n, 0), 1);
        meet();
    }
    if (blockIdx.x % 4 == 0 && threadIdx.x == 0) total[blockIdx.x / 4] = n;
    meet();
}

KERNEL beyond(int *) {
    __shared__ int n[8];
    meet();
    ((int *)__cluster_map_shared_rank(n, 1))[8] = 3;
    meet();
}

KERNEL leaves_early(int *) {
    __shared__ int n[32];
    meet();
    if (blockIdx.x % 4 != 2) return;
    for (int k = 0; k < 3; k++) __nanosleep(0);
    ((int *)__cluster_map_shared_rank(n, 1))[threadIdx.x] = blockIdx.x;
}

KERNEL divided(int *) {
    if (threadIdx.x < 16) meet();
    else __syncthreads();
}

KERNEL other_place(int *) {
    __cluster_barrier_arrive();
    if (blockIdx.x == 0) {
        __cluster_barrier_wait();
    } else {
        __cluster_barrier_wait();
    }
}

KERNEL arrives_twice(int *) {
    __cluster_barrier_arrive();
    if (blockIdx.x == 2) __cluster_barrier_arrive();
    __cluster_barrier_wait();
}
KERNEL never_arrived(int *) { if (blockIdx.x != 1) __cluster_barrier_arrive(); __cluster_barrier_wait(); }
KERNEL leaves_between(int *) {
    __cluster_barrier_arrive();
    if (blockIdx.x == 3 && threadIdx.x == 5) return;
    __cluster_barrier_wait();
}
KERNEL last_one_leaves_between(int *) {
    meet();
    __cluster_barrier_arrive();
}

KERNEL not_started(int *x) {
    __shared__ int n[32];
    ((int *)__cluster_map_shared_rank(n, (blockIdx.x + 1) % 4))[threadIdx.x] = 1;
    meet();
}
KERNEL may_have_left(int *x) {  // whether it has depends on the order
    __shared__ int n[32];
    meet();
    if (blockIdx.x == 0) ((int *)__cluster_map_shared_rank(n, 3))[threadIdx.x] = 1;
}
KERNEL leaves_after_the_others_arrived(int *x) {
    __shared__ int n[32];
    meet();
    __cluster_barrier_arrive();
    if (blockIdx.x == 0) ((int *)__cluster_map_shared_rank(n, 3))[threadIdx.x] = 1;  // after its own arrival
    __cluster_barrier_wait();
}

// Between arriving and waiting a block does what concerns nobody else.
KERNEL split(int *got) {
    __shared__ int hand[32], own[32];
    meet();
    int *right = (int *)__cluster_map_shared_rank(hand, (blockIdx.x + 1) % 4);
    right[threadIdx.x] = blockIdx.x;
    EARLY
    __cluster_barrier_arrive();
    own[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    LATE
    __cluster_barrier_wait();
    got[blockIdx.x * 32 + threadIdx.x] = hand[31 - threadIdx.x] + own[31 - threadIdx.x];
    meet();
}

// A relaxed arrival tells of nothing that no fence came after.
KERNEL relaxed(int *got) {
    __shared__ int hand[32];
    meet();
    ((int *)__cluster_map_shared_rank(hand, (blockIdx.x + 1) % 4))[threadIdx.x] = blockIdx.x;
    FENCE
    __cluster_barrier_arrive_relaxed();
    __cluster_barrier_wait();
    got[blockIdx.x * 32 + threadIdx.x] = hand[threadIdx.x];
    meet();
}

KERNEL queries(int *got) {
    __shared__ int n;
    meet();
    if (threadIdx.x == 0) {
        int *at = got + 6 * blockIdx.x;
        at[0] = __cluster_query_shared_rank(__cluster_map_shared_rank(&n, 2));
        at[1] = __clusterDim().x, at[2] = __clusterRelativeBlockIdx().x, at[3] = __clusterIdx().x;
        at[4] = __clusterGridDimInClusters().x, at[5] = __clusterDimIsSpecified();
    }
    meet();
}

KERNEL not_there(int *) { __shared__ int n; __cluster_map_shared_rank(&n, 4); }
KERNEL no_shared(int *x) { __cluster_map_shared_rank(x, 1); }

extern "C" __global__ void alone(int *size) { *size = __clusterSizeInBlocks(); }
"""
HOLES = {"FIRST": "meet();", "SECOND": "meet();", "EARLY": "", "LATE": "", "FENCE": "__threadfence();"}


def filled(**changed: str) -> str:
    source = SOURCE
    for hole, text in {**HOLES, **changed}.items():
        source = source.replace(hole, text)
    return source


WHOLE = filled()
OPTIONS = [SimOptions(), *(SimOptions(check=True, seed=seed) for seed in range(4))]


def run(kernel: str, options: SimOptions, grid: tuple[int, ...] = (4,), source: str = WHOLE, outputs: int = 1) -> list:
    driver = SimDriver(options)
    buffers = [put(driver, np.full(4096, -1, "i4")) for _ in range(outputs)]
    driver.module(source, "clusters.cu").function(kernel)(*buffers, grid=grid, block=(32,))
    return [take(driver, b, 4096, "i4") for b in buffers]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"check{o.check}-seed{o.seed}")
def test_blocks_reach_the_shared_memory_of_their_cluster_alone(options: SimOptions) -> None:
    got, ranks = run("pass_on", options, (12, 2), outputs=2)
    numbers = np.arange(12) + 100 * np.arange(2)[:, None]
    left = np.roll(numbers.reshape(2, 3, 4), 1, axis=2).reshape(2, 12)
    np.testing.assert_array_equal(got[: 24 * 32].reshape(2, 12, 32), np.repeat(left[:, :, None], 32, axis=2))
    np.testing.assert_array_equal(ranks[:24], np.tile(np.arange(4), 6))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"check{o.check}-seed{o.seed}")
@pytest.mark.parametrize("resident", [4, 7, 132])
def test_clusters_take_turns_where_few_fit(options: SimOptions, resident: int) -> None:
    one_by_one = SimOptions(check=options.check, seed=options.seed, resident=resident)
    (total,) = run("count", one_by_one, (20,))
    np.testing.assert_array_equal(total[:6], [640, 640, 640, 640, 640, -1])


def test_barriers_of_clusters_are_counted() -> None:
    driver = SimDriver(SimOptions())
    total = put(driver, np.zeros(4, "i4"))
    driver.module(WHOLE, "clusters.cu").function("count")(total, grid=(8,), block=(32,))
    assert driver.stats.cluster_barriers == 2 * 7


def test_a_kernel_without_the_word_is_a_cluster_of_one_block() -> None:
    (size,) = run("alone", SimOptions(), (3,))
    assert size[0] == 1


def test_check_mode_finds_a_missing_barrier_between_blocks() -> None:
    source = filled(SECOND="")
    for seed in range(4):
        with pytest.raises(LaunchError, match=r"race: .*shared memory `hand`.*|never written"):
            run("pass_on", SimOptions(check=True, seed=seed), source=source, outputs=2)


@pytest.mark.parametrize(
    "kernel, said",
    [
        ("beyond", r"write outside of shared memory: byte 32 of shared memory `n` \(32 bytes\)"),
        ("leaves_early", r"write in the shared memory of a block that has returned: .*of block \(1,0,0\)"),
        ("divided", r"divergent barrier: .* waits for its block at .*, .* for its cluster at"),
        ("other_place", r"divergent barrier: .* all threads of a cluster must meet at the same one"),
        (
            "arrives_twice",
            r"thread \(\d+,0,0\) of block \(2,0,0\) arrives .* at .*:\d+ and again at .*:\d+, without waiting",
        ),
        ("never_arrived", r"block \(1,0,0\) waits for its cluster at .*:\d+ without having arrived"),
        (
            "leaves_between",
            r"thread \(5,0,0\) of block \(3,0,0\) returns after it has arrived .* without waiting there",
        ),
        ("last_one_leaves_between", r"returns after it has arrived .* without waiting there"),
        ("not_started", r"shared memory of block \(\d,0,0\), which may not have started yet"),
        ("may_have_left", r"block \(0,0,0\).* block.* \(?3,0,0\)|in the shared memory of a block that has returned"),
        ("leaves_after_the_others_arrived", r"of block \(3,0,0\), which may have returned by then|has returned"),
        ("not_there", r"__cluster_map_shared_rank: block 4 of a cluster of 4"),
        ("no_shared", r"__cluster_map_shared_rank of an address that is not in shared memory"),
    ],
)
def test_mistakes_are_named_in_check_mode(kernel: str, said: str) -> None:
    for seed in range(3):
        with pytest.raises(LaunchError, match=said):
            run(kernel, SimOptions(check=True, seed=seed))


@pytest.mark.parametrize("kernel", ["arrives_twice", "never_arrived", "leaves_between", "last_one_leaves_between"])
def test_the_protocol_of_the_barrier_is_checked_in_fast_mode_too(kernel: str) -> None:
    with pytest.raises(LaunchError, match="arrive"):
        run(kernel, SimOptions())


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"check{o.check}-seed{o.seed}")
def test_work_between_arriving_and_waiting(options: SimOptions) -> None:
    (got,) = run("split", options)
    expected = np.roll(np.arange(4), 1)[:, None] + 2 * np.arange(32)[::-1]
    np.testing.assert_array_equal(got[:128].reshape(4, 32), expected)


def test_what_is_done_after_arriving_is_not_in_order() -> None:
    late = filled(LATE="right[threadIdx.x] = blockIdx.x;")
    reads = filled(LATE="if (hand[threadIdx.x] > 9) return;")
    for seed in range(4):
        for source in (late, reads):
            with pytest.raises(LaunchError, match=r"race: .* of shared memory `hand|never written"):
                run("split", SimOptions(check=True, seed=seed), source=source)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"check{o.check}-seed{o.seed}")
def test_a_relaxed_arrival_needs_a_fence(options: SimOptions) -> None:
    (got,) = run("relaxed", options)
    np.testing.assert_array_equal(got[:128].reshape(4, 32)[:, 0], np.roll(np.arange(4), 1))
    if options.check:
        with pytest.raises(LaunchError, match=r"race: read after write, .*`hand`.* no barrier between them of their"):
            run("relaxed", options, source=filled(FENCE=""))


def test_what_a_block_may_ask_about_its_cluster() -> None:
    (got,) = run("queries", SimOptions(), (8,))
    np.testing.assert_array_equal(got[:48].reshape(8, 6), [[2, 4, b % 4, b // 4, 2, 1] for b in range(8)])


@pytest.mark.parametrize("resident, grid, said", [(132, 6, "not made of clusters of 4"), (3, 4, "only 3 fit")])
def test_impossible_launches_are_refused(resident: int, grid: int, said: str) -> None:
    with pytest.raises(LaunchError, match=said):
        run("count", SimOptions(resident=resident), (grid,))


def test_clusters_along_another_axis_are_not_understood() -> None:
    with pytest.raises(CompileError, match=r"line 1|dims.cu:1.*(.|\n)*clusters lie along x"):
        SimDriver(SimOptions()).module('extern "C" __global__ void __cluster_dims__(2, 2, 1) k() {}', "dims.cu")


def test_threads_made_to_give_way_do_not_starve_other_blocks() -> None:
    """With `preempt`, a block whose threads wait for another one must let it run."""
    source = r"""
    extern "C" __global__ void wait(unsigned *arrived, int *looks) {
        atomicAdd(arrived, 1u);
        int n = 0;
        while (*(volatile unsigned *)arrived < gridDim.x * blockDim.x) {
            __nanosleep(0);
            n++;
        }
        atomicMax(looks, n);
    }
    """
    driver = SimDriver(SimOptions(check=True, preempt=2, seed=1))
    arrived, looks = put(driver, np.zeros(1, "u4")), put(driver, np.zeros(1, "i4"))
    driver.module(source, "wait.cu").function("wait")(arrived, looks, grid=(20,), block=(64,))
    assert take(driver, arrived, 1, "u4") == 20 * 64
    assert take(driver, looks, 1, "i4") < 2000

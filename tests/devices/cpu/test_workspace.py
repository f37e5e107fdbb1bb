"""Memory is never recycled while an array uses it, and always afterwards."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.workspace import Pool, block_size
from tests.each import each

SHAPE = (7, 300, 101)


def address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


@each("dtype", ["float16", "float32", "float64", "int64", "bool"])
@each("shape", [SHAPE, (400_000,), (2, 0, 5), (), (3,)])
def test_an_array_is_like_one_of_numpy(shape: tuple[int, ...], dtype: str) -> None:
    a = Pool().empty(shape, dtype)
    assert type(a) is np.ndarray
    assert (a.shape, a.dtype) == (shape, np.dtype(dtype))
    assert a.flags.c_contiguous and a.flags.writeable and a.flags.aligned
    a[...] = 1
    assert np.count_nonzero(a) == a.size


def test_big_blocks_start_at_a_cache_line() -> None:
    pool = Pool()
    for rows in range(1000, 1010):
        assert address(pool.empty((rows, 333), np.float32)) % workspace.ALIGNMENT == 0


def test_dtypes_with_objects_or_fields_are_plain_numpy_arrays() -> None:
    pool = Pool(min_block=1)
    assert pool.empty((3,), object).tolist() == [None, None, None]
    assert pool.empty((3,), [("a", "f4"), ("b", "i8")]).flags.owndata


def test_memory_is_recycled_once_the_array_is_gone_also_for_another_shape_and_dtype_of_about_its_size() -> None:
    pool = Pool()
    a = pool.empty((1000, 1000), np.float32)
    where = address(a)
    del a
    assert address(pool.empty((515_000,), np.float64)) == where


VIEWS: dict[str, Any] = {
    "slice": lambda a: a[3:4, ::-2],
    "transpose": lambda a: a.transpose(0, 2, 1),
    "reshape": lambda a: a.reshape(-1),
    "other dtype": lambda a: a.view(np.uint8),
    "view of a view of a view": lambda a: a[1:][:, 1:].T[5:6],
    "read-only view": lambda a: np.broadcast_to(a[0, 0], (4, SHAPE[2])),
    "memoryview": memoryview,
    "from the buffer": lambda a: np.frombuffer(a, np.float32),
    "iterator": lambda a: iter(a),
    "dlpack": np.from_dlpack,
}


@pytest.mark.parametrize("view", VIEWS)
def test_memory_is_not_recycled_while_a_view_is_alive(view: str) -> None:
    pool = Pool()
    a = pool.empty(SHAPE, np.float32)
    where = address(a)
    v = VIEWS[view](a)
    del a
    gc.collect()
    others = [pool.empty(SHAPE, np.float32) for _ in range(3)]
    assert where not in [address(b) for b in others]
    assert pool.idle_bytes == 0
    del v
    assert address(pool.empty(SHAPE, np.float32)) == where


def test_an_array_in_a_cycle_is_recycled_by_the_garbage_collector() -> None:
    pool = Pool()
    cycle: list[Any] = [pool.empty(SHAPE, np.float32)]
    cycle.append(cycle)
    where = address(cycle[0])
    del cycle
    gc.collect()
    assert address(pool.empty(SHAPE, np.float32)) == where


def test_small_arrays_do_not_come_from_the_pool() -> None:
    pool = Pool(min_block=1000)
    for nbytes, idle in ((999, 0), (1000, block_size(1000))):
        pool.empty((nbytes,), np.uint8)  # gone at once
        assert pool.idle_bytes == idle


def test_idle_memory_is_bounded_and_the_size_unused_for_longest_goes_first() -> None:
    sizes = [block_size(n) for n in (10_000, 20_000, 30_000)]
    pool = Pool(min_block=1, max_idle=sum(sizes))
    for n in (10_000, 20_000, 30_000):
        pool.empty((n,), np.uint8)
    assert pool.idle_bytes == sum(sizes)
    pool.empty((10_000,), np.uint8)  # the 20_000 have now been unused for longest
    pool.empty((15_000,), np.uint8)
    assert pool.idle_bytes == sum(len(k) * size for size, k in pool.idle.items()) <= pool.max_idle
    assert [size for size, blocks in pool.idle.items() if blocks] == [sizes[2], sizes[0], block_size(15_000)]


def test_a_block_beyond_the_bound_is_not_kept() -> None:
    pool = Pool(min_block=1, max_idle=100_000)
    many = [pool.empty((30_000,), np.uint8) for _ in range(10)]
    del many
    assert 60_000 < pool.idle_bytes <= 100_000
    pool.empty((200_000,), np.uint8)
    assert pool.idle_bytes == 0


def test_clear_frees_what_is_idle_and_leaves_what_is_used() -> None:
    pool = Pool()
    used, idle = pool.empty(SHAPE, np.float32), pool.empty(SHAPE, np.float32)
    used[...] = 5
    del idle
    assert pool.idle_bytes > 0
    pool.clear()
    assert (pool.idle_bytes, pool.idle) == (0, {})
    assert (used == 5).all()
    del used
    assert pool.idle_bytes > 0


def test_a_busy_lock_never_blocks() -> None:
    pool = Pool()
    a = pool.empty(SHAPE, np.float32)
    pool.empty(SHAPE, np.float32)
    idle = pool.idle_bytes
    with pool.lock:  # as when the garbage collector interrupts this very thread inside the pool
        b = pool.empty(SHAPE, np.float32)
        del a
    assert pool.idle_bytes == idle
    assert b.shape == SHAPE


def test_threads_never_share_a_block_that_is_in_use() -> None:
    pool = Pool(min_block=1)
    start = threading.Barrier(4)

    def work(mark: int) -> int:
        start.wait()
        wrong = 0
        for k in range(400):
            held = [pool.empty((500 + 10 * (k % 7),), np.int64) for _ in range(3)]
            for a in held:
                a[:] = mark
            views = [a[::7] for a in held]
            del held, a
            wrong += sum(int((v != mark).sum()) for v in views)
        return wrong

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(work, range(4))) == 0
    assert pool.idle_bytes == sum(len(blocks) * size for size, blocks in pool.idle.items())
    assert 0 < pool.idle_bytes <= pool.max_idle


@pytest.mark.parametrize("nbytes", [0, 1, 64, 1000, 2**20 - 64, 2**20, 2**20 + 1, 123_456_789])
def test_a_block_has_room_for_alignment_and_wastes_an_eighth_at_most(nbytes: int) -> None:
    need = nbytes + workspace.ALIGNMENT
    assert need <= block_size(nbytes) < need * 9 / 8 + 1


def test_the_module_functions_use_one_pool() -> None:
    gc.collect()  # cycles left by other tests would be collected in the middle of this one
    workspace.clear()
    workspace.empty(SHAPE, np.float32)
    assert workspace.POOL.idle_bytes > 0
    workspace.clear()
    assert workspace.POOL.idle_bytes == 0

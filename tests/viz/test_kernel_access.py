import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.launch.threads import cells
from minirnn.viz import bank_conflicts, thread_map, warp_accesses

ACCESS = np.dtype([("allocation", np.int32), ("address", np.uint64), ("size", np.uint32), ("thread", np.uint32)])
"""What the simulator records of an access; an allocation below 0 is shared memory."""


class ATrace:
    """The accesses of two visits of a warp to a line: each to shared memory (address 8) and to the array 0."""

    def of_line(self, line):
        return line

    def warp_accesses(self, line):
        for visit in (0, 1):
            yield np.array([(-1, 8, 4, 0), (0, 64 + 4 * visit, 4, 0)], ACCESS)


SOURCE = """extern "C" __global__ void strided(const float *x, float *y, int step) {
    __shared__ float s[32 * 33];
    s[threadIdx.x * step] = x[threadIdx.x * step];
    y[threadIdx.x] = 1;
}
"""


@pytest.fixture(scope="module")
def traced():
    reason = mr.devices.available()["cuda-sim"]
    if reason is not None:
        pytest.skip(reason)
    from minirnn.devices.cuda.sim.driver import SimDriver
    from minirnn.devices.cuda.sim.options import SimOptions

    driver = SimDriver(SimOptions(check=True))
    kernel = driver.module(SOURCE, "strided.cu").function("strided")
    x, y = driver.alloc(4 * 32 * 33), driver.alloc(4 * 32)
    return lambda step: kernel.traced(x, y, np.int32(step), grid=(1,), block=(32,))


@pytest.mark.parametrize(("step", "sectors"), [(1, 4), (2, 8), (8, 32), (32, 32)])
def test_sectors_grow_with_the_distance_of_neighbors(traced, step, sectors):
    picture = warp_accesses(traced(step), 3)
    assert len(picture.data["sectors"]) == sectors == len(picture.artists["sectors"])
    np.testing.assert_array_equal(np.sort(picture.data["address"]), 4 * step * np.arange(32))
    assert f"{32 * sectors} moved in {sectors} sectors" in picture.ax.get_title()


@pytest.mark.parametrize(("step", "rounds"), [(1, 1), (2, 2), (32, 32), (33, 1)])
def test_banks_give_one_word_a_round(traced, step, rounds):
    picture = bank_conflicts(traced(step), 3)
    assert picture.data["words"].sum() == 32 and picture.data["words"].max() == rounds
    assert ("no conflict" in picture.ax.get_title()) == (rounds == 1)


def test_a_line_without_such_an_access_is_refused(traced):
    with pytest.raises(ValueError, match="line 1 has 0 visits"):
        warp_accesses(traced(1), 1)
    with pytest.raises(ValueError, match="line 4 has 0 visits"):
        bank_conflicts(traced(1), 4)
    with pytest.raises(ValueError, match="but which is 1"):
        warp_accesses(traced(1), 4, which=1)


@pytest.mark.parametrize(("B", "H"), [(5, 12), (3, 300), (40, 7)])
def test_the_launch_of_a_cell_reaches_every_element_once(B, H):
    threads = cells(B, H)
    picture = thread_map(B, H, grid=threads["grid"], block=threads["block"])
    pairs = np.stack([picture.data["block"], picture.data["thread"]]).reshape(2, -1)
    assert (pairs >= 0).all() and len(np.unique(pairs, axis=1).T) == B * H


def test_elements_without_a_thread_are_seen():
    picture = thread_map(3, 5, grid=(1, 1), block=(4, 2))
    assert (picture.data["thread"][2] == -1).all() and (picture.data["thread"][:, 4] == -1).all()
    assert picture.data["thread"][1, 3] == 7


def test_a_visit_to_both_memories_is_drawn_for_each_alone():
    np.testing.assert_array_equal(warp_accesses(ATrace(), 5).data["address"], [64])
    np.testing.assert_array_equal(warp_accesses(ATrace(), 5, which=1).data["address"], [68])
    np.testing.assert_array_equal(bank_conflicts(ATrace(), 5).data["words"], np.arange(32) == 2)


@pytest.mark.parametrize("which", [-1, 2])
def test_a_visit_that_was_not_made_is_refused_and_the_memory_is_named(which):
    with pytest.raises(ValueError, match=rf"line 5 has 2 visits .* to device memory, but which is {which}\n.*an array"):
        warp_accesses(ATrace(), 5, which=which)
    with pytest.raises(ValueError, match=r"2 visits of a warp to shared memory.*\n.*a __shared__ variable"):
        bank_conflicts(ATrace(), 5, which=which)

"""Pictures of ranks agree with the recorded events and with the cost model."""

import numpy as np

from minirnn import parallel, viz
from minirnn.parallel import DistributedDataParallel, Event, World
from minirnn.parallel.costs import NETWORKS, ring
from tests.parallel.scenarios import Net, loss_of

EVENTS = [
    Event("backward", 2.0, 2.1),
    Event("bucket 0", 2.02, 2.11),
    Event("bucket 1", 2.1, 2.13),
    Event("wait", 2.1, 2.13),
]


def test_times_count_from_the_beginning_of_the_backward_pass() -> None:
    picture = viz.backward_timeline({"one": EVENTS, "two": EVENTS})
    np.testing.assert_allclose(picture.data["two: backward"], [0, 100])
    np.testing.assert_allclose(picture.data["one: buckets"], [[20, 110], [100, 130]])
    np.testing.assert_allclose(picture.data["one: wait"], [100, 130])
    widths = [bar.get_width() for bar in picture.artists["one: buckets"]]
    np.testing.assert_allclose(widths, [90, 30])
    assert [t.get_text() for t in picture.ax.get_yticklabels()] == ["one", "two"]


def test_the_events_of_a_real_pass_can_be_drawn() -> None:
    def work(world: World) -> list[Event]:
        model = DistributedDataParallel(Net(), world, bucket_bytes=64)
        loss_of(model).backward()
        return model.events

    found = parallel.simulate(work, 2)
    data = viz.backward_timeline({f"rank {r}": events for r, events in enumerate(found)}).data
    assert data["rank 1: buckets"].shape[0] > 3
    assert (data["rank 0: buckets"][:, 0] <= data["rank 0: backward"][1]).sum() > 1


def test_costs_are_the_models() -> None:
    picture = viz.all_reduce_costs(4e6, network="100 Gb/s fabric")
    assert picture.data["ranks"][0] == 2 and picture.data["ranks"][-1] == 4096
    assert picture.data["ring"][-1] == ring(4096, 4e6, NETWORKS["100 Gb/s fabric"])
    np.testing.assert_allclose(picture.artists["ring"].get_ydata(), 1e3 * picture.data["ring"])
    assert "not measured" in picture.ax.get_title()

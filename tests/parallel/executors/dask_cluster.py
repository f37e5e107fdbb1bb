"""A Dask cluster of two workers on this machine, for one test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def two_workers() -> Iterator[Any]:
    """Start it at free ports, because another test may have one at the same time; close it at the end.

    Dask raises an error if it is closed while a killed worker is being restarted, so this waits for it.
    """
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        yield cluster
        if cluster.status == distributed.Status.running:
            with distributed.Client(cluster, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=120)

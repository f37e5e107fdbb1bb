"""Training on several ranks: when gradients are sent, and the cost of sending them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.parallel.costs import ALGORITHMS, NETWORKS, Network
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED
from minirnn.viz.picture import Picture, new_axes

if TYPE_CHECKING:
    from minirnn.parallel.data_parallel import Event


def backward_timeline(steps: Mapping[str, Sequence[Event]]) -> Picture:
    """Draw backward passes, the messages that are sent during them, and the time spent waiting for messages.

    Parameters
    ----------
    steps : dict of str to list of Event
        Label -> the ``events`` of a `minirnn.parallel.DistributedDataParallel` on one rank.

    Returns
    -------
    Picture
        ``data``, by label: "LABEL: backward" and "LABEL: wait" (2,), begin and end in milliseconds since the backward
        pass began; "LABEL: buckets" (n, 2). ``artists``: the bars by the same names.
    """
    spans_of = {label: {e.name: (e.begin, e.end) for e in events} for label, events in steps.items()}
    for label, spans in spans_of.items():
        if "backward" not in spans or "wait" not in spans:
            raise ValueError(
                f"backward_timeline: {label} has the events {shown(sorted(spans))}\n"
                "  expected those of a backward pass: DistributedDataParallel.events after it"
            )
    ax = new_axes(8, 0.8 + 0.9 * max(1, len(steps)))
    data: dict[str, np.ndarray] = {}
    artists: dict[str, Any] = {}
    for k, (label, spans) in enumerate(spans_of.items()):
        start = spans["backward"][0]
        buckets = [span for name, span in spans.items() if name.startswith("bucket")]
        for name, said, times, color, place in (
            ("backward", "backward", spans["backward"], BLUE, 0.2),
            ("buckets", "messages under way", buckets, ORANGE, -0.15),
            ("wait", "wait", spans["wait"], GRAY, 0.2),
        ):
            data[f"{label}: {name}"] = 1e3 * (np.array(times) - start)
            begin, end = data[f"{label}: {name}"].reshape(-1, 2).T
            artists[f"{label}: {name}"] = ax.barh(
                np.full(len(begin), place - k), end - begin, left=begin, height=0.3, color=color,
                alpha=0.35 if name == "buckets" else 1.0, label=None if k else said,
            )  # fmt: skip
        sent = data[f"{label}: buckets"][:, 0]
        ax.plot(sent, np.full(len(sent), -k - 0.15), "|", color=ORANGE, markersize=14)
    ax.set_yticks([-k for k in range(len(steps))], list(steps))
    ax.set_xlabel("time since the backward pass began (ms)")
    ax.set_title("Backward pass and messages")
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return Picture(ax, artists, data)


def all_reduce_costs(nbytes: float, *, network: str | Network = "1 Gb/s Ethernet") -> Picture:
    """Draw the cost of an all-reduce of `nbytes` bytes on 2 to 4096 ranks, computed by `minirnn.parallel.costs`.

    Parameters
    ----------
    nbytes : float
        The size of the array, above 0.
    network : str or Network
        A name in ``minirnn.parallel.costs.NETWORKS``, or three numbers.

    Returns
    -------
    Picture
        ``data``: "ranks" (n,), and seconds (n,) by algorithm. ``artists``: the lines by algorithm.
    """
    if isinstance(network, str) and network not in NETWORKS:
        raise ValueError(f"all_reduce_costs: network is {network!r}\n  expected one of {', '.join(NETWORKS)}")
    if nbytes <= 0:
        raise ValueError(f"all_reduce_costs: nbytes is {nbytes}\n  expected bytes above 0")
    numbers = NETWORKS[network] if isinstance(network, str) else network
    colors = (BLUE, ORANGE, GREEN, RED, PURPLE)
    ranks = np.unique(np.geomspace(2, 4096, 60).round().astype(int))
    ax = new_axes(6, 3.8)
    data: dict[str, np.ndarray] = {"ranks": ranks}
    artists = {}
    for (name, cost), color in zip(ALGORITHMS.items(), colors, strict=False):
        data[name] = np.array([cost(int(P), nbytes, numbers) for P in ranks])
        (artists[name],) = ax.loglog(ranks, 1e3 * data[name], color=color, label=name)
    ax.set_xlabel("ranks P")
    ax.set_ylabel("time of the all-reduce (ms)")
    said = network if isinstance(network, str) else "this network"
    ax.set_title(f"All-reduce of {nbytes / 1e6:.3g} MB over {said}\n(computed by a model, not measured)")
    ax.legend(frameon=False, fontsize="small")
    return Picture(ax, artists, data)

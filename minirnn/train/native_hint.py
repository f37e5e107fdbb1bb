"""What ``minirnn train`` on `cpu` says about the device `native`: that it is there, and what it would gain."""

from __future__ import annotations

from minirnn.devices import DeviceUnavailable
from minirnn.devices.host_cpp import compiler
from minirnn.train.run import Training

MEASURED = 256
SHARE = {"lstm": 0.6, "gru": 0.6, "rnn": 0.7}
"""The time of a step on `native` as a share of that on `cpu`, default sizes, on a machine with two cores: the medians
in docs/performance.md and docs/data/cpu/train.json, rounded to tenths, since other processors have other shares. For a
cell that is not here, what is said is said of the lstm."""


def on_native(training: Training) -> str | None:
    """A line about ``--device native``, or None where it would not help or would not work.

    It would not help with zoneout, which `native` leaves to NumPy. In shards, on several ranks, nothing was measured.
    """
    o = training.options
    if o.device != "cpu" or o.zoneout or o.shards:
        return None
    try:
        used = compiler.find("native")
    except DeviceUnavailable:
        return None
    cell = o.cell if o.cell in SHARE else "lstm"
    return (
        f"faster: --device native (C++, which {used.name} compiles once); where it was measured, on two cores, a step "
        f"of {cell} with {MEASURED} units took {SHARE[cell]} of the time that it takes on cpu"
    )

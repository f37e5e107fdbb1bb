"""The tip of ``minirnn train`` on `cpu` about the device `native`: that it exists, and how much faster it is."""

from __future__ import annotations

from minirnn.devices import DeviceUnavailable
from minirnn.devices.host_cpp import compiler
from minirnn.train.run import Training

MEASURED = 256
SHARE = {"lstm": 0.7, "gru": 0.6, "rnn": 0.8}
"""The time of a step on `native` as a share of that on `cpu`, default sizes, on a machine with two cores: the medians
in docs/performance.md and docs/data/cpu/train.json, rounded to tenths, because the share depends on the processor. A
cell that is not listed gets the line about the lstm."""


def on_native(training: Training) -> str | None:
    """A line about ``--device native``, or None if it would not help or would not work.

    It does not help with zoneout, which `native` leaves to NumPy. Shards and several ranks were not measured.
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
        f"tip: --device native is faster (for {cell} with {MEASURED} units {SHARE[cell]}x the time per step, measured "
        f"on two cores). {used.name} compiles it once."
    )

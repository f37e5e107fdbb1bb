"""The rule that chooses the rung of the ladder for a layer, a pure function of its sizes and the device's limits.

``steps``       a product and a launch for each step, any cell and size (`steps.py`); a GPU records the loop as a graph
``barrier``     one launch for all steps, a barrier between two: written for readability; only on request
``persistent``  one launch for all steps: weights on the chip, messages between blocks

A cell whose units do not read each other needs no rung of the ladder: it is ``unitwise``, one launch for all steps in
which no thread waits for another.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.sequence.layout import BackwardLayout, BarrierLayout, ForwardLayout, layout_of
from minirnn.devices.cuda.launch.sequence.sizes import Sizes

RUNGS = ("steps", "barrier", "persistent")
"""The rungs from the lowest to the highest."""
VARIABLE = "MINIRNN_CUDNN_RNN"
UNITWISE = "unitwise"
"""What computes cells whose units do not read each other, unless a rung is asked for."""
AUTO = "auto"
"""The value of ``MINIRNN_CUDNN_RNN`` that leaves the choice to minirnn, as does an empty one."""
START = {"steps": 3.5, "persistent": 0.9}
"""Microseconds of a step apart from its multiplications: two nodes of a graph, or a message from block to block."""
RATE = {"persistent": 37.0, "ieee": 44.0, "tf32": 120.0}
"""Multiplications and additions of a step, in millions per microsecond, of the kernel `persistent` and of the library
in each precision. All are estimates for a GPU with 132 multiprocessors, until one has been measured.
"""

H200 = Limits(
    name="H200",
    compute_capability=(9, 0),
    multiprocessors=132,
    threads_per_block=1024,
    shared_bytes_per_block=227 << 10,
    memory_bytes=141 * 10**9,
    simulated=False,
    l2_bytes=50 << 20,
)
"""A large GPU, whose limits serve as an example."""


@dataclass(frozen=True)
class Choice:
    """A rung, the reason for it, and its layout (`layout.py`), which ``steps`` and ``unitwise`` do not need."""

    rung: str
    reason: str
    layout: ForwardLayout | BackwardLayout | BarrierLayout | None = None


def step_time(rung: str, sizes: Sizes, limits: Limits, precision: str) -> float:
    """The estimated microseconds of one step.

    ``persistent`` multiplies without tensor cores in every precision. The library uses them for TF32, as which products
    of float16 layers are also computed, so it overtakes at fewer units and rows.
    """
    work = 2e-6 * sizes.B * sizes.G * sizes.H * sizes.P * sizes.D * sizes.itemsize / 4
    tensor_cores = precision == "tf32" and sizes.itemsize == 4 and limits.compute_capability >= (8, 0)
    rate = RATE[rung if rung == "persistent" else "tf32" if tensor_cores else "ieee"]
    return START[rung] * (sizes.D if rung == "steps" else 1) + work / rate * 132 / limits.multiprocessors


@lru_cache(maxsize=512)
def choose(
    sizes: Sizes, limits: Limits, backward: bool = False, wanted: str | None = None, precision: str = "ieee"
) -> Choice:
    """The rung for one layer: ``unitwise`` if its units do not read each other; otherwise ``persistent`` for several
    steps if the device holds all weights and a step takes less time (`step_time`).

    This rule was not measured: no GPU has timed the rungs yet.

    Parameters
    ----------
    sizes : Sizes
        The sizes of the layer.
    limits : Limits
        The limits of the device.
    backward : bool
        Whether it is for the gradients. The rungs of the two passes do not depend on each other.
    wanted : str, optional
        A rung to use even if it is slower. If it is not available, the lowest one is used.
    precision : str
        That of products, "ieee" or "tf32" (`minirnn.use_precision`).

    Raises
    ------
    ValueError
        If `wanted` is not a rung.
    """
    if wanted is not None and check_rung(wanted) == "steps":
        return Choice("steps", "asked for")
    if wanted is None and not sizes.coupled:
        return Choice(UNITWISE, "no unit of the cell reads another one, so a thread takes its units through all steps")
    if wanted is None and limits.simulated:
        return Choice("steps", "the simulator runs one thread after another: the rung with the fewest is the fastest")
    if wanted is None and sizes.T == 1:
        return Choice("steps", "with one step there is nothing to keep for the next")
    steps, persistent = (step_time(rung, sizes, limits, precision) for rung in ("steps", "persistent"))
    if wanted is None and steps < persistent:
        return Choice(
            "steps", f"the library multiplies faster: about {steps:.1f} instead of {persistent:.1f} us per step"
        )
    layout = layout_of(sizes, limits, backward, wanted == "barrier")
    if not isinstance(layout, str):
        said = "asked for" if wanted else "its weights fit on the chip, its blocks on the device"
        return Choice(wanted or "persistent", said, layout)
    if wanted is None:
        return Choice("steps", f"not persistent: {layout}")
    return Choice("steps", f"{wanted} was asked for, but {layout}; so the lowest rung")


def check_rung(name: str) -> str:
    """`name` if it is a rung. Otherwise raises ValueError, which says where the name may come from."""
    if name not in RUNGS:
        raise ValueError(
            f"there is no rung {name!r} of the CudnnRNN ladder\n  expected one of {', '.join(RUNGS)}, {AUTO}\n"
            f"  it was set by device.cudnn_rnn_rung or by the variable {VARIABLE}"
        )
    return name


def rung_from_environment() -> str | None:
    """The rung in ``MINIRNN_CUDNN_RNN``, None for "auto" or nothing. Raises ValueError for a word that is not a
    rung.
    """
    name = os.environ.get(VARIABLE) or AUTO
    return None if name == AUTO else check_rung(name)

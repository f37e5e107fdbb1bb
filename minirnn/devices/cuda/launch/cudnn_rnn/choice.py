"""Which rung of the CudnnRNN ladder computes a layer, by rule: a pure function of its sizes and the device's limits.

On a GPU the rule is for whoever forbids to time the rungs (`tuner.py`).

The rungs, from the one that always works to the one that asks for most:

``steps``       a product and a launch each step, any size (`steps.py`)
``persistent``  one launch for all steps: weights on the chip, messages between blocks (`one_launch.py`)
``cluster``     one launch; each slice of the batch on a cluster of blocks: small layers (`one_launch.py`)
``tensor``      one launch; products by tensor cores: float16, and float32 as one or two TF32 numbers (`tensor.py`)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.cudnn_rnn import plan as plans
from minirnn.devices.cuda.launch.cudnn_rnn import tensor_plan
from minirnn.devices.cuda.launch.cudnn_rnn.plan import ClusterPlan, Plan, Sizes

RUNGS = ("steps", "persistent", "cluster", "tensor")
"""The rungs from the lowest to the highest."""
VARIABLE = "MINIRNN_CUDNN_RNN"
AUTO = "auto"
"""What ``MINIRNN_CUDNN_RNN`` says, if anything, to leave the choice to minirnn."""
ZONEOUT = "zoneout needs masks at each step, which the kernels of one launch do not read"
"""Why a layer with zoneout takes the lowest rung."""
PROJECTED = (
    "with a projection the loop of one launch multiplies by R Wp instead of R and Wp (docs/cudnn_ladder.md), which is"
    " taken where it was timed or asked for"
)
"""Why a layer with a projection takes the lowest rung if nothing says which is faster."""
LARGE_BATCH = 128
"""The rows from which on the product of a single step keeps the whole device busy, and the library's is faster."""

H200 = Limits(
    name="H200",
    compute_capability=(9, 0),
    multiprocessors=132,
    threads_per_block=1024,
    shared_bytes_per_block=227 << 10,
    memory_bytes=141 * 10**9,
    simulated=False,
)
"""The GPU that the rungs were made for."""


@dataclass(frozen=True)
class Choice:
    """A rung, the reason for it, and its plan (`plan.py`); ``steps`` needs none.

    `recorded`: whether the loop may be recorded as a graph where it comes again.
    """

    rung: str
    reason: str
    plan: Plan | None = None
    recorded: bool = True


def choose(
    sizes: Sizes, limits: Limits, backward: bool = False, wanted: str | None = None, zoneout: bool = False
) -> Choice:
    """The rung for one layer.

    Parameters
    ----------
    sizes : Sizes
        The sizes of the layer.
    limits : Limits
        The limits of the device.
    backward : bool
        Whether it is for the gradients. The rungs of the two passes do not depend on each other.
    wanted : str, optional
        A rung to take whether it pays or not. If it cannot be had, the next lower one is taken.
    zoneout : bool
        Whether units keep their old state at random, by masks of each step.

    Raises
    ------
    ValueError
        If `wanted` is no rung.
    """
    if wanted is not None and check_rung(wanted) == "steps":
        return Choice("steps", "asked for")
    if zoneout:
        return Choice("steps", f"{f'{wanted} was asked for, but ' if wanted else ''}{ZONEOUT}")
    if wanted is None and limits.simulated:
        return Choice("steps", "the simulator runs one thread after another: the rung with the fewest is the fastest")
    if wanted is None and sizes.T == 1:
        return Choice("steps", "one step has nothing to keep for the next")
    if wanted is None and sizes.B >= LARGE_BATCH:
        return Choice("steps", f"a batch of {LARGE_BATCH} rows or more fills the device at each step")
    if wanted is None and sizes.P != sizes.H:
        return Choice("steps", PROJECTED)
    found = upper_plans(sizes, limits, backward)
    if wanted is not None:
        return _asked_for(wanted, found)
    cluster, persistent = found["cluster"], found["persistent"]
    if isinstance(cluster, ClusterPlan) and cluster.slices * sizes.D <= plans.clusters_at_once(limits):
        return Choice("cluster", f"its weights fit into {plans.CLUSTER} blocks, all clusters run at once", cluster)
    if isinstance(persistent, str):
        return Choice("steps", f"not persistent: {persistent}")
    return Choice("persistent", "its weights fit on the chip, its blocks on the device", persistent)


def upper_plans(sizes: Sizes, limits: Limits, backward: bool) -> dict[str, Plan | str]:
    """Each rung but the lowest -> its plan for one layer, or why it has none."""
    if backward:
        return {
            "persistent": plans.backward(sizes, limits),
            "cluster": plans.cluster_backward(sizes, limits),
            "tensor": tensor_plan.backward(sizes, limits),
        }
    return {
        "persistent": plans.forward(sizes, limits),
        "cluster": plans.cluster(sizes, limits),
        "tensor": tensor_plan.forward(sizes, limits),
    }


def _asked_for(wanted: str, found: Mapping[str, Plan | str]) -> Choice:
    said = ""
    for rung in reversed(RUNGS[1 : RUNGS.index(wanted) + 1]):
        plan = found[rung]
        if not isinstance(plan, str):
            return Choice(rung, f"{said}so the next lower rung" if said else "asked for", plan)
        said += f"{rung} was asked for, but {plan}; " if rung == wanted else f"not {rung}: {plan}; "
    return Choice("steps", f"{said}so the lowest rung")


def check_rung(name: str) -> str:
    """`name` if it is a rung. Raises ValueError, which says where the name may come from."""
    return check_word(name, RUNGS, "rung {!r} of the CudnnRNN ladder", "device.cudnn_rnn_rung", VARIABLE)


def check_word(name: str, words: Sequence[str], what: str, attribute: str, variable: str) -> str:
    """`name` if it is one of `words`. Raises ValueError: there is no such `what`, and who may have named it."""
    if name not in words:
        raise ValueError(
            f"there is no {what.format(name)}\n  expected one of {', '.join(words)}, {AUTO}\n"
            f"  it was named by {attribute} or by the variable {variable}"
        )
    return name


def rung_from_environment() -> str | None:
    """What ``MINIRNN_CUDNN_RNN`` asks for, None for "auto" or nothing. Raises ValueError for a word that is no rung."""
    name = os.environ.get(VARIABLE) or AUTO
    return None if name == AUTO else check_rung(name)

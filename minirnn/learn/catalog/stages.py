"""Stages that several exercises share: simpler cases that show where an answer begins to be wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minirnn.learn.exercise import Inputs, Stage


def keep_last(name: str) -> Callable[[Inputs], Inputs]:
    """A change to the inputs: the gradient `name` reaches only the last time step."""

    def change(inputs: Inputs) -> Inputs:
        only = np.zeros_like(inputs[name])
        only[-1] = inputs[name][-1]
        return {**inputs, name: only}

    return change


def zero(name: str) -> Callable[[Inputs], Inputs]:
    """A change to the inputs: the gradient `name` is zero."""
    return lambda inputs: {**inputs, name: np.zeros_like(inputs[name])}


def sample_stages(one: str, several: str) -> tuple[Stage, ...]:
    """One sample, then several; the arguments say where to look in each."""
    return (
        Stage("for a batch of one sample (B=1)", one, dict(B=1)),
        Stage("for several samples", f"what mixes or sums samples: {several}"),
    )


def time_stages(one: str, carried: str, first: str) -> tuple[Stage, ...]:
    """One time step, two, then many; `carried` is the name of the gradient that goes back from step to step, and
    `first` that of the initial state.
    """
    return (
        Stage("for one step (T=1)", f"the formulas of a single step{one}", dict(T=1)),
        Stage(
            "for two steps with a gradient into the last only (T=2)",
            f"what is carried from step t+1 to t{carried}",
            dict(T=2),
            keep_last("dh"),
        ),
        Stage(
            "for two steps with a gradient into both",
            "how the gradient of this step and the one from t+1 are added",
            dict(T=2),
        ),
        Stage("for many steps", f"what is carried from t+1 to t, and the first step's {first}"),
    )

"""The search for the meaning of unlabeled weights, from one input and its output.

Every reading of the arrays that their shapes allow (`readings`) is run in NumPy. The answer is the reading that gives
the output. Often several readings or none give it, which is an answer as well. With one time step and zero states, for
example, no forget gate is ever used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.arguments.host_array import values_of
from minirnn.io.finder.finding import Finding, Trial
from minirnn.io.finder.readings import Arrangement, Reading, arrangements, readings, storages
from minirnn.io.layouts.hub import LayerWeights
from minirnn.io.layouts.plain import run_layer

PROBE_STEPS, PROBE_ROWS, KEPT = 6, 2, 8
"""The time steps and batch rows on which all readings are run first; those that fit there, and at least the KEPT best,
are then run on all."""


def find_layout(
    weights: Mapping[str, Any] | Sequence[Any],
    input: Any,
    output: Any,
    *,
    initial_h: Any = None,
    initial_c: Any = None,
    tolerance: float | None = None,
) -> Finding:
    """Find the layout of some weights: cell, gate order, transposes, biases, kind of GRU, direction of time.

    Raises ValueError if the input or output has a wrong rank, or they don't fit each other, and TypeError if some array
    does not hold numbers.

    Parameters
    ----------
    weights : mapping or sequence of array_like
        The arrays of one layer and one direction, in any order; names are only repeated in the answer.
    input : (T, B, I), (B, T, I) or (T, I) array_like
    output : array_like
        The cell's output for this input: at all time steps, with the axes in the same order as in the input, or at
        the last one, (B, H) or (H,).
    initial_h, initial_c : (B, H) array_like, optional
        The states before the first step; zeros by default.
    tolerance : float, optional
        The largest error that fits, as a fraction of the largest output. The default is 1e-4, and 1e-2 if something is
        float16. Among the readings that fit, those with errors above 10 times the smallest are considered chance.

    Returns
    -------
    Finding
    """
    if not isinstance(weights, (Mapping, list, tuple)):
        raise TypeError(f"find_layout: weights is a {type(weights).__name__}\n  expected a dict or list of arrays")
    if tolerance is not None and not tolerance > 0:
        raise ValueError(f"find_layout: tolerance is {tolerance}\n  expected above 0")
    named = dict(weights) if isinstance(weights, Mapping) else {f"array {k}": a for k, a in enumerate(weights)}
    arrays = {name: _floats(name, a) for name, a in named.items()}
    x, y, batched = _pair(_floats("input", input), _floats("output", output))
    dtype = np.result_type(np.float16, *(values_of(a).dtype for a in named.values()))
    eps = max(float(np.finfo(np.result_type(np.float16, values_of(a))).eps) for a in (*named.values(), output))
    scale = float(np.abs(y).max(initial=0)) or 1.0
    limit = (tolerance or (1e-2 if eps > 1e-4 else 1e-4)) * scale

    I, H = x.shape[2], y.shape[-1]
    states = [_state(name, s, H) for name, s in (("initial_h", initial_h), ("initial_c", initial_c))]
    ways = list(arrangements(x, y, batched))
    probed = []
    for storage in storages(arrays, I, H):
        for reading in readings(storage):
            layer = reading.layer()
            probed += [(_error(reading, layer, way, states, probe=True), reading, way) for way in ways]
    probed.sort(key=lambda one: one[0])
    likeliest = [one for n, one in enumerate(probed) if n < KEPT or one[0] <= limit]
    trials = [Trial(r, way.text, _error(r, r.layer(), way, states), dtype) for _, r, way in likeliest]
    trials.sort(key=lambda trial: trial.error)

    best = trials[0] if trials else None
    fits: tuple[Trial, ...] = ()
    if best is not None and best.error <= limit:
        close = min(limit, max(10 * best.error, 8 * eps * scale))
        fits = tuple(c for c in trials if c.error <= close)
    status = ("none", "found", "ambiguous")[min(len(fits), 2)]
    runner_up = next((c for c in trials if c is not best and c not in fits), None)
    return Finding(status, fits, best, runner_up, len(probed))


def _floats(name: str, a: Any) -> np.ndarray:
    """The array as float64, so that the search itself adds no rounding errors."""
    try:
        array = values_of(a)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"its dtype is {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"find_layout: {name} is not an array of numbers: {error}\n  expected floats") from None


def _pair(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """The input with three axes, the output with three or (last step) two, and whether there was a batch axis."""
    batched = x.ndim == 3
    if x.ndim == 2 and y.ndim in (1, 2):
        x, y = x[:, None], y[:, None] if y.ndim == 2 else y[None]  # (T, 1, I); (T, 1, H) or (1, H)
    last = y.ndim == 2 and y.shape[0] in x.shape[:2]
    if x.ndim != 3 or not (last or (y.ndim == 3 and x.shape[:2] == y.shape[:2])) or not x.size or not y.size:
        raise ValueError(
            f"find_layout: input has shape {x.shape}, output {y.shape}\n"
            "  expected (T, B, I) and (T, B, H), or (B, T, I) and (B, T, H), or the last output, (B, H)"
        )
    return x, y, batched


def _state(name: str, state: Any, H: int) -> np.ndarray | None:
    if state is None:
        return None
    state = np.atleast_2d(_floats(name, state))
    if state.ndim != 2 or state.shape[1] != H:
        raise ValueError(f"find_layout: {name} has shape {state.shape}\n  expected (B, H), H = {H}")
    return state


def _error(
    reading: Reading,
    layer: LayerWeights,
    arrangement: Arrangement,
    states: Sequence[np.ndarray | None],
    probe: bool = False,
) -> float:
    """The largest difference to the output; infinite if the states have another batch size."""
    _, x, y = arrangement
    B, H, all_steps = x.shape[1], y.shape[-1], y.ndim == 3
    if any(s is not None and s.shape[0] != B for s in states):
        return math.inf
    h, c = (np.zeros((B, H)) if s is None else s for s in states)
    if probe:
        x, h, c, y = x[:, :PROBE_ROWS], h[:PROBE_ROWS], c[:PROBE_ROWS], y[..., :PROBE_ROWS, :]
        if all_steps:
            x, y = x[:PROBE_STEPS], y[:PROBE_STEPS]
    with np.errstate(over="ignore", invalid="ignore"):  # with wrong weights, relu may overflow
        ours = run_layer(reading.rnn_mode, reading.gru, layer, x, h, c)
        error = float(np.abs((ours if all_steps else ours[-1]) - y).max())
    return error if math.isfinite(error) else math.inf

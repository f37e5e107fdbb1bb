"""Helpers of the tests of the rungs: simulated devices, tiny layouts, layers, kernels with a planted fault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda import device as cuda_device
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch import sources
from minirnn.devices.cuda.launch.cudnn_rnn import plan as plans
from minirnn.devices.cuda.launch.cudnn_rnn.barrier_plan import barrier_plan
from minirnn.devices.cuda.launch.cudnn_rnn.sizes import GATES, Sizes
from minirnn.devices.cuda.launch.own_cell import layer as cells
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.verify import stored

GOLDEN = Path(__file__).parents[4] / "golden" / "cudnn_rnn"
FILES = sorted(p for p in GOLDEN.glob("*.npz") if not p.stem.startswith(("canonical", "params_size")))
"""The networks that torch computed."""
MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
CHECKS = (SimOptions(check=True), SimOptions(check=True, seed=1), SimOptions(check=True, seed=2, preempt=50))
"""Check mode, with three orders of the threads."""


def device_on(rung: str, options: SimOptions = CHECKS[0]) -> Cuda:
    """A separate simulated device that uses `rung` if it is available."""
    device = Cuda(SimDriver(options), f"cuda-sim-{rung}")
    device.cudnn_rnn_rung = rung
    return device


def shared_device_on(rung: str, options: SimOptions) -> str:
    """The name under which ops find this device."""
    name = f"cuda-sim-{rung}-{options.seed}-{options.preempt}"
    if name not in mr.devices.available():
        mr.devices.register(name, lambda: Cuda(SimDriver(options), name))
    mr.devices.get(name).cudnn_rnn_rung = rung
    return name


def tiny_layouts(
    monkeypatch: pytest.MonkeyPatch,
    groups: int = 1,
    parts: int = 2,
    slices: int = 3,
    rows: int = 2,
    kept: int = 8,
    batch_groups: int = 1,
    warps: int = 1,
) -> None:
    """Small layers on many blocks: two units per block; a table of columns of four units and three slices; batch tiles.

    `batch_groups`: groups of blocks, each for a part of the batch. `warps`: warps per block in the backward pass.

    `kept` 1 leaves what is beyond the first chunk of each row to shared memory.
    """

    def small(sizes: Sizes, limits: Any) -> Any:
        return plans.forward_of(sizes, limits, groups, parts, rows, min(kept, 4), batch_groups)

    def small_table(sizes: Sizes, limits: Any) -> Any:
        return plans.backward_of(sizes, limits, 4, warps, slices, rows, 4 * kept, batch_groups)

    monkeypatch.setattr(plans, "forward_plan", small)
    monkeypatch.setattr(plans, "backward_plan", small_table)


def with_multiprocessors(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Plans of the rung `barrier` for a device with so few multiprocessors that a block has several units."""

    def planned(sizes: Sizes, limits: Limits, backward: bool) -> Any:
        return barrier_plan(sizes, replace(limits, multiprocessors=count), backward)

    monkeypatch.setattr(plans, "barrier_plan", planned)


@dataclass
class Case:
    """A layer with random inputs and upstream gradients, in host memory."""

    mode: str
    x: np.ndarray
    h0: np.ndarray
    c0: np.ndarray | None
    weights: list[tuple[Any, ...]]
    lengths: Any
    dy: np.ndarray
    dh_n: np.ndarray
    dc_n: np.ndarray | None
    zoneout: tuple[Any, Any] | None = None
    """zh and zc: masks of each element, a number for all, or None."""

    def run(self, device: Any, backward: bool = True) -> dict[str, np.ndarray]:
        """All results of the layer on a device, by name."""
        put, get = device.asarray, device.to_numpy
        weights = [tuple(None if a is None else put(a) for a in parts) for parts in self.weights]
        zoneout = self.zoneout and tuple(put(z) if isinstance(z, np.ndarray) else z for z in self.zoneout)
        x, h0, c0 = put(self.x), put(self.h0), None if self.c0 is None else put(self.c0)
        chosen: dict[str, Any] = dict(rnn_mode=self.mode, lengths=self.lengths)
        if zoneout:
            chosen["zoneout"] = zoneout
        y, h_n, c_n, saved = device.rnn_sequence(x, h0, c0, weights, training=True, **chosen)
        found = {"y": y, "h_n": h_n, "c_n": c_n}
        if backward:
            upstream = [put(self.dy), put(self.dh_n), None if self.dc_n is None else put(self.dc_n)]
            dx, dh0, dc0, sums = device.rnn_sequence_grad(x, h0, c0, weights, saved, y, *upstream, **chosen)
            found |= {"dx": dx, "dh0": dh0, "dc0": dc0}
            for d, parts in enumerate(sums):
                found |= {f"{name}[{d}]": a for name, a in zip(("dW", "dR", "dWp", "dbW", "dbR"), parts, strict=True)}
        return {name: np.array(get(a)) for name, a in found.items() if a is not None}


def random_case(
    rng: np.random.Generator,
    mode: str,
    T: int,
    B: int,
    I: int,
    H: int,
    D: int = 2,
    dtype: Any = "f8",
    ragged: bool = True,
    P: int = 0,
    zoneout: str = "",
) -> Case:
    """Lengths from 1 to T in no order, if `ragged`. Recurrent sums stay of size 1 for any H.

    P outputs, if not 0, by a projection. `zoneout`: "masks" of each element, or "numbers", one for all.
    """

    def draw(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.4).astype(dtype)

    G = GATES[mode]
    smaller = np.dtype(dtype).type(min(1.0, 4 / H**0.5))
    projections, P = [draw(P, H) * smaller if P else None for _ in range(D)], P or H
    weights = [(draw(G * H, I), draw(G * H, P) * smaller, Wp, draw(G * H), draw(G * H)) for Wp in projections]
    cell = mode == "lstm"
    lengths = rng.permutation(np.arange(B) % T + 1) if ragged else None
    states = [draw(D, B, P), draw(D, B, H) if cell else None]
    upstream = [draw(T, B, D * P), draw(D, B, P), draw(D, B, H) if cell else None]
    x = draw(T, B, I)
    masks: tuple[Any, Any] | None = (0.3, 0.6 if cell else None) if zoneout == "numbers" else None
    if zoneout == "masks":
        masks = draw(D, T, B, P) ** 2, draw(D, T, B, H) ** 2 if cell else None
    return Case(mode, x, *states, weights, lengths, *upstream, masks)


def in_float64(case: Case, backward: bool = True) -> dict[str, np.ndarray]:
    """The results of the CPU in float64 from the same values."""
    wide = Case(**{name: _widened(value) for name, value in vars(case).items()})
    return wide.run(mr.devices.get("cpu"), backward)


def _widened(value: Any) -> Any:
    """Floats as float64."""
    if isinstance(value, (list, tuple)):
        return type(value)(_widened(v) for v in value)
    return value.astype("f8") if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def assert_stored(path: Path, device: str, dtype: str) -> None:
    """CudnnRNNV3 gives the outputs and gradients of a golden file."""
    case = stored.load(path)
    attributes = json.loads(str(case.pop("attributes")))
    jobs = stored.network_jobs(case, attributes, device)
    found = [run() for op, kind, run in jobs if op == "cudnn_rnn_v3" and kind == dtype]
    assert found and not [finding for finding in found if not finding.ok]


def assert_close(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], tolerance: float) -> None:
    """Every result within `tolerance` of the expected one, which is of size 1."""
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=tolerance, atol=tolerance, err_msg=name)


def with_fault(monkeypatch: pytest.MonkeyPatch, *changes: tuple[str, str]) -> None:
    """Compile kernels from changed text from now on, including headers. Each (old, new) must change something.

    A kernel without a fault keeps its text and therefore its library.
    """
    left = {old for old, _ in changes}
    folder = sources.text

    def changed(name: str) -> str:
        whole = text = folder(name)
        for header in ("grid_barrier.cuh", "tile_gather.cuh", "grid.cuh"):
            if header in text:
                text = text.replace(f'#include "{header}"', folder(header).replace("#pragma once", ""))
        found = {old for old, _ in changes if old in text}
        left.difference_update(found)
        for old, new in changes:
            text = text.replace(old, new)
        return text if found else whole

    def changed_source(plan: Any, file: str) -> str:
        """The text of a cell's kernel includes the file; a fault is planted in a copy of it."""
        whole: str = source_of_a_cell(plan, file)
        return whole.replace(f'#include "cudnn_rnn/{file}"', changed(f"cudnn_rnn/{file}"))

    source_of_a_cell = cells.source.__wrapped__
    monkeypatch.setattr(cells, "source", changed_source)
    monkeypatch.setattr(cuda_device, "text", changed)
    monkeypatch.setattr(SimDriver, "faults_not_planted", left, raising=False)


def planted() -> Sequence[str]:
    """The texts that `with_fault` did not find."""
    return sorted(getattr(SimDriver, "faults_not_planted", ["nothing was asked for"]))

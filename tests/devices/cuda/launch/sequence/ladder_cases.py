"""Helpers of the tests of the rungs: simulated devices, tiny layouts, layers, kernels with a planted fault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import minirnn as mr
from minirnn.cells.plan import Plan
from minirnn.devices.base import Weights
from minirnn.devices.cpu.sequence.layer import width_of
from minirnn.devices.cuda import device as cuda_device
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.gpu.compiler import KERNELS
from minirnn.devices.cuda.launch import sources
from minirnn.devices.cuda.launch.sequence import layout as layouts
from minirnn.devices.cuda.launch.sequence import one_launch
from minirnn.devices.cuda.launch.sequence.arrays import Layer
from minirnn.devices.cuda.launch.sequence.layout import barrier_layout
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.ops.cudnn_rnn.cells import layer_of
from tests.proof import stored

if TYPE_CHECKING:  # `scripts/gpu_first.sh` uses these cases on machines without pytest
    import pytest

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

    def small(sizes: Sizes, limits: Any, _: int) -> Any:
        return layouts.forward_of(sizes, limits, groups, parts, rows, min(kept, 4), batch_groups)

    def small_table(sizes: Sizes, limits: Any, _: int) -> Any:
        return layouts.backward_of(sizes, limits, 4, warps, slices, rows, 4 * kept, batch_groups)

    monkeypatch.setattr(layouts, "forward_in", small)
    monkeypatch.setattr(layouts, "backward_in", small_table)


def with_multiprocessors(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Layouts of the rung `barrier` for a device with so few multiprocessors that a block has several units."""

    def planned(sizes: Sizes, limits: Limits, backward: bool) -> Any:
        return barrier_layout(sizes, replace(limits, multiprocessors=count), backward)

    monkeypatch.setattr(layouts, "barrier_layout", planned)


@dataclass
class Case:
    """A layer with random inputs and upstream gradients, in host memory."""

    plan: Plan
    x: np.ndarray
    h0: np.ndarray
    c0: np.ndarray | None
    weights: list[Weights]
    lengths: Any
    dy: np.ndarray
    dh_n: np.ndarray
    dc_n: np.ndarray | None
    masks: tuple[np.ndarray, ...] = ()
    zoneout: np.ndarray | None = None
    """The share of a projected h that is kept."""

    def run(self, device: Any, backward: bool = True, **options: Any) -> dict[str, np.ndarray]:
        """All results of the layer on a device, by name."""

        def put(a: Any) -> Any:
            if isinstance(a, (tuple, list)):
                return Weights(*map(put, a)) if isinstance(a, Weights) else type(a)(map(put, a))
            return None if a is None else device.asarray(a)

        x, h0, c0, weights = put(self.x), put(self.h0), put(self.c0), put(self.weights)
        options |= {"plan": self.plan, "lengths": self.lengths, "masks": put(self.masks)}
        if self.zoneout is not None:
            options["zoneout"] = put(self.zoneout)
        each = put(options.pop("dc_each", None))
        y, h_n, c_n, saved = device.cell_sequence(x, h0, c0, weights, training=True, **options)
        found = {"y": y, "h_n": h_n, "c_n": c_n}
        if options.pop("named", False):
            found = saved | found  # cuDNN's GRU names a product of its page h_n
        if backward:
            upstream = put(self.dy), put(self.dh_n), put(self.dc_n)
            dx, dh0, dc0, sums = device.cell_sequence_grad(
                x, h0, c0, weights, saved, y, *upstream, dc_each=each, **options
            )
            found |= {"dx": dx, "dh0": dh0, "dc0": dc0}
            for d, own in enumerate(sums):
                found |= {f"d{name}[{d}]": a for name, a in zip(Weights._fields[:5], own[:5], strict=True)}
                found |= {
                    f"d{name}[{d}][{k}]": a for name in ("U", "vectors") for k, a in enumerate(getattr(own, name))
                }
        return {name: np.array(device.to_numpy(a)) for name, a in found.items() if a is not None}


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
    zoneout: bool = False,
) -> Case:
    """Lengths from 1 to T in no order, if `ragged`. Recurrent sums stay of size 1 for any H.

    P outputs, if not 0, by a projection. `zoneout` draws a share of each element that is kept.
    """
    width = P or H
    shares = (rng.uniform(size=(D, T, B, width)), rng.uniform(size=(D, T, B, H))) if zoneout else None
    plan, masks, of_h = layer_of(mode, bool(P), shares)
    case = case_of(rng, plan, T, B, I, H, D, dtype, ragged, P)
    return replace(
        case, masks=tuple(m.astype(dtype) for m in masks), zoneout=None if of_h is None else of_h.astype(dtype)
    )


def case_of(
    rng: np.random.Generator,
    plan: Plan,
    T: int,
    B: int,
    I: int,
    H: int,
    D: int = 2,
    dtype: Any = "f8",
    ragged: bool = True,
    P: int = 0,
) -> Case:
    """The same for a cell without masks."""

    def draw(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.4).astype(dtype)

    smaller = np.dtype(dtype).type(min(1.0, 4 / H**0.5))
    of_W, of_R, inner = plan.of_both + plan.of_x, plan.of_both + plan.of_h, plan.states - 1
    projections, P = [draw(P, H) * smaller if P else None for _ in range(D)], P or H
    weights = []
    for Wp in projections:
        own = Weights(draw(of_W * H, I), draw(of_R * H, P) * smaller, Wp, draw(of_W * H), draw(of_R * H))
        U, vectors = ([draw(*shape) for _ in range(n)] for shape, n in (((H, H), plan.matrices), ((H,), plan.vectors)))
        weights.append(own._replace(U=tuple(U), vectors=tuple(vectors)))
    lengths = rng.permutation(np.arange(B) % T + 1) if ragged else None
    states = [draw(D, B, P), draw(D, inner, B, H) if inner else None]
    upstream = [draw(T, B, D * P), draw(D, B, P), draw(D, inner, B, H) if inner else None]
    return Case(plan, draw(T, B, I), *states, weights, lengths, *upstream)


def in_float64(case: Case, backward: bool = True) -> dict[str, np.ndarray]:
    """The results of the CPU in float64 from the same values."""
    wide = Case(**{name: _widened(value) for name, value in vars(case).items()})
    return wide.run(mr.devices.get("cpu"), backward)


def _widened(value: Any) -> Any:
    """Floats as float64."""
    if isinstance(value, (list, tuple)):
        return Weights(*map(_widened, value)) if isinstance(value, Weights) else type(value)(map(_widened, value))
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

    A kernel without a fault keeps its text and therefore its library. Raises ValueError if a text is in no kernel file.
    """
    files = {path.relative_to(KERNELS).as_posix(): path.read_text(encoding="utf-8") for path in KERNELS.rglob("*.cu*")}
    nowhere = [old for old, _ in changes if not any(old in text for text in files.values())]
    if nowhere:
        raise ValueError(f"no kernel file has the text {nowhere[0]!r}")
    left = {old for old, _ in changes}
    right = sources.text

    def changed(name: str, plan: Plan | None = None) -> str:
        whole = text = right(name, plan)
        for _ in range(3):  # a file of a rung, its headers, and theirs
            for header, inside in files.items():
                if any(old in inlined(header) for old, _ in changes):
                    text = text.replace(f'#include "{header}"', inside.replace("#pragma once", ""), 1)
                    text = text.replace(f'#include "{header}"', "")
        found = {old for old, _ in changes if old in text}
        left.difference_update(found)
        for old, new in changes:
            text = text.replace(old, new)
        return text if found else whole

    def inlined(name: str) -> str:
        """The text of a file and of all that it includes."""
        return files[name] + "".join(inlined(header) for header in files if f'#include "{header}"' in files[name])

    monkeypatch.setattr(cuda_device, "text", changed)
    monkeypatch.setattr(SimDriver, "faults_not_planted", left, raising=False)


def planted(device: Cuda, case: Case) -> Sequence[str]:
    """The texts of `with_fault` that the kernels of this case do not have. It compiles them, and runs nothing."""
    (T, B, _), (D, _, P) = case.x.shape, case.h0.shape
    sizes = Sizes(case.plan, T, B, width_of(case.plan, case.weights[0]), P, D, case.x.itemsize)
    layer = Layer(device, sizes, case.x.dtype, case.plan.constants, None, [], [])
    for backward in (False, True):
        assert one_launch.ready(layer, backward) is not None
    return sorted(getattr(SimDriver, "faults_not_planted", ["nothing was asked for"]))

"""Every cell of minirnn on every rung and in single steps: the numbers of the cpu device, under all checks.

Tests `minirnn/devices/cuda/launch/sequence/layer.py`, `minirnn/devices/cuda/launch/sequence/step.py`,
`minirnn/devices/cuda/launch/sequence/arrays.py` and `minirnn/devices/cuda/launch/sequence/one_launch.py`. What the cpu
device computes is compared with torch, TensorFlow and compositions in `tests/ops`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import Weights, WrongSize
from minirnn.devices.cuda.launch.sequence.choice import RUNGS
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence.ladder_cases import assert_close, case_of, device_on, tiny_layouts
from tests.devices.cuda.machine_code.variants import ALL_CELLS, IN_ONE_LAUNCH

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)
CPU: Any = mr.devices.get("cpu")
PEEPHOLES, CONSTANTS = IN_ONE_LAUNCH["lstm_block, peepholes, clip"], (0.3, 0.5)
QUICK = ("lstm with zoneout", "lstm_block, peepholes, clip")
OTHERS = [name for name in IN_ONE_LAUNCH if name not in QUICK]


@pytest.mark.parametrize(
    ("name", "rung"),
    [  # each kernel is compiled for each cell, so most cells have one of the two rungs of one launch
        *((name, rung) for name in QUICK for rung in RUNGS),
        *(pytest.param(name, RUNGS[1 + k % 2], marks=pytest.mark.slow) for k, name in enumerate(OTHERS)),
    ],
)
def test_every_rung_computes_every_cell(
    name: str, rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    plan = IN_ONE_LAUNCH[name]
    case = case_of(rng, plan, T=5, B=3, I=4, H=9)
    case = replace(case, masks=tuple(rng.uniform(size=(2, 5, 3, 9)) for _ in range(plan.masks)))
    device = device_on(rung)
    assert_close(case.run(device), case.run(CPU), 1e-12)
    assert device.rungs == {f"{rung} forward": 1, f"{rung} backward": 1}


@pytest.mark.parametrize("rung", RUNGS)
def test_values_by_name_gradients_of_each_state_and_transposed_weights(
    rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What BlockLSTM asks for. The gradient of values by name is that of what a plain pass saves."""
    tiny_layouts(monkeypatch)
    case, each = case_of(rng, PEEPHOLES, T=5, B=3, I=4, H=9, ragged=False), rng.standard_normal((2, 5, 3, 9))
    case.weights = [w._replace(W=np.asfortranarray(w.W), R=np.asfortranarray(w.R)) for w in case.weights]
    found, expected = ({}, {})
    for device, results in ((device_on(rung), found), (CPU, expected)):
        results |= case.run(device, named=True, constants=CONSTANTS, dc_each=each)
    assert {"i", "f", "o", "ci", "co", "cs"} <= found.keys()
    assert_close(found, expected, 1e-12)
    assert np.abs(found["cs"]).max() == CONSTANTS[1]


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("name", ["lstm", pytest.param("gru", marks=pytest.mark.slow)])
def test_by_name_rows_of_several_lengths_keep_their_states(
    name: str, rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    case, device = case_of(rng, IN_ONE_LAUNCH[name], T=5, B=4, I=3, H=6), device_on(rung)
    plain, named = case.run(device), case.run(device, named=True)
    assert_close({k: named[k] for k in plain}, plain, 1e-13)


@pytest.mark.parametrize("rung", RUNGS)
def test_constants_are_arguments_also_of_a_recording(
    rung: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other constants compile nothing, and no recording with the old ones is replayed."""
    tiny_layouts(monkeypatch)
    case, device = case_of(rng, PEEPHOLES, T=5, B=3, I=4, H=9, ragged=False), device_on(rung, SimOptions())
    device.recordings.enabled = True
    for k in range(9):
        constants = ((0.3, 0.5), (1.0, 0.2), (0.0, 0.3))[k % 3]
        assert_close(case.run(device, constants=constants), case.run(CPU, constants=constants), 1e-12)
        if k == 0:
            compiled = set(device._compiled)
        assert set(device._compiled) == compiled
    assert device.recordings.counts["replayed"] > 0


@pytest.mark.parametrize("name", [n for n in ALL_CELLS if "projected" not in n])
def test_single_steps(name: str, rng: np.random.Generator) -> None:
    plan, B, H = ALL_CELLS[name], 3, 8
    draw = lambda *shape: 0.5 * rng.standard_normal(shape)  # noqa: E731
    gates, states, d_after = (
        draw(B, len(plan.gate_names) * H),
        *([draw(B, H) for _ in range(plan.states)] for _ in "ab"),
    )
    U, vectors = [draw(H, H) for _ in range(plan.matrices)], [draw(H) for _ in range(plan.vectors)]
    masks, constants = [rng.uniform(size=(B, H)) for _ in range(plan.masks)], CONSTANTS[: len(plan.constants)]
    results = []
    for device in (device_on("steps"), CPU):
        put = lambda arrays: tuple(map(device.asarray, arrays))  # noqa: E731, B023
        weights = Weights(None, None, U=put(U), vectors=put(vectors))
        options: dict[str, Any] = {"plan": plan, "constants": constants, "masks": put(masks)}
        after, values = device.cell_step(*put([gates]), put(states), weights, **options)
        found = device.cell_step_grad(put(states), after, values, put(d_after), weights, **options)
        d_gates, d_states, d_vectors = found
        assert list(values) == list(plan.value_names)
        arrays = [*after, *values.values(), d_gates, *d_states, *d_vectors]
        results.append({str(k): np.array(device.to_numpy(a)) for k, a in enumerate(arrays)})
    assert_close(*results, 1e-13)


def test_a_step_of_an_empty_batch_has_empty_results() -> None:
    plan, device = ALL_CELLS["lstm_block"], device_on("steps")
    empty = device.asarray(np.zeros((0, 4)))
    after, values = device.cell_step(device.asarray(np.zeros((0, 16))), (empty, empty), Weights(None, None), plan=plan)
    d_gates, d_states, _ = device.cell_step_grad(
        (empty, empty), after, values, (empty, empty), Weights(None, None), plan=plan
    )
    assert {a.shape for a in (*after, *values.values(), *d_states)} == {(0, 4)} and d_gates.shape == (0, 16)


def test_saved_values_of_another_size_and_names_of_a_cell_with_products_are_refused(rng: np.random.Generator) -> None:
    case, device = case_of(rng, IN_ONE_LAUNCH["lstm"], T=3, B=2, I=3, H=4, ragged=False), device_on("steps")
    put = lambda a: None if a is None else device.asarray(a)  # noqa: E731
    weights = [Weights(*map(put, w[:5])) for w in case.weights]
    given = put(case.x), put(case.h0), put(case.c0), weights
    upstream = put(case.dy), put(case.dy), put(case.dh_n), put(case.dc_n)
    with pytest.raises(WrongSize):
        device.cell_sequence_grad(*given, put(np.zeros(7)), *upstream, plan=case.plan, lengths=None)
    with pytest.raises(NotImplementedError, match=r"gradient of gru_block .* values by name\n  expected"):
        case_of(rng, ALL_CELLS["gru_block"], T=3, B=2, I=3, H=4, D=1, ragged=False).run(device, named=True)

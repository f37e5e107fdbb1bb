"""The stored table holds, and nothing disappears from it."""

import re

import pytest

import minirnn as mr
from minirnn import nn, ops
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.primitives.declare import DECLARED
from minirnn.proof import table
from minirnn.proof.cases import cudnn, rungs
from minirnn.proof.table import OPS, PASSED
from tests import verified
from tests.proof.against import count_cases
from tests.proof.runs import BASELINE, ROOT, STAND_IN, needs_simulator
from tests.verified import every_comparison


@pytest.mark.slow
def test_no_cell_of_the_stored_table_has_disappeared_and_none_is_missing_in_it() -> None:
    _, baseline = table.read(BASELINE)
    listed = count_cases(every_comparison(dict.fromkeys(("cpu", "cuda-sim", "native"))))
    then = {r.cell: r.cases for r in baseline}
    gone = [f"{cell}: {n} cases, now {listed.get(cell, 0)}" for cell, n in then.items() if listed.get(cell, 0) < n]
    new = [f"{cell}: {n} cases, not {then.get(cell, 0)}" for cell, n in listed.items() if then.get(cell, 0) < n]
    again = f"python -m tests.verified --device cpu cuda-sim native --out {BASELINE.relative_to(ROOT)}"
    again += ", with --op NAME for a new op"
    assert not gone, "\n".join(["cells or cases disappeared:", *gone])
    assert not new, "\n".join([f"cells that the stored table does not have; run {again}", *new])


def test_every_cell_of_the_stored_table_passed_with_a_reason() -> None:
    head, baseline = table.read(BASELINE)
    assert not head["quick"]
    for r in baseline:
        assert r.status == PASSED and r.error is not None and r.tolerance is not None and r.reason, r.cell
        assert 0 <= r.error <= r.tolerance, r.cell


TABLES = "; then make the tables with --op NAME, as the end of Tests in docs/contributing.md says"


def test_the_stored_table_has_every_public_op() -> None:
    _, baseline = table.read(BASELINE)
    rows = {r.cell.op for r in baseline}
    assert rows == set(OPS), f"a fused op has cases in minirnn/proof/cases/ and a name in OPS{TABLES}"
    # "sum of squares", "max with indices", "clamp between Tensors"
    primitives = {re.split(" of | with | between ", r.cell.variant)[0] for r in baseline if r.cell.op == "primitives"}
    public: dict[int, set[str]] = {}
    undeclared = [name for name in set(ops.__all__) - rows if getattr(ops, name) not in DECLARED]
    assert not undeclared, "declare a primitive with unary, binary or @op, and add a fused op to OPS in minirnn/proof"
    for name in set(ops.__all__) - rows:  # synonyms, such as `cat` and `concat`, share a declaration
        public.setdefault(id(DECLARED[getattr(ops, name)]), set()).add(name)
    hint = f"an op of several Tensors needs a line in minirnn/proof/cases/primitives.py{TABLES}"
    assert [names for names in public.values() if len(names & primitives) != 1] == [], hint
    assert primitives <= set().union(*public.values())


def test_every_fused_op_is_proven_in_every_way_that_applies() -> None:
    _, baseline = table.read(BASELINE)
    proven: dict[tuple[str, str], set[str]] = {}
    for r in baseline:
        proven.setdefault((r.cell.device, r.cell.op), set()).add(r.cell.way)
    for op in OPS:
        if op in ("primitives", "functional", "cudnn_rnn_params_size"):
            continue
        expected = {"stored", "differences", "definition"}
        expected |= set() if "grad" in op or "backprop" in op or "params" in op else {"second order"}
        for device, ways in (("cpu", expected), ("cuda-sim", expected | {"check mode"})):
            assert proven.get((device, op)) == ways, f"{op} on {device}: its cases are incomplete{TABLES}"


def test_the_stored_table_has_every_function_of_nn() -> None:
    _, baseline = table.read(BASELINE)
    functions = {r.cell.variant.split(" of ")[0] for r in baseline if r.cell.op == "functional"}
    missing = set(nn.functional.__all__) - functions - {"dropout", "one_hot"}  # random, and without a gradient
    assert not missing, f"a function needs a line in minirnn/proof/cases/functional.py, an activation none{TABLES}"


def test_networks_are_proven_in_all_combinations_of_their_attributes() -> None:
    _, baseline = table.read(BASELINE)
    variants = {r.cell.variant for r in baseline if r.cell.op == "cudnn_rnn_v3" and r.cell.way == "definition"}
    for mode in ("rnn_relu", "rnn_tanh", "gru", "lstm"):
        for direction in ("unidirectional", "bidirectional"):
            for input_mode in ("linear_input", "skip_input", "auto_select"):
                for layers in ("1 layer", "2 layers"):
                    name = f"{mode} {direction} {input_mode}, {layers}"
                    assert name in variants
                    assert (f"{name}, projection" in variants) == (mode == "lstm")


def test_the_stored_table_names_no_place_of_a_machine() -> None:
    assert not re.search(r'[" (](/|[A-Z]:\\)\w', BASELINE.read_text(encoding="utf-8"))


def test_a_gpu_that_is_acted_out_has_a_column_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"cuda": verified.STAND_IN, "cuda-sim": "simulated on the CPU", "cpu": "NumPy"}
    monkeypatch.setattr(verified, "described", lambda devices: names)
    assert verified.labels_of(dict.fromkeys(names)) == {"cuda": "cuda (stand-in)", "cuda-sim": "cuda-sim", "cpu": "cpu"}
    names["cuda"] = "NVIDIA H200"
    assert verified.labels_of({"cuda": None})["cuda"] == "cuda"


@pytest.mark.skipif(not STAND_IN.exists(), reason="the table of the stand-in is made with PyCUDA")
def test_the_table_of_the_stand_in_says_what_it_is_and_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    head, results = table.read(STAND_IN)
    assert list(head["devices"]) == ["cuda (stand-in)"] and head["devices"]["cuda (stand-in)"].startswith("no GPU")
    assert not head["quick"]
    monkeypatch.setattr(verified, "described", lambda devices: {"cuda": verified.STAND_IN})
    listed = every_comparison({"cuda": None})
    again = (
        "scripts/with_stand_in_gpu.sh .venv/bin/python -m tests.verified --device cuda --out "
        "docs/data/verify/cuda_stand-in.json, with --op NAME for a new op"
    )
    assert {r.cell: r.cases for r in results} == count_cases(listed), again
    for r in results:
        assert r.cell.device == "cuda (stand-in)" and r.status == PASSED and r.cell.way != "check mode", r.cell


@needs_simulator
def test_a_layer_that_another_rung_computed_does_not_count() -> None:
    case = cudnn.forward("cudnn_rnn_v3", Network("lstm", 1, 6, 5, num_proj=4), False, False)
    device = mr.devices.get("cuda-sim")
    rungs.on_rung("steps", lambda: device, case, "float64")
    with pytest.raises(ValueError, match="computed by steps backward, steps forward\n  expected the rung persistent"):
        rungs.on_rung("persistent", lambda: device, case, "float64")
    assert device.cudnn_rnn_rung is None

"""The block ops against values that TensorFlow computed: raw ops and through the tape.

Tests `minirnn/ops/lstm_block/` and `minirnn/ops/gru_block.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.ops.block_cases import FAMILIES, GOLDEN, Family

FILES = sorted(GOLDEN.glob("*.npz"))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def case(request: pytest.FixtureRequest) -> Any:
    path: Path = request.param
    with np.load(path, allow_pickle=False) as z:
        return dict(z)


def family_of(case: dict[str, Any]) -> Family:
    return FAMILIES[str(case["meta_grad_op"])]


def close(case: dict[str, Any], name: str, got: Any) -> None:
    """Within the golden README's tolerance: 2e-5 (float32) or 2e-2 (float16) of the largest value, at least of 1."""
    expected = case[name].astype(np.float64)
    tolerance = 2e-2 if case["x"].dtype == np.float16 else 2e-5
    got = np.asarray(got)
    assert got.dtype == case[name].dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(
        got.astype(np.float64), expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max(initial=0)), err_msg=name
    )


def arguments(case: dict[str, Any], family: Family, device: str, requires_grad: bool = False) -> list[Any]:
    lead = [case["seq_len_max"]] if "seq_len_max" in case else []
    return lead + [mr.tensor(case[name], requires_grad, device) for name in family.inputs]


def attributes(case: dict[str, Any]) -> dict[str, Any]:
    names = {"forget_bias": float, "cell_clip": float, "use_peephole": bool}
    return {name: kind(case[name]) for name, kind in names.items() if name in case}


def test_there_are_golden_files_of_every_family() -> None:
    found = {str(np.load(path)["meta_grad_op"]) for path in FILES}
    assert found == set(FAMILIES)
    assert len(FILES) == 25


def test_forward_equals_tensorflow(case: dict[str, Any], device: str) -> None:
    family = family_of(case)
    if not str(case["meta_op"]):
        return  # saved values of this file are random: it is for the Grad op alone, tested below
    outputs = family.forward()(*arguments(case, family, device), **attributes(case))
    assert outputs._fields == family.outputs
    for name in family.outputs:
        close(case, name, getattr(outputs, name))


def test_raw_grad_op_equals_tensorflow(case: dict[str, Any], device: str) -> None:
    family = family_of(case)
    saved = [mr.tensor(case[name], device=device) for name in (*family.saved, *family.upstream.values())]
    only = {"use_peephole": bool(case["use_peephole"])} if "use_peephole" in case else {}
    outputs = family.grad()(*arguments(case, family, device), *saved, **only)
    for name in outputs._fields:
        close(case, name, getattr(outputs, name))


def test_gradients_through_the_tape_equal_tensorflow(case: dict[str, Any], device: str) -> None:
    family = family_of(case)
    if not str(case["meta_op"]):
        return
    inputs = arguments(case, family, device, requires_grad=True)
    outputs = family.forward()(*inputs, **attributes(case))
    upstream = [mr.tensor(case[key], device=device) for key in family.upstream.values()]
    tensors = [t for t in inputs if isinstance(t, mr.Tensor)]
    found = mr.grad([getattr(outputs, name) for name in family.upstream], tensors, upstream)
    for name, gradient in zip(family.inputs, found, strict=True):
        close(case, family.gradients[name], gradient)

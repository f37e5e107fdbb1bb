"""The timed calls compute the same in minirnn and in torch."""

import numpy as np
import pytest

import minirnn as mr
from minirnn.bench.calls import factors, our_calls, own_calls, product_calls, torch_calls
from minirnn.nn.own.file import cell_in
from tests.cells.with_torch import CELLS, GALLERY


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_minirnn_and_torch_compute_gradients_of_the_same_shapes(mode: str) -> None:
    pytest.importorskip("torch")
    size = (3, 2, 4, 5)
    ours = our_calls(mr.devices.get("cpu"), mode, size, "float32")["forward+backward"]()
    theirs = torch_calls("cpu", mode, size, "float32")["forward+backward"]()
    states = 3 if mode == "lstm" else 2
    assert [g.shape for g in ours[:states]] == [tuple(g.shape) for g in theirs[:states]]
    assert ours[-1].size == sum(g.numel() for g in theirs[states:])


@pytest.mark.parametrize("name", CELLS)
def test_an_own_cell_and_its_composition_compute_the_same(name: str) -> None:
    cell = cell_in(str(GALLERY / f"{name}.py"))
    kernel, tape = (
        own_calls(mr.devices.get("cpu"), cell, (4, 2, 3, 5), "float64", composed) for composed in (False, True)
    )
    np.testing.assert_allclose(kernel["forward"](), tape["forward"](), rtol=1e-12, atol=1e-13)
    for a, b in zip(kernel["forward+backward"](), tape["forward+backward"](), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_the_products_are_those_of_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    T, B, I, H = size = (4, 2, 3, 5)
    assert factors("lstm") == (4, 4, 0) and factors("gru") == (3, 3, 0)
    for name, of_x, of_h, products in (("gru_block", 3, 2, 1), ("indrnn", 1, 0, 0), ("cornn", 1, 1, 1)):
        cell = cell_in(str(GALLERY / f"{name}.py"))
        assert factors(cell) == (of_x, of_h, products)
        calls, flops = product_calls(cell, size, "float64"), []
        with monkeypatch.context() as patch:
            dot = np.dot
            patch.setattr(np, "dot", lambda a, b, *out: flops.append(a.size * b.shape[1]) or dot(a, b, *out))  # noqa: B023
            calls["forward"]()
            assert sum(flops) == T * B * H * (of_x * I + (of_h + products) * H)
            flops.clear()
            calls["forward+backward"]()
            assert sum(flops) == 3 * T * B * H * (of_x * I + (of_h + products) * H)

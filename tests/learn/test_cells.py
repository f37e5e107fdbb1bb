"""The exercises on custom cells, compared with minirnn's derivations.

Tests `minirnn/learn/catalog/cells.py` and `minirnn/learn/formulas/cells.py`.
"""

import inspect
import textwrap
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.cells.cell import Formulas
from minirnn.cells.expr import CellError
from minirnn.learn.catalog import cells as catalog
from minirnn.learn.formulas import cells


def by_hand(*change: str) -> Any:
    """The solution's lines as a backward pass for `Cell.backward`, without the sums over samples."""
    source = textwrap.dedent(inspect.getsource(cells.patient_cell_backward)).replace(".sum(0)", "")
    source = source.replace(*change) if change else source
    assert not change or change[1] in source
    scope: dict[str, Any] = {}
    exec(source[: source.index("    return")], scope)
    return scope["patient_cell_backward"]


def test_the_solution_is_what_is_derived() -> None:
    Formulas(catalog.patient, ("c", "h")).backward(by_hand())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("(c_prev - n)", "c_prev"), "dz_k: c_prev should be c_prev - n"),
        (("dc * (1 - k) *", "dc *"), "dz_n: the factor 1 - k is missing"),
        (("c_grad + dh", "dh"), "the term c_grad is missing"),
    ],
)
def test_the_comparison_of_a_cell_names_the_wrong_term(change: tuple[str, str], words: str) -> None:
    with pytest.raises(CellError, match=words):
        Formulas(catalog.patient, ("c", "h")).backward(by_hand(*change))


@pytest.mark.parametrize("which", range(len(catalog.CELLS)))
def test_what_the_solution_saves_is_what_a_cell_saves(which: int) -> None:
    there, cheap, read, operands, right = catalog.graph(which)
    saved, size = cells.what_is_saved(there, cheap, read, operands, 3, 2, 5)
    assert saved.tolist() == right.tolist() and size == right.sum() * 3 * 2 * 5 * 4
    assert right.sum() == len(Formulas(*catalog.CELLS[which]).saved())


def test_the_reach_is_that_of_a_layer(rng: np.random.Generator) -> None:
    """A cell that is only a highway, judged by the tape."""

    @mr.cell(states=("c",))
    def highway(x_f: Any, c: Any) -> Any:
        c = mr.sigmoid(x_f) * c
        return c

    T, B, H = 6, 2, 3
    steps = rng.uniform(2, 30, size=H)
    z = rng.normal(size=(T, B, H))
    reach, bias = cells.long_memory(z, steps)
    c = mr.tensor(rng.normal(size=(B, H)), requires_grad=True)
    first, state = c, c
    for t in range(1, T):
        state = highway(mr.tensor(z[t]), state)
    (found,) = mr.grad([state.sum()], [first])
    assert np.allclose(found.numpy(), reach[0], rtol=1e-12)
    assert np.allclose((1 / (1 + np.exp(-bias))) ** steps, 0.5, rtol=1e-12)

"""GRUBlockCell is its op with the parameters of the cell."""

import numpy as np

import minirnn as mr
from minirnn import nn

B, I, H = 4, 3, 5


def test_the_gru_cell_is_its_op_with_the_cells_parameters(device: str, rng: np.random.Generator) -> None:
    cell = nn.GRUBlockCell(H, I, device=device, dtype=np.float64)
    x, h_prev = rng.normal(size=(B, I)), rng.normal(size=(B, H))
    expected = mr.ops.gru_block_cell(x, h_prev, cell.w_ru, cell.w_c, cell.b_ru, cell.b_c)
    h, state = cell(x, h_prev)
    assert h is state
    np.testing.assert_array_equal(h, expected.h)
    for ours, theirs in zip(cell.gates(x, h_prev), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(cell(x)[0], cell(x, np.zeros((B, H)))[0])

"""What `minirnn/lookup/pointers.txt` says to write gives torch's values, and no name of the table exists here.

Tests `minirnn/lookup/pointers.py`. The values are torch's, stored by `tests/golden/make_names.py`.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.lookup.pointers import table
from tests.each import each
from tests.names_of_torch import CASES, letters, line

F = mr.nn.functional
RIGHT = np.load(Path(__file__).parents[1] / "golden" / "names" / "lines.npz")


def tensor(value: Any) -> mr.Tensor:
    array = np.array(value)
    return mr.tensor(array)


@each("name", CASES)
def test_a_line_gives_the_values_of_torch(name: str) -> None:
    names = {"mr": mr, "np": np, "math": math, "F": F, **letters(name, tensor)}
    with np.errstate(all="ignore"):
        found = eval(line(name), names)
    found = np.asarray(found.detach().numpy() if isinstance(found, mr.Tensor) else found)
    right = RIGHT[name]
    assert found.shape == right.shape, name
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-9)


def test_no_name_of_the_table_is_here() -> None:
    here = {*vars(mr), *mr.__all__, *mr.nn.functional.__all__, *mr.nn.__all__}
    rows = [row for part in table().values() for row in part]
    named = {name for row in rows for name in row.names if "*" not in name and "." not in name}
    only_elsewhere = {"cpu", "nested", "functional", "init", "ops", "parallel", "torch"}  # submodules of other places
    assert sorted(named & here - only_elsewhere) == []

"""Names, orders and hooks: the same program gives the same results with minirnn.nn as with torch.nn.

Tests `minirnn/nn/module_members.py`, `minirnn/nn/hooks.py` and `minirnn/nn/containers.py`, by what
`tests/golden/make_modules.py` has stored.
"""

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from tests.nn.twin_programs import Library, hooks, names

STORED = Path(__file__).parents[1] / "golden" / "modules"
KEYS = (
    *("named_parameters", "named_parameters_twice", "named_parameters_own", "named_buffers", "named_buffers_own"),
    *("named_modules", "named_modules_twice", "named_children", "state_dict", "applied"),
    *("missing", "unexpected", "sliced", "added"),
)


def ours(device: str) -> Library:
    return Library(mr.nn, lambda a, requires_grad=False: mr.tensor(a, requires_grad, device), lambda t: t.numpy())


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    return names(ours("cpu"))


@pytest.mark.parametrize("key", KEYS)
def test_names_and_orders_are_those_of_torch(key: str, found: dict[str, list[str]]) -> None:
    with np.load(STORED / "names.npz", allow_pickle=False) as stored:
        assert found[key] == stored[key].tolist()


def test_nothing_stored_is_left_out(found: dict[str, list[str]]) -> None:
    with np.load(STORED / "names.npz", allow_pickle=False) as stored:
        assert sorted(stored) == sorted(KEYS) == sorted(found)


def test_hooks_see_and_change_what_they_do_in_torch_in_its_order(device: str) -> None:
    with mr.use_device(device):
        lines, arrays = hooks(ours(device))
    with np.load(STORED / "hooks.npz", allow_pickle=False) as stored:
        assert lines == stored["lines"].tolist()
        for name, value in arrays.items():
            np.testing.assert_allclose(value, stored[name], rtol=0, atol=1e-13, err_msg=name)

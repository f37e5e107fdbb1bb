"""Every function against stored results of torch, without torch.

Tests `minirnn/nn/functional`.
"""

from __future__ import annotations

import pytest

from minirnn.nn import functional
from tests.each import each
from tests.nn.functional.stored import FOLDER, cases, replay

STORED = cases(*sorted(path.stem for path in FOLDER.glob("*.npz")))


@each(("function", "case"), STORED, ids=["-".join(c) for c in STORED])
def test_values_and_gradients_are_those_that_torch_gave(function: str, case: str) -> None:
    replay(function, case, "cpu")


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_every_device_gives_them(share: int, device: str) -> None:
    """In one case of `share`, and at least one of each function."""
    chosen = dict(STORED).items() | set(STORED[::share])
    for function, case in sorted(chosen):
        replay(function, case, device)


def test_every_function_has_stored_values() -> None:
    assert {name for name, _ in STORED} | {"dropout"} == set(functional.__all__)  # dropout is random

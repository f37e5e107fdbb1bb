"""Every function against stored results of torch, without torch.

Tests `minirnn/nn/functional`.
"""

import pytest

from minirnn.nn import functional
from minirnn.ops.primitives.declare import ACTIVATIONS
from tests.each import each
from tests.nn.functional.stored import FOLDER, case, cases, check_derivatives, replay

STORED = cases(*sorted(path.stem for path in FOLDER.glob("*.npz")))

WITHOUT_DERIVATIVES = {
    *((name, said) for name, said in STORED if name in ("relu", "relu6", "leaky_relu", "elu", "hardtanh", "ctc_loss")),
    *((name, "edge") for name in ("huber_loss", "l1_loss", "smooth_l1_loss")),
    *((name, said) for name in ("cross_entropy", "nll_loss") for said in ("all_ignored", "no_rows")),
    *(("embedding", "padding"), ("embedding", "padding_from_the_end"), ("mse_loss", "nothing")),
    *(("binary_cross_entropy", "sure"), ("normalize", "zeros"), ("rms_norm", "plain1"), ("rms_norm", "plain2")),
}
"""Cases at kinks and bounds, of rows of zeros or of no rows, and those whose gradient is not that of the function."""
SMOOTH = [one for one in STORED if one not in WITHOUT_DERIVATIVES and case(*one)["grad"]]


@each(("function", "case"), STORED, ids=["-".join(c) for c in STORED])
def test_values_and_gradients_are_those_that_torch_gave(function: str, case: str) -> None:
    replay(function, case, "cpu")


@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_every_device_gives_them(share: int, device: str) -> None:
    """In one case of `share`, and at least one of each function."""
    chosen = dict(STORED).items() | set(STORED[::share])
    for function, name in sorted(chosen):
        replay(function, name, device)


@each(("function", "case"), sorted(dict(SMOOTH).items() | set(SMOOTH[::8])), ids="-".join)
def test_derivatives_to_second_order_agree_with_differences(function: str, case: str) -> None:
    check_derivatives(function, case)


def test_every_function_has_stored_values() -> None:
    """Others are dropout, which is random, and activations, which are ops: `tests/ops/table.py` has their values."""
    assert {name for name, _ in STORED} | {"dropout", *ACTIVATIONS} == set(functional.__all__)

"""A rung is verified by its own layers."""

from __future__ import annotations

import pytest

import minirnn as mr
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.verify import cudnn, rungs
from tests.verify.runs import (
    needs_simulator,
)


@needs_simulator
def test_a_layer_that_another_rung_computed_does_not_count() -> None:
    case = cudnn.forward("cudnn_rnn_v3", Network("lstm", 1, 6, 5, num_proj=4), False, False)
    device = mr.devices.get("cuda-sim")
    rungs.on_rung("steps", lambda: device, case, "float64")
    with pytest.raises(ValueError, match="computed by steps backward, steps forward\n  expected the rung persistent"):
        rungs.on_rung("persistent", lambda: device, case, "float64")
    assert device.cudnn_rnn_rung is None

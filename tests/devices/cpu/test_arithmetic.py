"""The helpers of the fused kernels."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.arithmetic import without_false_alarms


def test_a_kernel_without_false_alarms_has_its_own_settings_and_otherwise_those_of_its_caller() -> None:
    @without_false_alarms
    def kernel(a: float, *, b: float) -> tuple[float, dict[str, str]]:
        """What it computes."""
        found = np.geterr()
        np.seterr(over="ignore")
        return a + b, dict(found)

    with np.errstate(over="raise", invalid="call"):
        before = np.geterr()
        assert kernel(1.0, b=2.0) == (3.0, {**before, "invalid": "ignore"})
        assert np.geterr() == before
    assert (kernel.__name__, kernel.__doc__) == ("kernel", "What it computes.")


def test_an_interrupted_kernel_leaves_the_settings_of_numpy_as_they_were() -> None:
    @without_false_alarms
    def kernel() -> None:
        raise KeyboardInterrupt

    before = np.geterr()
    with pytest.raises(KeyboardInterrupt):
        kernel()
    assert np.geterr() == before

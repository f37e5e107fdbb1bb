"""A rung that does not compile hands its layers to the lowest one, and says so once.

Tests `minirnn/devices/cuda/uncompiled.py`.
"""

import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.host_cpp.compiler import first_error
from tests.devices.cuda.launch.sequence.ladder_cases import assert_close, device_on, random_case

SAID = """persistent.cu does not compile with -DREAL=float
a note
persistent.cu(7): error: identifier "x" is undefined
"""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of compilations of each file. persistent.cu and barrier.cu never compile."""
    counts: Counter[str] = Counter()
    kernel_of = Cuda.kernel_of

    def refusing(self: Cuda, file: str, *more: Any, **named: Any) -> Any:
        counts[file] += 1
        if file in ("sequence/persistent.cu", "sequence/barrier.cu"):
            raise CompileError(SAID)
        return kernel_of(self, file, *more, **named)

    monkeypatch.setattr(Cuda, "kernel_of", refusing)
    return counts


@pytest.mark.parametrize("rung", ["barrier", "persistent"])
def test_the_lowest_rung_computes_and_one_warning_names_rung_and_reason(
    rung: str, rng: np.random.Generator, compiled: Counter[str]
) -> None:
    device = device_on(rung)
    case = random_case(rng, "gru", T=4, B=2, I=3, H=7)
    with pytest.warns(
        RuntimeWarning, match=rf'rung {rung} .* rung steps is used instead.*\n  persistent\.cu\(7\): error: .*"x"'
    ) as told:
        found = case.run(device)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.run(device)  # no message, and no second compilation
    if rung == "persistent":
        assert compiled["sequence/persistent.cu"] == 1
        assert device.rungs == {"steps forward": 2, "persistent backward": 2}
    else:
        assert compiled["sequence/barrier.cu"] == 1  # the kernels of both passes are in one file
        assert device.rungs == {"steps forward": 2, "steps backward": 2}
    assert_close(found, case.run(mr.devices.get("cpu")), 1e-12)


@pytest.mark.parametrize(
    ("said", "line"),
    [(SAID, 'persistent.cu(7): error: identifier "x" is undefined'), ("one line", "one line"), ("", "")],
)
def test_the_line_that_says_most(said: str, line: str) -> None:
    assert first_error(said) == line

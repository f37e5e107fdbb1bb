"""Progress says how long the rest will take."""

import pytest

from minirnn.train import progress
from minirnn.train.progress import Progress


def test_lines_say_how_long_the_rest_will_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    with Progress(100, 400, quiet=False) as one:  # continued after 100 steps
        for step in (200, 400):
            one.show(step, {"loss": 1.0, "validation_loss": None})
    assert capsys.readouterr().out.splitlines() == [
        "step 200 of 400   loss 1.000   10 s, about 20 s left",
        "step 400 of 400   loss 1.000   20 s",
    ]

"""Rooms that few programs need are imported when they are first used, and nobody sees a difference."""

from __future__ import annotations

import pydoc
import subprocess
import sys

import pytest

import minirnn as mr

LATER = ("viz", "data", "io", "functions", "gradcheck", "tf_contrib", "optim.lr_scheduler")


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_minirnn_leaves_them_for_later() -> None:
    loaded = f"[m for m in sys.modules if m.startswith({tuple(f'minirnn.{room}' for room in LATER)!r})]"
    run(f"import sys, minirnn; found = {loaded}; assert not found, found")


@pytest.mark.parametrize(
    "use",
    [
        "mr.viz.loss_curve",
        "mr.data.copy_memory",
        "mr.io.find_layout",
        "mr.optim.lr_scheduler.StepLR",
        "mr.cudnn_rnn.CudnnLSTM",
        "mr.functions.mapping",
        "mr.checkpoint(mr.tanh, mr.ones(2))",
        "mr.jacobian(mr.tanh, mr.ones(2))",
        "mr.gradcheck(mr.tanh, [mr.tensor([0.5], dtype=mr.float64, requires_grad=True)])",
        "mr.gradcheck.gradcheck",
    ],
)
def test_each_is_there_when_it_is_used_first(use: str) -> None:
    run(f"import minirnn as mr; {use}")


def test_imports_of_all_kinds_find_them() -> None:
    run("from minirnn import *; viz.save, jacobian, checkpoint")
    run("from minirnn import viz, vmap, gradcheck; import minirnn.optim.lr_scheduler; from minirnn.optim import *")
    run("import minirnn.viz as v, minirnn; assert minirnn.viz is v")
    run("import minirnn as mr; assert mr.vmap is mr.vmap and 'vmap' in vars(mr)")


def test_dir_and_help_list_them() -> None:
    run("import minirnn as mr; assert set(mr.__all__) <= set(dir(mr)); assert 'lr_scheduler' in dir(mr.optim)")
    assert "hessian(" in pydoc.plain(pydoc.render_doc(mr))


@pytest.mark.parametrize("place", [mr, mr.optim])
def test_a_name_that_is_not_there_is_an_attribute_error(place: object) -> None:
    name = place.__name__  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=f"^module '{name}' has no attribute 'lstm_cel'$") as error:
        place.lstm_cel  # type: ignore[attr-defined]  # noqa: B018
    assert error.value.name == "lstm_cel" and error.value.obj is place
    assert not hasattr(place, "__wrapped__")

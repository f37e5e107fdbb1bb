"""Packages that few programs need are imported on first use, without visible differences."""

import os
import pydoc
import subprocess
import sys

import pytest

import minirnn as mr

LATER = ("viz", "data", "io", "autograd", "gradcheck", "nn", "optim", "ops.cudnn_rnn", "ops.lstm_block", "cells.cell")


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_minirnn_leaves_them_for_later() -> None:
    loaded = f"[m for m in sys.modules if m.startswith({tuple(f'minirnn.{room}' for room in LATER)!r})]"
    run(f"import sys, minirnn; found = {loaded}; assert not found, found")


FIRST = [
    "mr.viz.loss_curve",
    "mr.data.copy_memory",
    "mr.io.find_layout",
    "mr.nn.LSTM(2, 3)",
    "mr.optim.Adam",
    "mr.optim.lr_scheduler.StepLR",
    "mr.ops.lstm_block_cell, mr.ops.block_lstm, mr.ops.cross_entropy, mr.ops.gru_block_cell_grad",
    "mr.ops.cudnn_rnn.params, mr.ops.cudnn_rnn_v3, mr.ops.cudnn_rnn_params_size",
    "from minirnn.ops import *; cudnn_rnn, tanh, block_lstm_grad_v2",
    "assert callable(mr.ops.cudnn_rnn)",
    "from minirnn.io import *; convert, atomic_write",
    "mr.io.finder, mr.io.layouts",
    "mr.cudnn_rnn.CudnnLSTM",
    "mr.autograd.mapping",
    "mr.checkpoint(mr.tanh, mr.ones(2))",
    "mr.jacobian(mr.tanh, mr.ones(2))",
    "mr.gradcheck(mr.tanh, [mr.tensor([0.5], dtype=mr.float64, requires_grad=True)])",
    "mr.gradcheck.gradcheck",
    "from minirnn import *; viz.save, jacobian, checkpoint",
    "from minirnn import viz, vmap, gradcheck; import minirnn.optim.lr_scheduler; from minirnn.optim import *",
    "import minirnn.viz as v, minirnn; assert minirnn.viz is v",
    "assert mr.vmap is mr.vmap and 'vmap' in vars(mr)",
    "assert set(mr.__all__) <= set(dir(mr)); assert 'lr_scheduler' in dir(mr.optim)",
    "assert all(getattr(mr.ops, name) for name in mr.ops.__all__)",
]
"""First statements of a program."""
EACH_IN_A_FORK = f"""
import os, warnings, minirnn as mr
warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS and a fork
for code in {FIRST!r}:
    if (pid := os.fork()) == 0:
        warnings.simplefilter("error")
        try:
            exec(code, {{"mr": mr}})
        except BaseException as error:
            print(code, repr(error), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_each_is_there_when_it_is_used_first_however_it_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", EACH_IN_A_FORK], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_help_lists_them() -> None:
    assert "hessian(" in pydoc.plain(pydoc.render_doc(mr))


@pytest.mark.parametrize("place", [mr, mr.ops, mr.optim])
def test_a_name_that_is_not_there_is_an_attribute_error(place: object) -> None:
    name = place.__name__  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=f"^module '{name}' has no attribute 'lstm_cel'$") as error:
        place.lstm_cel  # type: ignore[attr-defined]  # noqa: B018
    assert error.value.name == "lstm_cel" and error.value.obj is place
    assert not hasattr(place, "__wrapped__")

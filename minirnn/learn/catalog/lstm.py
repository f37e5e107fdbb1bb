"""Chapter 4: the LSTM."""

from __future__ import annotations

import numpy as np

from minirnn.devices import get
from minirnn.devices.base import Weights
from minirnn.learn.catalog.stages import sample_stages, time_stages, zero
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage
from minirnn.learn.formulas import lstm
from minirnn.ops.lstm_block.cells import plan_of


def weights(rng: np.random.Generator, s: Sizes) -> dict[str, np.ndarray]:
    w = dict(w=0.5 * rng.normal(size=(s.I + s.H, 4 * s.H)))
    return w | {name: rng.normal(size=s.H) for name in ("wci", "wcf", "wco")} | dict(b=rng.normal(size=4 * s.H))


SAVED = ("i", "cs", "f", "o", "ci", "co")


def cell(rng: np.random.Generator, s: Sizes, peephole: bool) -> Inputs:
    """One step of LSTMBlockCell on the CPU device, without forget bias and clip."""
    x, cs_prev, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H)), rng.normal(size=(s.B, s.H))
    W = weights(rng, s)
    vectors = (W["wci"], W["wcf"], W["wco"]) if peephole else ()
    (cs, _), saved = get("cpu").cell_step(
        np.concatenate([x, h_prev], axis=1) @ W["w"] + W["b"], (cs_prev, h_prev), Weights(None, None, vectors=vectors),
        plan=plan_of(peephole, False), constants=(0.0, np.inf),
    )  # fmt: skip
    dcs, dh = rng.normal(size=(2, s.B, s.H))
    given = dict(x=x, cs_prev=cs_prev, h_prev=h_prev, w=W["w"])
    if peephole:
        given |= {name: W[name] for name in ("wci", "wcf", "wco")}
    return given | {name: ({"cs": cs} | saved)[name] for name in SAVED} | dict(dcs=dcs, dh=dh)


def sequence(rng: np.random.Generator, s: Sizes) -> Inputs:
    """BlockLSTM on the CPU device, without peepholes."""
    x, cs0, h0 = rng.normal(size=(s.T, s.B, s.I)), rng.normal(size=(s.B, s.H)), rng.normal(size=(s.B, s.H))
    W = weights(rng, s)
    rows = Weights(W["w"][: s.I].T, W["w"][s.I :].T, bW=W["b"])
    h, _, _, saved = get("cpu").cell_sequence(
        x, h0[None], cs0[None], [rows],
        plan=plan_of(False, False), constants=(0.0, np.inf), lengths=None, training=True, named=True,
    )  # fmt: skip
    dh = rng.normal(size=(s.T, s.B, s.H))
    return dict(x=x, cs0=cs0, h0=h0, w=W["w"]) | {name: saved[name][0] for name in SAVED} | dict(h=h, dh=dh)


CELL_STAGES = (
    Stage("with a gradient into cs only (dh = 0)", "the paths from cs to the gates and to cs_prev", change=zero("dh")),
    Stage("with a gradient into h only (dcs = 0)", "how dh reaches the output gate and cs", change=zero("dcs")),
    *sample_stages("the sum of the paths: cs reaches the loss through h and directly", "dw, db"),
)
CELL = {"dx": "(B, I)", "dcs_prev": "(B, H)", "dh_prev": "(B, H)", "dw": "(I+H, 4H)"}

EXERCISES = (
    Exercise(
        "04_lstm/ex07_lstm_cell_backward.py", lambda r, s: cell(r, s, False), lstm.lstm_cell_backward,
        {**CELL, "db": "(4H,)"},
        stages=CELL_STAGES, gates=4,
    ),
    Exercise(
        "04_lstm/ex08_peephole.py", lambda r, s: cell(r, s, True), lstm.peephole_cell_backward,
        {**CELL, "dwci": "(H,)", "dwcf": "(H,)", "dwco": "(H,)", "db": "(4H,)"},
        stages=CELL_STAGES, gates=4,
    ),
    Exercise(
        "04_lstm/ex09_lstm_bptt.py", sequence, lstm.lstm_backward,
        {"dx": "(T, B, I)", "dcs0": "(B, H)", "dh0": "(B, H)", "dw": "(I+H, 4H)", "db": "(4H,)"},
        stages=time_stages(" (ex07)", ": dcs and dh", "cs_prev and h_prev"), gates=4,
    ),
)  # fmt: skip

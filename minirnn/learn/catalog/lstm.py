"""Chapter 4: the LSTM."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices import get
from minirnn.learn.catalog.stages import sample_stages, time_stages, zero
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage
from minirnn.learn.formulas import lstm


def weights(rng: np.random.Generator, s: Sizes) -> dict[str, np.ndarray]:
    w = dict(w=0.5 * rng.normal(size=(s.I + s.H, 4 * s.H)))
    return w | {name: rng.normal(size=s.H) for name in ("wci", "wcf", "wco")} | dict(b=rng.normal(size=4 * s.H))


def cell(rng: np.random.Generator, s: Sizes, peephole: bool) -> Inputs:
    """One step of LSTMBlockCell on the CPU device, without forget bias and clip."""
    x, cs_prev, h_prev = rng.normal(size=(s.B, s.I)), rng.normal(size=(s.B, s.H)), rng.normal(size=(s.B, s.H))
    W = weights(rng, s)
    outputs = get("cpu").lstm_block_cell(
        x, cs_prev, h_prev, *W.values(), forget_bias=0.0, cell_clip=np.inf, use_peephole=peephole
    )
    i, cs, f, o, ci, co, _ = outputs
    dcs, dh = rng.normal(size=(2, s.B, s.H))
    given = dict(x=x, cs_prev=cs_prev, h_prev=h_prev, w=W["w"])
    if peephole:
        given |= {name: W[name] for name in ("wci", "wcf", "wco")}
    return given | dict(i=i, cs=cs, f=f, o=o, ci=ci, co=co, dcs=dcs, dh=dh)


def sequence(rng: np.random.Generator, s: Sizes) -> Inputs:
    """BlockLSTM on the CPU device, without peepholes."""
    x, cs0, h0 = rng.normal(size=(s.T, s.B, s.I)), rng.normal(size=(s.B, s.H)), rng.normal(size=(s.B, s.H))
    W = weights(rng, s)
    outputs: Any = get("cpu").block_lstm(
        x, cs0, h0, *W.values(), seq_len_max=s.T, forget_bias=0.0, cell_clip=np.inf, use_peephole=False
    )
    i, cs, f, o, ci, co, h = outputs
    dh = rng.normal(size=(s.T, s.B, s.H))
    return dict(x=x, cs0=cs0, h0=h0, w=W["w"], i=i, cs=cs, f=f, o=o, ci=ci, co=co, h=h, dh=dh)


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

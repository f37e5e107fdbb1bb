"""A cell needs only one header of the form: a made-up one runs in the kernels of CUDA, and every made one is whole.

Tests `minirnn/devices/cells/__init__.py` and the headers next to it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.devices import cells
from minirnn.devices.cells.header import header
from minirnn.devices.cuda.launch.sources import options
from minirnn.devices.cuda.launch.threads import cells as threads_of
from tests.devices.cells.own_layers import ALL, cell_of

HERE = Path(__file__).parent
T, B, I, H = 4, 3, 5, 11
LENGTHS = np.array([4, 3, 2])


class Case:
    """Random arrays, and the results of the tape for them."""

    def __init__(self, rng: np.random.Generator) -> None:
        def draw(*shape: int) -> np.ndarray:
            return rng.normal(size=shape) * 0.7

        self.x, self.m0, self.h0 = draw(T, B, I), draw(B, H), draw(B, H)
        self.W, self.R, self.w = draw(2 * H, I), draw(2 * H, H), draw(H)  # rows zf xn; zf hn
        self.bW, self.bR = draw(2 * H), draw(2 * H)
        self.dy, self.dm_n, self.dh_n = draw(T, B, H), draw(B, H), draw(B, H)

    def expected(self, lengths: np.ndarray) -> dict[str, np.ndarray]:
        names = ["x", "m0", "h0", "W", "R", "w", "bW", "bR"]
        t = {name: mr.tensor(getattr(self, name), requires_grad=True) for name in names}
        m, h, ys = t["m0"], t["h0"], []
        for step in range(T):
            counts = (step < lengths)[:, None] + 0.0
            x, r = t["x"][step] @ t["W"].T + t["bW"], h @ t["R"].T + t["bR"]
            f = mr.ops.sigmoid(x[:, :H] + r[:, :H] + t["w"] * m)
            n = mr.ops.tanh(x[:, H:] + f * r[:, H:])
            m_new = 0.5 * m + f * n
            h_new = (1 - f) * h + f * mr.ops.tanh(m_new)
            m, h = counts * m_new + (1 - counts) * m, counts * h_new + (1 - counts) * h
            ys.append(counts * h)
        y = mr.ops.stack(ys)
        loss = (y * self.dy).sum() + (m * self.dm_n).sum() + (h * self.dh_n).sum()
        loss.backward()
        grads = {f"d{name}": tensor.grad.numpy() for name, tensor in t.items()}
        return {"y": y.numpy(), "m_n": m.numpy(), "h_n": h.numpy(), **grads}


def assert_close(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, a in found.items():
        np.testing.assert_allclose(a, expected[name], rtol=1e-11, atol=1e-12, err_msg=name)


POINTERS = ("masks", "products", "dc_each", "multiplied", "waiting")
INSIDE = np.dtype([*[(name, "u8") for name in POINTERS], ("apart", "i8"), ("cell", "u1")], align=True)
"""`struct Inside` of `steps.cu` for a cell without constants."""


def test_the_kernels_of_a_step_run_a_new_cell(rng: np.random.Generator) -> None:
    device: Any = mr.devices.get("cuda-sim")
    header = (HERE / "gated.h").read_text().replace("#pragma once", "")
    text = f'#include "activation.cuh"\n#include "cells/form.h"\n{header}\ntypedef Gated<real, real> CELL;\n'
    text += '#include "sequence/steps.cu"\nSTEP_STAGE(0)\nSTEP_GRAD_STAGE(0)\n'
    module = device.driver.module(text, "gated.cu", options(np.dtype("f8")))
    step, grad = module.function("cell_step_0"), module.function("cell_step_grad_0")
    n, to = Case(rng), device.asarray
    lengths, bW, bR, w = (to(a) for a in (LENGTHS.astype(np.int32), n.bW, n.bR, n.w))
    kept, y = device.empty((T, 6, B, H), np.float64), device.empty((T, B, H), np.float64)
    h, m = to(n.h0), to(n.m0)
    sizes, threads, nothing = tuple(map(np.int32, (B, H, H))), threads_of(B, H), np.zeros(1, INSIDE)[0]
    for t in range(T):
        A, A2 = to(n.x[t] @ n.W.T), to(device.to_numpy(h) @ n.R.T)
        step(np.int32(t), *sizes, lengths, A, A2, bW, bR, w, kept[t], m, None, h, y[t], nothing, **threads)
    expected = n.expected(LENGTHS)
    assert_close({"y": device.to_numpy(y), "h_n": device.to_numpy(h), "m_n": device.to_numpy(m)}, expected)

    dw = device.empty((T, 1, B, H), np.float64)
    dh, dm, dy, da = to(n.dh_n), to(n.dm_n), to(n.dy), device.empty((T, B, 3 * H), np.float64)
    for t in reversed(range(T)):
        grad(
            np.int32(t), *sizes, lengths, w, kept[t], y[t], dy[t], None, dh, dm, da[t], None, dw[t], nothing, **threads
        )  # fmt: skip
        da2 = device.to_numpy(da[t])[:, : 2 * H]  # columns hn zf xn
        through_R = da2[:, :H] @ n.R[H:] + da2[:, H:] @ n.R[:H]
        dh = to(device.to_numpy(dh) + through_R)
    columns = device.to_numpy(da)
    found = {"dh0": device.to_numpy(dh), "dm0": device.to_numpy(dm), "dx": columns[:, :, H:] @ n.W}
    found |= {"dbW": columns[:, :, H:].sum((0, 1)), "dw": device.to_numpy(dw).sum((0, 1, 2))}
    assert_close(found, expected)


def test_every_header_states_the_whole_form() -> None:
    form = (cells.FOLDER / "form.h").read_text()
    numbers = re.findall(r"^//   ([A-Z][A-Z_, ]+?)  ", form, re.MULTILINE)
    stated = {name for line in numbers for name in line.split(", ")}
    assert {"OF_BOTH", "STATES", "CARRIES", "PRODUCTS"} <= stated
    for name in ALL:
        assert stated <= set(re.findall(r"\b[A-Z_]{4,}\b", header(cell_of(name).plan()))), name

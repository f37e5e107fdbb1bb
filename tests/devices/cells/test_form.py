"""A new cell needs only one header of the form: a made-up one runs in the drivers of C++ and of CUDA.

Tests `minirnn/devices/cells/__init__.py` and the headers next to it.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices import cells
from minirnn.devices.cuda.launch.sources import options
from minirnn.devices.cuda.launch.threads import cells as threads_of
from minirnn.devices.host_cpp import compiler
from minirnn.devices.native import library
from minirnn.devices.native.arguments import MOST_VALUES, NOTHING, Gradients, Layer, address, matrix, rows

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


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    mr.devices.get("native")  # skips with its reason where there is no compiler
    made = tmp_path_factory.mktemp("gated") / "gated.so"
    sources = [HERE / "gated.cpp", *(library.KERNELS / f"{name}.cpp" for name in ("team", "tile"))]
    flags = [*library.flags(), *library.INCLUDE]
    compiler.find("native").library(flags, sources, made, [*library.flags(), *library.SHARED])
    return ctypes.CDLL(str(made))


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [np.full(B, T), LENGTHS], ids=["all steps", "lengths"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_driver_of_cpp_runs_a_new_cell(
    built: ctypes.CDLL, rng: np.random.Generator, lengths: np.ndarray, threads: int
) -> None:
    n = Case(rng)
    n.x[np.arange(T)[:, None] >= lengths] = n.dy[np.arange(T)[:, None] >= lengths] = 0
    y, saved, h_n, m_n = np.empty((T, B, H)), np.empty((T, B, 4, H)), np.empty((B, H)), np.empty((B, H))
    values = [part for k in range(4) for part in (address(saved) + 8 * k * H, 4 * H)] + [*NOTHING * (MOST_VALUES - 4)]
    layer = Layer(
        T, B, I, H, H, 0, address(lengths), *matrix(n.W), *matrix(n.R), 0, 0, 0, address(n.bW), address(n.bR),
        address(n.w), np.inf, *rows(n.x), *rows(n.h0), *rows(n.m0), *values, *rows(y), *rows(h_n), *rows(m_n),
    )  # fmt: skip
    assert built.gated_forward(layer, threads) == 0
    found = {"y": y, "m_n": m_n, "h_n": h_n}
    da, dW, dR, dbW, dbR, dw = (np.empty(s) for s in ((T, B, 3 * H), n.W.shape, n.R.shape, 2 * H, 2 * H, H))
    found |= {"dh0": np.empty((B, H)), "dm0": np.empty((B, H)), "dx": np.empty((T, B, I))}
    gradients = Gradients(
        *rows(n.dy), *NOTHING, *rows(n.dh_n), *rows(n.dm_n), *rows(da), *rows(found["dh0"]), *rows(found["dm0"]),
        *rows(found["dx"]), 0, 0, address(dW), address(dR), 0, address(dbW), address(dbR), address(dw),
    )  # fmt: skip
    assert built.gated_backward(layer, gradients, threads) == 0
    assert_close(found | {"dW": dW, "dR": dR, "dbW": dbW, "dbR": dbR, "dw": dw}, n.expected(lengths))


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


def test_every_cell_states_the_whole_form() -> None:
    form = (cells.FOLDER / "form.h").read_text()
    numbers = re.findall(r"^//   ([A-Z][A-Z_, ]+?)  ", form, re.MULTILINE)
    stated = {name for line in numbers for name in line.split(", ")}
    (one_stage,) = re.findall(r"struct OneStage \{\n.*?\n\};", form, re.DOTALL)
    assert {"OF_BOTH", "STATES", "CARRIES", "PRODUCTS"} <= stated
    pattern = r"template <class V, class real>\nstruct (\w+)( : OneStage)? \{\n(.*?)\n\n"
    found = re.findall(pattern, (HERE / "gated.h").read_text(), re.DOTALL)
    assert {"Gated"} == {name for name, _, _ in found}
    for name, base, struct in found:
        assert stated <= set(re.findall(r"\b[A-Z_]{4,}\b", struct + (one_stage if base else ""))), name

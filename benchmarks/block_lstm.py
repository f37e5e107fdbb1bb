"""BlockLSTM on the cpu device against its floor, the same matrix products alone: ``python benchmarks/block_lstm.py``.

Forward, and forward + backward through the raw Grad op, float32; milliseconds, medians of interleaved turns in
one process (both sides use NumPy's BLAS), and their ratio. Between the products there are 8 elementwise calls a step
forward and 4 backward.

Tried and dropped: row layout with ``h @ R.T`` (products 1.2x to 2.5x slower at small batch); the input product merged
into that of the step from H = 512 on, where the weights leave the cache; all factors of the backward pass at once (they
leave the cache).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from minirnn import devices

SIZES = ((50, 1, 64, 64), (50, 32, 64, 128), (100, 64, 512, 512))
SECONDS = 4.0  # for each pair of numbers


def kernels(T: int, B: int, I: int, H: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """The op forward, and forward + backward."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    none = np.zeros(H, np.float32)
    inputs = draw(T, B, I), draw(B, H), draw(B, H), draw(I + H, 4 * H) * np.float32(0.6 / H**0.5), none, none, none
    inputs += (draw(4 * H),)
    cs_grad, h_grad = np.zeros((T, B, H), np.float32), draw(T, B, H)
    cpu = devices.get("cpu")
    same = {"seq_len_max": T, "use_peephole": False}

    def forward() -> tuple[np.ndarray, ...]:
        return cpu.block_lstm(*inputs, forget_bias=1.0, cell_clip=np.inf, **same)  # type: ignore[no-any-return]

    return forward, lambda: cpu.block_lstm_grad(*inputs, *forward(), cs_grad, h_grad, **same)


def products(T: int, B: int, I: int, H: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """The matrix products of the op, in the layout that the kernel uses."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    W, R, RT, x, h, d = draw(4 * H, I), draw(4 * H, H), draw(H, 4 * H), draw(T * B, I), draw(H, B), draw(4 * H, B)
    all_d, all_h = draw(4 * H, T * B), draw(H, T * B)
    z, dh, Z = np.empty((4 * H, B), np.float32), np.empty((H, B), np.float32), np.empty((4 * H, T * B), np.float32)
    xh_grad, w_grad = np.empty((T * B, I), np.float32), np.empty((I + H, 4 * H), np.float32)

    def forward() -> None:
        np.dot(W, x.T, Z)
        for _ in range(T):
            np.dot(R, h, z)

    def both() -> None:
        forward()
        for _ in range(T):
            np.dot(RT, d, dh)
        np.dot(x.T, all_d.T, w_grad[:I])
        np.dot(all_h, all_d.T, w_grad[I:])
        np.dot(all_d.T, W, xh_grad)

    return forward, both


def once(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    print(f"{'T, B, I, H':>18}  {'':16}{'block_lstm':>12}{'products':>12}{'ratio':>8}    ms, medians")
    for size in SIZES:
        for name, ours, floor in zip(("forward", "forward+backward"), kernels(*size), products(*size), strict=True):
            times: tuple[list[float], list[float]] = ([], [])
            for function in (ours, floor):
                function()
            end = time.perf_counter() + SECONDS
            while time.perf_counter() < end:
                times[0].append(once(ours))
                times[1].append(once(floor))
            a, b = (statistics.median(ts) for ts in times)
            print(f"{', '.join(map(str, size)):>18}  {name:16}{a:12.3f}{b:12.3f}{a / b:8.2f}", flush=True)


if __name__ == "__main__":
    main()

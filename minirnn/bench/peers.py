"""The time of the sequence ops beside that of torch and of their matrix products alone.

Each peer runs in a process of its own, and they take turns. Libraries keep their threads spinning for up to 0.2 s after
a call, which takes the cores away from the next one, so nobody starts before all others' threads are asleep: without
that torch looks up to three times slower. Every number is the median of several samples, each of at least 0.12 s; the
table shows ratios within this run, which is all that can be compared between machines.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from minirnn.bench.calls import Size

SIZES = (
    (50, 1, 64, 64),
    (50, 32, 64, 128),
    (100, 32, 128, 256),
    (1000, 8, 64, 128),
    (20, 256, 128, 128),
    (100, 64, 512, 512),
    (100, 64, 1024, 1024),
)
DTYPES = ("float32", "float64")
MODES = ("lstm", "gru")
PASSES = ("forward", "forward+backward")
PEERS = ("minirnn", "torch", "gemm")
REST = 0.05
"""A process that used no CPU for so many seconds is asleep."""
LONGEST_REST = 1.0
"""Seconds that are waited at most; also what is waited where the CPU time of a process cannot be read."""


def present() -> list[str]:
    """The peers that are installed here."""
    return [peer for peer in PEERS if peer != "torch" or find_spec("torch")]


def compare(
    peers: Sequence[str],
    modes: Sequence[str],
    sizes: Sequence[Size],
    samples: int,
    threads: int,
    device: str = "cpu",
    dtype: str = "float32",
) -> Iterator[dict[str, Any]]:
    """A row for each mode, size and pass, as soon as it is measured; every peer computes in `threads` threads."""
    with Workers(peers, threads, device, dtype) as workers:
        for mode, size, what in product(modes, sizes, PASSES):
            yield measure(workers, mode, size, what, samples)


def measure(workers: Workers, mode: str, size: Size, what: str, samples: int) -> dict[str, Any]:
    """Samples of all peers in turns, in milliseconds."""
    times: dict[str, list[float]] = {peer: [] for peer in workers.processes}
    for peer in times:
        workers.ask(peer, mode, size, what)  # the first call builds and warms up
    for _ in range(samples):
        for peer, found in times.items():
            wait_until_idle(workers.processes.values())
            found.append(workers.ask(peer, mode, size, what))
    medians = {peer: statistics.median(found) for peer, found in times.items()}
    ratios = {peer: medians["minirnn"] / median for peer, median in medians.items() if peer != "minirnn"}
    return {"mode": mode, "size": list(size), "pass": what, "ms": medians, "samples_ms": times, "ratio": ratios}


def header(peers: Sequence[str]) -> str:
    """The first line of the table."""
    names = "".join(f"{peer:>12}" for peer in peers)
    return f"{'':28}{names}{'/ torch':>10}{'/ gemm':>10}      milliseconds, medians"


def line(result: dict[str, Any]) -> str:
    """One row of the table."""
    name = f"{result['mode']} {','.join(map(str, result['size']))} {'f+b' if '+' in result['pass'] else 'f'}"
    numbers = "".join(f"{ms:12.3f}" for ms in result["ms"].values())
    ratios = "".join(f"{result['ratio'][p]:10.2f}" if p in result["ratio"] else f"{'-':>10}" for p in ("torch", "gemm"))
    return f"{name:28}{numbers}{ratios}"


def environment(threads: int, device: str = "cpu") -> dict[str, str]:
    """The environment of a peer: its device, so many threads for every library, no choice of OpenBLAS' kernels."""
    found = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    numbers = "MINIRNN_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
    return found | dict.fromkeys(numbers, str(threads)) | {"MINIRNN_DEVICE": device}


def wait_until_idle(processes: Iterable[subprocess.Popen[str]]) -> None:
    """Wait until the threads of all `processes` sleep, `LONGEST_REST` seconds at most."""
    pids = [process.pid for process in processes]
    until = time.monotonic() + LONGEST_REST
    before, now = None, cpu_ticks(pids)
    while (now is None or now != before) and time.monotonic() < until:
        time.sleep(REST)
        before, now = now, cpu_ticks(pids)


def cpu_ticks(pids: Iterable[int]) -> int | None:
    """The CPU time of some processes with all their threads, in ticks of 0.01 s; None where it is not told."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        total += int(fields[11]) + int(fields[12])  # utime, stime
    return total


class Workers:
    """One process for each peer; they are asked one after the other."""

    def __init__(self, peers: Sequence[str], threads: int, device: str = "cpu", dtype: str = "float32") -> None:
        self.processes = {
            peer: subprocess.Popen(
                [sys.executable, "-m", "minirnn.bench.worker", peer, dtype],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(threads, device),
            )
            for peer in peers
        }

    def ask(self, peer: str, mode: str, size: Size, what: str) -> float:
        """Milliseconds of one call."""
        process = self.processes[peer]
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([mode, list(size), what]) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise RuntimeError(f"bench: the process of {peer} ended with status {process.wait()}")
        return float(answer)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            if process.stdin is not None:
                process.stdin.close()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

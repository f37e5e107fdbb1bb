"""The time of the sequence ops compared with torch and with their matrix products alone.

Each peer runs in its own process, and they take turns. Libraries keep their threads spinning for up to 0.2 s after a
call, which takes the cores away from the next peer. So a peer starts only when the threads of all others are asleep:
without this, torch looks up to three times slower. Every number is the median of several samples, each of at least 0.12
s. The table shows ratios within this run, because only ratios can be compared between machines.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from minirnn.bench.calls import Size
from minirnn.nn.own.file import title

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
OPS = (*MODES, "block_lstm")
"""`cudnn_rnn` in a mode, and `block_lstm`, which torch does not have."""
OWN = ("minirnn", "composed", "gemm")
"""The peers of a custom cell: its kernel, its composition from operations of the tape, its products. Ops can be
added.
"""
PASSES = ("forward", "forward+backward")
PEERS = ("minirnn", "torch", "gemm")
REST = 0.05
"""Seconds without CPU time after which a process counts as asleep."""
LONGEST_REST = 1.0
"""The longest wait in seconds; also the wait if the CPU time of a process cannot be read."""


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
    """A row for each mode, size and pass, as soon as it is measured; every peer computes in `threads` threads.

    A mode may be a custom cell, ``FILE.py:name``; then the peers are `OWN` and names of `OPS`.
    """
    with Workers() as workers:
        for peer in peers:
            workers.start(peer, ["-m", "minirnn.bench.worker", peer, dtype], environment(threads, device))
        for mode, size, what in product(modes, sizes, PASSES):
            found = workers.in_turns([p for p in peers if p != "torch" or mode in MODES], [mode, size, what], samples)
            yield row(mode, size, what, found)


def row(mode: str, size: Size, what: str, times: dict[str, list[float]]) -> dict[str, Any]:
    """The medians of all peers, and the ratios of ours to the others."""
    medians = {peer: statistics.median(found) for peer, found in times.items()}
    ratios = {peer: medians["minirnn"] / median for peer, median in medians.items() if peer != "minirnn"}
    return {"mode": mode, "size": list(size), "pass": what, "ms": medians, "samples_ms": times, "ratio": ratios}


def header(peers: Sequence[str]) -> str:
    """The first line of the table."""
    names = "".join(f"{peer:>12}" for peer in peers)
    ratios = "".join(f"{f'/ {peer}':>{wide(peer)}}" for peer in compared(peers))
    return f"{'':28}{names}{ratios}      milliseconds, medians"


def compared(peers: Sequence[str]) -> Sequence[str]:
    """The libraries that minirnn is compared with. torch is named even if it is missing."""
    return PEERS[1:] if set(peers) <= set(PEERS) else [peer for peer in peers if peer != "minirnn"]


def wide(peer: str) -> int:
    return max(10, len(peer) + 4)


def line(peers: Sequence[str], result: dict[str, Any]) -> str:
    """One row of the table."""
    name = f"{title(result['mode'])} {','.join(map(str, result['size']))} {'f+b' if '+' in result['pass'] else 'f'}"
    numbers = "".join(f"{result['ms'][p]:12.3f}" if p in result["ms"] else f"{'-':>12}" for p in peers)
    ratios = "".join(
        f"{result['ratio'][p]:{wide(p)}.2f}" if p in result["ratio"] else f"{'-':>{wide(p)}}" for p in compared(peers)
    )
    return f"{name:28}{numbers}{ratios}"


def environment(threads: int, device: str = "cpu") -> dict[str, str]:
    """The environment of a peer: its device, the number of threads for every library, no choice of OpenBLAS'
    kernels.
    """
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
    """The CPU time of some processes with all their threads, in ticks of 0.01 s; None if the system does not report
    it.
    """
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        total += int(fields[11]) + int(fields[12])  # utime, stime
    return total


class Workers:
    """Processes that answer a line of JSON with milliseconds; they are asked in turn."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def start(self, name: str, program: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a Python process that runs the program, unless there is one of this name."""
        if name not in self.processes:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            )

    def in_turns(self, names: Sequence[str], question: Sequence[Any], samples: int) -> dict[str, list[float]]:
        """Milliseconds of each of the named processes. The first turn builds and warms up, and does not count."""
        found: dict[str, list[float]] = {name: [] for name in names}
        for turn in range(samples + 1):
            for name, times in found.items():
                wait_until_idle(self.processes.values())
                milliseconds = self.ask(name, question)
                times += [milliseconds] if turn else []
        return found

    def ask(self, name: str, question: Sequence[Any]) -> float:
        """Milliseconds of one call."""
        process = self.processes[name]
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise RuntimeError(f"bench: the process of {name} ended with status {process.wait()}")
        return float(answer)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.communicate()

"""``minirnn bench``: the time of the sequence ops against torch and against their matrix products alone.

Each peer runs in a process of its own, and they take turns with a rest in between: BLAS libraries keep their threads
spinning for some milliseconds after a call, so two of them in one process slow each other down. Every number is the
median of several samples, each of at least 0.12 s; the table shows ratios within this run, which is all that can be
compared between machines.

``--check --device NAME`` is another job: all ops on one device, checked and then measured (`bench_check.py`); and
``--ladder`` counts what the rungs of CudnnRNN do (`bench_ladder.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from minirnn.bench import check as bench_check
from minirnn.bench import ladder as bench_ladder
from minirnn.bench.machine import machine
from minirnn.io.atomic import atomic_write
from minirnn.user_error import UserError

SIZES = ((50, 1, 64, 64), (50, 32, 64, 128), (100, 32, 128, 256), (100, 64, 512, 512), (100, 64, 1024, 1024))
MODES = ("lstm", "gru")
PASSES = ("forward", "forward+backward")
PEERS = ("minirnn", "torch", "gemm")
REST = 0.05  # seconds between samples of different peers: OpenBLAS' workers spin about half of that


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mode", choices=MODES, action="append", help="only this one (may be repeated)")
    parser.add_argument(
        "--size", action="append", metavar="T,B,I,H", help="only this size (may be repeated); default: five sizes"
    )
    parser.add_argument("--samples", type=int, default=7, help="samples of each number (default 7)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of each peer (default: all cores)")
    parser.add_argument("--json", metavar="FILE", help="write all numbers, versions and the machine to FILE")
    bench_check.add_arguments(parser)
    bench_ladder.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    sizes = [parse_size(text) for text in args.size] if args.size else list(SIZES)
    for name in ("samples", "threads"):
        if getattr(args, name) < 1:
            raise UserError(f"--{name} is {getattr(args, name)}\n  expected 1 or more")
    if args.json and not Path(args.json).absolute().parent.is_dir():
        raise UserError(f"--json {args.json}: there is no such folder")
    if args.ladder:
        return bench_ladder.run(args)
    if args.check:
        return bench_check.run(args)
    if args.quick or args.golden:
        raise UserError(f"{'--quick' if args.quick else '--golden'} is for --check\n  try: minirnn bench --check")
    peers = [p for p in PEERS if p != "torch" or find_spec("torch")]
    if "torch" not in peers:
        print("torch is not installed: comparing with the matrix products alone", file=sys.stderr)
    with Workers(peers, args.threads) as workers:
        results = []
        print(
            f"{'':28}"
            + "".join(f"{p:>12}" for p in peers)
            + f"{'/ torch':>10}{'/ gemm':>10}      milliseconds, medians"
        )
        for mode in args.mode or MODES:
            for size in sizes:
                for what in PASSES:
                    result = measure(workers, mode, size, what, args.samples)
                    results.append(result)
                    print(line(result, peers), flush=True)
    if args.json:
        with atomic_write(Path(args.json), "w") as file:
            json.dump({"machine": machine(args.threads), "results": results}, file, indent=1)
    return 0


def parse_size(text: str) -> tuple[int, int, int, int]:
    """``T,B,I,H``: four positive integers."""
    try:
        T, B, I, H = (int(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"--size {text}\n  expected T,B,I,H, such as 50,32,64,128") from None
    if min(T, B, I, H) < 1:
        raise UserError(f"--size {text}\n  expected sizes of 1 or more")
    return T, B, I, H


def measure(workers: Workers, mode: str, size: tuple[int, ...], what: str, samples: int) -> dict[str, Any]:
    """Samples of all peers in turns, in milliseconds."""
    times: dict[str, list[float]] = {peer: [] for peer in workers.peers}
    for peer in workers.peers:
        workers.ask(peer, mode, size, what)  # the first call builds and warms up
    for _ in range(samples):
        for peer in workers.peers:
            time.sleep(REST)
            times[peer].append(workers.ask(peer, mode, size, what))
    medians = {peer: statistics.median(ts) for peer, ts in times.items()}
    ratios = {peer: medians["minirnn"] / medians[peer] for peer in workers.peers if peer != "minirnn"}
    return {"mode": mode, "size": list(size), "pass": what, "ms": medians, "samples_ms": times, "ratio": ratios}


def line(result: dict[str, Any], peers: list[str]) -> str:
    """One row of the table."""
    name = f"{result['mode']} {','.join(map(str, result['size']))} {'f+b' if '+' in result['pass'] else 'f'}"
    numbers = "".join(f"{result['ms'][p]:12.3f}" for p in peers)
    ratios = "".join(f"{result['ratio'][p]:10.2f}" if p in result["ratio"] else f"{'-':>10}" for p in ("torch", "gemm"))
    return f"{name:28}{numbers}{ratios}"


class Workers:
    """One process a peer, asked one after the other."""

    def __init__(self, peers: list[str], threads: int) -> None:
        self.peers = peers
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[name] = str(threads)
        self.processes = {
            peer: subprocess.Popen(
                [sys.executable, "-m", "minirnn.bench.worker", peer],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for peer in peers
        }

    def ask(self, peer: str, mode: str, size: tuple[int, ...], what: str) -> float:
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

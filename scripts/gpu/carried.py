"""What is made before a GPU is there, and carried to it: the machine code of all kernels of the first run.

``python -m scripts.gpu.carried FOLDER`` runs the layers of `alive.py` and `ratios.py` and ``python -m tests.verified
--quick`` on a driver that computes nothing, which shows what they compile, and compiles it with all cores. FOLDER then
has the cache ``cuda/`` for ``MINIRNN_CACHE``. ``--arch`` (sm_90) names the GPU. On the GPU's machine the same command
compiles only what is missing; with the same nvcc that is nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.gpu.compiler import Compiler
from minirnn.devices.cuda.launch.sequence.choice import H200, RUNGS
from minirnn.devices.host_cpp import cache
from minirnn.machine import toolchain
from scripts.gpu import alive, latencies, ratios
from tests.verified import main as verified

Asked = tuple[str, str, tuple[str, ...]]
"""A text, its name, and its options."""


@dataclass
class Memory:
    """No memory at all."""

    ptr: int
    nbytes: int


class NoDriver:
    """A `minirnn.devices.cuda.driver.Driver` that computes nothing and notes what it should compile."""

    name, seconds, recording, prepares = "cuda", None, False, False

    def __init__(self, arch: str) -> None:
        self.asked: dict[Asked, None] = {}
        self.limits = replace(H200, compute_capability=(int(arch[3:-1]), int(arch[-1])))
        self.launches, self.next = 0, 1 << 20

    def alloc(self, nbytes: int) -> Memory:
        self.next += -(-nbytes // 256) * 256
        return Memory(self.next - nbytes, nbytes)

    def d2h(self, host: np.ndarray, ptr: int) -> None:
        host.fill(0)

    def module(self, source: str, name: str, options: Sequence[str] = ()) -> NoKernel:
        self.asked[source, name, tuple(options)] = None
        return NoKernel(self.limits.multiprocessors)

    def record(self, work: Callable[[], None]) -> NoKernel:
        work()
        return NoKernel(0)

    def nothing(self, *what: Any) -> None:
        pass

    h2d = d2d = memset = gemm = wait_for = synchronize = nothing


@dataclass
class NoKernel:
    """A module, its kernels and a recording."""

    blocks: int
    name: str = ""

    def function(self, name: str) -> NoKernel:
        return NoKernel(self.blocks, name)

    def max_resident_blocks(self, block: Sequence[int], shared: int = 0) -> int:
        return self.blocks

    def __call__(self, *args: Any, **sizes: Any) -> None:
        pass

    def close(self) -> None:
        pass


def asked(arch: str) -> list[Asked]:
    """What the steps of `gpu_first.sh` compile."""
    driver: Any = NoDriver(arch)
    gpu = Cuda(driver, "no-gpu")
    mr.devices.register("no-gpu", lambda: gpu)
    driver.module(
        Path(latencies.__file__).with_suffix(".cu").read_text(), "latencies.cu", ("-DREAL=float", "-DACC=float")
    )
    silence = io.StringIO()
    with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), np.errstate(all="ignore"):
        for gpu.cudnn_rnn_rung in (*RUNGS, None):
            for _, case, _ in alive.cases():
                case.run(gpu)
            for size in ratios.SIZES:
                for dtype, _ in ratios.PRECISIONS.values():
                    for call in ratios.our_calls(gpu, "lstm", size, dtype).values():
                        call()
        gpu.cudnn_rnn_rung = RUNGS[0]
        verified(["--device", "no-gpu", "--quick"])  # every number is wrong here
    return list(driver.asked)


def sources() -> str:
    """A fingerprint of everything that decides what is compiled."""
    root = Path(mr.__file__).parents[1]
    folders = "minirnn/devices", "minirnn/cells", "minirnn/ops", "minirnn/nn", "scripts/gpu"
    files = [path for name in folders for path in sorted((root / name).rglob("*.*")) if path.suffix != ".pyc"]
    return cache.fingerprint(*[path.read_bytes() for path in files if path.is_file()])[:12]


def compiled(arch: str, nvcc: str, what: Asked) -> int:
    """The bytes of its machine code, which is in the cache afterwards."""
    return len(Compiler(arch, nvcc, lambda binary: None, Exception).binary(*what))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="carried", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args(words)
    nvcc = (toolchain.find_nvcc().found or "").split()
    if not nvcc:
        parser.error(f"nvcc: {toolchain.missing(toolchain.find_nvcc())}")
    os.environ |= {"MINIRNN_CACHE": str(args.folder), "MINIRNN_QUIET": "1"}
    args.folder.mkdir(parents=True, exist_ok=True)
    mark = args.folder / f"complete-{args.arch}-{nvcc[0]}-{sources()}"
    if mark.exists():
        print(f"machine code for {args.arch} by nvcc {nvcc[0]} was carried")
        return 0
    texts = asked(args.arch)
    with ProcessPoolExecutor(args.jobs) as pool:
        nbytes = sum(pool.map(compiled, [args.arch] * len(texts), [nvcc[0]] * len(texts), texts))
    mark.touch()
    print(f"{len(texts)} files for {args.arch} by nvcc {nvcc[0]}, {nbytes / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A stand-in for nvcc: its "cubin" is the source and the options; the simulator's compiler finds the mistakes.

With ``STAND_IN_GPU_NVCC=/path/to/nvcc`` the real nvcc compiles too, and where it fails this one fails.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MAGIC = b"STANDIN\0"
RELEASE = os.environ.get("STAND_IN_GPU_RELEASE", "13.0")
"""The version of nvcc that it imitates."""
SAID = f"nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release {RELEASE}, V{RELEASE}.88\n"
KNOWN = {  # release -> the GPUs that nvcc --list-gpu-code names
    "12.0": "50 52 53 60 61 62 70 72 75 80 86 87 89 90",
    "12.4": "50 52 53 60 61 62 70 72 75 80 86 87 89 90",
    "12.6": "50 52 53 60 61 62 70 72 75 80 86 87 89 90",
    "12.8": "50 52 53 60 61 62 70 72 75 80 86 87 89 90 100 101 120",
    "12.9": "50 52 53 60 61 62 70 72 75 80 86 87 89 90 100 101 103 120 121",
    "13.0": "75 80 86 87 88 89 90 100 103 110 120 121",
    "13.1": "75 80 86 87 88 89 90 100 103 110 120 121",
}


def sim_arguments(told: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """The arguments of the simulator's `module`: the source as the project wrote it, its name, and its -D options."""
    source, name = told["source"], "kernel.cu"
    first = re.match(r'#line 1 "([^"]*)"\n', source)
    if first:
        source, name = source[first.end() :], first.group(1)
    return source, name, tuple(told["defines"])


def packed(told: dict[str, Any]) -> bytes:
    body = json.dumps(told).encode()
    return MAGIC + len(body).to_bytes(8, "little") + body + b"\0"


def compiled_before(told: dict[str, Any]) -> Path | None:
    """The file that records that this simulator has compiled this kernel; None without a folder for such files.

    It avoids importing the simulator, which takes longer than everything else here. Loading the module compiles it
    anyway if it is not in the simulator's own cache.
    """
    folder = os.environ.get("STAND_IN_GPU_CACHE")
    if not folder:
        return None
    simulator = HERE.parents[1] / "minirnn" / "devices" / "cuda"
    texts = [path.read_bytes() for path in sorted(simulator.glob("sim/**/*.*")) if path.suffix != ".pyc"]
    texts += [path.read_bytes() for path in sorted(simulator.glob("kernels/**/*.cuh"))]
    return Path(folder) / hashlib.sha256(b"\0".join([json.dumps(told).encode(), *texts])).hexdigest()[:32]


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        sys.stdout.write(SAID)
        return 0
    if os.environ.get("STAND_IN_GPU_NVCC"):
        status = subprocess.run([os.environ["STAND_IN_GPU_NVCC"], *arguments]).returncode
        if status:
            return status
    source = Path(next(a for a in arguments if a.endswith(".cu")))
    told = {
        "source": source.read_text(),
        "defines": [a for a in arguments if a.startswith("-D")],
        "arch": arguments[arguments.index("-arch") + 1],
        "release": [int(number) for number in RELEASE.split(".")],
    }
    if told["arch"].removeprefix("sm_").removesuffix("a") not in KNOWN[RELEASE].split():
        sys.stderr.write(f"nvcc fatal   : Unsupported gpu architecture '{told['arch']}'\n")
        return 1
    mark = compiled_before(told)
    if mark is None or not mark.exists():
        from minirnn.devices.cuda.driver import CompileError
        from minirnn.devices.cuda.sim.driver import SimDriver

        try:
            SimDriver().module(*sim_arguments(told))
        except CompileError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        if mark is not None:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
    source.with_suffix(".cubin").write_bytes(packed(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

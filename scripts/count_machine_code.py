"""The machine code that nvcc generates for every kernel and four generations of GPUs, as a table. Needs no GPU.

    python scripts/count_machine_code.py --only "sequence/*" --arch sm_90     prints it
    python scripts/count_machine_code.py --write                                 and stores it in docs/data/cuda/;
                                                                                 with --only these files alone
    python scripts/count_machine_code.py --check                                 compares with what is stored: all of it

A loop's row counts what one thread does in one iteration, without inner loops: multiplications (FFMA, DFMA, HFMA2),
those of tensor cores (mma), reads of shared memory with the multiplications per read, bytes of shared memory and of
global memory (what passes by L2), fences and barriers. Code behind an `if` counts as if it were always executed. Needs
nvcc, and nvdisasm (pip install nvidia-cuda-nvdisasm). Compiled files are cached on disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.devices.cuda.machine_code.compiled import nvcc_version
from tests.devices.cuda.machine_code.kernels import MachineCode, machine_code
from tests.devices.cuda.machine_code.loops import counted
from tests.devices.cuda.machine_code.sass import INSTALL, find_nvdisasm
from tests.devices.cuda.machine_code.variants import RUNGS, VARIANTS, cells_of

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "data" / "cuda" / "machine_code.json"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
HEAD = ("loop", "fma", "mma", "reads", "fma/read", "shared r+w", "global r+w", "fences", "barriers")

CELLS = ("lstm", "gru", "rnn_tanh", "lstm with zoneout")
Record = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="files of kernels/")
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES, choices=ARCHITECTURES)
    parser.add_argument("--jobs", type=int, default=1, help="compilers at a time")
    parser.add_argument("--quiet", action="store_true", help="no table")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="store the counts, and keep those of other files")
    action.add_argument("--check", action="store_true", help="exit with 1 if anything differs from what is stored")
    args = parser.parse_args()
    if not nvcc_version() or find_nvdisasm() is None:
        print(f"this needs nvcc on the PATH and nvdisasm ({INSTALL})", file=sys.stderr)
        return 2
    partly = args.only != ["*"] or set(args.arch) != set(ARCHITECTURES)
    if args.write and partly and (other := other_tools()):
        print(other, file=sys.stderr)
        return 1
    with ThreadPoolExecutor(args.jobs) as pool:
        found = [record for some in pool.map(lambda job: records(*job), jobs(args.only, args.arch)) for record in some]
    if not args.quiet:
        print("\n".join(table(found)))
    if args.write:
        STORED.parent.mkdir(parents=True, exist_ok=True)
        STORED.write_text(as_text(beside_others(found, args.only, args.arch) if partly else found), encoding="utf-8")
    return check(found, args.only, args.arch) if args.check else 0


def jobs(only: Iterable[str], archs: Iterable[str]) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """The file, cell, options and architecture of each compilation. Files of a rung are compiled for four cells."""
    for name, variants in VARIANTS.items():
        if any(fnmatch(name, pattern) for pattern in only):
            for cell in CELLS if name in RUNGS else cells_of(name):
                for options in variants:
                    for arch in archs:
                        yield name, cell, options, arch


def records(name: str, cell: str, options: tuple[str, ...], arch: str) -> list[Record]:
    """A record for each kernel: its resources, and the instructions of the kernel and its loops."""
    made = machine_code(name, options, arch, plan=cells_of(name)[cell])
    return [
        {
            "file": name,
            "options": options_text(options, cell),
            "arch": arch,
            "kernel": kernel,
            "registers": code.resources.registers,
            "spilled": code.resources.spill_stores + code.resources.spill_loads,
            "shared": code.resources.shared,
            "instructions": len(code.function.instructions),
            "counts": counted(code.function.instructions),
            "loops": list(loops_of(code)),
        }
        for kernel, code in sorted(made.items())
    ]


def loops_of(code: MachineCode) -> Iterator[Record]:
    """The loops, each before its inner loops. Equal neighbors, such as unrolled copies, are one record."""
    last: Record = {}
    for depth, loop in code.all_loops():
        file, statement = code.statement(loop)
        what = {"depth": depth, "file": file, "statement": statement, "own": len(loop.own), "counts": counted(loop.own)}
        if last and what == {key: value for key, value in last.items() if key != "times"}:
            last["times"] += 1
            continue
        if last:
            yield last
        last = what | {"times": 1}
    if last:
        yield last


def as_text(found: list[Record]) -> str:
    """JSON with one line per kernel."""
    head = json.dumps({"nvcc": nvcc_version(), "nvdisasm": nvdisasm_version()})[:-1]
    return head + ', "kernels": [\n' + ",\n".join(json.dumps(record) for record in found) + "\n]}\n"


def nvdisasm_version() -> str:
    """The version of nvdisasm, as in ``"13.5.37"``."""
    said = subprocess.run([str(find_nvdisasm()), "--version"], capture_output=True, text=True).stdout
    return said.rpartition(" V")[2].split()[0]


def beside_others(found: list[Record], only: Iterable[str], archs: Iterable[str]) -> list[Record]:
    """These records and the stored ones of other files and architectures, sorted."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))["kernels"]
    others = [r for r in stored if r["arch"] not in archs or not any(fnmatch(r["file"], p) for p in only)]
    order = [(name, options_text(options, cell), arch) for name, cell, options, arch in jobs(["*"], ARCHITECTURES)]
    place = {job: k for k, job in enumerate(order)}
    known = [r for r in others if (r["file"], r["options"], r["arch"]) in place]
    return sorted([*known, *found], key=lambda r: place[r["file"], r["options"], r["arch"]])


def options_text(options: Iterable[str], cell: str) -> str:
    """The options of a kernel file, and its cell, in readable form."""
    return " ".join([*[option.removeprefix("-D") for option in options], *([f"({cell})"] if cell else [])])


def other_tools() -> str:
    """The message if the stored counts are from other versions of nvcc or nvdisasm; otherwise empty."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    for tool, version in (("nvcc", nvcc_version()), ("nvdisasm", nvdisasm_version())):
        if stored[tool] != version:
            return f"{STORED.name} was made with {tool} {stored[tool]}, this is {version}: --write makes it anew"
    return ""


def check(found: list[Record], only: Iterable[str], archs: Iterable[str]) -> int:
    """Print the differences from the stored counts. Returns 1 if there are any, or if the tool versions differ."""
    if other := other_tools():
        print(other)
        return 1
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    key = ("file", "options", "arch", "kernel")
    before = {tuple(r[k] for k in key): r for r in stored["kernels"] if r["arch"] in archs}
    before = {k: r for k, r in before.items() if any(fnmatch(k[0], pattern) for pattern in only)}
    now = {tuple(r[k] for k in key): r for r in found}
    differ = [k for k in before.keys() | now.keys() if before.get(k) != now.get(k)]
    for k in sorted(differ):
        how = "is new" if k not in before else "is gone" if k not in now else "differs"
        print(f"{' '.join(k)} {how}")
    print(f"{len(now)} kernels, {len(differ)} differ from {STORED.relative_to(ROOT)}")
    return 1 if differ else 0


def table(found: list[Record]) -> Iterator[str]:
    """Readable lines."""
    before = None
    for r in found:
        if before != (what := (r["file"], r["options"], r["arch"])):
            before = what
            yield f"\n{' '.join(what)}\n  {'':56}" + "".join(f"{name:>11}" for name in HEAD[1:])
        spilled = f", {r['spilled']} bytes SPILLED" if r["spilled"] else ""
        yield f"  {r['kernel']}: {r['registers']} registers, {r['shared']} bytes shared{spilled}"
        if not r["loops"]:
            yield row("    no loop", r["counts"])
        for loop in r["loops"]:
            times = f"{loop['times']} x " if loop["times"] > 1 else ""
            yield row("    " + "  " * loop["depth"] + times + (loop["statement"] or "(not known)"), loop["counts"])


def row(title: str, counts: dict[str, int]) -> str:
    """A line of the table."""

    def number(*names: str) -> int:
        return sum(n for kind, n in counts.items() if kind.partition(".")[0] in names)

    def size(*names: str) -> int:
        parts = ((*kind.split(".")[:2], n) for kind, n in counts.items() if kind.partition(".")[0] in names)
        return sum(int(bits) // 8 * n for _, bits, n in parts)

    fma, reads = number("FFMA", "DFMA", "HFMA2") + 2 * number("FFMA2"), number("LDS", "LDSM")
    columns = (
        fma,
        number("HMMA", "DMMA", "IMMA", "QMMA", "OMMA"),
        reads,
        f"{fma / reads:.1f}" if reads else "",
        f"{size('LDS', 'LDSM')}+{size('STS', 'STSM', 'STAS')}",
        f"{size('LDG', 'LD', 'LDGSTS')}+{size('STG', 'ST', 'RED', 'ATOMG', 'ATOM')}",
        number("MEMBAR", "FENCE"),
        number("BAR", "UCGABAR_WAIT", "SYNCS"),
    )
    return f"  {title[:56]:56}" + "".join(f"{column:>11}" for column in columns)


if __name__ == "__main__":
    sys.exit(main())

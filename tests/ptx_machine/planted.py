"""Planted mistakes, and which judges notice them: the simulator, its check mode, the PTX machine.

``python -m tests.ptx_machine.planted`` tries them all (or those that are named, by their names or places) and compares
with what is noted here; ``--write`` writes the table `PLANTED.md` from that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.launch.sequence import one_launch
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence import ladder_cases as ladder
from tests.devices.cuda.sim import test_students as students
from tests.ptx_machine.driver import PtxDriver, device_of
from tests.ptx_machine.options import PtxOptions

HEAD, *SECTIONS = (Path(__file__).parent / "assembly.cu").read_text(encoding="utf-8").split("// ---- ")
ASSEMBLY = {section.partition("\n")[0]: HEAD + "// " + section for section in SECTIONS}
TABLE = Path(__file__).parent / "PLANTED.md"
JUDGES = ("simulator", "check mode", "PTX machine")


@dataclass(frozen=True)
class Mistake:
    """A mistake.

    Attributes
    ----------
    name : str
    where : str
        "ladder" for the persistent kernels, "ladder's PTX" for what nvcc made of their assembly, "barrier" for the
        plain kernels of one launch, else the name of a kernel of `students.cu` or `assembly.cu`.
    old, new : str
        The change of the text; of PTX a regular expression and its replacement.
    noticed : str
        One letter for each of `JUDGES`: ``y``, ``n``, or ``-`` where it can't be seen.
    """

    name: str
    where: str
    old: str
    new: str
    noticed: str

    @property
    def in_assembly(self) -> bool:
        return self.where == "ladder's PTX" or self.where in ASSEMBLY


LOOK = "    load_words<COUNT>(from->word, found.word);"
PLAIN_LOOK = "    for (int k = 0; k < COUNT; k++) found.word[k] = from->word[k];"
SEND = "{ store_word(to, word == NOT_SENT ? NOT_SENT >> 1 : word); }"
TILE_BARRIER = "if (__syncthreads_or(watch.lost)) return;"
FENCE = "        __threadfence();  // BUG:\n"
PHASE = "const u32 phase = (step - 1) / SLOTS & 1;"
LAYERS = ("ladder", "ladder's PTX", "barrier")
"""The places in kernels that compute a layer."""
FIRST = 'asm volatile("fence.sc.gpu;" ::: "memory");'

MISTAKES = (
    # ---- C++, in minirnn's kernels
    Mistake("a look is not volatile", "ladder", LOOK, PLAIN_LOOK, "nyy"),
    Mistake("a number is sent by a plain store", "ladder", SEND,
            "{ *to = word == NOT_SENT ? NOT_SENT >> 1 : word; }", "nyn"),
    Mistake("nobody waits", "ladder", "!watch.lost && !complete()", "false", "yyy"),
    Mistake("only the last word of a piece is looked at", "ladder",
            "complete = complete && (k >= count || word[k] != NOT_SENT);",
            "if (k == COUNT - 1) complete = k >= count || word[k] != NOT_SENT;", "yyy"),
    Mistake("no barrier between gathering and multiplying", "ladder",
            TILE_BARRIER + "\n            s.before", "\n            s.before", "yyy"),
    Mistake("no barrier on the way back", "ladder",
            TILE_BARRIER + "\n            if (first + ROWS", "\n            if (first + ROWS", "yyy"),
    Mistake("one phase for all times", "ladder", PHASE, "const u32 phase = 0;", "yyy"),
    Mistake("a phase is two epochs long", "ladder", PHASE, "const u32 phase = (step - 1) / (2 * SLOTS) & 1;", "yyy"),
    Mistake("one slot instead of two", "ladder", "#define SLOTS 2", "#define SLOTS 1", "nny"),
    Mistake("the memory for messages holds zeros", "ladder", "EMPTY", "0", "yyy"),
    Mistake("the memory for messages is not filled", "ladder", "EMPTY", "fresh", "yyy"),
    Mistake("no barrier between the shares of sums and the cells", "ladder",
            "            __syncthreads();\n\n            if (has_cell)", "            if (has_cell)", "yyy"),
    Mistake("a number keeps its last bit", "ladder", "NOT_SENT >> 1 : rounded) & ~Bits(1)",
            "NOT_SENT >> 1 : rounded)", "yyy"),
    # ---- C++, in the plain kernels of one launch and their barrier; six are the puzzles of docs/appendix/puzzles.md
    Mistake("no barrier of the block before the barrier of the grid", "barrier",
            "        __syncthreads();  // all threads of this block have written\n", "", "nyy"),
    Mistake("no fence before a block counts as here", "barrier",
            "            __threadfence();  // the block's numbers are in memory before the block counts as here\n", "",
            "nyy"),
    Mistake("no fence before the flag", "barrier",
            "                __threadfence();  // all blocks have been counted before the flag says so\n", "", "nyy"),
    Mistake("no fence after the flag", "barrier",
            "            __threadfence();  // the flag was seen before the others' numbers are read\n", "", "nyy"),
    Mistake("the flag is not volatile", "barrier", "    volatile u32 *round;", "    u32 *round;", "nyy"),
    Mistake("one slot of h instead of two", "barrier", "#define SLOTS 2 ", "#define SLOTS 1 ", "yyy"),
    Mistake("no barrier of the block after the barrier of the grid", "barrier",
            "return !__syncthreads_or(watch.lost);", "return !watch.lost;", "yyy"),
    Mistake("nobody waits for the flag", "barrier",
            "for (u32 looked = 1; *round < n && !watch.lost; looked++) watch.missed(looked, n);", "", "yyy"),
    Mistake("a fence of the block before a block counts as here", "barrier",
            "__threadfence();  // the block's", "__threadfence_block();  // the block's", "nyy"),
    Mistake("the weights are used before all are there", "barrier",
            "    __syncthreads();\n\n    const GridBarrier", "    const GridBarrier", "yyy"),
    Mistake("all blocks of one round are enough for all", "barrier", "== n * blocks", ">= blocks", "yyy"),
    # ---- C++, in kernels as students write them
    Mistake("the last block: no fence of the writer", "last_block",
            "        __threadfence();  // BUG: __threadfence_block();\n", "", "nyy"),
    Mistake("the last block: no fence of the reader", "last_block", f"{FENCE}    }}\n", "    }\n", "nyy"),
    Mistake("a barrier of the grid: no fence before it", "grid_barrier",
            f"{FENCE}        atomicAdd", "        atomicAdd", "nyy"),
    Mistake("a barrier of the grid: no fence after it", "grid_barrier",
            f"__nanosleep(20);\n{FENCE}", "__nanosleep(20);\n", "nyy"),
    Mistake("a lock without an acquire", "lock",
            "    __threadfence();                                      // BUG:\n", "", "nyy"),
    Mistake("a lock without a release", "lock", "    __threadfence();  // BUG:\n    atomicExch", "    atomicExch",
            "nyy"),
    Mistake("a flag that is no volatile", "look_back", "volatile int *ready", "int *ready", "nyy"),
    Mistake("look back: no fence of the writer", "look_back", f"{FENCE}        ready", "        ready", "nyy"),
    Mistake("look back: no fence of the reader", "look_back",
            "            __threadfence();                            // BUG:\n", "", "nyy"),
    Mistake("look back: volatile sums, no fence at all", "look_back", "VOLATILE", "", "nyy"),
    Mistake("a reduction without a barrier", "reduction",
            "    __syncthreads();  // BUG:\n    if (warp == 0)", "    if (warp == 0)", "yyy"),
    Mistake("a histogram without atomics", "global_histogram",
            "atomicAdd(&counts[x[i]], 1);", "counts[x[i]]++;", "nyy"),
    # ---- assembly: what nvcc made of minirnn's kernels
    Mistake("a weak load looks", "ladder's PTX", r"ld\.relaxed\.gpu\.global", "ld.global", "--y"),
    Mistake("a load of scope cta looks", "ladder's PTX", r"ld\.relaxed\.gpu\.global", "ld.relaxed.cta.global", "--y"),
    Mistake("a load of what never changes looks", "ladder's PTX", r"ld\.relaxed\.gpu\.global", "ld.global.nc", "--y"),
    Mistake("a weak store sends", "ladder's PTX", r"st\.relaxed\.gpu\.global", "st.global", "--y"),
    Mistake("two words of a vector are exchanged", "ladder's PTX",
            r"(ld\.relaxed\.gpu\.global\.v4\.u32) \{(%r\d+),(%r\d+),", r"\1 {\3,\2,", "--y"),
    Mistake("a store goes four bytes too far", "ladder's PTX",
            r"(st\.relaxed\.gpu\.global\.u32) \[(%rd\d+)\]", r"\1 [\2+4]", "--y"),
    Mistake("a shuffle goes down instead of across", "ladder's PTX", r"shfl\.sync\.bfly", "shfl.sync.down", "--y"),
    # ---- assembly of its own
    Mistake("st.release is st.relaxed", "released", "st.release.gpu", "st.relaxed.gpu", "--y"),
    Mistake("ld.acquire is ld.relaxed", "released", "ld.acquire.gpu", "ld.relaxed.gpu", "--y"),
    Mistake("st.release of scope cta", "released", "st.release.gpu", "st.release.cta", "--y"),
    Mistake("ld.acquire of scope cta", "released", "ld.acquire.gpu", "ld.acquire.cta", "--y"),
    Mistake("the writer's fence of scope cta", "fenced", "fence.acq_rel.gpu; st", "fence.acq_rel.cta; st", "--y"),
    Mistake("the reader's fence of scope cta", "fenced", '"fence.acq_rel.gpu;"', '"fence.acq_rel.cta;"', "--y"),
    Mistake("fence.acq_rel where fence.sc is needed", "exclusive", FIRST, FIRST.replace("sc", "acq_rel"), "--y"),
    Mistake("no fence where fence.sc is needed", "exclusive", FIRST, "", "--y"),
    Mistake("membar.cta where fence.sc is needed", "exclusive", "fence.sc.gpu", "membar.cta", "--y"),
    Mistake("an addition of scope cta", "counted", "red.relaxed.gpu.global", "red.relaxed.cta.global", "--y"),
    Mistake("the arrival at a barrier is relaxed", "turns", "atom.add.release.gpu", "atom.add.relaxed.gpu", "--y"),
    Mistake("the look at a barrier is relaxed", "turns", "ld.acquire.gpu", "ld.relaxed.gpu", "--y"),
    Mistake("the arrival at a barrier acquires", "turns", "atom.add.release.gpu", "atom.add.acquire.gpu", "--y"),
    Mistake("the look at a barrier of scope cta", "turns", "ld.acquire.gpu", "ld.acquire.cta", "--y"),
    Mistake("no barrier of the block before the arrival", "turns", "    __syncthreads();\n", "", "--y"),
    Mistake("no bar.sync behind a barrier of the grid", "turns",
            '    asm volatile("bar.sync 0;" ::: "memory");\n', "", "--y"),
    Mistake("a shuffle within half a warp", "folded", "0x1f, 0xffffffff", "0x100f, 0xffffffff", "--y"),
    Mistake("a vector's operands are exchanged", "vectors", "{%0, %1, %2, %3}, [%4]", "{%1, %0, %2, %3}, [%4]", "--y"),
)  # fmt: skip


# ---- running


def judges(where: str) -> list[list[Callable[[Any], Any]]]:
    """For each of `JUDGES`, functions that make a device for the ladder, or a driver for other kernels."""
    fast = [SimOptions(seed=seed, watchdog_ms=500) for seed in range(4)]
    check = [
        SimOptions(check=True, seed=seed, preempt=preempt, watchdog_ms=500)
        for seed, preempt in ((0, 0), (1, 0), (2, 9))
    ]

    rung = "barrier" if where == "barrier" else "persistent"

    def simulated(options: SimOptions) -> Callable[[Any], Any]:
        if where in LAYERS:
            return lambda edits: ladder.device_on(rung, options)
        return lambda edits: SimDriver(options)

    def on_the_machine(seed: int) -> Callable[[Any], Any]:
        def make(edits: tuple[tuple[str, str], ...]) -> Any:
            options = PtxOptions(seed=seed, delay=(10, 60)[seed % 2], edits=edits)
            return device_of(options, rung) if where in LAYERS else PtxDriver(options)

        return make

    return [[simulated(o) for o in fast], [simulated(o) for o in check], [on_the_machine(s) for s in range(1, 21)]]


def outcome(mistake: Mistake | None, where: str) -> str:
    """The verdicts of the judges, one letter each; without a mistake, those for the unchanged kernel."""
    letters = ""
    for judge in range(len(JUDGES)):
        if judge < 2 and (where in ASSEMBLY or where == "ladder's PTX"):
            letters += "-"
        else:
            letters += "y" if any(notices(mistake, where, make) for make in judges(where)[judge]) else "n"
    return letters


def notices(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> bool:
    """Whether a launch fails, or a result is wrong."""
    return bool(verdict(mistake, where, make))


def verdict(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> str:
    """The reason why a launch failed or a result is wrong; empty if everything is right."""
    try:
        right = (_layer_is_right if where in LAYERS else _kernel_is_right)(mistake, where, make)
    except LaunchError as error:
        return str(error)
    return "" if right else "a result is wrong"


def _layer_is_right(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> bool:
    T, B, H = (6, 20, 8) if where == "barrier" else (9, 3, 16)
    case = ladder.random_case(np.random.default_rng(0), "lstm", T, B, 2, H, D=1, dtype="f4", ragged=False)
    expected = case.run(mr.devices.get("cpu"))
    edits = ((mistake.old, mistake.new),) if mistake and where == "ladder's PTX" else ()
    with pytest.MonkeyPatch.context() as patch:
        ladder.tiny_layouts(patch, slices=4)
        ladder.with_multiprocessors(patch, 4)  # four blocks of two units and of two warps
        if mistake and mistake.old == "EMPTY":
            patch.setattr(one_launch, "EMPTY", 0)
        elif mistake and not edits:
            ladder.with_fault(patch, (mistake.old, mistake.new))
        device = make(edits)
        if mistake and mistake.new == "fresh":
            patch.setattr(device.driver, "memset", _only_words_of_errors(device.driver.memset))
        if mistake and mistake.old != "EMPTY":
            left = ladder.planted(device, case)  # compiles the kernels
            assert not (device.driver.not_planted if edits else left), mistake
        with np.errstate(all="ignore"):
            found = case.run(device)
    return all(np.allclose(found[name], expected[name], rtol=1e-3, atol=1e-3) for name in expected)


def _only_words_of_errors(memset: Callable[..., None]) -> Callable[..., None]:
    """A `memset` that does not change memory for messages."""
    return lambda ptr, byte, nbytes: memset(ptr, byte, nbytes) if nbytes <= 4 * 256 else None


def _kernel_is_right(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> bool:
    text = ASSEMBLY.get(where) or students.TEXTS[where]
    if mistake and mistake.old == "VOLATILE":
        text = text.replace("int *sums", "volatile int *sums").replace("__threadfence();", "")
    elif mistake:
        assert mistake.old in text, mistake
        text = text.replace(mistake.old, mistake.new)
    case = students.CASES.get(where) or _assembly_case(where)
    found = students.result_of(make(()), case, where, text)
    if where == "exclusive":  # both may find that the other one wants to enter
        return bool(found[0] <= 1)
    return np.allclose(found, case.expected(students.data()), rtol=1e-4, atol=1e-4)


def _assembly_case(where: str) -> students.Case:
    grid, block = {
        "released": (2, 32), "fenced": (2, 32), "exclusive": (2, 32), "counted": (4, 32), "turns": (4, 64),
        "folded": (1, 32), "vectors": (1, 32),
    }[where]  # fmt: skip
    k = np.arange(grid * block)
    around = students.left_sums(k, 3)
    n = np.arange(32)
    expected = {
        "released": n.sum(), "fenced": n.sum(), "counted": grid * block, "turns": (around * (k % 7)).sum(),
        "folded": (n * n + 1).sum(), "vectors": (n + 20 * n + 300 * n + 1000).sum(),
    }.get(where)  # fmt: skip
    zeros = [np.zeros(512, "i4"), np.zeros(1, "i4"), np.zeros(1, "i4")]
    return students.Case(lambda d: zeros, lambda d: np.array([expected]), 2, (grid,), (block,))


# ---- the table


def table(rows: list[tuple[Mistake, str]]) -> str:
    words = {"y": "noticed", "n": "**missed**", "-": "cannot see"}
    lines = ["| mistake | where | in | " + " | ".join(JUDGES) + " |", "|---|---|---|" + "---|" * len(JUDGES)]
    for mistake, letters in rows:
        kind = "assembly" if mistake.in_assembly else "C++"
        lines.append(f"| {mistake.name} | {mistake.where} | {kind} | " + " | ".join(words[x] for x in letters) + " |")
    return "\n".join(lines)


TEXT = """# Who notices a planted mistake

Each mistake is planted alone. "Noticed" means that a launch fails or that a result is wrong, in one of four orders
of the threads (simulator), three (its check mode) or twenty seeds (PTX machine). The simulator cannot see assembly.
`test_planted.py` tries them; `python -m tests.ptx_machine.planted --write` writes this table.

"""

if __name__ == "__main__":
    if "--write" in sys.argv:
        TABLE.write_text(TEXT + table([(one, one.noticed) for one in MISTAKES]) + "\n", encoding="utf-8")
        sys.exit(0)
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    wrong = 0
    for one in MISTAKES:
        if wanted and not any(word in (one.name, one.where) for word in wanted):
            continue
        letters = outcome(one, one.where)
        wrong += letters != one.noticed
        print(
            f"{letters} {'' if letters == one.noticed else f'expected {one.noticed} '}{one.name} ({one.where})",
            flush=True,
        )
    sys.exit(wrong > 0)

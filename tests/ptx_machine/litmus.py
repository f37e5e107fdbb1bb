"""Litmus tests of the PTX memory consistency model: a few threads, a question about their results, and the answer.

A thread is a text of PTX instructions. ``[x]``, ``[y]``, ``[z]`` are separate places in device memory, initially 0;
``%r0`` to ``%r3`` are a thread's registers, to which the question refers. The answers follow from the axioms of
the PTX ISA, chapter "Memory Consistency Model"; the names of the shapes are those of the literature.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.ptx_machine.driver import PtxDriver
from tests.ptx_machine.options import PtxOptions

PLACES = {"x": 0, "y": 256, "z": 512}
REGISTERS = 4


@dataclass(frozen=True)
class Litmus:
    """A test.

    Attributes
    ----------
    name : str
    threads : tuple of str
        ``;`` ends an instruction.
    question : str
        A Python expression: ``r[thread][register]`` and ``x``, ``y``, ``z``, the last values.
    allowed : bool
        Whether that may happen.
    blocks : tuple of int
        The block of each thread.
    why : str
        The reason in the words of the model.
    """

    name: str
    threads: tuple[str, ...]
    question: str
    allowed: bool
    blocks: tuple[int, ...]
    why: str


def ptx_of(tests: Sequence[Litmus]) -> str:
    """A kernel ``litmus(memory, found, number)``, for the test of that number. Its threads are the grid's."""
    bodies = []
    for number, test in enumerate(tests):
        for k, text in enumerate(test.threads):
            saved = [f"st.global.u32 [%found+{4 * (k * REGISTERS + n)}], %r{n}" for n in range(REGISTERS)]
            for name, at in PLACES.items():
                text = text.replace(f"[{name}]", f"[%memory+{at}]").replace(f"[{name}+4]", f"[%memory+{at + 4}]")
            wanted = number, test.blocks[k], test.blocks[:k].count(test.blocks[k])
            lines = [
                f"setp.ne.u32 %p, %number, {wanted[0]}", f"setp.ne.or.u32 %p, %block, {wanted[1]}, %p",
                f"setp.ne.or.u32 %p, %thread, {wanted[2]}, %p", f"@%p bra $after_{number}_{k}",
                *filter(None, (line.strip() for line in text.split(";"))), *saved, "ret",
            ]  # fmt: skip
            bodies += [f"    {line};" for line in lines] + [f"$after_{number}_{k}:"]
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry litmus(.param .u64 litmus_0, .param .u64 litmus_1, .param .u32 litmus_2)
{{
    .reg .b32 %r<{REGISTERS}>;
    .reg .b32 %block, %thread, %number;
    .reg .b64 %memory, %found;
    .reg .pred %p;
    ld.param.u64 %memory, [litmus_0];
    ld.param.u64 %found, [litmus_1];
    ld.param.u32 %number, [litmus_2];
    mov.u32 %block, %ctaid.x;
    mov.u32 %thread, %tid.x;
{chr(10).join(f"    mov.u32 %r{n}, 0;" for n in range(REGISTERS))}
{chr(10).join(bodies)}
    ret;
}}
"""


def outcomes(tests: Sequence[Litmus], number: int, seeds: Sequence[int], weak: bool = True) -> list[bool]:
    """Whether the outcome that a test asks about happened, seed by seed. All tests are compiled at once."""
    test, driver = tests[number], PtxDriver()
    kernel = driver.module_of_ptx(ptx_of(tests), "litmus.ptx").function("litmus")
    memory, found = driver.alloc(1024), driver.alloc(16 * 4 * REGISTERS)
    per_block = max(test.blocks.count(b) for b in test.blocks)
    happened = []
    question = compile(test.question, test.name, "eval")
    for seed in seeds:
        driver.ptx, driver.launches = PtxOptions(seed=seed, weak=weak, delay=10), 0
        driver.memset(memory.ptr, 0, 1024)
        driver.memset(found.ptr, 0, 16 * 4 * REGISTERS)
        grid, block = (max(test.blocks) + 1,), (per_block,)
        kernel(memory, found, np.uint32(number), grid=grid, block=block, cooperative=True)
        r, last = np.zeros((16, REGISTERS), np.int32), np.zeros(256, np.int32)
        driver.d2h(r, found.ptr)
        driver.d2h(last, memory.ptr)
        names = {name: int(last[at // 4]) for name, at in PLACES.items()}
        happened.append(bool(eval(question, {"r": r.tolist(), **names})))
    return happened


def message(store: str, between: str, flag: str, look: str, then: str, load: str) -> tuple[str, str]:
    """Message passing: one thread writes data to x, then a flag to y. The other reads the flag, then the data."""
    return (f"{store} [x], 1; {between}; {flag} [y], 1", f"{look} %r0, [y]; {then}; {load} %r1, [x]")


APART, TOGETHER = (0, 1), (0, 0)
OLD_DATA = "r[1][0] == 1 and r[1][1] == 0"
ST, LD = "st.global.u32", "ld.global.u32"
RST, RLD = "st.relaxed.gpu.global.u32", "ld.relaxed.gpu.global.u32"
VST, VLD = "st.volatile.global.u32", "ld.volatile.global.u32"
CST, CLD = "st.relaxed.cta.global.u32", "ld.relaxed.cta.global.u32"
SST, SLD = "st.relaxed.sys.global.u32", "ld.relaxed.sys.global.u32"
ACQ_REL, SC = "fence.acq_rel.gpu", "fence.sc.gpu"
NO_SYNC = "nothing synchronizes the threads"
SYNC = "the release pattern synchronizes with the acquire pattern: causality order"


def _passing() -> list[Litmus]:
    def case(name: str, parts: tuple[str, ...], allowed: bool, blocks: tuple[int, ...], why: str) -> Litmus:
        return Litmus(f"message passing, {name}", message(*parts), OLD_DATA, allowed, blocks, why)

    release, acquire = "st.release.gpu.global.u32", "ld.acquire.gpu.global.u32"
    scoped = [
        case(f"fences of scope {scope}, {where}",
             (ST, f"fence.acq_rel.{scope}", RST, RLD, f"fence.acq_rel.{scope}", LD), allowed, blocks, why)
        for scope, where, allowed, blocks, why in (
            ("cta", "two blocks", True, APART, "fences of scope cta of two blocks are not morally strong"),
            ("cta", "one block", False, TOGETHER, SYNC), ("gpu", "two blocks", False, APART, SYNC),
            ("gpu", "one block", False, TOGETHER, SYNC), ("sys", "two blocks", False, APART, SYNC),
        )
    ]  # fmt: skip
    of_access = [
        case(f"release and acquire of scope {scope}, {where}",
             (ST, "", f"st.release.{scope}.global.u32", f"ld.acquire.{scope}.global.u32", "", LD), allowed, blocks, why)
        for scope, where, allowed, blocks, why in (
            ("cta", "two blocks", True, APART, "scopes that leave the other thread out"),
            ("cta", "one block", False, TOGETHER, SYNC), ("gpu", "two blocks", False, APART, SYNC),
            ("sys", "two blocks", False, APART, SYNC),
        )
    ]  # fmt: skip
    return [
        case("weak", (ST, "", ST, LD, "", LD), True, APART, NO_SYNC),
        case("weak, one block", (ST, "", ST, LD, "", LD), True, TOGETHER, NO_SYNC),
        case("relaxed", (RST, "", RST, RLD, "", RLD), True, APART, NO_SYNC),
        case("relaxed of scope sys", (SST, "", SST, SLD, "", SLD), True, APART, NO_SYNC),
        case("volatile", (VST, "", VST, VLD, "", VLD), True, APART, "volatile is relaxed, and orders nothing"),
        case("volatile with membar.gl", (VST, "membar.gl", VST, VLD, "membar.gl", VLD), False, APART, SYNC),
        case("volatile with membar.cta", (VST, "membar.cta", VST, VLD, "membar.cta", VLD), True, APART, NO_SYNC),
        case("fence of the writer alone", (ST, ACQ_REL, RST, RLD, "", LD), True, APART, "no acquire pattern"),
        case("fence of the reader alone", (ST, "", RST, RLD, ACQ_REL, LD), True, APART, "no release pattern"),
        case("fences and a weak flag", (ST, ACQ_REL, ST, LD, ACQ_REL, LD), True, APART, "the flag is no strong write"),
        case("fences and a flag of scope cta", (ST, ACQ_REL, CST, CLD, ACQ_REL, LD), True, APART,
             "the write of the flag is not morally strong with its read"),
        case("release without acquire", (ST, "", release, RLD, "", LD), True, APART, "no acquire pattern"),
        case("acquire without release", (ST, "", RST, acquire, "", LD), True, APART, "no release pattern"),
        case("release of gpu, acquire of cta", (ST, "", release, "ld.acquire.cta.global.u32", "", LD), True, APART,
             "the read's scope leaves the writer out"),
        Litmus("message passing, by an exchange and a compare-and-swap",
               (f"{ST} [x], 1; {ACQ_REL}; atom.global.exch.b32 %r3, [y], 1",
                f"atom.global.cas.b32 %r0, [y], 1, 2; {ACQ_REL}; {LD} %r1, [x]"), OLD_DATA, False, APART, SYNC),
        Litmus("message passing, by atomics of release and acquire",
               (f"{ST} [x], 1; atom.release.gpu.global.exch.b32 %r3, [y], 1",
                f"atom.acquire.gpu.global.add.u32 %r0, [y], 0; {LD} %r1, [x]"), OLD_DATA, False, APART, SYNC),
        *scoped, *of_access,
        Litmus("message passing, by a barrier of the block",
               (f"{ST} [x], 1; bar.sync 0", f"bar.sync 0; mov.u32 %r0, 1; {LD} %r1, [x]"), OLD_DATA, False, TOGETHER,
               "the barrier orders what comes before and after it"),
        Litmus("message passing, the same without the barrier",
               (f"{ST} [x], 1", f"mov.u32 %r0, 1; {LD} %r1, [x]"), OLD_DATA, True, TOGETHER, NO_SYNC),
        Litmus("message passing, both in one vector",
               (f"{RST} [x], 1; {ACQ_REL}; {RST} [x+4], 1", "ld.relaxed.gpu.global.v2.u32 {%r1, %r0}, [x]"), OLD_DATA,
               True, APART, "the elements of a vector are read in no order"),
        Litmus("message passing, a chain of atomics",
               (f"{ST} [x], 1; {ACQ_REL}; {RST} [y], 1", "atom.global.add.u32 %r0, [y], 1",
                f"{RLD} %r0, [y]; {ACQ_REL}; {LD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 2 and r[2][1] == 0", False, (0, 1, 2),
               "observation order goes on by atomics"),
        Litmus("message passing, on by a third thread (ISA2)",
               (f"{ST} [x], 1; {ACQ_REL}; {RST} [y], 1", f"{RLD} %r0, [y]; {ACQ_REL}; {RST} [z], 1",
                f"{RLD} %r0, [z]; {ACQ_REL}; {LD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0", False, (0, 1, 2), "causality order is transitive"),
        Litmus("message passing, on by a third thread without a fence",
               (f"{ST} [x], 1; {ACQ_REL}; {RST} [y], 1", f"{RLD} %r0, [y]; {RST} [z], 1",
                f"{RLD} %r0, [z]; {ACQ_REL}; {LD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0", True, (0, 1, 2), "the thread between has no pattern"),
        Litmus("message passing, on by a third thread without a fence, fence.sc of the others",
               (f"{ST} [x], 1; {SC}; atom.global.add.u32 %r3, [y], 1", f"atom.global.add.u32 %r0, [y], 1; {RST} [z], 1",
                f"{RLD} %r0, [z]; {SC}; {LD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0", True, (0, 1, 2),
               "no pattern tells which fence is the first"),
        Litmus("message passing, the same with the flag next to the counter",
               (f"{ST} [x], 1; {SC}; atom.global.add.u32 %r3, [y], 1",
                f"atom.global.add.u32 %r0, [y], 1; {RST} [y+4], 1", f"{RLD} %r0, [y+4]; {SC}; {LD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0", True, (0, 1, 2), "they are two places all the same"),
        Litmus("message passing, the same if the reader knows the counter",
               (f"{ST} [x], 1; {SC}; atom.global.add.u32 %r3, [y], 1",
                f"atom.global.add.u32 %r0, [y], 1; {RST} [z], 1",
                f"{RLD} %r0, [z]; {RLD} %r2, [y]; {SC}; {LD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0 and r[2][2] == 2", False, (0, 1, 2), SYNC),
        Litmus("message passing, on by a third thread, three times fence.sc",
               (f"{ST} [x], 1; {SC}; atom.global.add.u32 %r3, [y], 1",
                f"atom.global.add.u32 %r0, [y], 1; {SC}; {RST} [z], 1", f"{RLD} %r0, [z]; {SC}; {LD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0", False, (0, 1, 2), SYNC),
        Litmus("message passing, fence.sc and a weak flag", (f"{ST} [x], 1; {SC}; {ST} [y], 1",
               f"{LD} %r0, [y]; {SC}; {LD} %r1, [x]"), OLD_DATA, False, APART,
               "if the reader's fence were first, its read would precede the write that it read"),
        Litmus("message passing, fence.sc and a flag of scope cta", (f"{ST} [x], 1; {SC}; {CST} [y], 1",
               f"{CLD} %r0, [y]; {SC}; {LD} %r1, [x]"), OLD_DATA, False, APART,
               "if the reader's fence were first, its read would precede the write that it read"),
        Litmus("message passing, fence.sc and a weak flag, on by a barrier",
               (f"{ST} [x], 1; {SC}; {ST} [y], 1", f"{LD} %r0, [y]; bar.sync 0",
                f"bar.sync 0; {SC}; {LD} %r1, [x]"), "r[1][0] == 1 and r[2][1] == 0", False, (0, 1, 1),
               "the barrier, then fence-sc order"),
        Litmus("message passing, the barrier before the fence of another thread",
               (f"{ST} [x], 1; bar.sync 0", f"bar.sync 0; {ACQ_REL}; {RST} [y], 1",
                f"{RLD} %r0, [y]; {ACQ_REL}; {LD} %r1, [x]"),
               "r[2][0] == 1 and r[2][1] == 0", False, (0, 0, 1), "barrier, fence and flag: causality order"),
        Litmus("write to read causality (WRC)",
               (f"{RST} [x], 1", f"{RLD} %r0, [x]; {ACQ_REL}; {RST} [y], 1",
                f"{RLD} %r0, [y]; {ACQ_REL}; {RLD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0", False, (0, 1, 2), "observation, then base causality"),
        Litmus("write to read causality without fences",
               (f"{RST} [x], 1", f"{RLD} %r0, [x]; {RST} [y], 1", f"{RLD} %r0, [y]; {RLD} %r1, [x]"),
               "r[1][0] == 1 and r[2][0] == 1 and r[2][1] == 0", True, (0, 1, 2), NO_SYNC),
    ]  # fmt: skip


def _buffering() -> list[Litmus]:
    def stores(
        name: str, fence: str, allowed: bool, blocks: tuple[int, ...], why: str, st: str = RST, ld: str = RLD
    ) -> Litmus:
        threads = (f"{st} [x], 1; {fence}; {ld} %r0, [y]", f"{st} [y], 1; {fence}; {ld} %r0, [x]")
        return Litmus(f"store buffering, {name}", threads, "r[0][0] == 0 and r[1][0] == 0", allowed, blocks, why)

    def loads(name: str, ld: str, between: str, value: str, allowed: bool, why: str) -> Litmus:
        first, second = (f"{ld} %r0, [{a}]; {between}; {RST} [{b}], {value}" for a, b in ("xy", "yx"))
        return Litmus(f"load buffering, {name}", (first, second), "r[0][0] == 1 and r[1][0] == 1", allowed, APART, why)

    def write_and_read(name: str, fence: str, allowed: bool, why: str) -> Litmus:
        threads = (f"{RST} [x], 1; {fence}; {RST} [y], 1", f"{RST} [y], 2; {fence}; {RLD} %r0, [x]")
        return Litmus(f"a write and a read (R), {name}", threads, "y == 2 and r[1][0] == 0", allowed, APART, why)

    def observed(name: str, fence: str, allowed: bool, why: str) -> Litmus:
        reader, other = f"{RLD} %r0, [x]; {fence}; {RLD} %r1, [y]", f"{RST} [y], 1; {fence}; {RLD} %r0, [x]"
        threads = (f"{RST} [x], 1", reader, other)
        question = "r[1][0] == 1 and r[1][1] == 0 and r[2][0] == 0"
        return Litmus(f"read to write causality (RWC), {name}", threads, question, allowed, (0, 1, 2), why)

    sc = "fence-sc order: one of the fences comes first"
    return [
        stores("relaxed", "", True, APART, NO_SYNC), stores("weak", "", True, APART, NO_SYNC, ST, LD),
        stores("volatile", "", True, APART, NO_SYNC, VST, VLD),
        stores("fence.acq_rel", ACQ_REL, True, APART, "no read observes a write, so nothing synchronizes"),
        stores("fence.sc", SC, False, APART, sc), stores("membar.gl", "membar.gl", False, APART, sc),
        write_and_read("relaxed", "", True, NO_SYNC),
        write_and_read("fence.acq_rel", ACQ_REL, True, "no read observes a write"),
        write_and_read("fence.sc", SC, False, sc), observed("relaxed", "", True, NO_SYNC),
        observed("fence.acq_rel", ACQ_REL, True, "no read observes the second write"),
        observed("fence.sc", SC, False, sc),
        stores("fence.sc of scope sys", "fence.sc.sys", False, APART, sc),
        stores("fence.sc of scope cta, two blocks", "fence.sc.cta", True, APART, "fences that are not morally strong"),
        stores("fence.sc of scope cta, one block", "fence.sc.cta", False, TOGETHER, sc),
        loads("relaxed", RLD, "", "1", True, "a later store may come before a load"),
        loads("weak loads", LD, "", "1", True, "a later store may come before a load"),
        loads("the value that was read", RLD, "", "%r0", False, "no thin air"),
        loads("fence.acq_rel", RLD, ACQ_REL, "1", False, SYNC),
        Litmus("load buffering, release and acquire",
               tuple(f"ld.acquire.gpu.global.u32 %r0, [{a}]; st.release.gpu.global.u32 [{b}], 1"
                     for a, b in ("xy", "yx")),
               "r[0][0] == 1 and r[1][0] == 1", False, APART, SYNC),
    ]  # fmt: skip


def _coherence() -> list[Litmus]:
    new_old = "r[1][0] == 1 and r[1][1] == 0"

    def reads(name: str, st: str, first: str, second: str, allowed: bool, blocks: tuple[int, ...], why: str) -> Litmus:
        threads = (f"{st} [x], 1", f"{first} %r0, [x]; {second} %r1, [x]")
        return Litmus(f"coherence, {name}", threads, new_old, allowed, blocks, why)

    def writes(name: str, fence: str, allowed: bool, why: str) -> Litmus:
        threads = (f"{RST} [x], 1; {fence}; {RST} [y], 2", f"{RST} [y], 1; {fence}; {RST} [x], 2")
        return Litmus(f"two writes each (2+2W), {name}", threads, "x == 1 and y == 1", allowed, APART, why)

    def four(name: str, fence: str, allowed: bool, why: str) -> Litmus:
        readers = [f"{RLD} %r0, [{a}]; {fence}; {RLD} %r1, [{b}]" for a, b in ("xy", "yx")]
        question = "r[2][0] == 1 and r[2][1] == 0 and r[3][0] == 1 and r[3][1] == 0"
        threads = (f"{RST} [x], 1", f"{RST} [y], 1", *readers)
        return Litmus(f"independent reads (IRIW), {name}", threads, question, allowed, (0, 1, 2, 3), why)

    location, race = "SC per location of morally strong accesses", "the reads race with the write"
    return [
        reads("two relaxed reads", RST, RLD, RLD, False, APART, location),
        reads("two volatile reads", VST, VLD, VLD, False, APART, location),
        reads("relaxed, then weak read", RST, RLD, LD, False, APART, "observation, then program order: causality"),
        reads("two weak reads", RST, LD, LD, True, APART, race),
        reads("reads of scope cta, two blocks", RST, CLD, CLD, True, APART, race),
        reads("reads of scope cta, one block", CST, CLD, CLD, False, TOGETHER, location),
        Litmus("coherence, a thread reads its own write", (f"{ST} [x], 1; {LD} %r0, [x]", f"{RST} [x], 2"),
               "r[0][0] == 0", False, APART, "a write precedes a read of its thread in causality order"),
        Litmus("coherence, a thread does not read its next write", (f"{RLD} %r0, [x]; {RST} [x], 1", f"{RST} [x], 2"),
               "r[0][0] == 1", False, APART, "a read precedes a write of its thread in causality order"),
        Litmus("coherence, two writes of a thread", (f"{ST} [x], 1; {ST} [x], 2", f"{RLD} %r0, [y]"), "x == 1", False,
               APART, "causality order is coherence order"),
        Litmus("coherence, a read then a write by two threads",
               (f"{RLD} %r0, [x]; {RST} [x], 1", f"{RST} [x], 2"), "r[0][0] == 2 and x == 2", False, APART, location),
        writes("relaxed", "", True, NO_SYNC), writes("fence.acq_rel", ACQ_REL, True, "no read observes a write"),
        writes("fence.sc", SC, False, "fence-sc order, then coherence"),
        Litmus("a write after a read (S), fences",
               (f"{ST} [x], 2; {ACQ_REL}; {RST} [y], 1", f"{RLD} %r0, [y]; {ACQ_REL}; {ST} [x], 1"),
               "r[1][0] == 1 and x == 2", False, APART, "causality order is coherence order"),
        Litmus("a write after a read (S)", (f"{RST} [x], 2; {RST} [y], 1", f"{RLD} %r0, [y]; {RST} [x], 1"),
               "r[1][0] == 1 and x == 2", True, APART, NO_SYNC),
        four("relaxed", "", True, NO_SYNC), four("fence.acq_rel", ACQ_REL, True, "neither reader tells the other"),
        four("fence.sc", SC, False, "fence-sc order: the later reader knows what the first one saw"),
        Litmus("atomic additions", ("atom.global.add.u32 %r0, [x], 1", "atom.global.add.u32 %r0, [x], 1"), "x != 2",
               False, APART, "atomicity of morally strong operations"),
        Litmus("atomic additions of scope cta, two blocks",
               ("atom.global.cta.add.u32 %r0, [x], 1", "atom.global.cta.add.u32 %r0, [x], 1"), "x != 2", True, APART,
               "atomics that are not morally strong"),
        Litmus("atomic additions of scope cta, one block",
               ("atom.global.cta.add.u32 %r0, [x], 1", "atom.global.cta.add.u32 %r0, [x], 1"), "x != 2", False,
               TOGETHER,
               "atomicity of morally strong operations"),
        Litmus("additions without an atomic",
               tuple(f"{LD} %r0, [x]; add.u32 %r0, %r0, 1; {ST} [x], %r0" for _ in "ab"), "x != 2", True, APART,
               "a race"),
    ]  # fmt: skip


TESTS = (*_passing(), *_buffering(), *_coherence())

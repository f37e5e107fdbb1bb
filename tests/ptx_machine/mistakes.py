"""Planted mistakes: changes of a kernel's text, of nvcc's PTX, or of what the host does."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cuda.launch.sequence import layout as layouts
from minirnn.devices.cuda.launch.sequence import one_launch
from tests.devices.cuda.launch.sequence import ladder_cases as ladder

HEAD, *SECTIONS = (Path(__file__).parent / "assembly.cu").read_text(encoding="utf-8").split("// ---- ")
ASSEMBLY = {section.partition("\n")[0]: HEAD + "// " + section for section in SECTIONS}


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
        One letter for each of `planted.JUDGES`: ``y``, ``n``, or ``-`` where it can't be seen.
    more : tuple of (str, str)
        Further changes of the text.
    host : callable, optional
        Instead of a change of the text: changes what the host does on a device, for as long as the patch.
    sizes : tuple of int
        B and H of the layer, if not those of most mistakes.
    warps : int
        Warps of a block of the persistent backward pass.
    ragged : bool
        Whether the rows of the layer have different lengths.
    """

    name: str
    where: str
    old: str
    new: str
    noticed: str
    more: tuple[tuple[str, str], ...] = ()
    host: Callable[[pytest.MonkeyPatch, Any], None] | None = None
    sizes: tuple[int, int] | None = None
    warps: int = 1
    ragged: bool = False

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


def case_of(mistake: Mistake, seed: int) -> ladder.Case:
    """The layer in which a mistake is planted."""
    T, (B, H) = (6, (20, 8)) if mistake.where == "barrier" else (9, (3, 16))
    B, H = mistake.sizes or (B, H)
    rng = np.random.default_rng(seed)
    return ladder.random_case(rng, "lstm", T, B, 2, H, D=1, dtype="f4", ragged=mistake.ragged)


# ---- mistakes of the host


def fill_zeros(patch: pytest.MonkeyPatch, device: Any) -> None:
    patch.setattr(one_launch, "EMPTY", 0)


def no_fill(patch: pytest.MonkeyPatch, device: Any) -> None:
    """Only words of errors are cleared."""
    real = device.driver.memset
    patch.setattr(device.driver, "memset", lambda ptr, byte, n: real(ptr, byte, n) if n <= 4 * 256 else None)


def fill_late(patch: pytest.MonkeyPatch, device: Any) -> None:
    """Memory for messages is filled after the launch."""
    fill, launched, late = device.driver.memset, device.missed.launched, list[Any]()

    def memset(*what: Any) -> None:
        late.append(what) if what[1] == one_launch.EMPTY else fill(*what)

    def after() -> None:
        while late:
            fill(*late.pop())
        launched()

    patch.setattr(device.driver, "memset", memset)
    patch.setattr(device.missed, "launched", after)


def fill_once(patch: pytest.MonkeyPatch, device: Any) -> None:
    """Memory for messages is filled for the first layer only: the second one has that layer's."""
    case_of(Mistake("", "ladder", "", "", ""), 7).run(device)
    no_fill(patch, device)


def with_launches(patch: pytest.MonkeyPatch, device: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """The sizes of each launch of a kernel of one launch are changed."""
    real = device.kernel_of

    def kernel_of(*which: Any, **chosen: Any) -> Any:
        kernel = real(*which, **chosen)
        if not kernel.name.startswith(("cell_barrier", "cell_persistent")):
            return kernel

        def launch(*args: Any, **sizes: Any) -> None:
            change(sizes)
            kernel(*args, **sizes)

        launch.name, launch.max_resident_blocks = kernel.name, kernel.max_resident_blocks  # type: ignore[attr-defined]
        return launch

    patch.setattr(device, "kernel_of", kernel_of)


def half_of_shared(patch: pytest.MonkeyPatch, device: Any) -> None:
    with_launches(patch, device, lambda sizes: sizes.update(shared=sizes["shared"] // 2))


def plain(patch: pytest.MonkeyPatch, device: Any) -> None:
    with_launches(patch, device, lambda sizes: sizes.pop("cooperative"))


def vectors_always(patch: pytest.MonkeyPatch, device: Any) -> None:
    patch.setattr(layouts, "piece_of", lambda sizes: 4)


WAIT = "        if (step + 1 < T && !barrier.wait(step + 1, watch)) return;\n"
LATE_H = """        for (int cell = threadIdx.x; cell < B * owned; cell += blockDim.x) {
            const int row = cell / owned, unit = first_unit + cell % owned;
            h_after[row * H + unit] = y[direction.at(t, row, unit)];
        }
"""
COUNTS = "atomicAdd(arrived, 1u) + 1 =="
SIXTEEN = r"(shfl\.sync\.bfly\.b32[^;]*), (?:%r\d+|-1);"

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
    Mistake("the memory for messages holds zeros", "ladder", "", "", "yyy", host=fill_zeros),
    Mistake("the memory for messages is not filled", "ladder", "", "", "yyy", host=no_fill),
    Mistake("no barrier between the shares of sums and the cells", "ladder",
            "            __syncthreads();\n\n            if (has_cell)", "            if (has_cell)", "yyy"),
    Mistake("a number keeps its last bit", "ladder", "NOT_SENT >> 1 : rounded) & ~Bits(1)",
            "NOT_SENT >> 1 : rounded)", "yyy"),
    # ---- C++, in the plain kernels of one launch and their barrier; the first eleven are docs/appendix/puzzles.md
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
    Mistake("h is read by __ldg", "barrier", "const real h_k = h_before[row * H + k];",
            "const real h_k = __ldg(h_before + row * H + k);", "nyy"),
    Mistake("the counter of the barrier is a volatile, and no atomic", "barrier",
            COUNTS, "++*(volatile u32 *)arrived ==", "nyy"),
    Mistake("the counter is an atomic of the block's scope", "barrier",
            COUNTS, "atomicAdd_block(arrived, 1u) + 1 ==", "nyy"),
    Mistake("a barrier of the warp where the block must wait", "barrier",
            "        __syncthreads();  // all threads of this block have written\n",
            "        __syncwarp();  // all threads of this block have written\n", "nyy"),
    Mistake("launch bounds are smaller than the block", "barrier", "__launch_bounds__(THREADS, 1) cell_barrier(",
            "__launch_bounds__(32, 1) cell_barrier(", "yyy"),
    Mistake("no barrier of the block after the barrier of the grid", "barrier",
            "return !__syncthreads_or(watch.lost);", "return !watch.lost;", "yyy"),
    Mistake("nobody waits for the flag", "barrier",
            "for (u32 looked = 1; *round < n && !watch.lost; looked++) watch.missed(looked, n);", "", "yyy"),
    Mistake("a fence of the block before a block counts as here", "barrier",
            "__threadfence();  // the block's", "__threadfence_block();  // the block's", "nyy"),
    Mistake("the weights are used before all are there", "barrier",
            "    __syncthreads();\n\n    const GridBarrier", "    const GridBarrier", "yyy"),
    Mistake("all blocks of one round are enough for all", "barrier", "== n * blocks", ">= blocks", "yyy"),
    # ---- C++ or the host, in both
    Mistake("gradients of gates are read by __ldg", "barrier",
            "da_after[(i64)row * COLUMNS * H + n] * w", "__ldg(da_after + (i64)row * COLUMNS * H + n) * w", "nyy"),
    Mistake("threads without a cell skip the barrier", "barrier", "if (step + 1 < T && !barrier",
            "if (step + 1 < T && threadIdx.x < B * owned && !barrier", "nyn"),
    Mistake("two threads of a block count", "barrier", "if (threadIdx.x == 0) {", "if (threadIdx.x < 2) {", "yyy"),
    Mistake("two blocks own one unit", "barrier",
            "first_unit = blockIdx.x * units, owned = min(units, H - first_unit);",
            "first_unit = min(blockIdx.x * units, H - units), owned = units;", "yyy", sizes=(20, 11)),
    Mistake("lengths are read as 64-bit numbers", "barrier",
            "valid = counts(lengths, t, row);  // past",
            "valid = !lengths || t < ((const i64 *)lengths)[row];  // past", "yyy", ragged=True),
    Mistake("h is stored after the barrier of the block", "barrier", WAIT + "    }\n}\nextern",
            WAIT + LATE_H + "    }\n}\nextern", "yyy",
            more=(("            h_after[row * H + unit] = valid ? s.after[I] : s.before[I];\n", ""),)),
    Mistake("a plain launch of blocks that wait for each other", "barrier", "", "", "nny", host=plain),
    Mistake("half of the shared memory (barrier)", "barrier", "", "", "nyy", host=half_of_shared),
    Mistake("half of the shared memory", "ladder", "", "", "nyy", host=half_of_shared),
    Mistake("a barrier of the warp between the shares of sums and the cells", "ladder",
            "            __syncthreads();\n\n            if (has_cell)",
            "            __syncwarp();\n\n            if (has_cell)", "nyy"),
    Mistake("the tile is not cleared", "ladder", "clear(memory, ROWS * length);", "", "yyy"),
    Mistake("one tile instead of two", "ladder", "memory + tile * ROWS * length", "memory", "nyn",
            sizes=(5, 16), warps=2),
    Mistake("threads without a unit return at once", "ladder", "    Biases<Cell> bias = {};\n",
            "    if (!has_unit) return;\n    Biases<Cell> bias = {};\n", "yyy"),
    Mistake("one share too few is awaited", "ladder", "slices - first, phase", "slices - first - 1, phase", "yyy"),
    Mistake("16-byte loads of unaligned rows", "ladder", "", "", "yyy", host=vectors_always, sizes=(3, 18)),
    Mistake("messages are filled after the launch", "ladder", "", "", "yyy", host=fill_late),
    Mistake("messages are filled for the first layer only", "ladder", "", "", "yyy", host=fill_once),
    Mistake("a shuffle names half of the warp", "ladder's PTX", SIXTEEN, r"\1, 65535;", "--y"),
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

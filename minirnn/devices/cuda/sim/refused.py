"""CUDA features that the simulator lacks, or that compilers no longer accept: a sentence for each, with its line.

The preprocessor reports missing headers; words are searched in the preprocessed text, so code inside ``#ifndef
__CUDASIM__`` is not refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim.markers import Markers

HEADERS = {
    r"mma\.h": "tensor cores by nvcuda::wmma are not simulated: multiply with plain loops, or from Python",
    r"cuda/(std/)?atomic": "cuda::atomic is not simulated: use atomicAdd and its family, with __threadfence",
    r"cuda/(std/)?(barrier|semaphore|latch)": "cuda::barrier and the like are not simulated: use __syncthreads,"
    " or cooperative groups",
    r"cuda/pipeline|cuda_pipeline.*": "cuda::pipeline is not simulated: use memcpy_async and wait of"
    " cooperative_groups/memcpy_async.h",
    r"cuda/.*": "libcu++ (cuda::, cuda::std::) is not simulated: use plain C++ and CUDA's own functions",
    r"curand.*": "cuRAND is not simulated: draw random numbers on the host, or compute them from a counter",
    r"cub/.*": "CUB is not simulated: write out the reduction, scan or sort, as minirnn's kernels do",
    r"thrust/.*": "Thrust is host code: launch kernels from Python",
    r"(cublas|cusparse|cusolver|cufft|cudnn|nccl|nvshmem|cutlass|cute)[\w/.]*": "NVIDIA's libraries are not simulated:"
    " call them from Python, or write out the kernel",
}
"""Maps a header to advice without it."""

LAUNCH = (
    'kernels are launched from Python here: module.function("name")(..., grid=(8,), block=(256,)), not by <<<...>>>'
)
NESTED = "a kernel that launches kernels (dynamic parallelism) is not simulated: launch both from Python"
HOST = "{word} is a call of host code, which is Python here: driver.alloc, driver.h2d, driver.d2h"
WORDS: list[tuple[str, str]] = [
    (r"<<<", LAUNCH),
    (
        r"\b(?:asm|__asm__|__asm)\b",
        "inline PTX is not simulated: keep it behind #ifndef __CUDASIM__, and write it out in C++ for the simulator",
    ),
    (
        r"\b(?:__shfl|__shfl_up|__shfl_down|__shfl_xor|__any|__all|__ballot)(?=\s*\()",
        "CUDA has no {word} any more: write {word}_sync(0xffffffff, ...), "
        " whose first argument is the lanes that take part",
    ),
    (
        r"\b(?:tex[123]D|texCubemap|surf[123]D|surfCubemap)\w*(?=\s*[(<])|\btexture(?=\s*<)|\bcuda(?:Texture|Surface)Object_t",
        "textures and surfaces are not simulated: read the array through a pointer",
    ),
    (
        r"\b__cluster\w*(?=\s*\()|\b__threadfence_cluster\b|\bthis_cluster\b|\bcluster_group\b",
        "clusters of blocks are not simulated: blocks can communicate through global memory, an atomic and a fence",
    ),
    (r"\b(?:nvcuda::)?wmma::", HEADERS[r"mma\.h"]),
    (r"\bcuda[A-Z]\w*(?=\s*\()", HOST),
]
"""Maps a word of the text to the sentence about it."""

OWN = "a call of {word}, which is a host function, from device code: write __device__ before its definition"
LIBRARY = (
    "a call of {word}, which is a host function, from device code: a kernel calls mathematics and CUDA's functions"
)
OF_CUDA = frozenset(
    ("abs", "alloca", "clock", "free", "labs", "llabs", "malloc", "memcpy", "memmove", "memset", "printf")
)
"""Functions of the C library that CUDA has in kernels as well, besides mathematics."""
OF_STD = re.compile(
    r"numeric_limits|u?int((_least|_fast)?\d+|ptr|max)_t|size_t|ptrdiff_t|nullptr_t|byte|move|forward|declval|min|max"
    r"|(is|has|add|remove|make|enable|conditional|decay|common|underlying|invoke|aligned|alignment|integral|bool)_\w+"
    r"|conditional|decay|(true|false)_type|void_t|(con|dis)junction(_v)?|negation(_v)?|(integer|index)_sequence|rank|extent"
)
"""Names of std that a kernel may use: types, and functions that nvcc knows."""
MATHEMATICS = re.compile(r"(^|/)(math[\w-]*|cmath|std_abs)(\.h)?$")
"""Headers whose functions CUDA has in kernels."""
USE = re.compile(
    r"(?P<scope>\b\w+(?:<[^<>;{}]*>)?\s*::\s*|::\s*)?(?<![\w.])(?<!->)(?P<name>[A-Za-z_]\w*)(?P<call>\s*\()?"
)
POINTER = re.compile(r"(=|[(,{]\s*&|return\s*&?)\s*&?\s*$")
"""What comes before the name of a function whose address is taken."""
KEYWORDS = frozenset(
    (
        "if",
        "for",
        "while",
        "switch",
        "return",
        "sizeof",
        "alignof",
        "alignas",
        "decltype",
        "noexcept",
        "static_assert",
        "catch",
    )
)
BEFORE_A_CALL = frozenset(("return", "else", "do", "throw", "case", "co_return", "and", "or", "not", "xor"))

STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^\#[^\n]*'
STRING_OR_WORD = re.compile(
    "|".join([STRING, *(rf"(?P<w{n}>{pattern})" for n, (pattern, _) in enumerate(WORDS))]), re.MULTILINE
)
MISSING = re.compile(r"^(.*?:\d+):\d+: fatal error: '?([^':]+)'?(?:: No such file| file not found)", re.MULTILINE)


def missing_header(complaint: str) -> CompileError | None:
    """The error for a header of CUDA that the simulator lacks, if the preprocessor reports one as missing."""
    found = MISSING.search(complaint)
    if found is None:
        return None
    place, header = found.groups()
    for pattern, sentence in HEADERS.items():
        if re.fullmatch(pattern, header.strip()):
            return CompileError(f"{place}: {sentence}")
    return None


def refuse(
    text: str,
    markers: Markers,
    functions: list[tuple[int, int]],
    own: Set[str] = frozenset(),
    host: Set[str] = frozenset(),
) -> None:
    """Raise `CompileError` at the first word that the simulator does not accept, or that device code may not call.

    Parameters
    ----------
    text : str
        Preprocessed CUDA C++.
    markers : Markers
        The origin of each place: only words in the user's files count.
    functions : list of (int, int)
        The start and end of each device function.
    own, host : set of str
        The user's functions with ``__device__``, and those without.
    """
    for begin, end in markers.users():
        for found in STRING_OR_WORD.finditer(text, begin, end):
            if found.lastgroup is None:
                continue
            position = found.start()
            sentence = WORDS[int(found.lastgroup[1:])][1]
            if sentence in (LAUNCH, HOST) and any(start < position < stop for start, stop in functions):
                sentence = NESTED
            raise CompileError(f"{markers.line(position)}: {sentence.format(word=found.group())}")
    calls = [use for begin, end in functions for use in _uses(text, begin, end)]
    for word, position in calls:
        if word in host:
            raise CompileError(f"{markers.line(position)}: {OWN.format(word=word)}")
    _refuse_library(dict(reversed(calls)), text, markers, own)


def _uses(text: str, begin: int, end: int) -> Iterator[tuple[str, int]]:
    """Each name that device code of the user calls, and each name of std, with its place."""
    plain = re.sub(STRING, lambda found: " " * len(found.group()), text[begin:end], flags=re.MULTILINE)
    lambdas = re.findall(r"\b(\w+)\s*=\s*\[", plain)
    for found in USE.finditer(plain):
        scope, name = (found["scope"] or "").replace(" ", ""), found["name"]
        if scope == "std::":
            yield f"std::{name}", begin + found.start()
        elif name.startswith("__builtin_") and found["call"]:
            yield name.removeprefix("__builtin_"), begin + found.start()
        elif POINTER.search(plain[max(0, found.start() - 20) : found.start()]) and plain[found.end()] in ";,)}":
            around = (text[max(0, begin - 500) : begin] + plain).replace("return ", "")  # also the parameters
            variable = rf"[\w>][\s>*&]+{name}\b|\b{name}\s*(=[^=]|\[)"
            if not re.search(variable, around):
                yield name, begin + found.start()
        elif found["call"] and scope in ("", "::") and name not in KEYWORDS and not name.startswith("__"):
            before = re.search(r"([\w>*&]+)\s*$", plain[max(0, found.start() - 100) : found.start()])
            declares = before and before.group(1)[-1] not in "*&" and before.group(1) not in BEFORE_A_CALL
            if not declares and name not in lambdas:  # unlike `float time(2)`
                yield name, begin + found.start()


def _refuse_library(calls: Mapping[str, int], text: str, markers: Markers, own: Set[str]) -> None:
    """Raise `CompileError` at the first call of a function that only a header of the system declares."""
    plain = {word: word.removeprefix("std::") for word in calls if word not in own}
    left = {word: name for word, name in plain.items() if name not in OF_CUDA and not OF_STD.fullmatch(name)}
    if not left:
        return
    declared = re.compile(rf"\b(?:{'|'.join(sorted(set(left.values())))})\b(?=\s*\()")
    known: set[str] = set()
    hosts: set[str] = set()
    for begin, end, file, system in markers.headers():
        (hosts if system and not MATHEMATICS.search(file) else known).update(declared.findall(text, begin, end))
    wrong = [word for word, name in left.items() if name not in known and (word != name or name in hosts)]
    if wrong:
        word = min(wrong, key=lambda word: calls[word])
        raise CompileError(f"{markers.line(calls[word])}: {LIBRARY.format(word=word)}")

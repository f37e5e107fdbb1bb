"""CUDA features that the simulator lacks, or that compilers no longer accept: a sentence for each, with its line.

The preprocessor reports missing headers; words are searched in the preprocessed text, so code inside ``#ifndef
__CUDASIM__`` is not refused.
"""

from __future__ import annotations

import re

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


def refuse(text: str, markers: Markers, functions: list[tuple[int, int]]) -> None:
    """Raise `CompileError` at the first word that the simulator does not accept.

    Parameters
    ----------
    text : str
        Preprocessed CUDA C++.
    markers : Markers
        The origin of each place: only words in the user's files count.
    functions : list of (int, int)
        The start and end of each device function.
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

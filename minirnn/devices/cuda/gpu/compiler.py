"""How nvcc makes machine code for a GPU of a .cu file, by way of PyCUDA, which keeps it on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from minirnn.devices import cells
from minirnn.devices.cuda.driver import CompileError

KERNELS = Path(__file__).parents[1] / "kernels"
FLAGS = ("-std=c++17", "-lineinfo", "-diag-suppress=186")
"""The flags of every compilation. 186: "pointless comparison of unsigned integer with zero", which stands in files for
all number types."""


class Compiler:
    """Compiles for one GPU.

    Parameters
    ----------
    drv, compiler : module
        ``pycuda.driver`` and ``pycuda.compiler``.
    capability : tuple of int
        The GPU's compute capability.
    """

    def __init__(self, drv: Any, compiler: Any, capability: tuple[int, int]) -> None:
        self._drv, self._compiler, self._arch = drv, compiler, "sm_{}{}".format(*capability)
        if folder := os.environ.get("PYCUDA_CACHE_DIR"):
            with suppress(OSError):  # PyCUDA does not make it, and would compile each time without a word
                os.makedirs(folder, exist_ok=True)

    def load(self, source: str, name: str, options: Sequence[str]) -> tuple[bytes, Any]:
        """Machine code, and the module loaded from it. Raises `CompileError`, which names the file and line of `name`.

        The GPU's context must be current.
        """
        try:
            try:
                binary = self._cubin(source, name, options, None)
                return binary, self._drv.module_from_buffer(binary)
            except (self._drv.LogicError, OSError):  # a file of the cache that was cut off, or no folder to write to
                binary = self._cubin(source, name, options, False)
                return binary, self._drv.module_from_buffer(binary)
        except self._drv.CompileError as error:
            said = "\n".join(text.strip() for text in (error.stdout, error.stderr) if text)
            chosen = " ".join(options) or "no options"
            raise CompileError(f"{name} does not compile with {chosen}\n{said or error}") from error
        except OSError as error:
            raise CompileError(f"{name}: nvcc cannot be run: {error}\n  try: minirnn doctor") from error

    def _cubin(self, source: str, name: str, options: Sequence[str], cache: bool | None) -> bytes:
        """Machine code from PyCUDA's disk cache (unless `cache` is False) or else from nvcc."""
        text, flags = for_nvcc(source, name, options)
        include = [str(KERNELS), str(cells.INCLUDE)]
        code: bytes = self._compiler.compile(
            text, options=flags, no_extern_c=True, arch=self._arch, cache_dir=cache, include_dirs=include
        )
        return code


def for_nvcc(source: str, name: str, options: Sequence[str]) -> tuple[str, list[str]]:
    """The text and the flags with which a kernel file is compiled."""
    # For a source that has "#include" in it, PyCUDA runs nvcc's preprocessor each time to make the key of its cache.
    # Spelled like this it does not, and a hash of all files that may be included takes that place in the key.
    text = f'#line 1 "{name}"\n' + source.replace("#include", "# include")
    files = b"".join(path.read_bytes() for path in (*sorted(KERNELS.rglob("*.cuh")), *cells.headers()))
    headers = hashlib.sha256(files).hexdigest()[:16]
    return text, [*FLAGS, *options, f"-DMINIRNN_HEADERS={headers}"]

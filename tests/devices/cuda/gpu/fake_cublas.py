"""A libcublas that computes nothing and records its calls."""

from __future__ import annotations

from typing import Any


class Cublas:
    """The functions of the library, and their recorded calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.compute: list[int] = []
        self.destroyed = 0
        self.handles = 0

    def cublasCreate_v2(self, result: Any) -> int:
        self.handles += 1
        result._obj.value = 98 + self.handles
        return 0

    def cublasDestroy_v2(self, handle: Any) -> int:
        self.destroyed += 1
        return 0

    def cublasSetStream_v2(self, handle: Any, stream: int) -> int:
        self.asked.append(f"stream {stream}")
        return 0

    def cublasSetWorkspace_v2(self, handle: Any, workspace: int, nbytes: int) -> int:
        assert workspace % 256 == 0
        self.asked.append(f"workspace {nbytes}")
        return 0

    def cublasSetMathMode(self, handle: Any, mode: int) -> int:
        self.asked.append(f"math {mode}")
        return 0

    def cublasGetStatusString(self, status: int) -> bytes:
        return b"status"

    def cublasGemmEx(self, *given: Any) -> int:
        self.compute.append(given[-2])
        return 0

    cublasGemmStridedBatchedEx = cublasGemmEx

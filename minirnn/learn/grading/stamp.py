"""What a report says about how it was made: the versions and the machine, see `Stamp`."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache

import numpy as np

from minirnn import __version__
from minirnn.learn.course import Course
from minirnn.learn.grading.courses import digest_of
from minirnn.learn.reports.stamp import Stamp
from minirnn.learn.sandbox import protection
from minirnn.learn.sandbox.system_locks import in_force
from minirnn.machine import computer


def stamp_of(course: Course) -> Stamp:
    """The stamp of this machine and this course."""
    return Stamp(
        __version__, platform.python_version(), np.__version__, f"{platform.platform()} on {computer.processor()}",
        digest_of(course.folder, seed=False)[:12], seed_hash(course), tuple(protection()), in_force(),
    )  # fmt: skip


def seed_hash(course: Course) -> str:
    """A hash of the hidden seed, by which two runs can be compared. It is slow to compute, so that few seeds can be
    tried.
    """
    return _slow_hash(str(course.hidden_seed).encode(), digest_of(course.folder, seed=False).encode())


@lru_cache(maxsize=8)
def _slow_hash(password: bytes, salt: bytes) -> str:
    return hashlib.scrypt(password, salt=salt, n=1 << 15, r=8, p=1, maxmem=1 << 27, dklen=6).hex()

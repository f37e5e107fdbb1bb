"""What was timed on a GPU, kept on disk: a JSON file for each GPU, driver, compiler and version of the kernels.

Several processes may use the file at once. It is written as a whole and then takes the old one's place, so a reader
never sees half of it. A file that cannot be understood counts as an empty one, and one that cannot be written is done
without.

Before a rung is run for the first time the file says so, and afterwards no longer. A process that a kernel has brought
down cannot write any more: the next one finds the mark and leaves that rung alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from minirnn.devices.cuda.cache_folder import cache_folder

FORMAT = 1
PATIENCE = 120.0
"""Seconds to wait for another process that is timing. Then one times, too, and the numbers may suffer."""
ENDED = "a process that ran it did not survive"
"""Why a rung is dropped whose mark was found."""
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Timing:
    """What is known of one class of layers in one pass.

    Attributes
    ----------
    steps : int
        The steps of the sequences that were timed.
    seconds : dict
        Candidate (a rung, or ``"steps as a graph"``) -> seconds of one pass.
    dropped : dict
        Candidate -> why it must not be used.
    """

    steps: int
    seconds: dict[str, float] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(found: Any) -> Timing | None:
        """From what a file holds; None if that is no timing."""
        if not isinstance(found, dict) or not isinstance(found.get("steps"), int):
            return None
        seconds, dropped = found.get("seconds"), found.get("dropped")
        if not isinstance(seconds, dict) or not isinstance(dropped, dict):
            return None
        if not all(type(t) in (int, float) and 0 <= t < float("inf") for t in seconds.values()) or not seconds:
            return None
        reasons = {name: str(why) for name, why in dropped.items()}
        return Timing(found["steps"], {name: float(t) for name, t in seconds.items()}, reasons)


class Timings:
    """The file of one GPU.

    Parameters
    ----------
    about : mapping
        What the timings hold for: GPU, driver, compiler.
    folder : path, optional
        By default ``cuda`` in the folder that ``MINIRNN_CACHE`` names, or in the user's cache folder.
    """

    def __init__(self, about: Mapping[str, Any], folder: Path | None = None) -> None:
        self.about = {**about, "kernels": fingerprint()}
        name = hashlib.sha256(json.dumps(self.about, sort_keys=True).encode()).hexdigest()[:16]
        self.path = (folder or cache_folder("cuda")) / f"cudnn_rnn-{name}.json"

    def read(self) -> dict[str, Timing]:
        """All timings by the name of their class; those that cannot be understood are left out."""
        return {name: timing for name, found in self._parts("timings").items() if (timing := Timing.of(found))}

    def put(self, name: str, timing: Timing) -> None:
        """Keep a timing."""
        self._write("timings", name, asdict(timing))

    def lost_in(self, name: str) -> dict[str, str]:
        """The candidates of a class that a process was running when it ended, and that as the reason."""
        marks = self._parts("running").get(name)
        return {str(candidate): ENDED for candidate in marks} if isinstance(marks, list) else {}

    def mark(self, name: str, candidate: str) -> None:
        """Note that this candidate is about to be run."""
        self._write("running", name, [*self.lost_in(name), candidate])

    def unmark(self, name: str, candidate: str) -> None:
        """Note that this process has survived it."""
        self._write("running", name, [c for c in self.lost_in(name) if c != candidate] or None)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Inside, no other process times on this machine (where the system has locks, and for `PATIENCE` seconds)."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, ImportError):
                import fcntl

                self.path.parent.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context(open(self.path.with_suffix(".lock"), "w"))
                end = time.monotonic() + PATIENCE
                while True:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system gives it back if we die
                        break
                    except BlockingIOError:
                        if time.monotonic() > end:
                            break
                        time.sleep(0.02)
            yield

    def _all(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) and found.get("format") == FORMAT else {}

    def _parts(self, part: str) -> dict[str, Any]:
        found = self._all().get(part)
        return found if isinstance(found, dict) else {}

    def _write(self, part: str, name: str, value: Any) -> None:
        """Set one entry, or take it out if it is None. A file that cannot be written stays as it is."""
        kept = {each: self._parts(each) for each in ("timings", "running")}
        kept[part].pop(name, None)
        if value is not None:
            kept[part][name] = value
        text = json.dumps({"format": FORMAT, "about": self.about, **kept}, indent=1, sort_keys=True)
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, made = tempfile.mkstemp(dir=self.path.parent, suffix=".new")
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())  # the mark of a kernel that brings the machine down shall be there
                os.replace(made, self.path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(made)
                raise


@cache
def fingerprint() -> str:
    """A hash of the kernels, and of the code that launches them."""
    kernels = HERE.parents[1] / "kernels"
    files = [*kernels.glob("*.cuh"), *(kernels / "cudnn_rnn").glob("*"), *HERE.glob("*.py")]
    texts = [file.read_bytes() for file in sorted(files) if file.is_file()]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]

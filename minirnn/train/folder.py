"""The output folder of ``minirnn train``: one run, written by one process at a time."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.io.atomic import atomic_write, naming

try:
    import fcntl
except ImportError:  # not a POSIX system: there, two runs in one folder are not noticed
    fcntl = None  # type: ignore[assignment]

CHECKPOINT, METRICS = "checkpoint.safetensors", "metrics.jsonl"
FILES = {
    "loss.png": "the loss, compared with what is possible without memory",
    "gradient_flow.png": "how far back in time the gradient reaches, before and after training",
    "units.png": "text, colored by the units that tell most about it",
    "units.html": "the same as a page, with the number of each character",
    "gates.png": "what the gates of each unit do while the model reads",
    "sample.txt": "what the model writes",
    METRICS: "the values of the loss curve, one line every 10 steps",
    CHECKPOINT: "everything needed to continue",
}


class Busy(UserError):
    """Another process is writing in the folder."""


def check(folder: Path, resume: bool) -> None:
    """Raise UserError if a run can't be started (or resumed) in `folder`; it is left as it was."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--out {folder} is a file; it must be a folder, or not exist yet")
    if resume:
        if not (folder / CHECKPOINT).exists():
            raise UserError(f"nothing to resume: there is no {folder / CHECKPOINT}; to start a run, leave --resume out")
        check_writable(folder)
        return
    there = [name for name in reversed(FILES) if (folder / name).exists()]
    if there:
        raise UserError(
            f"{folder} already holds a run ({there[0]}): continue it with --resume, or choose another --out"
        )
    check_writable(folder)


def check_writable(folder: Path) -> None:
    """Raise UserError if no files can be made in `folder`. It makes one, because permissions do not tell everything.

    Missing folders are created for the test inside a folder with a unique name, and removed again. A process that
    starts at the same time and needs the same folders never sees them.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    there = missing[-1].parent if missing else folder
    tried = missing[-1] if missing else folder
    with user_mistakes():
        try:
            with tempfile.TemporaryDirectory(dir=there, prefix=".minirnn-") as trial:
                place = Path(trial)
                for tried in reversed(missing):
                    place = trial / tried.relative_to(there)
                    if not place.exists():  # it is there if its name is ".."
                        place.mkdir()
                with tempfile.TemporaryFile(dir=place):
                    pass
        except OSError as error:  # the name that the user gave
            raise OSError(error.errno, error.strerror or str(error), str(tried)) from error


@contextlib.contextmanager
def opened(folder: Path, command: str = "train") -> Iterator[None]:
    """Make the folder if it is not there, and keep other processes of the `command` from writing in it.

    Raises
    ------
    Busy
        Another process is at work there. It is a UserError.
    """
    with user_mistakes():
        folder.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however that ends
        except BlockingIOError:
            raise Busy(
                f"{folder}: another minirnn {command} is writing there; wait for it, or choose another --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


class MetricsFile:
    """metrics.jsonl: one JSON object per line, appended during training.

    When a run is resumed, the file is rewritten from the lines in the checkpoint: what a killed process had
    appended after its last checkpoint is dropped, because these steps are repeated.
    """

    def __init__(self, folder: Path, lines: Sequence[dict[str, Any]]) -> None:
        with user_mistakes(), atomic_write(folder / METRICS) as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        self.written = len(lines)
        self.file = open(folder / METRICS, "a", encoding="utf-8", newline="")  # noqa: SIM115 (closed by __exit__)

    def append(self, lines: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Append the new entries of `lines` at once, and return them."""
        new = lines[self.written :]
        if new:
            with naming(self.file.name):
                self.file.write("".join(json.dumps(line) + "\n" for line in new))
                self.file.flush()
            self.written = len(lines)
        return new

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with naming(self.file.name):  # what could not be written is tried once more
            self.file.close()

"""What ``minirnn train`` shows while it works, and how Ctrl-C reaches it."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

PLAIN_EVERY = 100
"""Without a terminal, the number of steps between two printed lines."""


class Interrupt:
    """While a run trains, Ctrl-C only sets `requested`: the step and whatever is being saved are completed.

    Inside ``with interrupt.at_once():``, which is for work that can be done again, Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.requested = False
        self._at_once = False

    def __enter__(self) -> Self:
        # Only the main thread may, and need, handle signals.
        self._handles = threading.current_thread() is threading.main_thread()
        if self._handles:
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handles:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if self._at_once:
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        try:
            self._at_once = True
            yield
        finally:
            self._at_once = False


class Progress:
    """A progress bar on a terminal, otherwise a line every `PLAIN_EVERY` steps; nothing if `quiet`."""

    def __init__(self, done: int, steps: int, quiet: bool) -> None:
        self.done, self.steps, self.quiet = done, steps, quiet
        self.began = time.perf_counter()
        self.bar: Any = None
        self.validation: float | None = None
        if not quiet and sys.stderr.isatty():
            from tqdm import tqdm

            wide = os.get_terminal_size(sys.stderr.fileno()).columns > 0  # some report none although they are terminals
            size: dict[str, Any] = {"dynamic_ncols": True} if wide else {"ncols": 80}
            self.bar = tqdm(total=steps, initial=done, unit="step", **size)

    def show(self, step: int, line: dict[str, Any] | None) -> None:
        """Show that a step is done; `line` is its line of metrics, if there is one."""
        if line and line["validation_loss"] is not None:
            self.validation = line["validation_loss"]
        if self.bar is not None:
            self.bar.update(1)
            if line:
                texts = {"loss": line["loss"], "validation": self.validation}
                self.bar.set_postfix({name: f"{value:.3f}" for name, value in texts.items() if value is not None})
        elif not self.quiet and line and (step % PLAIN_EVERY == 0 or step == self.steps):
            parts = [f"step {step:>{len(str(self.steps))}} of {self.steps}", f"loss {line['loss']:.3f}"]
            if self.validation is not None:
                parts.append(f"validation {both_units(self.validation)}")
            passed = time.perf_counter() - self.began
            left = passed / (step - self.done) * (self.steps - step)
            parts.append(f"{passed:.0f} s" + (f", about {left:.0f} s left" if left >= 1 else ""))
            print("   ".join(parts), flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()


def both_units(nats: float) -> str:
    """A loss in nats and in bits."""
    return f"{nats:.3f} nats = {nats / math.log(2):.3f} bits"

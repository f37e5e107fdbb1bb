"""One process of an answer, as the judge sees it: its pipes and its printed text."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

MOST_OUTPUT = 20_000
"""The number of printed bytes of an answer that are kept."""


class Session:
    """One process of an answer, requested from its supervisor through the socket `control`."""

    def __init__(self, control: socket.socket, output: bytearray) -> None:
        self.output, self.complaints = output, bytearray()
        self.ready = False
        self.pid = 0
        self.status: int | None = None
        pairs = [os.pipe() for _ in range(4)]
        (given, self.requests), (self.replies, sent), (printed, out), (complained, err) = pairs
        os.set_blocking(self.requests, False)  # an answer that reads nothing must not block the judge
        try:
            with contextlib.suppress(OSError):  # the supervisor is gone; the next wait reports it
                socket.send_fds(control, [b"s"], [given, sent, out, err])
        finally:
            for descriptor in (given, sent, out, err):
                os.close(descriptor)
        self.readers = [
            threading.Thread(target=drain, args=(source, kept), daemon=True)
            for source, kept in ((printed, self.output), (complained, self.complaints))
        ]
        for reader in self.readers:
            reader.start()

    def close(self) -> None:
        for descriptor in (self.requests, self.replies):
            os.close(descriptor)

    def drained(self) -> None:
        """Wait until all printed text has been read. The process must have ended."""
        for reader in self.readers:
            reader.join(5)


def drain(descriptor: int, kept: bytearray) -> None:
    """Read all available text and keep the beginning. A flood of prints neither blocks the answer nor fills
    our memory.
    """
    try:
        while data := os.read(descriptor, 1 << 16):
            kept += data[: max(0, MOST_OUTPUT - len(kept))]
    except OSError:
        pass
    finally:
        os.close(descriptor)

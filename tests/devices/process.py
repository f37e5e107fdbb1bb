"""A separate Python process for tests: with Ctrl-C, forks, no compiler or little memory."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

BEGIN = """
import gc, hashlib, os, signal, sys, threading, time
import numpy as np
import minirnn as mr
from minirnn.devices import DeviceUnavailable

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts its background jobs with Ctrl-C ignored
"""
UNAVAILABLE = """
try:
    mr.devices.get({name!r})
except DeviceUnavailable as error:
    print(error)
assert mr.devices.available()[{name!r}] is not None
assert mr.devices.available()["cpu"] is None
assert np.allclose(mr.ops.tanh(mr.tensor([0.0, 1.0])).numpy(), np.tanh([0.0, 1.0]))
"""
"""Reports why a device is missing; another device works."""


def say(code: str, before: Callable[[], None] | None = None, **env: str | None) -> str:
    """The output of a new Python that runs `code`, which must succeed. To stderr it writes only what is compiled.

    `code` may use the definitions above. Environment variables that are None are removed.
    """
    full = {name: value for name, value in (os.environ | env).items() if value is not None}
    command = [sys.executable, "-c", BEGIN + code]
    done = subprocess.run(command, env=full, capture_output=True, text=True, preexec_fn=before, timeout=280)
    assert done.returncode == 0, done.stderr
    assert re.sub(r"minirnn: compiling .*, once\n", "", done.stderr) == ""
    return done.stdout


def script(path: Path, text: str) -> str:
    """A program on the PATH."""
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return str(path)

"""Puts all locks on the process of an answer."""

from __future__ import annotations

import faulthandler
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .locks import hook, landlock, limits, privileges, seccomp


def lock(job: dict[str, Any], watched: Any = None, readable: Sequence[str] = ()) -> None:
    """Put all locks that the system supports on this process for good.

    Parameters
    ----------
    job : dict
        Its ``ways`` are the locks to use. Tests omit some to check that the others suffice.
    watched : child.Answer or None
        The answer whose Python code is also watched, if any.
    readable : sequence of str
        Additional readable paths.
    """
    sys.dont_write_bytecode = True
    here = Path(__file__).parent
    writable = [job["scratch"]] if job["bounded"] else []  # if nothing limits the size, nothing may be written
    limits.limit(job["seconds"], job["memory"], processes=limits.THREADS if job["alone"] else None)
    privileges.drop()
    if "landlock" in job["ways"]:
        package = str(here.parents[1])
        own = [package, str(here / "given.py")] if watched is not None else [os.path.join(package, "devices")]
        files = [*landlock.of_python(), *own, job["scratch"], *readable]
        for path in [*sys.path, package]:  # Python remembers the names in a folder, and cannot list these later
            if finder := pkgutil.get_importer(path):
                finder.find_spec("_minirnn_lists_this")
        landlock.lock(files, writable, secret=job["secret"])
    if "seccomp" in job["ways"]:
        seccomp.lock()
    if watched is not None and "hook" in job["ways"]:
        hook.watch(watched.violation, writable)
    faulthandler.register(signal.SIGUSR1, file=2)  # the judge asks for its position

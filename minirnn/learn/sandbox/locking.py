"""All locks of an answer's process at once."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .locks import hook, landlock, limits, privileges, seccomp


def lock(job: dict[str, Any], watched: Any = None, readable: Sequence[str] = ()) -> None:
    """Put all locks on this process that the system has, for good.

    Parameters
    ----------
    job : dict
        Its ``ways`` are the locks to use; tests leave some out, to see that the others hold.
    watched : child.Answer or None
        Whose Python code is also watched.
    readable : sequence of str
        What may be read in addition.
    """
    sys.dont_write_bytecode = True
    here = Path(__file__).parent
    writable = [job["scratch"]] if job["bounded"] else []  # where nothing bounds it, nothing can be written
    limits.limit(job["seconds"], job["memory"], processes=limits.THREADS if job["alone"] else None)
    privileges.drop()
    if "landlock" in job["ways"]:
        package = str(here.parents[1])
        own = [package, str(here / "given.py")] if watched is not None else [os.path.join(package, "devices")]
        files = [*landlock.of_python(), *own, job["scratch"], *readable]
        landlock.lock(files, writable, secret=job["secret"], listable=[job["root"]])
    if "seccomp" in job["ways"]:
        seccomp.lock()
    if watched is not None and "hook" in job["ways"]:
        hook.watch(watched.violation, writable)
    faulthandler.register(signal.SIGUSR1, file=2)  # the judge asks where it is

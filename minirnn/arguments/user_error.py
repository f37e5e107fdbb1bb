"""Distinguishes a user's mistake from a bug."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

FULL = {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""The error numbers of a full or broken disk."""


class UserError(ValueError):
    """A mistake of the user, described for the user. It is shown on one line, without a traceback."""


@contextmanager
def user_mistakes() -> Iterator[None]:
    """Inside this block, a ValueError, TypeError or OSError is the user's mistake and becomes a `UserError`. Put it
    only around the few lines that read the user's input (a file, a size, the name of a device). In the work itself, the
    same exceptions are bugs, and their traceback is needed.
    """
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        raise UserError(describe(error)) from error
    except (ValueError, TypeError) as error:
        raise UserError(str(error)) from error


def describe(error: OSError) -> str:
    """``FILE: No such file or directory`` instead of ``[Errno 2] No such file or directory: 'FILE'``."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        _, target, reason = error.args[0][0]  # the first file; the others failed for the same reason
        return f"{target}: {reason.partition('] ')[2].partition(': ')[0] or reason}"
    if error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return error.strerror or str(error) or type(error).__name__


def one_line(text: str) -> str:
    """A message of several lines joined into one."""
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())

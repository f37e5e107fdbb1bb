"""The records that the supervisor sends to the judge: fixed length, each a letter and two numbers (`supervisor.py`).

This is a separate file because the judge also reads it on systems where the supervisor cannot run.
"""

from __future__ import annotations

import struct

RECORD = struct.Struct("<cqd")

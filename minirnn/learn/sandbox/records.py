"""What the supervisor tells the judge: records of one length, each a letter and two numbers (`supervisor.py`).

A separate file, because the judge reads it on systems that lack what the supervisor needs.
"""

from __future__ import annotations

import struct

RECORD = struct.Struct("<cqd")

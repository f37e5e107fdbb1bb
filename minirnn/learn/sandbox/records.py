"""What the supervisor tells the judge: records of one length, each a letter and two numbers (`supervisor.py`).

A file of its own: the judge reads it on systems that lack what the supervisor needs.
"""

from __future__ import annotations

import struct

RECORD = struct.Struct("<cqd")

#!/usr/bin/env python3
"""Write the signatures of names that torch.nn and minirnn.nn both have.

usage:  python make_signatures.py [--check]

Needs torch and minirnn. --check compares with what is stored and writes nothing. Format: signatures/README.md.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import torch

from minirnn import nn

FILE = Path(__file__).parent / "signatures" / "nn.json"
ROOMS = {
    "": (nn, torch.nn),
    "functional": (nn.functional, torch.nn.functional),
    "init": (nn.init, torch.nn.init),
    "utils": (nn.utils, torch.nn.utils),
    "utils.rnn": (nn.utils.rnn, torch.nn.utils.rnn),
}


def parameters(value: Any) -> list[list[Any]] | None:
    """Names and defaults; None for what is written in C++ and for ``*args``."""
    try:
        found = inspect.signature(value).parameters.values()
    except ValueError:
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found):
        return None
    return [[p.name, "required" if p.default is p.empty else p.default] for p in found if p.name != "_stacklevel"]


def main() -> int:
    known = {}
    for room, (ours, theirs) in ROOMS.items():
        for name in sorted(ours.__all__):
            found = parameters(getattr(theirs, name)) if callable(getattr(theirs, name, None)) else None
            if found is not None:
                known[f"{room}.{name}".lstrip(".")] = found
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in known.items())
    text = f"{{\n{lines}\n}}\n"
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text, encoding="utf-8")
        return 0
    same = FILE.read_text(encoding="utf-8") == text
    print("as stored" if same else "DIFFERS")
    return not same


if __name__ == "__main__":
    sys.exit(main())

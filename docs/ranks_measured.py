"""The page "Many ranks": what scripts/evidence/ranks.py measured, in Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parent / "data" / "ranks.json"


def text(measured: Path = MEASURED) -> str:
    """The table, or that there is none yet."""
    if not measured.exists():
        return "Not yet measured: `python scripts/evidence/ranks.py --json docs/data/ranks.json`, on a quiet machine.\n"
    found: dict[str, Any] = json.loads(measured.read_text("utf-8"))
    o, two = found["options"], found["two ranks"]
    lines = [
        "| a step of `minirnn train` | median | fastest .. slowest turn |",
        "|---|---|---|",
        *(
            f"| {name} | {m['median']:.0f} ms | {m['least']:.0f} .. {m['most']:.0f} ms |"
            for name, m in ((name, found[name]) for name in ("one rank", "one rank, two shards", "two ranks"))
        ),
        "",
        f"Two ranks take a step {found['speed-up']:.2f} times as fast as one rank; {two['waiting']:.1%} of their step"
        " is waiting for the wire. Measured by `scripts/evidence/ranks.py` with a core and one thread for each rank:"
        f" {o['cell']}, H = {o['hidden']}, T = {o['length']}, B = {o['batch']}, {found['turns']} turns of"
        f" {found['steps']} steps each; {found['machine']}.",
    ]
    return "\n".join(lines) + "\n"


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(), encoding="utf-8")

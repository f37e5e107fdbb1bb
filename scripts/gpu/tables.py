"""The archive of `gpu_first.sh` as a file of docs/data/gpu and as the tables of the page of performance.

``python -m scripts.gpu.tables EVIDENCE.tgz`` writes both, ``--brief`` prints what came of each step and changes
nothing. Evidence of a rehearsal is not published.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from scripts.gpu.evidence import rows

DOCS = Path(__file__).parents[2] / "docs"
MARKS = "<!-- gpu -->\n", "<!-- /gpu -->"
Rows = list[dict[str, Any]]


def read(path: Path) -> dict[str, Rows]:
    """The results by step, in the order in which they came. Of several runs of a step only the last one counts, except
    for `ratios`, which goes on where it was ended.
    """
    if path.suffix == ".tgz":
        with tempfile.TemporaryDirectory() as folder, tarfile.open(path) as archive:
            archive.extract("evidence.jsonl", folder, filter="data")
            return read(Path(folder, "evidence.jsonl"))
    found: dict[str, Rows] = {}
    for row in rows(path):
        step = row.pop("step")
        if step != "begun":
            found.setdefault(step, []).append(row)
        elif row["begun"] != "ratios":
            found.pop(row["begun"], None)
    found["done"] = list({row["done"]: row for row in found.get("done", [])}.values())
    return found


def why_not(found: dict[str, Rows]) -> str:
    """The reason why this is not a measurement; empty if it is one."""
    if not found.get("machine"):
        return "it does not say on which machine"
    machine = found["machine"][-1]
    simulated = machine["limits"]["simulated"] or "stand-in" in machine["limits"]["name"].lower()
    return "it is a rehearsal" if simulated or machine["quick"] else ""


def milliseconds(row: dict[str, Any], way: str) -> str:
    return f"{1e3 * row['ways'][way]['seconds']:.2f}" if way in row["ways"] else "-"


def ratio_table(found: dict[str, Rows]) -> list[str]:
    """A line for each size, precision and pass; the ratio is the default's time over torch's."""
    lines = [
        "| T, B, I, H | precision | pass | default | graph | persistent | torch | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found.get("ratios", []):
        times = [milliseconds(row, way) for way in ("default", "graph", "persistent", "torch")]
        pair = [row["ways"].get(way, {}).get("seconds") for way in ("default", "torch")]
        ratio = f"{pair[0] / pair[1]:.2f}" if all(pair) else "-"
        about = ", ".join(map(str, row["size"])), row["precision"], row["pass"]
        lines.append(f"| {' | '.join([*about, *times, ratio])} |")
    return lines


def latency_table(found: dict[str, Rows]) -> list[str]:
    lines = ["| | microseconds |", "|---|---|"]
    for row in found.get("latencies", []):
        if "seconds" in row:
            what = (
                f"product ({row['B']}, {row['H']}) ({row['H']}, {4 * row['H']}), {row['precision']}"
                if "H" in row
                else row["what"]
            )
            lines.append(f"| {what} | {1e6 * row['seconds']:.2f} |")
    return lines


def page_of(found: dict[str, Rows]) -> str:
    """The section of the page."""
    machine = found["machine"][-1]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    wrong = sum(not row["ok"] for row in found.get("alive", []))
    checked = f"{len(found.get('alive', []))} layers were compared with float64, {wrong} were wrong"
    where = f"Measured on {machine['limits']['name']}, {machine['time'][:10]}, with {versions}: {checked}."
    about = (
        "The times of an LSTM layer are in milliseconds, medians of samples in turns. The ratio is the time of the"
        " default divided by that of torch's cuDNN with the same rounding."
    )
    said = [*textwrap.wrap(where, 120), *textwrap.wrap(about, 120)]
    return "\n".join([*said, "", *ratio_table(found), "", *latency_table(found), ""])


def brief(found: dict[str, Rows]) -> None:
    """What came of each step, and the ratios."""
    for row in found["done"]:
        print(f"{row['done']:10} status {row['status']:3}, {row['seconds']} s")
    for step in ("alive", "sanitizer"):
        for row in found.get(step, []):
            if not row["ok"]:
                print(f"WRONG {step}: {json.dumps(row)[:160]}")
    print("\n".join(ratio_table(found)[2:]))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tables", description=__doc__)
    parser.add_argument("evidence", type=Path)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--docs", type=Path, default=DOCS)
    args = parser.parse_args(words)
    found = read(args.evidence)
    if args.brief:
        brief(found)
        return 0
    if reason := why_not(found):
        print(f"{args.evidence} is not published: {reason}", file=sys.stderr)
        return 1
    machine = found["machine"][-1]
    name = re.sub(r"\W+", "_", machine["limits"]["name"].removeprefix("NVIDIA ")).lower()
    target, page = args.docs / "data" / "gpu" / f"{name}.json", args.docs / "performance.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    page.write_text(before + MARKS[0] + page_of(found) + MARKS[1] + rest.partition(MARKS[1])[2], encoding="utf-8")
    print(f"{target} and {page} are written")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The figures of the page "Performance", from docs/data/cpu/, which scripts in `scripts/evidence/` write."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

STORED = Path(__file__).parent / "data" / "cpu"
PASSES = {"forward": "forward", "forward+backward": "forward + backward", "step": "a step with Adam"}
NAMES = {"lstm": "LSTM", "gru": "GRU", "rnn": "RNN"}

Row = dict[str, Any]


def rows_of(stored: Path, table: str) -> list[Row]:
    """The rows of a table; none if it has not been measured."""
    path = stored / f"{table}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []


def ratios(row: Row, library: str, to: str = "torch") -> tuple[float, float, float] | None:
    """Median of a library's times over the median of `to`, and the same of its fastest and its slowest turn."""
    times = row["milliseconds"]
    if library not in times or to not in times:
        return None
    unit = statistics.median(times[to])
    found = [ms / unit for ms in times[library]]
    return statistics.median(found), min(found), max(found)


def size_of(row: Row) -> str:
    return ", ".join(map(str, row["size"]))


def spread(found: tuple[float, float, float] | None) -> str:
    """A ratio and how far its turns lie apart: ``0.53 (0.51-0.58)``."""
    return "-" if found is None else f"{found[0]:.2f} ({found[1]:.2f}-{found[2]:.2f})"


def markdown(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"


def not_yet(table: str, script: str = "cpu_times.py") -> str:
    """What the page says of a table that is not there."""
    command = f"{script} {table}" if script == "cpu_times.py" else script
    return f"Not yet measured: `python scripts/evidence/{command}`.\n"


def measured(rows: list[Row]) -> str:
    """When, where and at which commit: a line below a table."""
    dates, machines, commits = (sorted({str(row[key]) for row in rows}) for key in ("date", "machine", "commit"))
    return f"\nMeasured on {dates[-1]}, {', '.join(machines)}, commit {', '.join(commits)}.\n"


def measured_by(path: Path) -> str:
    """The same, of a file that says it once for all rows."""
    machine = json.loads(path.read_text(encoding="utf-8")).get("machine", {}) if path.exists() else {}
    if "date" not in machine:
        return ""
    commit = f"commit {machine['commit']}" if "commit" in machine else f"minirnn {machine['versions']['minirnn']}"
    return f"\nMeasured on {machine['date']}, {machine['processor']}, {machine['cores']} cores, {commit}.\n"


def against(stored: Path, table: str, to: str = "torch") -> str:
    """Every row of a table as ratios to one library, a column for each of the others."""
    rows = rows_of(stored, table)
    if not rows:
        return not_yet(table)
    names = [n for n in dict.fromkeys(n for row in rows for n in row["milliseconds"]) if n != to]
    lines = [
        [size_of(row), NAMES[row["mode"]], PASSES.get(row["pass"], row["pass"]), str(row["threads"])]
        + [spread(ratios(row, name, to)) for name in names]
        for row in rows
    ]
    return markdown(["T, B, I, H", "layer", "pass", "threads", *(f"{name} / {to}" for name in names)], lines)


def per_step(stored: Path) -> str:
    """Microseconds a step of the sequence: equal where time is linear in T."""
    rows = rows_of(stored, "steps")
    if not rows:
        return not_yet("steps")
    lines = [
        [size_of(row), NAMES[row["mode"]], PASSES[row["pass"]]]
        + [f"{statistics.median(ms) / row['size'][0] * 1e3:.1f}" for ms in row["milliseconds"].values()]
        for row in sorted(rows, key=lambda row: (row["mode"], row["pass"], row["size"]))
    ]
    names = rows[0]["milliseconds"]
    return markdown(["T, B, I, H", "layer", "pass", *(f"{name}, microseconds / T" for name in names)], lines)


def growth(stored: Path) -> str:
    """What more threads bring: the time with half as many over the time."""
    rows = rows_of(stored, "threads")
    if not rows:
        return not_yet("threads")
    time = {
        (row["mode"], tuple(row["size"]), row["pass"], name, row["threads"]): statistics.median(ms)
        for row in rows
        for name, ms in row["milliseconds"].items()
    }
    lines = []
    for mode, size, what, name, n in time:
        if n > 1 and (mode, size, what, name, n // 2) in time:
            faster = time[mode, size, what, name, n // 2] / time[mode, size, what, name, n]
            where = ", ".join(map(str, size))
            lines.append([where, NAMES[mode], PASSES[what], name, f"{n // 2} to {n}", f"{faster:.2f}"])
    largest = max(row["threads"] for row in rows)
    text = markdown(["T, B, I, H", "layer", "pass", "library", "threads", "times as fast"], lines)
    return text if largest >= 4 else text + "\nFour threads: not yet measured, for want of four cores.\n"


def over_products(stored: Path) -> str:
    """From the reports of `minirnn bench`: the time over the floor, the matrix products of the same pass by BLAS."""
    reports = {"cpu": stored / "sequence_ops.json", "native": stored / "native_sequence_ops.json"}
    reports = {device: path for device, path in reports.items() if path.exists()}
    if not reports:
        return "Not yet measured: `minirnn bench --json docs/data/cpu/sequence_ops.json`.\n"
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for device, path in reports.items():
        for row in json.loads(path.read_text(encoding="utf-8"))["results"]:
            ratio = row["ms"]["minirnn"] / row["ms"]["gemm"]
            found.setdefault((size_of(row), row["mode"], row["pass"]), {})[device] = f"{ratio:.2f}"
    passes = ("forward", "forward+backward")
    head = [f"{device}, {PASSES[what]}" for device in reports for what in passes]
    lines = [
        [
            size,
            NAMES[mode],
            *(found.get((size, mode, what), {}).get(device, "-") for device in reports for what in passes),
        ]
        for size, mode in dict.fromkeys(key[:2] for key in found)
    ]
    return markdown(["T, B, I, H", "layer", *head], lines)


def plain(stored: Path) -> str:
    """Ops that are not recurrent: those above twice torch's time, the slowest first, and the others folded."""
    rows = rows_of(stored, "plain_ops")
    if not rows:
        return not_yet("plain_ops", "plain_ops.py")
    ratio = {row["case"]: row["microseconds"]["minirnn"] / row["microseconds"]["torch"] for row in rows}
    slowest = sorted(ratio, key=lambda case: -ratio[case])
    times = {row["case"]: [f"{us:.0f}" for us in row["microseconds"].values()] for row in rows}
    lines = {case: [case, f"{ratio[case]:.2f}", *times[case]] for case in slowest}
    head = ["", "minirnn / torch", "minirnn, microseconds", "torch, microseconds"]
    slow = [lines[case] for case in slowest if ratio[case] > 2]
    rest = markdown(head, [lines[case] for case in slowest if ratio[case] <= 2])
    return (
        f"{markdown(head, slow)}\nThe other {len(rows) - len(slow)} of {len(rows)} take at most twice torch's time:\n\n"
        f":::{{dropdown}} All others\n{rest}:::\n{measured(rows)}"
    )


def tape(stored: Path) -> str:
    """What an op costs when its arrays are tiny."""
    rows = rows_of(stored, "tape")
    if not rows:
        return not_yet("tape", "tape.py")
    lines = [
        [str(tuple(row["shape"])), name, *(f"{us:.2f}" for us in found)]
        for row in rows
        for name, found in row["microseconds"].items()
    ]
    head = ["shape", "", "forward, microseconds per op", "forward + backward"]
    return markdown(head, lines) + measured(rows)


def checkpoints(stored: Path) -> str:
    """Memory and time of runs with checkpoints, relative to those without."""
    rows = rows_of(stored, "checkpoint")
    if not rows:
        return not_yet("checkpoint", "checkpoint.py")
    lines = [[size_of(row), str(row["segments"]), f"{row['memory']:.3f}", f"{row['time']:.2f}"] for row in rows]
    return markdown(["T, B, I, H", "segments", "memory", "time"], lines) + measured(rows)


def draw(stored: Path, to: Path) -> bool:
    """The ratios of all passes and of training, a bar each from the shared line at 1; whether there was anything."""
    passes, train = rows_of(stored, "passes"), rows_of(stored, "train")
    if not passes and not train:
        return False
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from minirnn import viz
    from minirnn.viz.colors import BLUE, ORANGE

    panels = [
        (f"{NAMES[mode]}, {PASSES[what]}", [r for r in passes if (r["mode"], r["pass"]) == (mode, what)])
        for what in PASSES
        for mode in ("lstm", "gru")
    ]
    panels.append(("one step of minirnn train", train))
    with matplotlib.rc_context(viz.style):
        figure, places = plt.subplots(4, 2, figsize=(9.5, 11), sharey=True)
        for ax, (title, rows) in zip(places.flat, panels, strict=False):
            for k, (name, color) in enumerate((("cpu", ORANGE), ("native", BLUE))):
                for at, row in enumerate(rows):
                    found = ratios(row, name)
                    if found is None:
                        continue
                    middle, low, high = found
                    # From the line at 1, so that length is gain or loss.
                    ax.bar(at + 0.38 * (k - 0.5), middle - 1, 0.34, bottom=1, color=color, label=name if not at else "")
                    ax.plot([at + 0.38 * (k - 0.5)] * 2, [low, high], color="0.2", linewidth=1)
                    above = middle > 1
                    ax.annotate(
                        f"{middle:.2f}",
                        (at + 0.38 * (k - 0.5), max(min(high, 3), 1) if above else min(low, 1)),
                        xytext=(0, 2 if above else -2),
                        textcoords="offset points",
                        ha="center",
                        va="bottom" if above else "top",
                        fontsize=8,
                        annotation_clip=False,
                    )
            ax.axhline(1, color="0.2", linewidth=1.2)
            ax.set_title(title)
            labels = [NAMES[r["mode"]] if r["pass"] == "train" else size_of(r).replace(", ", "\n") for r in rows]
            ax.set_xticks(range(len(rows)), labels, fontsize=8)
            ax.set_yscale("log", base=2)
            ax.minorticks_off()
            ax.set_yticks(
                [0.03125, 0.0625, 0.125, 0.25, 0.5, 1, 2], ["1/32", "1/16", "1/8", "1/4", "1/2", "torch = 1", "2"]
            )
            ax.set_ylim(1 / 36, 4)
            ax.grid(axis="x", visible=False)
        last = list(places.flat)[-1]
        last.axis("off")
        handles, labels = places.flat[0].get_legend_handles_labels()
        last.legend(handles, labels, loc="center", title="time / torch's time, less is better\nT B I H below each bar")
        figure.savefig(to)
        plt.close(figure)
    return True


def picture(stored: Path, to: Path) -> str:
    """The plot, or that there is none."""
    if not draw(stored, to):
        return not_yet("passes") + "\n" + not_yet("train")
    missing = [table for table in ("passes", "train") if not rows_of(stored, table)]
    alt = "time divided by torch's, bars from a shared line at 1: cpu mostly above it, native mostly below"
    image = f"```{{image}} api/{to.name}\n:alt: {alt}\n:class: sideways\n:width: 912px\n```"
    return f"{image}\n" + "".join("\n" + not_yet(table) for table in missing)


def write(folder: Path, stored: Path = STORED) -> None:
    """Write the parts of the page into a folder that is not kept."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "ratios": picture(stored, folder / "cpu_ratios.png"),
        "train": against(stored, "train"),
        "libraries": against(stored, "libraries"),
        "float64": against(stored, "float64"),
        "steps": per_step(stored),
        "threads": growth(stored),
        "products": over_products(stored),
        "plain": plain(stored),
        "tape": tape(stored),
        "checkpoint": checkpoints(stored),
    }
    sources = {"ratios": "passes", "products": "native_sequence_ops"}
    for name, text in texts.items():
        text += measured_by(stored / f"{sources.get(name, name)}.json")
        (folder / f"cpu_{name}.txt").write_text(text, encoding="utf-8")

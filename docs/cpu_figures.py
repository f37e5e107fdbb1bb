"""The measured tables and the figure of the page "Performance", from docs/data/.

Tables of measurements that are not repeated are stored as text: `data/cpu/*.txt`.
"""

from __future__ import annotations

import json
import statistics
from itertools import product
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
PASSES = {"forward": "forward", "forward+backward": "forward + backward", "step": "a step with Adam"}
NAMES = {"lstm": "LSTM", "gru": "GRU", "rnn": "RNN"}

Row = dict[str, Any]


def report(name: str) -> Any:
    """A stored report."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def rows_of(table: str) -> list[Row]:
    """The rows of a table of times on the CPU."""
    return report(f"cpu/{table}")["rows"]


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


def measured_by(machine: Row) -> str:
    """When, where and at which commit: a line below a table."""
    commit = f"commit {machine['commit']}" if "commit" in machine else f"minirnn {machine['versions']['minirnn']}"
    return f"\nMeasured on {machine['date']}, {machine['processor']}, {machine['cores']} cores, {commit}.\n"


def against(rows: list[Row], to: str = "torch") -> str:
    """Every row of a table as ratios to one library, a column for each of the others."""
    names = [n for n in dict.fromkeys(n for row in rows for n in row["milliseconds"]) if n != to]
    lines = [
        [size_of(row), NAMES[row["mode"]], PASSES.get(row["pass"], row["pass"]), str(row["threads"])]
        + [spread(ratios(row, name, to)) for name in names]
        for row in rows
    ]
    return markdown(["T, B, I, H", "layer", "pass", "threads", *(f"{name} / {to}" for name in names)], lines)


def per_step(rows: list[Row]) -> str:
    """Microseconds a step of the sequence: equal where time is linear in T."""
    lines = [
        [size_of(row), NAMES[row["mode"]], PASSES[row["pass"]]]
        + [f"{statistics.median(ms) / row['size'][0] * 1e3:.1f}" for ms in row["milliseconds"].values()]
        for row in sorted(rows, key=lambda row: (row["mode"], row["pass"], row["size"]))
    ]
    return markdown(
        ["T, B, I, H", "layer", "pass", *(f"{name}, microseconds / T" for name in rows[0]["milliseconds"])], lines
    )


def growth(rows: list[Row]) -> str:
    """What more threads bring: the time with half as many over the time."""
    time = {
        (row["mode"], size_of(row), row["pass"], name, row["threads"]): statistics.median(ms)
        for row in rows
        for name, ms in row["milliseconds"].items()
    }
    lines = [
        [size, NAMES[mode], PASSES[what], name, f"{n // 2} to {n}", f"{time[mode, size, what, name, n // 2] / ms:.2f}"]
        for (mode, size, what, name, n), ms in time.items()
        if n > 1
    ]
    text = markdown(["T, B, I, H", "layer", "pass", "library", "threads", "times as fast"], lines)
    return f"{text}\nFour threads: not yet measured, for want of four cores.\n"


def over_products(reports: dict[str, list[Row]]) -> str:
    """From the reports of `minirnn bench`: the time over the floor, the matrix products of the same pass by BLAS."""
    found: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for device, rows in reports.items():
        for row in rows:
            ratio = f"{row['ms']['minirnn'] / row['ms']['gemm']:.2f}"
            found.setdefault((size_of(row), NAMES[row["mode"]]), {})[device, row["pass"]] = ratio
    columns = list(product(reports, ("forward", "forward+backward")))
    head = [f"{device}, {PASSES[what]}" for device, what in columns]
    lines = [[*layer, *(cells.get(column, "-") for column in columns)] for layer, cells in found.items()]
    return markdown(["T, B, I, H", "layer", *head], lines)


def draw(passes: list[Row], train: list[Row], to: Path) -> str:
    """The ratios of all passes and of training, a bar each from the shared line at 1, into a file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from minirnn import viz
    from minirnn.viz.colors import BLUE, ORANGE

    panels = [
        (f"{NAMES[mode]}, {PASSES[what]}", [r for r in passes if (r["mode"], r["pass"]) == (mode, what)])
        for what, mode in product(PASSES, ("lstm", "gru"))
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
                    x, above = at + 0.38 * (k - 0.5), middle > 1
                    # From the line at 1, so that length is gain or loss.
                    ax.bar(x, middle - 1, 0.34, bottom=1, color=color, label=name if not at else "")
                    ax.plot([x] * 2, [low, high], color="0.2", linewidth=1)
                    ax.annotate(
                        f"{middle:.2f}", (x, max(min(high, 3), 1) if above else min(low, 1)),
                        xytext=(0, 2 if above else -2), textcoords="offset points", ha="center",
                        va="bottom" if above else "top", fontsize=8, annotation_clip=False,
                    )  # fmt: skip
            ax.axhline(1, color="0.2", linewidth=1.2)
            ax.set_title(title)
            labels = [NAMES[r["mode"]] if r["pass"] == "train" else size_of(r).replace(", ", "\n") for r in rows]
            ax.set_xticks(range(len(rows)), labels, fontsize=8)
            ax.set_yscale("log", base=2)
            ax.minorticks_off()
            ax.set_yticks([2.0**k for k in range(-5, 2)], ["1/32", "1/16", "1/8", "1/4", "1/2", "torch = 1", "2"])
            ax.set_ylim(1 / 36, 4)
            ax.grid(axis="x", visible=False)
        last = list(places.flat)[-1]
        last.axis("off")
        handles, labels = places.flat[0].get_legend_handles_labels()
        last.legend(handles, labels, loc="center", title="time / torch's time, less is better\nT B I H below each bar")
        figure.savefig(to)
        plt.close(figure)
    alt = "time divided by torch's, bars from a shared line at 1: cpu mostly above it, native mostly below"
    return f"```{{image}} api/{to.name}\n:alt: {alt}\n:class: sideways\n:width: 912px\n```\n"


def write(folder: Path) -> None:
    """Write the parts of the pages into a folder that is not kept."""
    folder.mkdir(parents=True, exist_ok=True)
    products = {"cpu": report("cpu/sequence_ops")["results"], "native": report("cpu/native_sequence_ops")["results"]}
    texts = {
        "ratios": draw(rows_of("passes"), rows_of("train"), folder / "cpu_ratios.png"),
        "train": against(rows_of("train")),
        "libraries": against(rows_of("libraries")),
        "float64": against(rows_of("float64")),
        "steps": per_step(rows_of("steps")),
        "threads": growth(rows_of("threads")),
        "products": over_products(products),
    }
    sources = {"ratios": "passes", "products": "native_sequence_ops"}
    texts = {
        name: text + measured_by(report(f"cpu/{sources.get(name, name)}")["machine"]) for name, text in texts.items()
    }
    for name, text in texts.items():
        (folder / f"cpu_{name}.txt").write_text(text, encoding="utf-8")

"""The tracks of the book: which chapters belong to each, and their short names for the sidebar, which names things."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).parents[1] / "tutorials"

TRACKS = {
    "The core": {
        "01_the_tape": "The tape",
        "02_trust_but_difference": "Checking gradients",
        "03_one_step_then_many": "Through time",
        "04_vanish_and_explode": "Vanishing, exploding",
        "05_the_lstms_highway": "The LSTM",
        "06_two_grus": "Two GRUs",
        "07_long_lags": "Long lags",
        "08_what_a_cut_loses": "Truncation",
        "09_real_batches": "Batches and lengths",
        "10_from_beginning_to_end": "A whole model",
        "11_attention": "Attention",
        "12_what_dropout_may_touch": "Dropout, zoneout",
        "13_gradients_of_gradients": "Second derivatives",
        "22_products_of_random_jacobians": "Random Jacobians",
        "23_linear_recurrences": "Linear recurrences",
    },
    "Libraries": {
        "14_one_node_or_many": "Fused ops",
        "15_whose_gates": "Orders of gates",
        "16_the_opaque_buffer": "The parameter buffer",
        "17_your_own_cell": "Your own cell",
    },
    "Hardware": {
        "18_a_kernel_without_a_gpu": "A CUDA kernel",
        "19_one_launch_for_all_steps": "Persistent kernels",
        "20_many_hands": "Many ranks",
        "21_addition_is_not_associative": "Sums and their order",
    },
}
NAMES = {stem: name for track in TRACKS.values() for stem, name in track.items()}
THUMBNAIL = '.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer"'
BETWEEN = """.. thumbnail-parent-div-close

.. raw:: html

    </div>

{heading}

.. raw:: html

    <div class="sphx-glr-thumbnails">

.. thumbnail-parent-div-open

"""


def name_of(stem: str) -> str:
    """The name of a chapter in the sidebar, with its number."""
    return f"{int(stem[:2])} {NAMES[stem]}"


def opening(stem: str) -> tuple[str, str, str]:
    """The title, the question and the minutes that a chapter opens with."""
    text = (TUTORIALS / f"{stem}.py").read_text(encoding="utf-8")
    found = re.match(r'r?"""\n(.+)\n=+\n\n\*(.+\?)\*\n(?:.*\n)*?\| \*\*Time\*\*: (\d+) minutes\.\n', text)
    if found is None:
        raise ValueError(f"tutorials/{stem}.py does not open with a title, a question and the time it takes")
    return found[1], found[2], found[3]


def write(path: Path) -> None:
    """Write a table of each track: chapter, question, minutes."""
    lines: list[str] = []
    for track, chapters in TRACKS.items():
        openings = {stem: opening(stem) for stem in chapters}
        total = sum(int(minutes) for _, _, minutes in openings.values())
        lines += [f"## {track}\n", f"{total} minutes to read.\n", "| chapter | question | minutes |", "|---|---|--:|"]
        for stem, (title, question, minutes) in openings.items():
            lines.append(f"| [{title}](tutorials/{stem}) | {question} | {minutes} |")
        lines.append("")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines).replace("``", "`"), encoding="utf-8")


def heading(track: str) -> str:
    return f"{track}\n{'-' * len(track)}"


def contents() -> str:
    """A table of contents for each track."""
    return "\n".join(
        f".. toctree::\n   :hidden:\n   :caption: {track}\n\n"
        + "".join(f"   {name_of(stem)} </tutorials/{stem}>\n" for stem in chapters)
        for track, chapters in TRACKS.items()
    )


def in_tracks(source: str) -> str:
    """The list of chapters, which Sphinx-Gallery writes as one, in tracks."""
    before, _, after = source.partition('.. raw:: html\n\n    <div class="sphx-glr-thumbnails">')
    tiles, _, _ = after.partition(".. toctree::")
    opened, *found = re.split(f"(?={re.escape(THUMBNAIL)})", tiles)
    last, closed, after = found[-1].partition(".. thumbnail-parent-div-close")
    tile = {name: part for part in [*found[:-1], last] for name in NAMES if f":doc:`/tutorials/{name}`" in part}
    first, *others = ("".join(tile[stem] for stem in chapters) for chapters in TRACKS.values())
    tiles = opened + first
    for track, of_track in zip(list(TRACKS)[1:], others, strict=True):
        tiles += BETWEEN.format(heading=heading(track)) + of_track
    top = heading(next(iter(TRACKS)))
    return f'{before}{top}\n\n.. raw:: html\n\n    <div class="sphx-glr-thumbnails">{tiles}{closed}{after}{contents()}'


def named(app: Any, docname: str, source: list[str]) -> None:
    if docname == "tutorials/index" and "sphx-glr-thumbnails" in source[0]:
        source[0] = re.sub(r"\n{4,}", "\n\n\n", in_tracks(source[0]))


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", named)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""How many tests prove each op in each way, counted from what pytest collects."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]

# family -> words of which one stands in the id of a test of it
FAMILIES = {
    "LSTMBlockCell": r"\blstm_cell|\[(.*-)?lstm(-peephole\w*)?\]|lstm_block_cell",
    "BlockLSTM, V2": r"block_lstm|\[(.*-)?block(-v2)?[-\]]",
    "GRUBlockCell": r"gru_cell|\[(.*-)?gru\]|gru_block",
    "CudnnRNN, V2, V3": r"test_cudnn_rnn|cudnn_rnn",
}
# way -> words of the test's id; the first that fits counts
WAYS = {
    "values of TensorFlow or torch": r"golden|torch|tensorflow",
    "finite differences": r"differences|gradcheck",
    "composition from primitives": r"compos",
    "padding filled with NaN": r"nan|padding|past_seq|past_the_length",
    "wrong arguments refused": r"refused|wrong|bad_|raise",
}


def collected() -> list[str]:
    """The ids of all tests of the ops."""
    folders = "tests/ops", "tests/devices/cpu"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def table() -> str:
    """The table in Markdown."""
    ids = collected()
    counts: Counter[tuple[str, str]] = Counter()
    for test in ids:
        for family, words in FAMILIES.items():
            if re.search(words, test):
                way = next((way for way, pattern in WAYS.items() if re.search(pattern, test)), "other properties")
                counts[family, way] += 1
                counts[family, "of all, on cuda-sim"] += "cuda-sim" in test
                break
    columns = [*WAYS, "other properties", "of all, on cuda-sim"]
    lines = ["| op | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {family} | " + " | ".join(str(counts[family, c]) for c in columns) + " |" for family in FAMILIES]
    return "\n".join(lines) + "\n"


def write(path: Path) -> None:
    path.write_text(table(), encoding="utf-8")

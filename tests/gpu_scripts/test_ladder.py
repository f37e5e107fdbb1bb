"""The counts of the ladder follow from the sizes, and the published ones can be reproduced.

Tests `scripts/gpu/ladder.py`.
"""

import json
from pathlib import Path

import pytest

import minirnn as mr
from minirnn.devices.cuda.sim import compiler
from scripts.gpu import ladder
from scripts.gpu.ladder import COUNTS, TIMES, counted

COUNTED_WITH = "g++ 12"
PUBLISHED = Path(__file__).parents[2] / "docs" / "data" / "cuda-sim" / "cudnn_ladder.json"

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)


def test_counts_of_the_lowest_rung_are_those_of_its_loop() -> None:
    T, B, I, H = 3, 2, 5, 7
    forward, backward, recorded, back = (row["counts"] for row in counted((T, B, I, H), "steps"))
    assert (forward["products"], forward["launches"]) == (1 + T, 1 + 2 * T)
    x_part = T * B * I + I * 4 * H + T * B * 4 * H
    step = B * H + H * 4 * H + 2 * B * 4 * H  # added to the input part: read and written
    assert forward["product bytes"] == 4 * (x_part + T * step)
    # after the loop: dW, dR in two parts, the biases, dx; the rest are copies and fills
    assert backward["products"] == T + 5
    # recorded: the same work, of which the loop is one launch
    assert recorded == forward | {"launches": 1 + 1}
    assert back == backward | {"launches": backward["launches"] - 2 * T + 1}
    assert forward["sent"] == forward["gathered"] == forward["block barriers"] == 0
    assert forward["kernel bytes"] > 0 and forward["kernel bytes"] % 32 == 0


def test_counts_of_the_persistent_rung_are_those_of_its_exchange() -> None:
    T, B, H = 3, 2, 7
    forward, backward = (row["counts"] for row in counted((T, B, 5, H), "persistent"))
    assert (forward["products"], forward["launches"]) == (1, 2)
    assert forward["product bytes"] == 4 * (T * B * 5 + 5 * 4 * H + T * B * 4 * H)  # the input part, written only
    assert forward["sent"] == 4 * (T - 1) * B * H
    assert forward["gathered"] == 2 * forward["sent"]  # four units per block
    assert forward["block barriers"] == 2 * (1 + 2 * T)  # zeros, then twice per step: gathered, multiplied
    assert backward["sent"] == T * B * (4 * 4 * H + 4 * H)  # one slice of shares
    assert backward["gathered"] == backward["sent"]  # one block


def test_counts_of_the_plain_rung_of_one_launch_are_those_of_its_barrier() -> None:
    T, B, H = 3, 2, 7
    forward, backward = (row["counts"] for row in counted((T, B, 5, H), "barrier"))
    assert (forward["products"], forward["launches"]) == (1, 2)
    each = 1 + 2 * (T - 1)  # per block: R is loaded; at each barrier of the grid, two barriers of the block
    assert forward["block barriers"] == H * each and backward["block barriers"] == H * (each + 2)
    assert forward["gathered"] == backward["gathered"] == 0  # it reads arrays: bytes of the kernel
    # at each barrier of the grid: every block counts itself, the last one sets the flag
    assert forward["sent"] == 4 * (T - 1) * (H + 1) and backward["sent"] == 4 * T * (H + 1)


@pytest.mark.slow
def test_published_counts_can_be_had_again() -> None:
    published = json.loads(PUBLISHED.read_text())
    assert published["times"] == TIMES and published["counts"] == COUNTS
    rungs = ("steps", "steps, recorded", "barrier", "persistent")
    assert {(tuple(row["size"]), row["rung"]) for row in published["rows"]} == {
        (size, rung) for size in ladder.SIZES for rung in rungs
    }
    size = ladder.SIZES[0]
    for rung in ("steps", "barrier", "persistent"):
        expected = [row for row in published["rows"] if tuple(row["size"]) == size and row["rung"].startswith(rung)]
        rows = list(counted(size, rung))
        if compiler.find().name.split(".")[0] != COUNTED_WITH:
            # The compiler decides which accesses of a warp are one instruction, and so touch a sector once.
            for row, published_row in zip(rows, expected, strict=True):
                assert row["counts"]["kernel bytes"] == pytest.approx(published_row["counts"]["kernel bytes"], rel=0.1)
                row["counts"]["kernel bytes"] = published_row["counts"]["kernel bytes"]
        assert rows == expected


def test_the_command_prints_a_table_and_leaves_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ladder, "SIZES", ((3, 2, 5, 7),))
    target = tmp_path / "ladder.json"
    assert ladder.main(["--json", str(target)]) == 0
    out = capsys.readouterr().out
    assert "3,2,5,7" in out and TIMES in out
    assert len(json.loads(target.read_text())["rows"]) == 8


def test_the_page_has_the_published_numbers() -> None:
    """The numbers of the last size forward; the pictures have all of them."""
    page = (PUBLISHED.parents[2] / "cudnn_ladder.md").read_text(encoding="utf-8")
    rows = json.loads(PUBLISHED.read_text())["rows"]
    shown = [row for row in rows if tuple(row["size"]) == ladder.SIZES[-1] and row["pass"] == "forward"]
    assert len(shown) == 4
    for row in shown:
        counts = row["counts"].values()
        cells = [", ".join(map(str, row["size"])), row["pass"], row["rung"], *(f"{n:,}" for n in counts)]
        assert f"| {' | '.join(cells)} |" in page
    assert TIMES in page

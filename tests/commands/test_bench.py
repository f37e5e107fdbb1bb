"""`minirnn bench`: it measures what it says; speed is not tested."""

import json
from pathlib import Path

import numpy as np
import pytest

from minirnn.commands.cli import main
from tests.cells.with_torch import GALLERY


def test_what_torch_does_not_have_is_compared_with_the_products_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers, ratios and the machine are printed and stored."""
    target = tmp_path / "bench.json"
    options = ["--samples", "1", "--threads", "1", "--json", str(target)]
    assert main(["bench", "--mode", "block_lstm", "--size", "3,2,4,5", *options]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    stored = json.loads(target.read_text())
    assert [r["pass"] for r in stored["results"]] == ["forward", "forward+backward"]
    assert stored["machine"]["versions"]["numpy"] == np.__version__
    for result, row in zip(stored["results"], rows, strict=True):
        assert result["mode"] == "block_lstm" and result["size"] == [3, 2, 4, 5]
        assert list(result["ms"]) == ["minirnn", "gemm"] and list(result["ratio"]) == ["gemm"]
        assert result["ratio"]["gemm"] == result["ms"]["minirnn"] / result["ms"]["gemm"]
        assert f"{result['ratio']['gemm']:.2f}" in row
        assert row.split()[:3] == ["block_lstm", "3,2,4,5", "f+b" if "+" in result["pass"] else "f"]
        assert len(row.split()) - 3 == len(header.split()) - 4  # "/ torch" and "/ gemm" are two words each; then a text


def test_an_own_cell_is_compared_with_its_composition_its_products_and_an_op(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "bench.json"
    options = ["--mode", "lstm", "--size", "3,2,4,5", "--samples", "1", "--threads", "1", "--json", str(target)]
    assert main(["bench", "--cell", f"{GALLERY}/peephole_lstm.py", *options]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:10] == ["minirnn", "composed", "gemm", "lstm", "/", "composed", "/", "gemm", "/", "lstm"]
    for result, row in zip(json.loads(target.read_text())["results"], rows, strict=True):
        assert list(result["ms"]) == ["minirnn", "composed", "gemm", "lstm"]
        numbers = [result["ms"][p] for p in result["ms"]]
        assert row.split()[:3] == ["peephole_lstm", "3,2,4,5", "f+b" if "+" in result["pass"] else "f"]
        assert row.split()[3:7] == [f"{ms:.3f}" for ms in numbers]
        assert row.split()[7:] == [f"{numbers[0] / ms:.2f}" for ms in numbers[1:]]

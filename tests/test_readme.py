"""What the README says is true: its Python runs, its commands are marked for CI, its links lead somewhere.

Tests `README.md`, `docs/ops/README.md`, `CONTRIBUTING.md` and `.ci/run`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import minirnn as mr

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[-1][:30])
def test_the_python_of_the_readme_runs_and_prints_what_it_says(code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    promised = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert done.stdout.splitlines() == promised


def test_the_readme_fits_a_screen_or_two() -> None:
    assert len(README.splitlines()) <= 100
    assert README.count("![") - README.count("[![") == 1  # one picture, and badges


def test_the_readme_has_a_python_example_and_two_commands() -> None:
    assert blocks("python")
    train, test = blocks("sh")
    for command in (train, test):
        before = README[: README.index(command)].splitlines()
        assert any("minutes" in line for line in before[-6:]), "says how long it takes"
    for command in (train, test):
        assert command.startswith("python3 -m venv .venv && .venv/bin/python -m pip install ")
        assert command.count("\n") == 1
    assert train.endswith(".venv/bin/minirnn train\n")
    assert test.endswith("-m pytest\n")


def test_ci_finds_the_test_command_between_the_markers() -> None:
    (marked,) = re.findall(r"<!-- test-command -->\n(.*?)<!-- /test-command -->", README, flags=re.DOTALL)
    assert marked == f"```sh\n{blocks('sh')[1]}```\n"
    assert "<!-- test-command -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_a_link_into_the_repository_leads_to_a_file(page: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_a_path_of_the_package_named_on_a_page_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(r"`((?:minirnn|tests|docs|\.ci)/[\w./]*)`", text)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_op_of_the_table_exists() -> None:
    table = (ROOT / "docs" / "ops" / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    names = [
        name for row in re.findall(r"^\| (.*?) \|", table, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    ]
    assert len(names) >= 8
    assert [name for name in names if not hasattr(mr.ops, name)] == []


def test_every_command_of_the_readme_is_understood() -> None:
    inline = [code for code in re.findall(r"`([^`\n]+)`", README) if ".venv/bin/minirnn " in code]
    in_blocks = [line.split(" && ")[-1] for block in blocks("sh") for line in block.splitlines() if "minirnn" in line]
    assert len(inline) >= 3 and in_blocks
    for command in {*inline, *in_blocks}:
        program, name, *arguments = shlex.split(command)
        assert program.endswith("minirnn")
        done = subprocess.run([sys.executable, "-m", "minirnn", name, *arguments, "--help"], capture_output=True)
        assert done.returncode == 0, command

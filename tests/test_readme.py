"""README and the pages for contributors are correct: Python runs, commands are valid, links and names exist.

Tests `README.md`, `docs/ops/README.md`, `CONTRIBUTING.md`, `docs/contributing.md`, `CHANGELOG.md` and `.ci/run`.
"""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import minirnn as mr
from minirnn.commands.cli import build_parser
from minirnn.ops.lstm_block.cells import plan_of
from tests.test_house import FLOORS

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, PYTEST = SETTINGS["project"], SETTINGS["tool"]["pytest"]["ini_options"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[-1][:30])
def test_the_python_of_the_readme_runs_and_prints_what_it_says(code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    promised = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert done.stdout.splitlines() == promised


def test_the_readme_fits_a_screen_or_two() -> None:
    assert len(README.splitlines()) <= 60
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
    names = [name for row in re.findall(r"^\| .*", table, flags=re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert len(names) >= 8
    assert [name for name in names if not hasattr(mr.ops, name)] == []


def commands(text: str) -> list[str]:
    """The calls of ``minirnn`` in code, with arguments."""
    code = [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"^```sh\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)]
    return re.findall(r"(?:^|[/ ])minirnn ([a-z]+[^&|#\n]*)", "\n".join(code), flags=re.MULTILINE)


@pytest.mark.parametrize(("page", "least"), [("README.md", 3), ("CONTRIBUTING.md", 1), ("docs/contributing.md", 2)])
def test_every_command_of_a_page_is_understood(page: str, least: int) -> None:
    found = commands((ROOT / page).read_text(encoding="utf-8"))
    assert len(found) >= least
    for command in found:
        arguments = shlex.split(command)
        if len(arguments) > 1 or arguments[0] not in ("explain", "course"):
            assert build_parser(arguments).parse_args(arguments).command == arguments[0]


def test_the_readme_names_the_devices_the_version_and_the_python_that_there_are() -> None:
    table = (ROOT / "docs" / "use.md").read_text(encoding="utf-8").partition("| device |")[2]
    there = re.findall(r"^\| `([\w-]+)` \|", table, flags=re.MULTILINE)
    assert sorted(there) == ["cpu", "cuda", "cuda-sim", "native"] == sorted(re.findall(r"`([\w-]+)` \(", README))
    assert {"cpu", "cuda", "cuda-sim", "native"} <= mr.devices.available().keys()
    assert f"Version {mr.__version__}." in README
    assert f"Python {PROJECT['requires-python'].removeprefix('>=')} or newer" in README


def test_the_file_that_the_front_page_names_for_block_lstm_is_one_that_runs() -> None:
    entered = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        entered.add(frame.f_code.co_filename)

    x, state, w, b = np.ones((2, 2, 1)), np.zeros((2, 3)), np.ones((4, 12)), np.zeros(12)
    plan_of.cache_clear()
    sys.setprofile(note)
    try:
        mr.ops.block_lstm(2, mr.tensor(x, requires_grad=True), state, state, w, None, None, None, b).h.sum().backward()
        mr.ops.lstm_block_cell(x[0], state, state, w, None, None, None, b)
    finally:
        sys.setprofile(None)
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = re.findall(r"`(minirnn/[\w/]+\.py)`", front[front.index("`block_lstm` is one node") :])
    assert len(named) == 1 and {str(ROOT / path) for path in named} <= entered


def test_the_changelog_has_at_most_25_lines_per_version_and_names_what_there_is() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert max(len(version.splitlines()) for version in text.split("\n## ")) <= 25
    assert "A course of 45 exercises" in text  # in 1.0.0
    for name in re.findall(r"`mr\.(\w+)`", text):
        assert hasattr(mr, name), name


# ---- CONTRIBUTING.md and docs/contributing.md

GUIDE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")


def test_the_map_of_the_house_is_that_of_the_tests() -> None:
    rows = re.findall(r"^\| (\d) \| (.*?) \|", GUIDE, flags=re.MULTILINE)
    shown = {room: int(floor) for floor, rooms in rows for room in re.findall(r"`([\w/.]+)`", rooms)}
    held = {name.removeprefix("minirnn."): floor for name, floor in FLOORS.items()}
    held["minirnn/__init__.py"] = held.pop("minirnn")
    assert shown == {name: floor for name, floor in held.items() if not name.startswith("_")}


def test_what_the_guide_finds_in_a_file_is_there() -> None:
    found = re.findall(r"`(\w+)` (?:in|of)\s+`([\w./]+\.\w+)`", GUIDE)
    assert len(found) >= 8
    for name, path in found:
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8")), f"{name} in {path}"


def test_every_name_and_option_in_the_guide_occurs_in_the_code() -> None:
    folders, kinds = ("minirnn", "tests", "docs", "scripts"), ("py", "h", "cu")
    files = [path for folder in folders for kind in kinds for path in (ROOT / folder).rglob(f"*.{kind}")]
    words = set(re.findall(r"(?:--)?\w[\w-]*\w|\w", "\n".join(path.read_text(encoding="utf-8") for path in files)))
    assert set(re.findall(r"`([A-Za-z_]\w+(?=`)|--[\w-]+)", GUIDE)) - words - {"pytest", "pypi"} == set()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/contributing.md"])
def test_scripts_are_there_and_know_their_options(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    calls = re.findall(r"((?:scripts|tests/golden)/\w+\.(?:py|sh))([^`\n]*)", text)
    for path, arguments in calls:
        source = (ROOT / path).read_text(encoding="utf-8")
        if path != "scripts/with_stand_in_gpu.sh":  # which passes them on
            assert [flag for flag in re.findall(r"--[\w-]+", arguments) if flag not in source] == [], path


def test_the_options_and_marks_of_the_tests_are_those_of_the_guide(pytestconfig: pytest.Config) -> None:
    section = GUIDE[GUIDE.index("## Tests") : GUIDE.index("## CI")]
    for flag in ("--seed", "--shuffle", "--restless", "--devices", "--hypothesis-profile"):
        assert flag in section
        pytestconfig.getoption(flag)  # fails if there is none
    marks = re.findall(
        r"`(\w+)`(?:,| \(| and|\.)", section[section.index("The marks are") : section.index("No test measures")]
    )
    assert [mark for mark in marks if mark != "cpu"] == [line.partition(":")[0] for line in PYTEST["markers"]]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/contributing.md", "docs/exercises.md"])
def test_the_extras_that_a_page_installs_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = {extra for extras in re.findall(r"-e \"\.\[([\w,]+)\]\"", text) for extra in extras.split(",")}
    assert named and named <= PROJECT["optional-dependencies"].keys()

"""The public files around the code are correct: stages and workflows of CI, versions, the address of the repository.

Tests `.ci/run`, `.github/`, `CITATION.cff`, `constraints.txt`, `scripts/public_names.py` and `docs/repository.py`.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import minirnn

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "scripts").exists(), reason="the scripts are in the repository alone")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
STAGES = re.findall(r"^#   (\w+) +[A-Za-z].*", RUN, flags=re.MULTILINE)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
URL = "https://github.com/somebody/minirnn"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def jobs(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason='pip install -e ".[test]"')
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


# ---- CI


def test_every_stage_that_ci_lists_exists() -> None:
    assert STAGES[:2] == ["lint", "fast"] and len(STAGES) == len(set(STAGES)) >= 8
    for stage in STAGES:
        assert re.search(rf"^{stage}\(\) {{", RUN, flags=re.MULTILINE), stage


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_a_stage_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = subprocess.run([ROOT / ".ci" / "run", "lint", "quick"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f".ci/run: there is no stage quick; the stages are: {' '.join(STAGES)}\n"


def test_the_workflows_run_every_stage_and_no_other() -> None:
    assert len(WORKFLOWS) == 2
    for path in WORKFLOWS:
        runs: set[str] = set()
        for job in jobs(path).values():
            commands = [step["run"] for step in job["steps"] if ".ci/run" in step.get("run", "")]
            matrix = job.get("strategy", {}).get("matrix", {}).get("stages", [])
            for command in commands:
                runs |= set(" ".join(matrix if "matrix.stages" in command else [command]).split()) - {".ci/run"}
        assert runs <= set(STAGES), path.name
        assert path.name != "ci.yml" or runs == set(STAGES)


def test_the_workflows_use_actions_by_their_commit() -> None:
    uses = [
        line.split("uses: ")[1]
        for path in WORKFLOWS
        for line in path.read_text(encoding="utf-8").splitlines()
        if "uses: " in line
    ]
    assert len(uses) >= 8
    assert [action for action in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action)] == []


def test_ci_runs_every_python_that_the_package_names() -> None:
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: 3." in text]
    tried = jobs(ROOT / ".github" / "workflows" / "ci.yml")
    for system in ("fast", "windows"):
        assert tried[system]["strategy"]["matrix"]["python"] == named
    assert [v for v in range(5, 40) if SpecifierSet(PROJECT["requires-python"]).contains(f"3.{v}")][0] == 11
    assert named[0] == "3.11"


# ---- versions


def test_the_constraints_fit_what_pyproject_asks_for() -> None:
    lines = [line for line in text_of("constraints.txt").splitlines() if not line.startswith("#")]
    fixed = dict(line.split("==") for line in lines)
    assert not any("+" in version for version in fixed.values())
    extras = [v for extra, v in PROJECT["optional-dependencies"].items() if not extra.startswith("cuda")]
    for requirement in map(Requirement, [*PROJECT["dependencies"], *sum(extras, [])]):
        assert requirement.specifier.contains(fixed[requirement.name.lower()]), requirement


def test_the_version_is_the_same_wherever_it_is_said() -> None:
    citation, newest = text_of("CITATION.cff"), re.search(r"^## (\S+), (\S+)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert newest is not None and newest[1] == minirnn.__version__
    assert f"version: {newest[1]}\ndate-released: {newest[2]}\n" in citation
    assert f"license: {PROJECT['license']}\n" in citation
    assert f"# minirnn {newest[1]}\n" in text_of("docs/release_notes.md")


# ---- public names


def test_every_public_name_and_signature_is_the_stored_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
    import public_names

    stored, now = public_names.STORED.read_text(encoding="utf-8").splitlines(), public_names.lines()
    gone, new = sorted(set(stored) - set(now)), sorted(set(now) - set(stored))
    assert (gone, new) == ([], []), "if this is meant: python scripts/public_names.py --write, and docs/stability.md"
    assert len(stored) == len(set(stored)) > 1200
    assert "minirnn.nn.Embedding.forward(self, input)" in stored
    assert "minirnn.ops.lstm_block_cell(" in "\n".join(stored)


# ---- the address of the repository


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    import repository

    return repository


def test_the_address_is_the_same_everywhere(repository: Any) -> None:
    address = repository.here()
    readme, badge = text_of("README.md"), f"[![CI]({address}/actions/workflows/ci.yml/badge.svg)]"
    assert badge in readme if address else "://github" not in readme
    assert re.findall("^repository-code: (.*)$", text_of("CITATION.cff"), re.M) == [address] * bool(address)


def test_the_address_is_read_from_the_project(repository: Any) -> None:
    assert repository.address(f'[project.urls]\nRepository = "{URL}"\n[project]\n') == URL


def test_pages_can_be_edited_once_there_is_an_address(repository: Any) -> None:
    assert repository.theme("", ["train"]) == ({}, {}, {})
    context, options, pages = repository.theme(URL, ["train"])
    assert (context["github_user"], context["github_repo"]) == ("somebody", "minirnn")
    assert options["use_edit_page_button"] and pages == {"train": ["page-toc", "edit-this-page"]}

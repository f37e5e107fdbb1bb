"""The container's recipe pins one version of every library, and has every library that minirnn requires.

Tests `docs/container/Containerfile` and `docs/container/requirements.txt`.
"""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RECIPE = ROOT / "docs" / "container"
pytestmark = pytest.mark.skipif(not RECIPE.exists(), reason="the recipe is in the repository alone")


def test_every_version_is_said_and_every_library_is_there():
    text = (RECIPE / "requirements.txt").read_text().replace(" \\\n    ", " ")
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", hash) for _, *hashes in rows for hash in hashes)
    assert all(hashes for _, *hashes in rows)
    lines = [name for name, *_ in rows]
    assert all(re.fullmatch(r"[a-z-]+==\d[\d.]*", line) for line in lines) and lines == sorted(lines)
    pinned = {line.partition("==")[0] for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for wanted in [*project["dependencies"], *extras["similarity"], *extras["native"]]:
        assert re.split("[<>=;~!]", wanted)[0] in pinned, wanted


def test_the_image_is_of_one_version_and_grades_as_nobody_special():
    text = (RECIPE / "Containerfile").read_text()
    (base,) = re.findall(r"^FROM (\S+)$", text, re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert tuple(map(int, base[7:].split("-")[0].split("."))) >= tuple(map(int, wanted.lstrip(">=").split(".")))
    assert "--require-hashes" in text
    assert re.search(r"g\+\+=\d", text) and "\nUSER grader\n" in text
    copied = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY ")]
    assert all((ROOT / name).exists() for names in copied for name in names)

"""Installing minirnn changes nobody's pytest: the plugin is only loaded where a folder asks for it.

Tests `pyproject.toml`, `minirnn/learn/plugin.py` and `minirnn/learn/course.py` with the wheel that users install.
"""

import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from minirnn.learn.course import load, new_tree
from tests.learn.answers import solution

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
CONFTEST = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--report", default="none", help="our own")
    parser.addoption("--devices", default="our device", help="our own")

@pytest.fixture
def rng():
    return "our rng"

@pytest.fixture
def device(request):
    return request.config.getoption("--devices")
"""
FOREIGN = """
import sys

def test_what_is_ours(rng, device, request):
    assert (rng, device, request.config.getoption("--report")) == ("our rng", "our device", "ours")
    assert not [name for name in sys.modules if name.partition(".")[0] in ("minirnn", "numpy")]
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    return next(folder.glob("minirnn-*.whl"))


def required(name: str, found: dict[str, Path]) -> dict[str, Path]:
    """The files and folders of an installed package and its dependencies, by their names in site-packages."""
    try:
        package = distribution(name)
    except PackageNotFoundError:  # of another platform, or of an extra
        return found
    places = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}
    if not places <= set(found):
        found |= {place: Path(str(package.locate_file(place))) for place in places}
        for requirement in package.requires or ():
            if "extra ==" not in requirement:
                required(re.split(r"[^\w.-]", requirement, maxsplit=1)[0], found)
    return found


def environment(folder: Path, *packages: str) -> tuple[Path, Path]:
    """A Python and its site-packages, with links to the dependencies. The network is not used."""
    venv.create(folder, symlinks=True)
    python = next(path for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if path.exists())
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    for package in packages:
        for name, path in required(package, {}).items():
            if not (link := Path(site.strip()) / name).exists():
                link.symlink_to(path, path.is_dir())
    return python, Path(site.strip())


def run(python: Path, folder: Path, *arguments: str) -> str:
    """The output of pytest in a folder, without the time that it took."""
    done = subprocess.run(
        [python, "-I", "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return re.sub(r"in [\d.]+s", "", done.stdout)


def test_a_project_with_fixtures_and_options_of_the_same_names_notices_nothing(wheel: Path, tmp_path: Path) -> None:
    python, site = environment(tmp_path / "empty", "pytest", "numpy", "matplotlib", "tqdm", "safetensors")
    project = tmp_path / "project"
    project.mkdir()
    (project / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (project / "test_foreign.py").write_text(FOREIGN, encoding="utf-8")
    commands = ("-v", "--report=ours", "--strict-markers"), ("--fixtures",), ("--markers",), ("--help",)
    before = [run(python, project, *command) for command in commands]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    where = subprocess.check_output([python, "-I", "-c", "import minirnn; print(minirnn.__file__)"], text=True)
    assert site in Path(where).parents
    assert [run(python, project, *command) for command in commands] == before

    # In a course folder, pytest finds the exercises with only the installed files and those in the folder.
    tree = new_tree(tmp_path / "learn", load())
    tree.file(load().entry("ex01")).write_text(solution("ex01"), encoding="utf-8")
    assert "3 passed" in run(python, tree.root, "-k", "ex01")

"""Packs a course with its grader for a teaching platform."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from minirnn._version import __version__
from minirnn.io.atomic import atomic_write
from minirnn.learn.course import HERE, Course, CourseError
from minirnn.learn.sandbox.parent import ROOT

REQUIREMENTS = ("numpy>=2", "matplotlib>=3.9", "tqdm>=4.66", "safetensors>=0.5")

SETUP = """#!/usr/bin/env bash
# Run once, when Gradescope builds the grader's image: Python, a C++ compiler for the simulator, the libraries.
set -euo pipefail
apt-get update -qq && apt-get install -y -qq python3 python3-venv g++
python3 -m venv /autograder/venv
/autograder/venv/bin/python -m pip install -q {requirements}
# Compile the simulator's library now rather than for the first submission.
cd /autograder/source && PYTHONPATH=. MINIRNN_CACHE=/autograder/cache /autograder/venv/bin/python -c \\
    "from minirnn.devices.cuda.sim.driver import SimDriver; SimDriver()"
"""

RUN = """#!/usr/bin/env bash
# Run for each submission. minirnn lies beside this file; the students' processes see neither results nor course.
cd /autograder/source
export PYTHONPATH=/autograder/source MINIRNN_CACHE=/autograder/cache
/autograder/venv/bin/python -m minirnn grade /autograder/submission --course /autograder/source/course \\
    --out gradescope:/autograder/results/results.json
"""

AUTOGRADER = '''#!/usr/bin/env python3
"""Classroom 50 runs this in the student's checkout: it writes result.json, and exits 0 whatever the score."""
import pathlib, subprocess, sys

here = pathlib.Path(__file__).parent
subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "{package}"])
course = ["--course", str(here / "course")] if (here / "course").is_dir() else []
sys.exit(subprocess.call([sys.executable, "-m", "minirnn", "grade", ".", *course, "--out", "classroom50:result.json"]))
'''

WORKFLOW = """# Grades every push, without any platform: the result is a table in the log and a file to download.
name: grade
on: [push, workflow_dispatch]
permissions:
  contents: read
jobs:
  grade:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install -q "{package}"
      - run: python -m minirnn grade . --out junit:grades.xml --out csv:grades.csv
      - uses: actions/upload-artifact@v4
        with:
          name: grades
          path: grades.*
"""


def copy_course(folder: Path) -> None:
    """Copy minirnn's course to `folder`, to be changed.

    Raises
    ------
    CourseError
        If the folder is there already.
    """
    if folder.exists():
        raise CourseError(f"{folder} is there already\n  expected a new folder: nothing is overwritten")
    shutil.copytree(HERE, folder)


def export(course: Course, platform: str, out: Path) -> None:
    """Write the zip file for "gradescope" or "classroom50"."""
    if not out.absolute().parent.is_dir():
        raise CourseError(f"{out}: the folder {out.parent} does not exist")
    with atomic_write(out, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        if platform == "gradescope":
            add(
                archive,
                "setup.sh",
                SETUP.format(requirements=" ".join(f"'{r}'" for r in REQUIREMENTS)),
                executable=True,
            )
            add(archive, "run_autograder", RUN, executable=True)
            for path in sorted((ROOT / "minirnn").rglob("*")):  # exactly this minirnn, not whatever is newest
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(ROOT).as_posix())
        else:
            package = f"minirnn=={__version__}"
            add(archive, "autograder.py", AUTOGRADER.format(package=package))
            add(archive, "grade.yml", WORKFLOW.format(package=package))
        for path in sorted(course.folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, f"course/{path.relative_to(course.folder).as_posix()}")


def add(archive: zipfile.ZipFile, name: str, text: str, executable: bool = False) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = (0o755 if executable else 0o644) << 16
    archive.writestr(info, text)

"""Packs a course with its grader for a teaching platform."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import zipfile
from collections.abc import Collection
from pathlib import Path

from minirnn.io.atomic import atomic_write
from minirnn.learn.course import HERE, Course, CourseError, load, write
from minirnn.learn.reports import make_folder
from minirnn.learn.sandbox.parent import ROOT
from minirnn.machine.computer import installed_version

REQUIREMENTS = {"numpy": ">=2", "matplotlib": ">=3.9", "tqdm": ">=4.66", "safetensors": ">=0.5"}
"""What the grader installs: the versions that are installed here, or else these."""

START = '''"""Starts this grader: python -I run.py grade SUBMISSION ...

It looks first whether all files are those that were exported. Nothing is imported from the current folder.
"""
import hashlib, json, pathlib, sys

here = pathlib.Path(__file__).resolve().parent
if not sys.flags.isolated:
    sys.exit("run.py: not isolated; start it as: python -I run.py")
known = json.loads((here / "manifest.json").read_text(encoding="utf-8"))
there = [p.relative_to(here).as_posix() for name in ("minirnn", "course") for p in (here / name).rglob("*")
         if p.is_file() and "__pycache__" not in p.parts]
changed = [name for name in {*known, *there}
           if not (here / name).is_file() or hashlib.sha256((here / name).read_bytes()).hexdigest() != known.get(name)]
if changed:
    sys.exit("run.py: these are not the files that were exported: " + ", ".join(sorted(changed)[:5]))
sys.path.insert(0, str(here))
from minirnn.commands.cli import main

sys.exit(main())
'''

SETUP = """#!/usr/bin/env bash
# Run once, when Gradescope builds the grader's image: Python, a C++ compiler for the simulator, the libraries.
set -euo pipefail
apt-get update -qq && apt-get install -y -qq python3 python3-venv g++ binutils
python=python3
if ! python3 -I -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    apt-get install -y -qq python3.11 python3.11-venv  # Ubuntu 22.04 has 3.10 and, under this name, 3.11
    python=python3.11
fi
"$python" -I -m venv /autograder/venv
/autograder/venv/bin/python -I -m pip install -q {requirements}
# Compile the simulator's library now rather than for the first submission.
cd /autograder/source && MINIRNN_CACHE=/autograder/cache /autograder/venv/bin/python -I run.py doctor
"""

RUN = """#!/usr/bin/env bash
# Run for each submission, from the grader's own folder: nothing of the submission is run but answers, below locks.
cd /autograder/source
unset PYTHONPATH PYTHONSTARTUP PYTHONHOME
export MINIRNN_CACHE=/autograder/cache
results=/autograder/results/results.json said=$(mktemp)
trap 'rm -f "$said"' EXIT
rm -f "$results"
/autograder/venv/bin/python -I run.py grade /autograder/submission --course /autograder/source/course \\
    --trusted --one --out gradescope:"$results" 2> "$said"
status=$?
cat "$said" >&2
[ -s "$results" ] && exit 0
# Nothing was graded. Without this file Gradescope says only that the autograder failed.
reason=$(tail -c 2000 "$said" | tr '\\n' ' ' | LC_ALL=C tr -cd '[:print:]' | tr -d '"\\\\')
cat > "$results" <<END
{"score": 0,
 "output": "Not graded: the grader itself failed, with status $status. This is not your fault; tell your teacher.",
 "output_format": "text", "visibility": "visible", "stdout_visibility": "hidden",
 "tests": [{"name": "for the teacher", "output": "$reason", "output_format": "text", "visibility": "hidden"}]}
END
"""

AUTOGRADER = '''#!/usr/bin/env python3
"""Grades the checkout in the current folder: python -I autograder.py [FORMAT:FILE ...]

Classroom 50 runs it without arguments: it writes result.json there, and exits 0 whatever the score. It works in
its own folder with its own Python. In the checkout, only answers are run, with locks.
"""
import hashlib, os, pathlib, subprocess, sys, tempfile

HASHES = {hashes}
here, checkout = pathlib.Path(__file__).resolve().parent, pathlib.Path.cwd()
for name, digest in HASHES.items():
    if hashlib.sha256((here / name).read_bytes()).hexdigest() != digest:
        sys.exit(f"autograder.py: {{name}} is not the file that was exported")
clean = {{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}}
with tempfile.TemporaryDirectory() as work:
    python = os.environ.get("MINIRNN_GRADER_PYTHON")  # one that has the libraries already
    if not python:
        subprocess.check_call([sys.executable, "-I", "-m", "venv", work + "/venv"], cwd=work, env=clean)
        python = work + "/venv/bin/python"
        install = [python, "-I", "-m", "pip", "install", "-q", "--only-binary", ":all:", *{requirements}]
        subprocess.check_call(install, cwd=work, env=clean)
    outs = []
    for out in sys.argv[1:] or ["classroom50:result.json"]:
        kind, _, name = out.partition(":")
        target = checkout / name
        if target.is_symlink():
            target.unlink()  # a link in the checkout leads where its author wants
        outs += ["--out", f"{{kind}}:{{target}}"]
    grade = ["grade", str(checkout), "--trusted", "--one", "--course", str(here / "course"), *outs]
    sys.exit(subprocess.call([python, "-I", str(here / "run.py"), *grade], cwd=work, env=clean))
'''

WORKFLOW = """# Grades every push, without any platform: the result is a table in the log and files to download.
#
# The grader is not in the students' repositories. Unpack the zip into a repository of yours and name it below; if it is
# private, a token that can read it must be a secret of the students' organization (GRADER_TOKEN).
# Anyone who can write to a repository can change this file there. For grades that count, run minirnn grade yourself.
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
        with:
          path: submission
          persist-credentials: false
      - uses: actions/checkout@v4
        with:
          repository: OWNER/GRADER
          token: ${{ secrets.GRADER_TOKEN || github.token }}
          path: grader
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: cd submission && python -I ../grader/autograder.py junit:../grades.xml csv:../grades.csv
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: grades
          path: grades.*
"""


def copy_course(folder: Path, only: Collection[str] = ()) -> None:
    """Copy minirnn's course to `folder`, to be changed. It is named after the folder, and has a new hidden seed.

    With `only` it has these exercises and, with the capstone, those that the capstone needs.

    Raises
    ------
    CourseError
        If the folder is there already, or minirnn does not have an exercise.
    """
    course = load()
    kept = {course.entry(id).id for id in only} or set(course.entries)
    kept.update(course.entries["ex41"].needs if "ex41" in kept else ())
    if folder.exists():
        raise CourseError(f"{folder} is there already\n  expected a new folder: nothing is overwritten")
    shutil.copytree(HERE, folder)
    file = folder / "course.toml"
    own = {"name": folder.absolute().name, "hidden_seed": secrets.token_hex(24)}
    text = file.read_text(encoding="utf-8")
    for key, value in own.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(before, f"{key} = {json.dumps(value)}", 1)
    for entry in course.entries.values():
        if entry.id not in kept:
            text = re.sub(rf'\[\[exercise\]\]\nid = "{entry.id}"\n.*?(?=\n# ----|\n\[\[|\Z)\n?', "", text, flags=re.S)
            for kind in ("exercises", "solutions"):
                (folder / kind / entry.exercise.path).unlink(missing_ok=True)
        left = [need for need in entry.needs if need in kept]
        text = text.replace(f"needs = {json.dumps(entry.needs)}\n", f"needs = {json.dumps(left)}\n")
    write(file, re.sub(r"(?:# ---- .*\s+)+(?=# ----|\Z)", "", text))


def export(course: Course, platform: str, out: Path) -> None:
    """Write the zip file for "gradescope" or "classroom50": this minirnn, the course, and a script to start it."""
    make_folder(out)
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in below(ROOT / "minirnn")}
    files |= {
        f"course/{path.relative_to(course.folder).as_posix()}": path.read_bytes() for path in below(course.folder)
    }
    manifest = json.dumps({name: sha256(data) for name, data in files.items()}, indent=0).encode()
    starters = {"run.py": START.encode(), "manifest.json": manifest}
    with atomic_write(out, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        if platform == "gradescope":
            add(archive, "setup.sh", SETUP.format(requirements=" ".join(f"'{r}'" for r in requirements())), True)
            add(archive, "run_autograder", RUN, True)
        else:
            hashes = {name: sha256(data) for name, data in starters.items()}
            add(archive, "autograder.py", AUTOGRADER.format(hashes=hashes, requirements=requirements()))
            add(archive, "grade.yml", WORKFLOW)
        for name, data in (starters | files).items():
            add(archive, name, data)


def below(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def requirements() -> list[str]:
    """The libraries that the grader needs, in the versions that are installed here."""
    found = {name: installed_version(name) for name in REQUIREMENTS}
    return [f"{name}=={found[name]}" if found[name] else f"{name}{least}" for name, least in REQUIREMENTS.items()]


def add(archive: zipfile.ZipFile, name: str, text: str | bytes, executable: bool = False) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = (0o755 if executable else 0o644) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, text)

"""Makes a class of students who submit right, wrong, broken and hostile answers, grades it, and measures the run.

    python scripts/evidence/grade_many.py 40 /tmp/class                # makes the submissions, grades them by --jobs 2
    python scripts/evidence/grade_many.py 1000 /tmp/class -- --jobs 2  # what comes behind -- goes to minirnn grade

It prints the wall time next to its limit (1.1 times the answers' own processor time over two, and a minute), the
memory of the grader's processes, and the part of the time that reports took. The same number makes the same class.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from minirnn.learn.course import Course, Entry, load  # noqa: E402

SHARES = {"right": 62, "wrong": 16, "broken": 6, "untouched": 10, "missing": 6}
"""The percentages of the kinds of answers, for a student of average skill."""
HOSTILE = 0.02
"""The share of students who attack the grader."""
ATTACKS = {
    "endless": "while True: pass",
    "asleep": "import time; time.sleep(10**6)",
    "memory": "x = bytearray(1 << 40)",
    "lists": "x = []\nwhile True: x.append(x[:])",
    "forks": "import os\nfor k in range(100): os.fork()",
    "threads": "import threading\nwhile True: threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
    "exit": "import os; os._exit(0)",
    "kill": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "killpg": "import os, signal; os.killpg(0, signal.SIGKILL)",
    "flood": "while True: print('x' * 100000)",
    "disk": "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))",
    "read": "import glob, os\nprint([open(p).read() for p in glob.glob(os.path.expanduser('~/.*'))])",
    "connect": "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
    "deep": "def f(): f()\nimport sys; sys.setrecursionlimit(10**9); f()",
    "native": "import ctypes; ctypes.string_at(0)",
}
ARCHIVES = ("damaged", "bomb", "climbs", "crowd", "encrypted")
"""Hostile zip files."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", type=int, help="how many students")
    parser.add_argument("folder", type=Path, help="where: made anew, but for submissions that are there already")
    parser.add_argument("--only-make", action="store_true", help="grade nothing")
    parser.add_argument("grade", nargs="*", default=[], help="more for minirnn grade")
    args = parser.parse_args()
    course = load()
    submissions = args.folder / "submissions"
    submissions.mkdir(parents=True, exist_ok=True)
    for number in range(args.number):
        make(course, number, submissions)
    if not args.only_make:
        measure(args.folder, sorted(submissions.iterdir()), args.grade or ["--jobs", "2"])


# ---- making


def make(course: Course, number: int, submissions: Path) -> None:
    """Make the submission of student `number`: a zip file, or sometimes a folder."""
    rng = random.Random(number)
    name = f"student{number:04d}"
    hostile = number % round(1 / HOSTILE) == round(0.5 / HOSTILE)
    skill = rng.betavariate(3, 2)
    texts = {entry.file: answer(course, entry, rng, skill) for entry in course.entries.values()}
    if hostile:
        attack(course, texts, rng)
    files = {file: text for file, text in texts.items() if text is not None}
    target = submissions / (name if number % 4 == 0 else f"{name}.zip")
    if target.exists():
        return
    if number % 4 == 0:
        for file, text in files.items():
            path = target / "rnn-course" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, text in files.items():
            archive.writestr(f"rnn-course/{file}", text)
    target.write_bytes(hostile_zip(data.getvalue(), rng) if hostile and number % 3 == 0 else data.getvalue())


def answer(course: Course, entry: Entry, rng: random.Random, skill: float) -> str | None:
    """A random kind of answer, depending on the student's skill; None if it is missing."""
    shares = {**SHARES, "right": SHARES["right"] * (0.1 + 2 * skill**2)}
    (kind,) = rng.choices(list(shares), list(shares.values()))
    right = course.solution(entry)
    if kind == "missing":
        return None
    if kind == "untouched":
        return course.stub(entry)
    if kind == "broken":
        texts = [right[: len(right) // 2], right.replace("(", "", 1), right + "\n)", "raise ValueError\n", right * 2]
        return rng.choice(texts)
    return right if kind == "right" else wrong(right, rng)


def wrong(text: str, rng: random.Random) -> str:
    """The text with one sign, factor or index changed, somewhere below its first definition."""
    start = max(text.find("def "), text.find("__global__"), 0)
    pairs = ((" + ", " - "), (" - ", " + "), (" * ", " + "), (" @ ", " * "), ("1 - ", "1 + "), (".sum(0)", ".sum(1)"),
             ("[t]", "[t - 1]"),
             (" += ", " = "), (".T", ""), ("< ", "<= "))  # fmt: skip
    places = [(k, a, b) for a, b in pairs for k in range(start, len(text)) if text.startswith(a, k)]
    if not places:
        return text.replace("return ", "return 2 * ", 1)
    k, a, b = rng.choice(places)
    return text[:k] + b + text[k + len(a) :]


def attack(course: Course, texts: dict[str, str | None], rng: random.Random) -> None:
    """Put attacks into three answers, to run when the file is read or when the function is called."""
    python = [entry for entry in course.entries.values() if entry.file.endswith(".py")]
    for entry in rng.sample(python, 3):
        deed = ATTACKS[rng.choice(list(ATTACKS))]
        if rng.random() < 0.5:
            texts[entry.file] = f"{deed}\n\n{course.solution(entry)}"
        else:
            body = "".join(f"    {line}\n" for line in deed.splitlines())
            texts[entry.file] = f"def {entry.exercise.function}(*args, **kwargs):\n{body}"


def hostile_zip(data: bytes, rng: random.Random) -> bytes:
    kind = rng.choice(ARCHIVES)
    if kind == "damaged":
        return data[: len(data) // 2]
    if kind == "encrypted":
        changed = bytearray(data)
        changed[6] |= 1
        return bytes(changed)
    more = io.BytesIO(data)
    with zipfile.ZipFile(more, "a", zipfile.ZIP_DEFLATED) as archive:
        if kind == "bomb":
            for k in range(300):
                archive.writestr(f"{k}/ex01_mul_add.py", b"#" * (1 << 20))
        elif kind == "climbs":
            archive.writestr("../../../../tmp/ex99_\n\x1b[2J.py", "")
        else:
            for k in range(100_000):
                archive.writestr(f"f{k}", "")
    return more.getvalue()


# ---- measuring

INNER = """
import sys, time
from minirnn.commands import cli
from minirnn.learn.grading.publish import Publisher
now, spent = Publisher.now, [0.0, 0]
def timed(self):
    begin = time.perf_counter()
    now(self)
    spent[0] += time.perf_counter() - begin
    spent[1] += 1
Publisher.now = timed
if __name__ == "__main__":
    status = cli.main(sys.argv[1:])
    print(f"{spent[0]:.2f} s for {spent[1]} times all reports", file=sys.stderr)
    sys.exit(status)
"""


def measure(folder: Path, submissions: list[Path], more: list[str]) -> None:
    """Grade the class, and print the time and memory that this took."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    (out / "inner.py").write_text(INNER)
    command = [sys.executable, str(out / "inner.py"), "grade", *map(str, submissions), *more]
    command += ["--out", f"csv:{out}/grades.csv", "--out", f"junit:{out}/grades.xml"]
    begin = time.monotonic()
    with open(out / "printed.txt", "w") as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
        usage: dict[int, tuple[float, float, int]] = {}
        templates: dict[int, tuple[float, float, int]] = {}
        while process.poll() is None:
            for pid in judges(process.pid):
                if (found := usage_of(pid)) is not None:
                    usage[pid] = found
                templates |= {t: found for t in children(pid, b"sandbox/start.py") if (found := usage_of(t))}
            time.sleep(0.25)
        said = process.stderr.read() if process.stderr else ""
    wall = time.monotonic() - begin
    own = sum(values[0] for values in usage.values())
    answers = sum(values[0] + values[1] for values in templates.values())
    memory, shared = (sum(values[2] for values in found.values()) for found in (usage, templates))
    allowed = 1.1 * answers / 2 + 60
    reports = next((line for line in said.splitlines() if "times all reports" in line), "")
    print("\n".join(said.splitlines()[-5:]))
    print(
        f"{len(submissions)} submissions, exit status {process.returncode}, wall {wall:.0f} s, allowed {allowed:.0f} s"
    )
    print(f"processor: answers and their compilers {answers:.0f} s, judges {own:.0f} s in {len(usage)} processes")
    print(f"memory, each at its most: judges {memory} MB, what answers are forked from {shared} MB; reports: {reports}")
    if reports:
        print(f"share of the reports: {100 * float(reports.split()[0]) / wall:.2f} %")


def judges(pid: int) -> list[int]:
    """The grader's process and its workers, without the answers."""
    return [pid, *children(pid, b"spawn_main")]


def children(pid: int, named: bytes) -> list[int]:
    """The child processes of `pid` whose command contains `named`."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        found = [int(c) for task in tasks for c in (task / "children").read_text().split()]
        return [c for c in found if named in Path(f"/proc/{c}/cmdline").read_bytes()]
    except OSError:
        return []


def usage_of(pid: int) -> tuple[float, float, int] | None:
    """The processor seconds of a process and of its finished children, and its peak memory in MB."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    own, waited = ((int(fields[k]) + int(fields[k + 1])) / ticks for k in (11, 13))
    most = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
    return own, waited, most // 1024


if __name__ == "__main__":
    main()

"""The documentation is correct: every op has a page, and every test, path and link that it names exists.

Tests `docs/`.
"""

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import minirnn as mr
from minirnn.commands import cli
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.explain.names import explained
from minirnn.learn.course import load
from minirnn.train import pictures
from scripts.exercise_pages import table
from tests.slow import slow_unless

ROOT = Path(__file__).parents[1]
GENERATED = ("api/", "../api/", "tutorials/")
"""Pages that exist only in the built site, whose links Sphinx checks."""
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if "api" not in p.relative_to(ROOT / "docs").parts)


def test_every_op_has_a_page() -> None:
    pages = "\n".join(p.read_text() for p in (ROOT / "docs" / "ops").glob("*.md") if p.name != "README.md")
    for op in explained():
        assert f"{op}" in pages, op


def test_every_exercise_stands_in_the_table_with_its_points_and_in_a_tutorial() -> None:
    text = table(load())
    tutorials = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "tutorials").glob("[0-9]*.py")}
    rows = re.findall(
        r"^\| (ex\d\d) \| (.*?) \| `(\w+)` \| (\d+) \+ (\d+) \| (?:.*\(tutorials/(\w+)\))? ", text, flags=re.M
    )
    entries = load().entries.values()
    assert [row[:5] for row in rows] == [
        (e.id, e.title, e.exercise.function, str(e.points), str(e.hidden)) for e in entries
    ]
    for id, *_, tutorial in rows:
        assert not tutorial or f"``{id}``" in tutorials[tutorial].partition("\n# Then write it yourself")[2], id


def test_the_pages_count_the_exercises_as_the_course_does() -> None:
    entries = load().entries.values()
    *others, capstone = entries  # ex21 is a test, which is timed in a separate row
    in_python = [e for e in others if e.exercise.path.endswith(".py") and e.id != "ex21"]
    assert capstone.id == "ex41" and len(others) == 44
    assert "forty-four small functions and kernels" in (ROOT / "docs" / "exercises.md").read_text(encoding="utf-8")
    grading = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    assert f"| {len(in_python)} answers in Python |" in grading
    assert f"| {len(others) - len(in_python) - 1} CUDA kernels |" in grading


def glossary() -> dict[str, str]:
    """The words of the glossary with their definitions."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    _, _, listed = text.partition("```{glossary}\n")
    return dict(re.findall(r"^(\S.*)\n((?:  .*\n)+)", listed, flags=re.MULTILINE))


def test_the_glossary_is_in_alphabetical_order_and_explains_each_word_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = list(glossary())
    assert len(words) > 60 and words == sorted(set(words), key=lambda word: word.lower().replace("-", " "))
    assert len(re.findall(r"^\S.*\n  ", text, flags=re.MULTILINE)) == len(words)


def test_the_glossary_has_the_words_of_backpropagation_through_time() -> None:
    basic = "BPTT, Jacobian, VJP, cell state, cotangent, gate, hidden state, leaf, node, saturation, tape, truncation"
    assert {*basic.split(", "), "canonical parameters", "persistent kernel", "reserve space"} <= set(glossary())


def test_each_entry_of_the_glossary_is_whole_sentences_with_links_that_resolve() -> None:
    words = glossary()
    for word, says in words.items():
        assert says.rstrip().endswith((".", "`).")) and says.count("`") % 2 == 0, word
    for page in PAGES:
        for shown, term in re.findall(r"\{term\}`(?:([^`<]+) <)?([^`>]+)>?`", page.read_text(encoding="utf-8")):
            assert term in words, f"{page.name}: {shown or term}"
    tutorials = {path.stem for path in (ROOT / "tutorials").glob("[0-9]*.py")}
    for target in re.findall(r"\]\(tutorials/(\w+)\)", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")):
        assert target in tutorials, target


def test_every_known_disagreement_names_a_test_that_exists() -> None:
    tests = "\n".join(p.read_text() for p in (ROOT / "tests").rglob("test_*.py"))
    page, _, _ = (ROOT / "docs" / "disagreements.md").read_text().partition("\n## torch\n")  # tests/peers read the rest
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 8
    for row in rows:
        names = re.findall(r"`(test_\w+)`", row)
        assert names, row
        for name in names:
            assert f"def {name}(" in tests, name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target and not target.startswith(GENERATED):
            assert (page.parent / target).exists(), target
    for path in re.findall(r"`((?:minirnn|tests|scripts|docs)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path


ONE_PROGRAM = ("own_cell.md", "own_op.md")
RUN = ("adjoints.md", "cuda.md", "first_steps.md", "functions.md", "look_inside.md", "practice.md", "questions.md")


@pytest.mark.parametrize(
    "page", slow_unless(["adjoints.md", "functions.md", "own_cell.md", "questions.md"], RUN + ONE_PROGRAM)
)
def test_the_python_of_a_page_runs_and_prints_what_it_says(page: str, tmp_path: Path) -> None:
    for device in {"own_cell.md": [], "own_op.md": ["cuda-sim", "native"]}.get(page, ["cuda-sim"]):
        if reason := mr.devices.available()[device]:
            pytest.skip(reason)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    for code in ["\n".join(blocks)] if page in ONE_PROGRAM else blocks:
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        promised = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
        assert done.stdout.splitlines() == promised


COMMANDS = re.compile(r"\bminirnn ((?:explain|bench|train|sample)\b[^`#\n]*)")
QUICK = {
    "bench": "--size 3,2,4,5 --samples 1 --threads 1",
    "train": "--hidden 7 --batch 3 --length 11 --steps 2 --text text.txt --quiet",
    "sample": "--length 9",
}
"""Options that make a command short."""


@pytest.mark.parametrize(
    "page",
    slow_unless(["docs/train.md"], ["docs/own_cell.md", "docs/train.md", "docs/performance.md"]),
)
def test_the_commands_on_own_cells_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shutil.copy(ROOT / "docs" / "examples" / "cells" / "mgu.py", tmp_path)
    if found := re.search(r"^@cell.*?^    return .*?$", text, flags=re.DOTALL | re.MULTILINE):
        (tmp_path / "patient.py").write_text(f"from minirnn import cell, product, sigmoid, tanh\n{found[0]}\n")
    (tmp_path / "text.txt").write_text("the cat sees the dog.\n" * 100)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pictures, "draw_all", lambda folder, training: "")
    every = COMMANDS.findall(text)
    own = every if page == "docs/own_cell.md" else [line for line in every if ".py:" in line]
    if page == "docs/train.md":  # it lists options, not command lines
        own = [f"train {option}" for option in re.findall(r"`(--cell [^`]*\.py:[^`]*)`", text)]
    assert own
    for line in own:
        name = line.split()[0]
        quick = QUICK.get(name, "") if "--resume" not in line else "--quiet"
        steps = line.replace("--steps 2400", "--steps 4")
        if "--device native" in line and mr.devices.available()["native"] is not None:
            continue
        assert cli.main([*steps.split(), *quick.split()]) == 0, line
    assert capsys.readouterr().err == ""


def test_the_options_of_the_simulator_are_those_of_the_page() -> None:
    text = (ROOT / "docs" / "cuda.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(SimOptions):
        assert f"`{field.name}" in text, field.name

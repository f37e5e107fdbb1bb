"""Teachers' own exercises: the initial files, what is read, rejected, handed out and held back.

Tests `minirnn/learn/teacher_exercise.py`, `minirnn/learn/new_exercise.py`, `minirnn/learn/held_back.py` and, for such a
course, `minirnn/learn/verify.py`.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from minirnn.commands import cli
from minirnn.learn.check import check
from minirnn.learn.course import COURSE, HERE, CourseError, find_tree, load, new_tree
from minirnn.learn.exercise import PUBLIC
from minirnn.learn.grading.reading import collect
from minirnn.learn.grading.task import grade
from minirnn.learn.new_exercise import new_exercise
from minirnn.learn.verify import verify
from tests.slow import slow_unless

HEAD = 'name = "mine"\ntitle = "Mine"\nhidden_seed = 77\ndetail = "full"\n\n[[exercise]]\nid = "ex05"\npoints = 5\n'
HINTS = 'hints = ["a", "b", "c"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A course with ex05 and the exercise `bend`, as it is begun."""
    course = tmp_path / "course"
    course.mkdir()
    (course / "course.toml").write_text(HEAD + HINTS)
    new_exercise(course, "bend")
    return course


def change(path: Path, *pairs: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)


def answered(folder: Path, tree, text: str):
    """The message about `text` as the answer to bend in a student's folder."""
    entry = tree.course.entry("bend")
    tree.file(entry).write_text(text)
    return check(tree.course, entry, tree.file(entry))


@pytest.mark.slow
def test_what_is_begun_verifies_and_a_kernel_too(folder):
    new_exercise(folder, "scale_it", cuda=True)
    seconds: dict[str, float] = {}
    found = dict(verify(load(folder), seconds))
    hints = ["A first hint: where to begin.", "A second one: what follows from it.", "A third one: nearly the answer."]
    template = [f"a hint is still the template's: {hint}" for hint in hints]
    for id, file in (("bend", "bend.py"), ("scale_it", "scale_it.cu")):
        assert found[id] == [*template, f"exercises/own/{file} still describes the template's example"]
    assert found["ex05"] == []
    assert set(seconds) == {"ex05", "bend", "scale_it"}
    course = load(folder)
    assert course.chapters["Our own"] == [course.entry("bend"), course.entry("scale_it")]
    assert [e.number for e in course.entries.values()] == ["1.1", "2.1", "2.2"]


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("Bend", "cannot be called 'Bend'"),
        ("ex22", "cannot be called 'ex22'"),
        ("../x", "cannot be called"),
        ("", "cannot be called"),
        ("bend", "has an exercise 'bend' already"),
        ("there", "there.py is there already"),
    ],
)
def test_an_exercise_that_cannot_be_begun_changes_nothing(folder, id, said):
    (folder / "references" / "there.py").write_text("mine")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with pytest.raises(CourseError, match=re.escape(said)):
        new_exercise(folder, id)
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_without_a_course_nothing_is_begun(tmp_path):
    with pytest.raises(CourseError, match=r"course\.toml: no such file"):
        new_exercise(tmp_path, "bend")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("file", "pairs", "said"),
    [
        ("course.toml", [('id = "bend"', 'id = "Bend"')], "has id 'Bend'\n  expected lowercase letters"),
        ("course.toml", [('id = "bend"', 'id = "ex77"')], "names such as ex12 are reserved for minirnn"),
        ("course.toml", [('file = "own/bend.py"', 'file = "../bend.py"')], "expected a folder and a file"),
        ("course.toml", [('file = "own/bend.py"', 'file = "own/none.py"')], "none.py: no such file\n  expected the"),
        ("course.toml", [('reference = "bend.py"', 'reference = "../bend.py"')], "expected a file in references/"),
        ("course.toml", [('reference = "bend.py"', 'reference = "none.py"')], "none.py: no such file"),
        ("course.toml", [('function = "bend_backward"', "")], "function is missing"),
        ("course.toml", [('function = "bend_backward"', 'function = "other"')], "other is missing\n  expected"),
        ("course.toml", [('reference = "bend.py"', 'reference = "bend.py"\nsecret = 1')], "secret is 1"),
        ("references/bend.py", [("import numpy as np", "import numpy as")], "bend.py: SyntaxError"),
        ("references/bend.py", [("OUTPUTS = {", "OTHER = {")], "OUTPUTS is missing\n  expected a dict"),
        ("references/bend.py", [('"dx": "(B, H)", ', "")], "returned 2 values\n  expected 1: dw (OUTPUTS)"),
        ("references/bend.py", [("def inputs", "def others")], "inputs is missing\n  expected a function"),
        ("references/bend.py", [("return dict(x=x", "return list(x=x")], "line 11: TypeError"),
        ("references/bend.py", [("return dict(x=x", "return (x")], "SyntaxError"),
        ("references/bend.py", [("da = dy *", "da = none *")], "line 16: NameError: name 'none' is not defined"),
        ("references/bend.py", [("MISTAKES = {", "STAGES = [1]\nMISTAKES = {")], "STAGES is [1]\n  expected rows"),
        ("references/bend.py", [("MISTAKES = {", "GATES = 'a'\nMISTAKES = {")], "'a'\n  expected a whole number"),
        ("references/bend.py", [("MISTAKES = {", "MISTAKES = 1, {")], "expected a dict"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told_with_the_place(folder, file, pairs, said, monkeypatch):
    change(folder / file, *pairs)
    monkeypatch.chdir(folder.parent)
    for place in (folder, Path(folder.name)):
        with pytest.raises(CourseError) as caught:
            load(place)
        assert said in str(caught.value) and str(place) in str(caught.value)


def test_verify_complains_about_mistakes_that_nobody_can_see(folder):
    change(folder / "references" / "bend.py", ("(dy * (1 - y * y) * x).mean(0)", "(dy * (1 - y * y) * x).sum(0)"))
    assert any(c.startswith("not noticed: dw: w[k] is used") for c in dict(verify(load(folder)))["bend"])


@pytest.mark.parametrize(
    ("old", "new"), [(".mean(0)", ".mean(none)"), ("    x, w = ", "    s.B == 4 and none\n    x, w = ")]
)
def test_verify_tells_the_line_of_a_reference_that_fails_later_and_goes_on(folder, old, new):
    """In one of its mistakes, or in a hidden case."""
    new_exercise(folder, "bent")
    change(folder / "references" / "bend.py", (old, new))
    found = dict(verify(load(folder), only=["bend", "bent"]))
    assert re.search(r"bend.py, line \d+: NameError: name 'none' is not defined", found["bend"][0])
    assert all("template" in complaint for complaint in found["bent"])


def test_verify_complains_about_solutions_stubs_hints_points_needs_and_what_is_half_made(folder):
    (folder / "exercises" / "own" / "half.py").write_text("")
    (folder / "solutions" / "own" / "bend.py").write_text((folder / "exercises" / "own" / "bend.py").read_text())
    change(folder / "course.toml", (HINTS, 'hints = ["a"]\nneeds = ["bend", "ex06"]\n'), ("points = 2", "points = 1"))
    found = dict(verify(load(folder)))
    needs = ["it needs bend, which comes later", "it needs ex06, which the course does not have"]
    assert found["ex05"] == [*needs, "1 hint, expected 3"]
    assert any(c.startswith("the solution fails") and "exercises/own" not in c for c in found["bend"])
    assert "1 point for 2 outputs: some outputs are worth nothing" in found["bend"]
    assert found["half"] == ["exercises/own/half.py is in no [[exercise]] of course.toml"]


def test_verify_names_the_file_of_a_wrong_or_missing_solution_a_solved_stub_and_another_shape(folder):
    solution, stub = (folder / kind / "own" / "bend.py" for kind in ("solutions", "exercises"))
    right = solution.read_text()
    solution.write_text(right.replace("da = dy", "da = none"))
    found = dict(verify(load(folder), only=["bend"]))["bend"]
    assert any(c.startswith("the solution fails: solutions/own/bend.py, line 5\n") for c in found), found
    solution.unlink()
    stub.write_text(right)
    change(folder / "references" / "bend.py", ('"dw": "(H,)"', '"dw": "(B,)"'))
    found = dict(verify(load(folder), only=["bend"]))["bend"]
    assert "solutions/own/bend.py: no such file; the reference is tried as the solution" in found
    assert "the stub counts as passed and earns 2 of 2 points once it is begun" in found
    sizes = "Sizes(T=4, B=2, I=3, H=5)"
    assert f"dw has the shape (5,), but OUTPUTS says (B,), which is (2,) for {sizes}" in found
    assert not any("describes the template" in c or c.endswith(": ") for c in found)


def test_the_inputs_of_an_own_exercise_are_its_own_and_the_same_in_every_run(folder):
    new_exercise(folder, "bent")
    one, two = (load(folder).entry("bend").exercise.case([0], PUBLIC) for _ in range(2))
    np.testing.assert_array_equal(one["x"], two["x"])
    assert not np.array_equal(one["x"], load(folder).entry("bent").exercise.case([0], PUBLIC)["x"])


# ---- students


def test_students_get_the_course_without_its_seed_and_solutions_and_a_full_diagnosis(folder, tmp_path):
    course = load(folder)
    tree = find_tree(new_tree(tmp_path / "student", course).root)
    assert tree.course.title == "Mine" and list(tree.course.entries) == ["ex05", "bend"]
    texts = [p.read_text() for p in tree.root.rglob("*") if p.is_file()]
    assert not any(
        "hidden_seed" in text or "77" in text or course.solution(course.entry("bend")) in text for text in texts
    )
    assert not (tree.root / COURSE / "solutions").exists()
    right = course.solution(course.entry("bend"))
    result = answered(folder, tree, right.replace("1 - y * y", "1 - y"))
    assert result.exact and "square" in result.diagnosis and result.score == 0
    result = answered(folder, tree, right.replace(".sum(0)", ".mean(0)"))
    assert result.exact and "not the mean" in result.message and result.score == 1
    assert answered(folder, tree, right).passed


def test_an_answer_is_graded_with_the_hidden_checks_of_the_teachers_course(folder, tmp_path):
    course = load(folder)
    tree = new_tree(tmp_path / "student", course)
    tree.file(course.entry("bend")).write_text(course.solution(course.entry("bend")))
    (tree.root / COURSE / "references" / "bend.py").write_text("raise SystemExit\n")  # a student's change there
    result = grade(course, "ann", collect(tree.root, course)).results["bend"]
    assert (result.status, result.score, result.hidden) == ("passed", 2, 1)
    tree.file(course.entry("bend")).write_text(
        course.solution(course.entry("bend")).replace(
            "return", "if len(x) not in (2, 3):\n        return x, w\n    return"
        )
    )
    result = grade(course, "ann", collect(tree.root, course)).results["bend"]
    assert (result.score, result.hidden) == (2, 0)
    kinds = "with more samples and more units; with one sample"
    assert result.hidden_message == f"1 of 3 hidden checks are right; your answer is wrong {kinds}"


@pytest.mark.parametrize("cuda", slow_unless([False], [False, True]))
def test_a_secret_reference_stays_and_numbers_go(folder, tmp_path, cuda):
    id = "scale" if cuda else "bend"
    if cuda:
        new_exercise(folder, id, cuda=True)
    change(folder / "course.toml", (f'id = "{id}"', f'id = "{id}"\nsecret = true'))
    course = load(folder)
    tree = find_tree(new_tree(tmp_path / "student", course).root)
    files = sorted(p.name for p in (tree.root / COURSE).rglob("*") if p.is_file())
    assert f"{id}.numbers" in files and not (tree.root / COURSE / "references" / f"{id}.py").exists()
    entry, right = tree.course.entry(id), course.solution(course.entry(id))
    tree.file(entry).write_text(right)
    assert check(tree.course, entry, tree.file(entry)).passed
    tree.file(entry).write_text(right.replace("w * x[k]", "x[k]").replace("1 - y * y", "1 - y"))
    result = check(tree.course, entry, tree.file(entry))
    assert result.status == "failed" and result.score == 0 and not any(p.ok for p in result.parts)
    with pytest.raises(CourseError, match="stays with your teacher"):
        tree.course.solution(entry)
    for data in (b"", b"PK", (tree.root / COURSE / "numbers" / f"{id}.numbers").read_bytes()[:200]):
        (tree.root / COURSE / "numbers" / f"{id}.numbers").write_bytes(data)
        with pytest.raises(CourseError, match=f"cannot be read .*\n  expected the numbers of {id}"):
            find_tree(tree.root)


def test_functions_among_the_inputs_cannot_be_handed_out_as_numbers(folder, tmp_path):
    change(folder / "course.toml", ('id = "bend"', 'id = "bend"\nsecret = true'))
    change(
        folder / "references" / "bend.py",
        ("dict(x=x, w=w", "dict(f=np.tanh, x=x, w=w"),
        ("backward(x, w", "backward(f, x, w"),
    )
    with pytest.raises(CourseError, match="bend is secret, and its input f is a function"):
        new_tree(tmp_path / "student", load(folder))


def test_missing_brings_a_folder_up_to_date_with_its_course(folder, tmp_path):
    tree = new_tree(tmp_path / "student", load(folder))
    tree.file(tree.course.entry("bend")).write_text("# mine\n")
    new_exercise(folder, "more")
    tree = new_tree(tree.root, load(folder), missing=True)
    assert tree.file(tree.course.entry("bend")).read_text() == "# mine\n"
    assert list(find_tree(tree.root).course.entries) == ["ex05", "bend", "more"]


@pytest.mark.parametrize("secret", [False, True])
def test_a_new_exercise_reaches_a_students_folder_from_the_course_in_a_new_one(folder, tmp_path, capsys, secret):
    def init(name: str, *rest: str) -> tuple[int, str]:
        status = cli.main(["learn", "init", str(tmp_path / name), *rest])
        return status, capsys.readouterr().err

    assert init("old", "--course", str(folder)) == (0, "")
    bend, more = (tmp_path / "old" / "exercises" / "own" / f"{name}.py" for name in ("bend", "more"))
    bend.write_text("# mine\n")
    new_exercise(folder, "more")
    if secret:
        change(folder / "course.toml", ('id = "more"', 'id = "more"\nsecret = true'))
    assert init("new", "--course", str(folder)) == (0, "")
    before = sorted(tmp_path.rglob("*"))
    assert init("old", "--missing") == (0, "")  # with the course that the folder holds
    assert init("old", "--course", str(HERE), "--missing")[0] == 2
    assert sorted(tmp_path.rglob("*")) == before
    assert init("old", "--course", str(tmp_path / "new" / COURSE), "--missing") == (0, "")
    assert bend.read_text() == "# mine\n" and 'NotImplementedError("more")' in more.read_text()
    assert list(find_tree(tmp_path / "old").course.entries) == ["ex05", "bend", "more"]


def test_the_page_for_teachers_shows_what_works(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "grading.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"<!-- ([\w/]+\.py) -->\n```python\n(.*?)```", text, flags=re.DOTALL))
    assert set(files) == {"exercises/own/softsign.py", "references/softsign.py"}
    assert sum(len(code.splitlines()) for code in files.values()) <= 32
    (tmp_path / "course.toml").write_text(HEAD + HINTS)
    new_exercise(tmp_path, "softsign")
    for name, code in files.items():
        (tmp_path / name).write_text(code)
    change(
        tmp_path / "course.toml", ("points = 2", "points = 1"), ("A first", "1"), ("A second", "2"), ("A third", "3")
    )
    solution = code.replace("dy * slope * slope", "dy / (1 + abs(x)) ** 2")
    (tmp_path / "solutions" / "own" / "softsign.py").write_text(solution)
    course = load(tmp_path)
    assert dict(verify(course)) == {"ex05": [], "softsign": []}
    entry = course.entry("softsign")
    file = tmp_path / "answer.py"
    file.write_text(solution.replace(") ** 2", ")"))
    (said,) = re.findall(r"^      dx = dy / .*\n.*\^\n.*$", text, flags=re.MULTILINE)
    assert said in check(course, entry, file).message

"""Courses and their folders: what is read, what is rejected, and that no student's work is lost."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from minirnn.learn.catalog import EXERCISES
from minirnn.learn.course import HERE, STATE, CourseError, find_tree, hand_out, load, new_tree
from minirnn.learn.course_file import MOST

COURSE = load()
FIRST = COURSE.entry("ex01")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A teacher's copy of the course."""
    return Path(shutil.copytree(HERE, tmp_path / "course"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id = "ex01"', "", "exercise number 1: id is missing"),
        ('id = "ex01"', 'id = "ex99"', "'ex99': an exercise that minirnn does not have\n  there are: ex01, ex02"),
        (
            'id = "ex02"',
            'id = "ex01"',
            "exercise number 2 has id 'ex01', which is already used\n  expected each exercise once",
        ),
        ("points = 3", 'points = "3"', "points is '3'\n  expected a whole number"),
        ("points = 3", "points = true", "points is True\n  expected a whole number"),
        ("points = 3", "points = -1", "points is -1\n  expected a number from 0"),
        ("points = 3", "points = 1.5", "points is 1.5\n  expected a whole number"),
        (
            "hidden_seed = 20261",
            "hidden_seed = 1.5",
            "hidden_seed is 1.5\n  expected a text that is not empty, or a whole number",
        ),
        ("hidden_seed = 20261", "hidden_seed = true", "hidden_seed is True\n  expected a text"),
        ("hidden_seed = 20261", 'hidden_seed = ""', "hidden_seed is ''\n  expected a text that is not empty"),
        ("hidden_seed", 'detail = "all"\nhidden_seed', "detail is 'all'\n  expected one of full, place, yes-no"),
        ("hidden = 1", "hidden = []", "hidden is []\n  expected a whole number"),
        ("seconds = 20 ", "seconds = 0 ", "seconds is 0\n  expected a number from 1"),
        ("megabytes = 2048", "megabytes = 1", "megabytes is 1\n  expected a number from 64"),
        ('name = "minirnn"', "name = 7", "name is 7\n  expected a text"),
        ('title = "Product and sum"', "title = 1", "title is 1\n  expected a text"),
        ("hints = [", "hints = [ 1,", "hints must be strings"),
        ('needs = ["ex01"]', "needs = [1]", "needs must be ids of exercises"),
        ("tutorial = 1", "tutorial = -1", "tutorial is -1\n  expected a number from 0"),
        ("tutorial = 1", "tutorial = 99", "tutorial is 99\n  expected a number from 0 to 23"),
        ('chapter = "The tape"', "chapter = 1", "chapter is 1\n  expected a text"),
        ("[[exercise]]", "[[exercise", "course.toml: "),
        ("points = 3", "point = 3", "number 1: there is no setting 'point'\n  likely 'points' is meant"),
        ("points = 3", "colour = 3", "number 1: there is no setting 'colour'"),
        ("hidden_seed =", "hidden_sed =", "toml: there is no setting 'hidden_sed'\n  likely 'hidden_seed' is meant"),
        ("hidden_seed = 20261", "", "hidden_seed is missing\n  expected a text that only you know"),
    ],
)
def test_a_wrong_entry_of_a_course_is_named(folder, old, new, said):
    path = folder / "course.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(CourseError) as caught:
        load(folder)
    assert said in str(caught.value) and str(path) in str(caught.value)


def test_all_exercises_with_a_wrong_entry_are_named_at_once(folder):
    path = folder / "course.toml"
    path.write_text(path.read_text().replace("points =", "point =", 2))
    with pytest.raises(CourseError, match=r"(?s)number 1: there is no setting.*number 2: there is no setting"):
        load(folder)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"exercise = 1\n", "exercise is 1\n  expected a list"),
        (b"exercise = [1]\n", "exercise number 1 is 1\n  expected a table"),
        (b"exercise = []\n", "has no exercise"),
        (b"", "exercise is missing"),
        (b"\xff\xfe\0", "course.toml: "),
        (b"a = " + b"[" * 100_000, "course.toml: "),
    ],
)
def test_a_course_that_is_none_is_refused(tmp_path, data, said):
    (tmp_path / "course.toml").write_bytes(data)
    with pytest.raises(CourseError, match="course.toml") as caught:
        load(tmp_path)
    assert said in str(caught.value)


def test_a_folder_without_a_course_is_refused(tmp_path):
    (tmp_path / "a" / "course.toml").mkdir(parents=True)
    with pytest.raises(CourseError, match="course.toml: Is a directory"):
        load(tmp_path / "a")
    with pytest.raises(CourseError, match="no such file\n  a course is a folder with a course.toml"):
        load(tmp_path)


def test_a_teachers_own_stub_and_solution_come_before_minirnns(folder):
    own = load(folder)
    path = folder / "exercises" / FIRST.exercise.path
    path.write_text("# mine\n")
    assert own.stub(FIRST) == "# mine\n"
    path.unlink()
    assert own.stub(FIRST) == COURSE.stub(FIRST)
    (folder / "solutions" / FIRST.exercise.path).parent.mkdir(parents=True)
    (folder / "solutions" / FIRST.exercise.path).write_text("# solved\n")
    assert own.solution(FIRST) == "# solved\n"


@pytest.mark.parametrize("name", ["ex07", "EX07", "ex7", "7", "07"])
def test_an_exercise_is_found_by_short_names(name):
    assert COURSE.entry(name).id == "ex07"


@pytest.mark.parametrize("name", ["", "ex", "ex99", "exercises/03_rnn", "-1", "ex²"])  # noqa: RUF001
def test_an_exercise_that_is_not_there_is_told_with_those_that_are(name):
    with pytest.raises(CourseError, match="no exercise .*\n  there are: ex01, ex02"):
        COURSE.entry(name)


def test_the_last_tutorial_is_the_number_that_a_course_may_name():
    tutorials = (Path(__file__).parents[2] / "tutorials").glob("[0-9][0-9]_*.py")
    assert max(int(path.name[:2]) for path in tutorials) == MOST["tutorial"]


def test_every_exercise_stands_in_the_course_once_with_its_stub_and_three_hints():
    assert sorted(COURSE.entries) == [f"ex{k:02d}" for k in range(1, 1 + len(EXERCISES))]
    assert len({e.number for e in COURSE.entries.values()}) == len(EXERCISES)
    for entry in COURSE.entries.values():
        text = COURSE.stub(entry)
        assert entry.exercise.function in text and entry.id in text and len(entry.hints) == 3
        assert entry.exercise.kind == "cuda" or f'raise NotImplementedError("{entry.id}")' in text


# ---- a student's folder


def test_a_new_folder_holds_the_stubs_and_is_found_from_below(tmp_path):
    tree = new_tree(tmp_path / "deep" / "learn", COURSE)
    assert {tree.file(e) for e in COURSE.entries.values()} == set((tree.root / "exercises").rglob("ex*.*"))
    assert all(tree.file(e).read_text() == COURSE.stub(e) for e in COURSE.entries.values())
    assert find_tree(tree.file(FIRST).parent).root == tree.root
    assert tree.current() == FIRST


@pytest.mark.parametrize("seed", ["10000000000000000000000000", '"a long text, \N{SNOWMAN}"'])
def test_any_text_is_a_seed_and_no_case_leads_back_to_it(folder, seed):
    path = folder / "course.toml"
    path.write_text(path.read_text().replace("hidden_seed = 20261", f"hidden_seed = {seed}"), encoding="utf-8")
    course = load(folder)
    assert course.hidden_seed == seed.strip('"')
    derived = [course.derived("ex05", "case", k) for k in range(3)] + [course.derived("ex06", "case", 0)]
    derived += [load().derived("ex05", "case", 0), course.derived("ex05", "case 0"), course.derived("ex05case", 0)]
    assert len(set(derived)) == 7 and min(derived) > 2**200
    assert course.derived("ex05", "case", 0) == derived[0]
    first, second = (EXERCISES["ex05"].case([number])["x"] for number in derived[:2])
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("line", ['hidden_seed = """\\\nsecret"""', '"hidden_seed" = "secret"', "hidden_seed=[\n1]"])
def test_a_seed_that_cannot_be_taken_out_is_not_handed_out(folder, tmp_path, line):
    path = folder / "course.toml"
    path.write_text(path.read_text().replace("hidden_seed = 20261", line))
    with pytest.raises(CourseError, match="on one line|hidden_seed is"):
        hand_out(load(folder), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_readme_of_a_folder_has_an_example_that_its_course_has(folder, tmp_path):
    path = folder / "course.toml"
    head, first, *_ = path.read_text().split("[[exercise]]")
    path.write_text(f"{head}[[exercise]]{first}")
    for course, there in ((load(folder), "ex01"), (COURSE, "ex05")):
        text = (new_tree(tmp_path / there, course).root / "README.md").read_text()
        assert f"minirnn check {there}" in text and text.count("ex0") == text.count(there)


def test_solutions_hidden_seeds_and_points_do_not_go_to_students(tmp_path):
    new_tree(tmp_path / "learn", COURSE)
    texts = [p.read_text() for p in (tmp_path / "learn").rglob("*") if p.is_file()]
    assert not any("hidden_seed" in text or str(COURSE.hidden_seed) in text for text in texts)
    solutions = [COURSE.solution(e) for e in COURSE.entries.values()]
    assert not any(solution in text for solution in solutions for text in texts)


def test_nothing_is_overwritten_and_missing_adds_only_what_is_not_there(tmp_path):
    tree = new_tree(tmp_path / "learn", COURSE)
    tree.file(FIRST).write_text("my work\n")
    tree.note_hint(FIRST)
    second = COURSE.entry("ex02")
    tree.file(second).unlink()
    with pytest.raises(CourseError, match="is there already and not empty"):
        new_tree(tree.root, COURSE)
    again = new_tree(tree.root, COURSE, missing=True)
    assert tree.file(FIRST).read_text() == "my work\n" and again.state["hints"] == {"ex01": 1}
    assert tree.file(second).read_text() == COURSE.stub(second)


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "learn").write_text("here")
    with pytest.raises(CourseError, match="is there already"):
        new_tree(tmp_path / "learn", COURSE)
    assert (tmp_path / "learn").read_text() == "here"


def test_an_exercise_is_passed_only_as_it_stood_then(tmp_path):
    tree = new_tree(tmp_path / "learn", COURSE)
    tree.note_passed(FIRST, True)
    assert find_tree(tree.root).passed(FIRST) and find_tree(tree.root).current() == COURSE.entry("ex02")
    tree.file(FIRST).write_text("changed since\n")
    assert not find_tree(tree.root).passed(FIRST)


def test_hints_are_counted_up_to_the_last(tmp_path):
    tree = new_tree(tmp_path / "learn", COURSE)
    assert [tree.note_hint(FIRST) for _ in range(5)] == [1, 2, 3, 3, 3]


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        b'{"course": "minirnn"}',
        b'{"passed": [], "hints": {}, "course": "minirnn", "version": 1}',
        b'{"passed": {}, "hints": {"ex01": "2"}, "course": "minirnn", "version": 1}',
    ],
)
def test_a_damaged_state_is_told_with_the_way_out(tmp_path, state):
    tree = new_tree(tmp_path / "learn", COURSE)
    tree.file(FIRST).write_text("my work\n")
    (tree.root / STATE).write_bytes(state)
    with pytest.raises(CourseError, match="cannot be read .*\n  delete it and run: minirnn learn init . --missing"):
        find_tree(tree.root)
    (tree.root / STATE).unlink()  # the suggested command works
    new_tree(tree.root, COURSE, missing=True)
    assert find_tree(tree.root).file(FIRST).read_text() == "my work\n"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("version", 99, "make a new folder with: minirnn learn init DIR, and copy your exercises into it"),
        ("course", "another", "--missing --course NEWFOLDER/.minirnn/course"),
    ],
)
def test_a_folder_of_another_course_or_version_is_refused_before_anything_is_written(tmp_path, field, value, said):
    tree = new_tree(tmp_path / "learn", COURSE)
    path = tree.root / STATE
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    tree.file(FIRST).unlink()
    for attempt in (lambda: find_tree(tree.root), lambda: new_tree(tree.root, COURSE, missing=True)):
        with pytest.raises(CourseError) as caught:
            attempt()
        first, advice = str(caught.value).split("\n")
        assert f"{value}" in first and first.endswith("has 'minirnn', version 1") and said in advice
    assert not tree.file(FIRST).exists()


def test_a_course_that_cannot_be_handed_out_leaves_the_folder_as_it_was(folder, tmp_path):
    tree = new_tree(tmp_path / "learn", load(folder))
    tree.file(FIRST).unlink()
    before = {path: path.read_bytes() for path in tree.root.rglob("*") if path.is_file()}
    path = folder / "course.toml"
    path.write_text(path.read_text().replace("hidden_seed = 20261", '"hidden_seed" = 20261'))
    with pytest.raises(CourseError, match="on one line"):
        new_tree(tree.root, load(folder), missing=True)
    assert {path: path.read_bytes() for path in tree.root.rglob("*") if path.is_file()} == before


def test_outside_of_a_folder_the_way_to_make_one_is_told(tmp_path):
    with pytest.raises(CourseError, match="not a course folder\n  make one with: minirnn learn init DIR"):
        find_tree(tmp_path)

"""The map of a course shows every exercise once, and whether it is passed, open or later."""

import re
from dataclasses import replace

from minirnn.learn.course import load, new_tree
from minirnn.learn.course_map import map_text

COURSE = load()


def test_every_exercise_stands_in_the_map_once_under_its_chapter_with_what_it_needs():
    lines = map_text(COURSE).splitlines()
    assert lines[0] == f"{COURSE.title}: {len(COURSE.entries)} exercises, {COURSE.points} points"
    ids = [found[1] for line in lines if (found := re.match(r"    (ex\d\d)  ", line))]
    assert ids == list(COURSE.entries)
    chapters = [found[1] for line in lines if (found := re.match(r" ?\d+  (.*)$", line))]
    assert chapters == list(COURSE.chapters) and len(chapters) == 14
    (line,) = [line for line in lines if "ex09  " in line]
    assert line == "    ex09  LSTM through time                  tutorial 5; after ex06 ex07"
    assert all(len(line) <= 100 for line in lines)


def test_what_the_course_leaves_out_is_needed_by_no_exercise():
    course = replace(COURSE, entries={id: entry for id, entry in COURSE.entries.items() if id != "ex06"})
    assert "LSTM through time                  tutorial 5; after ex07\n" in map_text(course)
    one = replace(course, entries={"ex22": replace(COURSE.entries["ex22"], points=1, hidden=0)})
    assert ": 1 exercise, 1 point\n" in map_text(one) and "after" not in map_text(one)


def test_a_chapter_has_the_same_number_in_the_map_in_reports_and_in_the_names_of_folders():
    for number, entries in enumerate(COURSE.chapters.values(), 1):
        for entry in entries:
            assert entry.number.split(".")[0] == str(number) and entry.exercise.path.startswith(f"{number:02}_"), (
                entry.id
            )


def test_answers_in_the_folders_of_an_older_minirnn_are_found(tmp_path):
    tree = new_tree(tmp_path / "learn", COURSE)
    entry = COURSE.entry("ex12")
    older = tree.root / "exercises" / "06_sequence" / tree.file(entry).name
    older.parent.mkdir()
    tree.file(entry).rename(older)
    assert tree.file(entry) == older and new_tree(tree.root, COURSE, missing=True).file(entry) == older


def test_what_an_exercise_needs_comes_before_it_in_the_course_and_nothing_needs_itself_in_the_end():
    seen: set[str] = set()
    for entry in COURSE.entries.values():
        assert set(entry.needs) <= seen, entry.id
        seen.add(entry.id)
    assert not any("ex41" in entry.needs for entry in COURSE.entries.values())


def test_a_students_map_says_what_is_passed_open_and_later_and_the_hints_used(tmp_path):
    tree = new_tree(tmp_path / "learn", COURSE)
    for _ in range(2):
        tree.note_hint(COURSE.entry("ex05"))
    text = map_text(COURSE, tree)
    assert "[ ] ex01" in text and " .  ex02" in text and "[x] ex" not in text
    assert "Go on with ex01, ex03, ex23: minirnn learn" in text and "passed: 0" in text
    tree.note_passed(COURSE.entry("ex01"), True)
    text = map_text(COURSE, tree)
    assert "[x] ex01" in text and "[ ] ex02" in text and "[ ] ex22" in text and " .  ex06" in text
    (line,) = [line for line in text.splitlines() if "ex05  " in line]
    assert line.endswith("after ex01; 2 of 3 hints used") and line.startswith("    [ ] ")
    for entry in COURSE.entries.values():
        tree.note_passed(entry, True)
    assert map_text(COURSE, tree).endswith("All exercises are passed.")

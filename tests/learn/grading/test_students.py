"""Students are told apart, and any ambiguity is an error before grading begins."""

import datetime
import os

import pytest

from minirnn.learn.course import CourseError
from minirnn.learn.grading.students import id_of, read_roster, students_of


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folders(root, *names):
    paths = [root / name for name in names]
    for path in paths:
        path.mkdir(parents=True)
    return paths


@pytest.mark.parametrize(
    ("path", "template", "id"),
    [
        ("subs/alice.zip", "", "alice"),
        ("subs/alice/", "", "alice"),
        ("subs/alice/rnn-course", "{id}/*", "alice"),
        ("subs/alice/rnn-course.zip", "{id}/rnn-course", "alice"),
        ("subs/hw1_alice_2027.zip", "hw1_{id}_*.zip", "alice"),
        ("subs/hw1_alice_b_2027.zip", "hw1_{id}_*.zip", "alice"),
        ("subs/alice.b_x.zip", "{id}_x.zip", "alice.b"),
        ("subs/Alice Ünal_123_file/rnn", "{id}_*_file/*", "Alice Ünal"),
        ("subs/e\u0301va.zip", "", "éva"),
        ("subs/a\nb.zip", "", "a\ufffdb"),
    ],
)
def test_the_name_stands_where_the_template_says(place, path, template, id):
    assert id_of(place / path, template) == id


@pytest.mark.parametrize("template", ["hw1", "{id}/{id}", "{}", ""])
def test_a_template_without_a_place_for_the_name_is_refused(place, template):
    if template:
        with pytest.raises(CourseError, match=r"--id is .*\n  expected a path with \{id\}"):
            id_of(place / "a", template)


def test_a_path_that_does_not_fit_is_refused(place):
    with pytest.raises(CourseError, match=r"does not fit --id 'hw1_\{id\}'"):
        students_of(folders(place, "hw2_alice"), "hw1_{id}")


@pytest.mark.parametrize(
    "names", [("a/rnn-course", "b/rnn-course"), ("a/Eva", "b/eva"), ("a/éva", "b/e\u0301va"), ("a/x", "b/x")]
)
def test_equal_names_are_an_error(place, names):
    with pytest.raises(CourseError) as caught:
        students_of(folders(place, *names))
    assert "two submissions are from" in str(caught.value) and "--id" in str(caught.value)
    assert all(str(place / name) in str(caught.value) for name in names)
    assert [s.id for s in students_of([place / name for name in names], "{id}/*")] == ["a", "b"]


def test_the_same_submission_twice_is_an_error(place):
    (path,) = folders(place, "alice")
    with pytest.raises(CourseError, match="two submissions are from 'alice'"):
        students_of([path, place / "." / "alice"])


def test_students_of_the_roster_without_a_submission_come_last(place):
    (place / "r.csv").write_text("id,name\nann,Ann A.\nbob,Bob B.\ncid,Cid C.\n")
    found = students_of(folders(place, "CID", "dora"), roster=place / "r.csv")
    assert [(s.id, s.name, s.submission is not None, s.listed) for s in found] == [
        ("cid", "Cid C.", True, True), ("dora", "", True, False), ("ann", "Ann A.", False, True),
        ("bob", "Bob B.", False, True),
    ]  # fmt: skip


def test_a_roster_may_name_the_submission(place):
    (place / "r.csv").write_text("id,submission\n123,upload-7.zip\n124,alice\n")
    (place / "upload-7.zip").write_bytes(b"PK")
    found = students_of([place / "upload-7.zip", *folders(place, "alice")], roster=place / "r.csv")
    assert [s.id for s in found] == ["123", "124"] and all(s.listed for s in found)


def test_a_roster_is_read_as_spreadsheets_write_it(place):
    text = "\ufeffID;Name;Submitted;Room\r\nann;Ann;2027-02-01T23:00+01:00;3\r\n\r\n;;;\r\nbob;;;\r\n"
    (place / "r.csv").write_bytes(text.encode())
    ann, bob = read_roster(place / "r.csv")
    assert (ann.id, ann.name, bob.submitted) == ("ann", "Ann", None)
    assert ann.submitted == datetime.datetime(2027, 2, 1, 22, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name\nann\n", "has no column 'id'\n  expected the columns id, name"),
        ("", "has no column 'id'"),
        ("id\nann\nAnn\n", "line 3: 'Ann' is listed twice"),
        ("id,name\n,Ann\n", "line 2: id is empty"),
        ("id,due\nann,tomorrow\n", "line 2: 'tomorrow' is not a time"),
        ('id\n"ann\n', "cannot be read"),
        ("id\n\xff", "cannot be read"),
    ],
)
def test_a_roster_that_makes_no_sense_is_refused(place, text, said):
    (place / "r.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(CourseError) as caught:
        read_roster(place / "r.csv")
    assert said in str(caught.value)
    with pytest.raises(CourseError, match="No such file"):
        read_roster(place / "none.csv")


@pytest.mark.parametrize("name", ["nowhere", "README.md", "a.py"])
def test_what_surely_no_student_handed_in_is_refused(place, name):
    if name != "nowhere":
        (place / name).write_text("hello")
    with pytest.raises(CourseError, match="no such folder or zip file"):
        students_of([place / name])


@pytest.mark.parametrize("name", ["a.zip", "a.rar", "a.7z", "a.tar.gz", "upload"])
def test_damaged_and_other_archives_are_submissions(place, name):
    (place / name).write_bytes(b"PK" if name == "upload" else b"")
    assert students_of([place / name])[0].submission == place / name


def test_a_name_that_is_no_utf8_can_be_written(place):
    path = place / os.fsdecode(b"b\xff.zip")
    path.write_bytes(b"PK")
    assert id_of(path).encode() == "b\ufffd".encode()


def test_a_link_at_or_below_the_name_of_a_student_is_told(place):
    """What is above the student's name is the teacher's, who may keep the submissions elsewhere."""
    (ann,) = folders(place, "real/ann/rnn-course")
    (place / "real/eve").mkdir()
    (place / "real/eve/rnn-course").symlink_to(ann)
    (place / "real/dan").symlink_to(place / "real/ann")
    (place / "subs").symlink_to(place / "real")
    found = students_of([place / f"subs/{name}/rnn-course" for name in ("ann", "eve", "dan")], "{id}/rnn-course")
    assert [(s.id, s.link.removeprefix(f"{place}/")) for s in found] == [
        ("ann", ""), ("eve", "subs/eve/rnn-course"), ("dan", "subs/dan"),
    ]  # fmt: skip
    (found,) = students_of([place / "real/dan"])
    assert found.id == "dan" and found.link, "its name is not that of its target"


def test_the_folders_of_a_zip_file_are_students_unless_it_is_one_of_several(place):
    for name in ("all.zip", "more.zip"):
        (place / name).write_bytes(b"PK")
    parts = lambda path: ["hw1/hw1_ann_7/", "hw1/hw1_bob_8/"]  # noqa: E731
    found = students_of([place / "all.zip"], "hw1_{id}_*", parts=parts)
    assert [(s.id, s.inside, s.submission) for s in found] == [
        ("ann", "hw1/hw1_ann_7/", place / "all.zip"), ("bob", "hw1/hw1_bob_8/", place / "all.zip"),
    ]  # fmt: skip
    assert [s.id for s in students_of([place / "all.zip", place / "more.zip"], parts=parts)] == ["all", "more"]
    (place / "r.csv").write_text("id,submission\neve,all.zip\n")
    assert [s.id for s in students_of([place / "all.zip"], "", place / "r.csv", parts)] == ["eve"]

"""What is read from a submission, and the notes about the rest, within limits of memory and time.

Tests `minirnn/learn/grading/collecting.py`, `minirnn/learn/grading/archive.py`, `minirnn/learn/grading/folder.py`,
`minirnn/learn/grading/nested.py`, `minirnn/learn/grading/notebook.py` and `minirnn/learn/grading/handed.py`.
"""

import io
import json
import os
import shutil
import stat
import struct
import threading
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from minirnn.learn.cleaned import printable
from minirnn.learn.course import STATE
from minirnn.learn.grading import archive, collecting, folder
from minirnn.learn.grading.collecting import meant
from minirnn.learn.grading.handed import MOST_FILE, Handed
from minirnn.learn.grading.reading import wanted_of
from tests.learn.answers import solution
from tests.learn.grading.classes import hand_in

EX01 = "exercises/01_tape/ex01_mul_add.py"
EX05 = "exercises/03_rnn/ex05_rnn_cell_backward.py"


def collect(submission, course, notebooks=False):
    """Reads in this process, so that a test can inspect it."""
    return collecting.collect(submission, wanted_of(course), notebooks)


def zip_of(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as file:
        for name, text in members:
            file.writestr(name, text)
    return data.getvalue()


def peak_of(work) -> int:
    """The peak memory of `work`."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_files_are_found_by_their_names_and_others_are_not_read(course, tmp_path):
    hand_in(tmp_path / "a", course)
    (tmp_path / "a" / "secret.txt").write_text("x")
    handed = collect(tmp_path / "a", course)
    assert set(handed.files) == set(course.entries) and not handed.notes and not handed.reasons and not handed.problem
    assert handed.files["ex01"].decode() == solution("ex01")


# ---- zip files


@pytest.mark.slow
def test_a_hundred_large_members_cost_no_memory(course):
    """Each file has the name of an exercise in its own folder. Together they unpack to 100 MB."""
    large = b"#" * MOST_FILE
    data = zip_of(*[(f"{k}/ex01_mul_add.py", large) for k in range(100)])
    handed = None

    def work():
        nonlocal handed
        handed = collect(data, course)

    assert len(data) < 1 << 20 and peak_of(work) < 6 << 20
    assert handed.files["ex01"] == large and "19 more with that name ignored" in handed.notes[0]


def test_what_a_member_declares_is_not_believed(course):
    """The header declares ten gigabytes for a small file, or the reverse."""
    data = zip_of((EX01, b"#" * 5 * MOST_FILE), (EX05, b"y = 1\n"))
    for size in (10 << 30, 100):
        lied = bytearray(data)
        central = lied.index(b"PK\x01\x02")
        struct.pack_into("<I", lied, central + 24, size & 0xFFFFFFFF)
        struct.pack_into("<I", lied, 22, size & 0xFFFFFFFF)
        handed: list[Handed] = []
        assert peak_of(lambda lied=lied, handed=handed: handed.append(collect(bytes(lied), course))) < 8 << 20
        assert "ex01" not in handed[0].files and handed[0].files["ex05"] == b"y = 1\n"
        assert handed[0].reasons["ex01"].startswith(EX01)


@pytest.mark.slow
def test_five_megabytes_of_entries_are_refused_before_they_are_read(course):
    """Twenty thousand entries with long names, which would take several times as much memory as objects."""
    data = zip_of(*[(f"{k:0220}", b"") for k in range(20_000)], method=zipfile.ZIP_STORED)
    handed: list[Handed] = []
    assert peak_of(lambda: handed.append(collect(data, course))) < 2 << 20
    assert "it contains too many files" in handed[0].problem


def test_a_long_list_of_contents_in_zip64_is_refused_too(course):
    data = zip_of((EX01, b"x = 1\n"))
    end = data.rindex(archive.END)
    record = struct.pack("<4sQHHIIQQQQ", archive.END64, 44, 45, 45, 0, 0, 1, 1, 1 << 40, 0)
    locator = struct.pack("<4sIQI", archive.LOCATOR64, 0, end, 1)
    assert "it contains too many files" in collect(data[:end] + record + locator + data[end:], course).problem


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("../../ex01_mul_add.py", True),
        ("/etc/ex01_mul_add.py", True),
        ("C:\\work\\ex01_mul_add.py", True),  # as some programs on Windows write names
        ("exercises\\01_tape\\ex01_mul_add.py", True),
        ("a\nb/ex01_mul_add.py", True),
        ("__MACOSX/exercises/._ex01_mul_add.py", False),
        (".minirnn/course/exercises/01_tape/ex01_mul_add.py", False),
        ("venv/lib/ex01_mul_add.py", False),
        ("a/" * 2000 + "ex01_mul_add.py", True),
        ("x" * 60_000, False),
        ("ex01_mul_add.py\0.txt", True),  # Python ends a name there
        ("\u202eex01_mul_add.py", False),
    ],
)
def test_names_in_a_zip_file_are_names_only(tmp_path, course, name, found):
    before = sorted(tmp_path.rglob("*"))
    handed = collect(zip_of((name, b"x = 1\n")), course)
    assert ("ex01" in handed.files) == found == (not handed.problem)
    assert all(note.isprintable() and len(note) < 400 for note in handed.notes)
    assert sorted(tmp_path.rglob("*")) == before


def special(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (mode | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("mode", "said"),
    [(stat.S_IFLNK, "is a link"), (stat.S_IFIFO, "is not a regular file"), (stat.S_IFBLK, "is not a regular file")],
)
def test_links_and_devices_in_a_zip_file_are_left_out_and_told(course, mode, said):
    handed = collect(zip_of((special(EX01, mode), b"/etc/passwd"), (EX05, b"y = 1\n")), course)
    assert set(handed.files) == {"ex05"} and handed.reasons == {"ex01": f"{EX01} {said}"}
    assert handed.notes == (f"ignored: {EX01} {said}",)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("checksum", "is damaged in the zip file"),
        ("encrypted", "is encrypted: the zip file must have no password"),
        ("method", "is packed by method 14: make an ordinary zip file"),
        ("data", "is damaged in the zip file"),
    ],
)
def test_a_damaged_member_costs_itself_only(course, damage, said):
    data = bytearray(zip_of((EX01, os.urandom(300)), (EX05, b"y = 1\n")))
    central = data.index(b"PK\x01\x02")
    if damage == "checksum":
        data[central + 16] ^= 1
    elif damage == "encrypted":
        data[6] |= 1
        data[central + 8] |= 1
    elif damage == "method":
        struct.pack_into("<H", data, central + 10, 14)
    else:
        data[60:90] = b"\xff" * 30
    handed = collect(bytes(data), course)
    assert set(handed.files) == {"ex05"} and said in handed.reasons["ex01"]


def test_members_that_lie_on_top_of_each_other_are_read_or_refused_but_never_more_than_once(course):
    """The overlapping bomb: many entries of the list point to the same bytes."""
    data = zip_of((EX01, b"#" * MOST_FILE))
    central, end = data.index(b"PK\x01\x02"), data.rindex(archive.END)
    entry = data[central:end]
    many = entry * 1000
    head = data[end : end + 8] + struct.pack("<HHII", 1000, 1000, len(many), central) + b"\0\0"
    handed: list[Handed] = []
    assert peak_of(lambda: handed.append(collect(data[:central] + many + head, course))) < 16 << 20
    assert set(handed[0].files) <= {"ex01"}


def test_a_zip_file_in_a_submission_is_opened_and_a_loose_file_counts_more(course, tmp_path):
    inner = zip_of((EX01, b"x = 1\n"), (EX05, b"y = 1\n"), (STATE, b'{"hints": {"ex05": 1}}'))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "rnn-course.zip").write_bytes(inner)
    for submission in (zip_of(("work/rnn-course.zip", inner)), tmp_path):
        handed = collect(submission, course)
        assert handed.files == {"ex01": b"x = 1\n", "ex05": b"y = 1\n"} and handed.notes == ()
        assert handed.hints == {"ex05": 1}
    (tmp_path / "work" / "ex01_mul_add.py").write_bytes(b"x = 2\n")
    handed = collect(tmp_path, course)
    assert handed.files == {"ex01": b"x = 2\n", "ex05": b"y = 1\n"}
    assert handed.notes == ("work/ex01_mul_add.py is graded; 1 more with that name ignored",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deep.zip", "deep.zip contains inner.zip, which is not opened"),
        ("broken.zip", "broken.zip: it is not a zip file, or its end is missing"),
        ("large.zip", "large.zip has 67.1 MB: more than 64 MB is left out"),
        ("many.zip", "many.zip: the zip file's list of contents is 5 MB large, so it contains too many files"),
        ("link.zip", "link.zip is a link"),
        ("work.rar", "work.rar is not a zip file: make one"),
        ("a/8.zip", "a/8.zip is one of more than 8 archives: hand in one zip file"),
    ],
)
def test_an_archive_in_a_submission_has_the_limits_of_others(course, name, said):
    inner = zip_of((EX01, b"x"))
    data = {
        "deep.zip": zip_of(("inner.zip", inner)), "broken.zip": b"PK", "many.zip": b"", "work.rar": b"Rar!",
        "a/8.zip": b"", "large.zip": b"\0" * ((64 << 20) + 1), "link.zip": b"/etc/passwd",
    }[name]  # fmt: skip
    if name == "many.zip":
        data = bytearray(inner)
        struct.pack_into("<I", data, data.rindex(archive.END) + 12, 5 << 20)
    member = special(name, stat.S_IFLNK) if name == "link.zip" else name
    more = [(f"{k}.zip", zip_of()) for k in range(8)] if name == "a/8.zip" else []
    handed = collect(zip_of((member, bytes(data)), *more), course)
    assert handed.files == {} and handed.problem.startswith(f"no file of an exercise was found; {said}")
    handed = collect(zip_of((member, bytes(data)), *more, (EX05, b"y")), course)
    assert set(handed.files) == {"ex05"} and handed.notes[0].startswith(f"ignored: {said}")


def test_a_folder_with_the_name_of_a_zip_file_is_read_as_what_it_is(course):
    handed = collect(zip_of(("a.zip", zip_of((EX05, b"y"))), (f"a.zip/{EX01}", b"x")), course)
    assert handed.files == {"ex01": b"x", "ex05": b"y"}


MOODLE = "hw1/{}_{}_assignsubmission_file_/{}"


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ([MOODLE.format("A a", 7, "rnn.zip"), MOODLE.format("B", 8, "notes.txt")], ["A a_7_", "B_8_"]),
        (["1234-5 - Ann/a.txt", "1234-6 - Bob/ex01_mul_add.py"], ["1234-5 - Ann/", "1234-6 - Bob/"]),
        (["ann_1.zip", "bob_2.ZIP", "cid_3.rar", "list.csv"], ["ann_1.zip", "bob_2.ZIP", "cid_3.rar"]),
        (["hw/ann.zip", "hw/bob.zip", "__MACOSX/hw/._ann.zip", ".DS_Store"], ["hw/ann.zip", "hw/bob.zip"]),
        (["ann.zip"], []),
        (["rnn.zip", EX01, EX05], []),
        (["notes.txt", "data/a.txt"], []),
        (["ann/rnn.zip", "bob/rnn.zip"], "*"),
        (["hw/ann/rnn.zip", "hw/bob/ex01_mul_add.py"], "hw/*"),
        (["ann/ex01_mul_add.py", "bob/ex01_mul_add.py", "cid.zip"], "*"),
        (["ex01_mul_add.py", "ann.zip", "bob.zip"], "*"),
        (["ex01_mul_add.py", "ann_123/ex01_mul_add.py", "bob_124/ex01_mul_add.py"], "*"),
        (["ann_123/ex01_mul_add.py", "bob_124/ex01_mul_add.py", "cid_125.zip"], "*"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_a_class_is_told_from_one_student(course, tmp_path, names, parts, packed):
    place = tmp_path / "all"
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(b"x = 1\n")
    if packed:
        place = Path(shutil.make_archive(str(place), "zip", place))
    found = collecting.parts_of_a_class(place, wanted_of(course))
    if names[0].startswith("hw1/"):
        parts = [f"hw1/{part}assignsubmission_file_/" for part in parts]
    assert found == parts


def test_a_folder_of_a_class_that_is_empty_or_a_link_is_a_student(course, tmp_path):
    for name in ("ann_101", "bob_102"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "work.zip").touch()
    (tmp_path / "cid_103").mkdir()
    (tmp_path / "eve_104").symlink_to(tmp_path / "ann_101")
    found = collecting.parts_of_a_class(tmp_path, wanted_of(course))
    assert found == ["ann_101/", "bob_102/", "cid_103/", "eve_104/"]


def test_a_zip_file_with_a_folder_for_each_student_is_a_class(course, tmp_path):
    def folders(*names):
        (tmp_path / "all.zip").write_bytes(zip_of(*[(name, b"x = 1\n") for name in names]))
        return collecting.parts_of_a_class(tmp_path / "all.zip", wanted_of(course))

    ann, bob = f"hw1/ann/rnn-course/{EX01}", "hw1/bob/ex01_mul_add.py"
    noise = ("__MACOSX/hw1/ann/._ex01_mul_add.py", "hw1/list.csv", "hw1/.git/config")
    assert folders(ann, bob, "hw1/cid/notes.docx", *noise) == ["hw1/ann/", "hw1/bob/", "hw1/cid/"]
    assert folders("a b\\ex01_mul_add.py", "c\\ex01_mul_add.py") == ["a b/", "c/"]
    handed = collecting.collect(tmp_path / "all.zip", wanted_of(course), False, "c/")
    assert set(handed.files) == {"ex01"} and handed.notes == ()
    assert folders(EX01, EX05) == []
    assert folders("week1/ex01_mul_add.py", "week2/ex05_rnn_cell_backward.py") == []
    assert folders(EX01, f"old/{EX01}") == [], "a copy is not a student"
    (tmp_path / "all.zip").write_bytes(b"PK")
    assert collecting.parts_of_a_class(tmp_path / "all.zip", wanted_of(course)) == []


# ---- folders


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_a_submission_that_is_a_link_is_not_read(course, tmp_path, linked):
    hand_in(tmp_path / "a", course)
    target = tmp_path / "a" if linked == "folder" else shutil.make_archive(str(tmp_path / "z"), "zip", tmp_path / "a")
    (tmp_path / "b").symlink_to(target)
    handed = collect(tmp_path / "b", course)
    assert handed.files == {} and handed.problem.startswith("it is a link")


def test_a_link_that_is_made_after_it_was_looked_for_is_not_followed(course, tmp_path, monkeypatch):
    hand_in(tmp_path / "a", course)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "z").symlink_to(shutil.make_archive(str(tmp_path / "c"), "zip", tmp_path / "a"))
    monkeypatch.setattr(Path, "is_symlink", lambda self: False)
    for name in ("b", "z"):
        handed = collect(tmp_path / name, course)
        assert handed.files == {} and handed.problem


def test_a_submission_without_an_exercise_says_so_and_names_archives_in_it(course, tmp_path):
    assert collect(zip_of(), course).problem == "no file of an exercise was found: it is empty"
    assert collect(zip_of(("notes.md", b"x")), course).problem == (
        "no file of an exercise was found: it has 1 other file"
    )
    for name in ("bob.7z", "eve.tar.gz"):
        (tmp_path / name).touch()
    assert collect(tmp_path, course).problem == (
        "no file of an exercise was found; bob.7z is not a zip file: make one; and 1 more could not be opened"
    )


@pytest.mark.parametrize(
    ("first", "kind"), [(b"\x1f\x8b\x08", "gzip (.tar.gz)"), (b"7z\xbc\xaf'", "7-Zip"), (b"Rar!\x1a", "RAR")]
)
def test_another_kind_of_archive_is_named(course, first, kind):
    assert collect(first + b"x" * 99, course).problem == f"it is a {kind} file: make an ordinary zip file"


def test_a_link_in_a_folder_is_told_and_not_followed(course, tmp_path):
    hand_in(tmp_path / "a", course)
    (tmp_path / "secret.py").write_text("secret = 1\n")
    (tmp_path / "a" / EX05).unlink()
    (tmp_path / "a" / EX05).symlink_to(tmp_path / "secret.py")
    handed = collect(tmp_path / "a", course)
    assert "ex05" not in handed.files and handed.reasons["ex05"] == f"{EX05} is a link"


def test_a_folder_that_becomes_a_link_while_it_is_read_leads_nowhere(course, tmp_path):
    """A thread repeatedly swaps the folder with a link to the teacher's files, as fast as it can."""
    hand_in(tmp_path / "a", course, ex01="mine = 1\n")
    hand_in(tmp_path / "teacher", course, ex01="secret = 1\n")
    place, kept = tmp_path / "a" / "exercises", tmp_path / "a" / "kept"
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            place.rename(kept)
            place.symlink_to(tmp_path / "teacher" / "exercises")
            place.unlink()
            kept.rename(place)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        found = [collect(tmp_path / "a", course).files.get("ex01", b"") for _ in range(300)]
    finally:
        stop.set()
        thread.join()
    assert b"secret = 1\n" not in found


def test_a_file_that_becomes_a_link_after_it_was_listed_is_not_followed(course, tmp_path):
    hand_in(tmp_path / "a", course)
    with folder.Folder(tmp_path / "a") as opened:
        assert EX01 in dict(opened.names())
        (tmp_path / "a" / EX01).unlink()
        (tmp_path / "a" / EX01).symlink_to("/etc/hostname")
        with pytest.raises(archive.Unreadable, match="is a link"):
            opened.read(EX01)
        (tmp_path / "a" / EX01).unlink()
        os.mkfifo(tmp_path / "a" / EX01)  # nobody writes to it, so a plain open would wait forever
        with pytest.raises(archive.Unreadable, match="is not a regular file"):
            opened.read(EX01)


def test_a_pipe_and_a_folder_with_the_name_of_an_exercise_are_no_answers(course, tmp_path):
    hand_in(tmp_path / "a", course)
    for id, make in (("ex01", os.mkfifo), ("ex05", os.mkdir)):
        path = tmp_path / "a" / course.entry(id).file
        path.unlink()
        make(path)
    handed = collect(tmp_path / "a", course)
    assert set(handed.files) == {"ex17"} and "is not a regular file" in handed.reasons["ex01"]


def test_a_large_file_is_said_to_be_too_large(course, tmp_path):
    hand_in(tmp_path / "a", course)
    with open(tmp_path / "a" / EX05, "ab") as file:
        file.truncate(3 << 30)
    handed: list[Handed] = []
    assert peak_of(lambda: handed.append(collect(tmp_path / "a", course))) < 6 << 20
    assert handed[0].reasons["ex05"] == f"{EX05} has 3221.2 MB: more than 1 MB is left out"


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_told(course, tmp_path):
    hand_in(tmp_path / "a", course)
    (tmp_path / "a" / EX05).chmod(0)
    assert "cannot be read: Permission denied" in collect(tmp_path / "a", course).reasons["ex05"]


def test_a_folder_of_very_many_files_is_looked_through_and_costs_no_memory(course, tmp_path, monkeypatch):
    hand_in(tmp_path / "a", course)
    for k in range(3000):
        (tmp_path / "a" / f"data{k}.py").touch()
    handed: list[Handed] = []
    assert peak_of(lambda: handed.append(collect(tmp_path / "a", course))) < 6 << 20
    assert set(handed[0].files) == set(course.entries) and handed[0].notes == ()
    monkeypatch.setattr(folder, "MOST_NAMES", 1000)
    assert "files were looked at" in collect(tmp_path / "a", course).notes[-1]


def test_reading_leaves_no_descriptor_open(course, tmp_path):
    hand_in(tmp_path / "a", course)
    (tmp_path / "a" / "link").symlink_to("/")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        collect(tmp_path / "a", course)
    assert not before or len(os.listdir("/proc/self/fd")) <= before


def test_all_files_together_have_a_limit(course, monkeypatch):
    monkeypatch.setattr("minirnn.learn.grading.collecting.MOST_TOGETHER", 1000)
    handed = collect(zip_of((EX01, b"#" * 900), (EX05, b"#" * 900)), course)
    assert set(handed.files) == {"ex01"} and "all files together" in handed.reasons["ex05"]


# ---- names that are nearly right


NEARLY = [
    "ex01_mul_add (1).py", "ex01_mul_add(2).py", "EX01_mul_add.py", "ex01.py", "ex1.py", "ex01 (1).py", "ex_01.py",
    "ex01_mul_ad.py", "ex01_mul_add - Copy.py", "ex01_mul_add_final.py", "EX01.PY", "EX01_MUL_ADD.PY",
    "my_ex01_mul_add.py",
]  # fmt: skip


@pytest.mark.parametrize("name", NEARLY)
def test_one_file_with_nearly_the_right_name_is_graded_and_said_so(course, name):
    handed = collect(zip_of((f"work/{name}", b"x = 1\n"), (EX05, b"y = 1\n")), course)
    assert handed.files == {"ex01": b"x = 1\n", "ex05": b"y = 1\n"} and not handed.reasons
    assert handed.notes == (f"work/{name} is taken for ex01_mul_add.py",)
    right = collect(zip_of((f"work/{name}", b"x = 1\n"), (EX01, b"z = 1\n")), course)
    assert right.files["ex01"] == b"z = 1\n"
    assert right.notes == (f"ignored: work/{name}, did you mean ex01_mul_add.py?",)


@pytest.mark.parametrize("names", [("ex01_mul_add.py.txt",), ("ex01_mul_add",), ("ex01 (1).py", "ex01 (2).py")])
def test_names_that_are_nearly_right_are_told_where_nothing_is_clear(course, names):
    handed = collect(zip_of(*[(f"work/{name}", b"x = 1\n") for name in names]), course)
    assert handed.files == {}
    assert handed.notes == tuple(f"ignored: work/{name}, did you mean ex01_mul_add.py?" for name in names)
    assert handed.reasons["ex01"].endswith(f"was not handed in; there is work/{names[0]}: was it meant?")


@pytest.mark.parametrize("name", ["utils.py", "ex99.py", "main.cu", "README.txt", "ex.py", "ex" + "9" * 5000 + ".py"])
def test_other_names_are_not_spoken_of(course, name):
    assert collect(zip_of((name, b"x = 1\n"), (EX01, b"")), course).notes == ()
    assert meant(name, {"ex01_mul_add.py"}) is None


def test_the_file_of_another_exercise_is_never_taken_for_one(course):
    """This course has ex05_rnn_cell_backward and not ex10."""
    other = ("ex10_gru_cell_backward.py", "my_ex10_rnn_cell_backward.py", "ex-10 rnn_cell_backward (1).py")
    for more in ([], [(EX05, b"y = 1\n")]):
        handed = collect(zip_of(*[(name, b"x = 1\n") for name in other], (EX01, b""), *more), course)
        assert set(handed.files) == {"ex01", *(["ex05"] if more else [])}
        assert handed.notes == () and handed.reasons == {}
    assert meant("ex10_softsign.py", {"softsign.py", "ex05_softsign_backward.py"}) == "softsign.py"


def test_a_second_file_of_the_same_name_is_told(course):
    handed = collect(zip_of((f"old/{EX01}", b"x = 2\n"), (EX01, b"x = 1\n")), course)
    assert handed.files["ex01"] == b"x = 1\n" and handed.notes == (f"{EX01} is graded; 1 more with that name ignored",)


def test_names_are_printed_without_harm():
    assert (
        printable("a\nb\x1b[2J\u202ec\u200bd") == "a\ufffdb\ufffd[2J\ufffdc\ufffdd" and len(printable("x" * 999)) <= 120
    )


# ---- notebooks


def notebook(*cells: str, kind: str = "code") -> bytes:
    made = [{"cell_type": kind, "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    return json.dumps({"nbformat": 4, "cells": made}).encode()


def test_notebooks_are_ignored_and_said_so_unless_they_are_asked_for(course):
    handed = collect(zip_of(("ex01.ipynb", notebook("x = 1"))), course)
    assert handed.notes == ("ignored: ex01.ipynb is a notebook, which minirnn grade --notebooks reads",)
    assert not handed.files and "there is ex01.ipynb: was it meant?" in handed.reasons["ex01"]


def test_answers_are_found_in_the_cells_of_a_notebook(course):
    entry = course.entry("ex01")
    name = entry.exercise.function
    cells = (
        "%matplotlib inline\nimport numpy as np\nwhile True: pass",
        f"def {name}(x):\n    return 1\n",
        f"!pip install x\ndef {name}(x):\n    return np.sin(x)\n",
        "print('done')",
    )
    data = zip_of(("work.ipynb", notebook(*cells)), (EX05, b"y = 1\n"))
    handed = collect(data, course, notebooks=True)
    assert handed.files["ex01"].decode() == (
        f"import numpy as np\n\n# !pip install x\ndef {name}(x):\n    return np.sin(x)\n\n"
    )
    assert handed.notes == ("work.ipynb: ex01 found in its cells",) and handed.files["ex05"] == b"y = 1\n"


def test_a_file_counts_more_than_a_cell(course):
    name = course.entry("ex01").exercise.function
    data = zip_of(("work.ipynb", notebook(f"def {name}(x): pass")), (EX01, b"x = 1\n"))
    assert collect(data, course, notebooks=True).files["ex01"] == b"x = 1\n"


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"cells": 1}', b'{"cells": [1]}', b'{"cells": [{"cell_type": "code", "source": 1}]}',
             b"[" * 100_000, b"\xff\xfe", b'{"worksheets": [{"cells": null}]}'],
)  # fmt: skip
def test_a_damaged_notebook_is_told(course, data):
    handed = collect(zip_of(("a.ipynb", data)), course, notebooks=True)
    assert len(handed.notes) == 1 and "is not a readable notebook" in handed.notes[0]


# ---- inputs that are not submissions


def test_a_submission_that_is_gone_or_no_file_has_a_problem(course, tmp_path):
    assert "neither a folder nor a file" in collect(tmp_path / "nowhere", course).problem
    os.mkfifo(tmp_path / "pipe")
    assert "neither a folder nor a file" in collect(tmp_path / "pipe", course).problem


@pytest.mark.parametrize("packed", [False, True])
def test_the_hints_used_are_read_from_the_course_folder(course, tmp_path, packed):
    folder = hand_in(tmp_path / "ann" / "course", course)
    (folder / ".minirnn").mkdir()
    for text, found in (
        (b'{"hints": {"ex01": 2, "ex05": "3", "ex99": 1}}', {"ex01": 2}),
        (b'{"hints": [1]}', {}), (b"[" * 100_000, {}), (b"\xff", {}), (b"{}", {}), (b" " * (2 << 20), {}),
    ):  # fmt: skip
        (folder / STATE).write_bytes(text)
        submission = tmp_path / "ann"
        if packed:
            submission = Path(shutil.make_archive(str(tmp_path / "zip"), "zip", tmp_path / "ann"))
        handed = collect(submission, course)
        assert (handed.hints, len(handed.files), handed.notes) == (found, 3, ())


def test_the_digest_tells_two_submissions_apart():
    a, b = Handed({"ex01": b"x"}), Handed({"ex01": b"y"})
    assert a.digest == Handed({"ex01": b"x"}).digest != b.digest
    assert Handed(problem="p").digest != Handed().digest != Handed(reasons={"ex01": "gone"}).digest


def test_paths_may_be_no_utf8(course, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    try:
        hand_in(path, course)
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system has no such names")
    (path / os.fsdecode(b"ex05\xff.py")).touch()
    handed = collect(path, course)
    assert set(handed.files) == set(course.entries)
    assert [note.encode() for note in handed.notes]  # writing it works

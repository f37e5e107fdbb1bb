"""A packed course stays as it was, whatever happens to its folder."""

from pathlib import Path

from minirnn.learn.course import HERE, load
from minirnn.learn.grading.courses import course_of, digest_of, pack_course
from minirnn.learn.grading.stamp import seed_hash
from tests.learn.grading.classes import small_course


def test_a_packed_course_needs_no_folder(tmp_path):
    course = small_course(tmp_path, ("ex01",))
    packed = pack_course(course)
    assert packed == pack_course(load(tmp_path)) and len(packed.data) < 100_000
    (tmp_path / "course.toml").unlink()
    (tmp_path / ".git").mkdir()
    unpacked = course_of(packed)
    assert list(unpacked.entries) == ["ex01"] and unpacked.hidden_seed == course.hidden_seed
    assert course_of(packed) is unpacked


def test_minirnns_own_course_is_not_sent():
    packed = pack_course(load())
    assert packed.data == b"" and course_of(packed).folder == HERE


def test_the_digest_knows_every_file_and_can_leave_out_the_seed(tmp_path):
    course = small_course(tmp_path, ("ex01",))
    all_of_it, public, seed = digest_of(tmp_path), digest_of(tmp_path, seed=False), seed_hash(course)
    text = (tmp_path / "course.toml").read_text()
    (tmp_path / "course.toml").write_text(text.replace("hidden_seed = 20261", "hidden_seed = 7"))
    assert digest_of(tmp_path) != all_of_it and digest_of(tmp_path, seed=False) == public
    assert seed_hash(load(tmp_path)) != seed and len(seed) == 12
    Path(tmp_path / "references").mkdir()
    (tmp_path / "references" / "a.py").write_text("x = 1\n")
    assert digest_of(tmp_path, seed=False) != public
    (tmp_path / "__pycache__").mkdir()
    before = digest_of(tmp_path)
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"1")
    assert digest_of(tmp_path) == before

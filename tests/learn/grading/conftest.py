"""The course that these tests grade with."""

import pytest

from tests.learn.grading.classes import small_course


@pytest.fixture(scope="package")
def course(tmp_path_factory):
    """Three exercises with small limits."""
    return small_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="package")
def python_course(tmp_path_factory):
    """A single exercise that needs no compiler."""
    return small_course(tmp_path_factory.mktemp("one"), ("ex01",))

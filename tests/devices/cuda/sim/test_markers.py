"""Files and lines by the preprocessor's markers."""

from __future__ import annotations

import pytest

from minirnn.devices.cuda.sim.markers import Markers

TEXT = """# 1 "a.cu"
one
# 1 "/usr/include/math.h" 1 3 4
two
# 7 "/sim/include/cusim.h" 2

three
# 40 "a.cu" 2
four
five
"""


@pytest.mark.parametrize(
    "word, line, users",
    [
        ("one", "a.cu:1", True),
        ("two", "/usr/include/math.h:1", False),
        ("three", "/sim/include/cusim.h:8", False),
        ("four", "a.cu:40", True),
        ("five", "a.cu:41", True),
    ],
)
def test_a_place_and_whose_it_is(word: str, line: str, users: bool) -> None:
    markers = Markers(TEXT, "/sim/include")
    assert markers.line(TEXT.index(word)) == line
    assert any(word in TEXT[begin:end] for begin, end in markers.users()) == users
    assert not any("#" in TEXT[begin:end] for begin, end in markers.users())


def test_where_the_users_text_begins() -> None:
    """After the simulator's own header and everything that it includes, but not where a header is included again."""
    again = '# 9 "/sim/include/cuda_fp16.h" 1\nsix\n# 10 "a.cu" 2\nseven\n'
    assert TEXT[Markers(TEXT + again, "/sim/include").begin :].startswith('# 40 "a.cu" 2\nfour')
    assert Markers(TEXT).begin == 0  # no header is known to be the simulator's


def test_without_markers_lines_are_counted() -> None:
    assert Markers("a\nb\nc").line(4) == "line 3"
    assert list(Markers("a\nb").users()) == [(0, 3)]

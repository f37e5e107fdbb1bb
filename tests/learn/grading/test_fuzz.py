"""Every reader either accepts a text or rejects it with an error. Hypothesis looks for a text that breaks this.

Tests `minirnn/learn/cleaned.py`, `minirnn/learn/grading/collecting.py`, `minirnn/learn/grading/archive.py`,
`minirnn/learn/grading/notebook.py`, `minirnn/learn/grading/tokens.py`, `minirnn/learn/sandbox/kernel_text.py`,
`minirnn/learn/sandbox/protocol.py`, `minirnn/learn/sandbox/replies.py`, `minirnn/learn/repair.py` and
`minirnn/learn/kernel_repair.py`.
"""

import io
import json
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minirnn.devices.cuda.driver import CompileError
from minirnn.learn.calls import function_case
from minirnn.learn.cleaned import cleaned, printable
from minirnn.learn.cuda_kernels import kernel_loaded, kernel_parts
from minirnn.learn.diagnose import Diagnosis
from minirnn.learn.exercise import PUBLIC
from minirnn.learn.grading.archive import Unreadable
from minirnn.learn.grading.collecting import Wanted, collect, meant
from minirnn.learn.grading.handed import MOST_NOTES
from minirnn.learn.grading.notebook import answer_in, code_cells
from minirnn.learn.grading.tokens import MOST_READ, tokens, words_of
from minirnn.learn.judge import Failed
from minirnn.learn.kernel_repair import rows_of
from minirnn.learn.repair import Repair
from minirnn.learn.sandbox import kernel_text, protocol
from minirnn.learn.sandbox.parent import Child, Limits
from minirnn.learn.sandbox.replies import reply_of
from minirnn.learn.testers import verdict
from minirnn.learn.wrong_line import in_own_names
from tests.examples import CHARACTERS
from tests.learn.answers import COURSE

ANY = st.text(st.integers(0, 0x10FFFF).map(chr), max_size=60)
"""Texts of arbitrary code points, including lone surrogates."""
WANTED = [Wanted("ex01", "exercises/01_tape/ex01_mul_add.py", "01_tape/ex01_mul_add.py", "mul_add"),
          Wanted("ex17", "exercises/13_kernels/ex17_pointwise.cu", "13_kernels/ex17_pointwise.cu",
                 "pointwise")]  # fmt: skip
FILES = [entry.file.rpartition("/")[2] for entry in WANTED]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(CHARACTERS, max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["cells", "worksheets", "cell_type", "source", "input", "code", "metadata"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(ANY)
@example("\ud800\x1b[2J\u202e\r\n\x00\x9b")
def test_a_cleaned_text_can_be_printed_and_is_cleaned_once(text):
    clean = cleaned(text)
    clean.encode()
    assert all(c.isprintable() or c in "\n\t" for c in clean)
    assert cleaned(clean) == clean and printable(text).isprintable() and len(printable(text * 9)) <= 120


@given(st.one_of(ANY, st.tuples(ANY, st.sampled_from(FILES), ANY).map("".join)))
@example("ex01" + "copy-1" * 30 + ".py")
def test_a_name_means_an_exercise_or_none(name):
    assert meant(name, FILES) in (None, *FILES)


@st.composite
def damaged_zips(draw):
    """A zip file with bytes replaced, removed or inserted."""
    names = draw(st.lists(st.sampled_from([*(e.file for e in WANTED), "../x.py", "a/ex01.py", "n.ipynb"]), max_size=4))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))) as file:
        for name in dict.fromkeys(names):
            file.writestr(name, draw(st.binary(max_size=80)))
    damaged = bytearray(data.getvalue())
    for at, new in draw(st.lists(st.tuples(st.integers(0, len(damaged)), st.binary(max_size=3)), max_size=4)):
        damaged[at : at + draw(st.integers(0, 3))] = new
    return bytes(damaged)


@given(st.one_of(damaged_zips(), st.binary(max_size=60)), st.booleans())
def test_an_archive_gives_files_or_reasons(data, notebooks):
    handed = collect(data, WANTED, notebooks)
    assert set(handed.files) <= {"ex01", "ex17"} and len(handed.notes) <= MOST_NOTES + 1
    assert all(text.isprintable() for text in (*handed.notes, *handed.reasons.values(), handed.problem))


@given(st.one_of(JSON.map(json.dumps).map(str.encode), st.binary(max_size=60)))
@example(b"[" * 100_000)
@example(b'{"cells": [{"cell_type": "code", "source": ["def mul_add(a):\\n", "  %matplotlib"]}]}')
def test_a_notebook_has_cells_or_is_none(data):
    try:
        cells = code_cells(data)
    except Unreadable:
        return
    assert all(isinstance(cell, str) for cell in cells)
    answer = answer_in(cells, "mul_add")
    assert answer is None or "mul_add" in answer


@given(ANY | st.text("/*\"'\\\n#ab1 =()", max_size=60), st.booleans())
def test_any_text_has_words(text, python):
    words = tokens(text, python)
    assert all(word and not word.isspace() for word in words) and "secret" not in words
    assert words_of([text.encode(errors="replace")], "", python, 3)[0] == tokens(
        text.encode(errors="replace").decode(), python, 3
    )


PIECE = st.sampled_from(["int x = 1;", "// a", "/* b\n c */", '"asm"', "'\\''", "#define A 1\n", "\\\n", "<:0:>", "\n",
                         "1.5e3f", "[[unlikely]]", "#include <math.h>\n"])  # fmt: skip
"""Text that a kernel may contain. Nothing stays open except a line comment, which a new line ends."""


@given(ANY | st.lists(PIECE | st.text("/*\"'\\\n#<:%[](){}ab R", max_size=5)).map("".join))
def test_a_kernel_is_let_pass_or_refused(text):
    try:
        kernel_text.refuse(text)
    except CompileError as error:
        assert str(error)


@given(
    st.lists(PIECE),
    st.sampled_from(["asm", "__asm__", "a\\\nsm", "__has_include", "__builtin_memcpy", "cusim_x", "[[gnu::naked]]"]),
    st.lists(PIECE),
)
def test_what_is_refused_is_refused_wherever_it_stands(before, word, after):
    with pytest.raises(CompileError):
        kernel_text.refuse("\n".join([*before, "", f" {word} ", *after]))


@st.composite
def damaged_messages(draw):
    arrays = [np.arange(6.0).reshape(2, 3), np.float32(2), np.zeros((0, 3)), np.array([True])]
    data = bytearray(protocol.pack({"a": draw(st.sampled_from(arrays)), "b": [1, "x", (2.5, None)]}))
    for at, new in draw(st.lists(st.tuples(st.integers(0, len(data)), st.binary(max_size=3)), max_size=4)):
        data[at : at + draw(st.integers(0, 3))] = new
    return bytes(data)


@given(st.one_of(damaged_messages(), st.binary(max_size=60)))
def test_what_is_no_message_is_a_bad_one(data):
    try:
        message = protocol.unpack(data)
    except protocol.BadMessage:
        return
    assert isinstance(message, dict)


def test_of_a_huge_file_the_beginning_is_compared():
    assert words_of([b"#\n" * MOST_READ + b"x = 1"], "", True, 9) == [[]]
    assert words_of([b"x = 1\n" + b"#\n" * MOST_READ], "", True, 9) == [["name", "=", "0"]]


ARRAYS = st.sampled_from([np.zeros((0, 5)), np.ones((2, 3)), np.full((2, 5), np.nan), np.zeros(2, "U3"),
                          np.zeros(3, "?"), np.float64(2), np.zeros((1,) * 20), np.zeros(2, "M8[s]")])  # fmt: skip
PARTS = st.none() | st.booleans() | st.integers(-2, 10**30) | st.floats() | st.text(max_size=3) | ARRAYS
KEYS = ["changes", "reach", "results", "values", "names", "single", "odd", "lines", "at", "noted", "value", "error",
        "type", "text", "line", "code", "shapes", "counts", "locals", "warnings", "imported", "violation", "callback",
        "arguments", "ready", "compiled"]  # fmt: skip
CHANGE = st.tuples(*[st.integers(0, 9)] * 3, st.text(max_size=3), st.integers(0, 3), st.sampled_from(["", "a 1"]))
FORGED = st.recursive(
    PARTS | CHANGE.map(list),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.dictionaries(st.sampled_from(KEYS), st.lists(FORGED | CHANGE.map(list), max_size=4) | FORGED, max_size=8)
"""What an answer that has taken over its process may send: arrays, among others, in every place."""
EVERYWHERE = [
    {"error": dict.fromkeys(("type", "text", "line", "code", "shapes"), array) | more}
    for array in (np.ones(3), np.zeros((0, 5)), np.zeros(2, "U3"))
    for more in ({}, {"type": "SyntaxError"}, {"type": "ValueError", "text": "read-only"}, {"type": "Missing"})
] + [{key: np.ones((2, 3))} for key in KEYS]


class Forging(Child):
    """The process of an answer that sends these messages again and again."""

    def __init__(self, messages):
        self.messages, self.count, self.lines, self.imported, self.file = messages, 0, 9, False, Path(__file__)
        self.limits, self.together, self.compiled, self.spent = Limits(), 20.0, 0.0, 0.0
        self.session = SimpleNamespace(ready=False, status=None)
        self.clock = SimpleNamespace(serve=lambda: None, look=lambda quiet: None, used=0.0)

    def _receive(self):
        self.count += 1
        return self.messages[self.count % len(self.messages)] if self.count % 7 else {"value": {"values": []}}

    def _send(self, message):
        protocol.pack(message)

    def _clock(self, own):
        return self.clock

    def _ended(self):
        return "ended"

    def anew(self):
        self.count += 1


@given(st.lists(MESSAGES, min_size=1, max_size=3))
def test_whatever_is_replied_is_judged(messages):
    judge_all(messages)


def test_arrays_in_every_place_of_a_reply_are_judged():
    for message in EVERYWHERE:
        judge_all([message])


def judge_all(messages):
    """Have every part of the judge that reads replies read these."""
    child = Forging(messages)
    python, kernel, tester = (COURSE.entry(id).exercise for id in ("ex04", "ex17", "ex21"))
    inputs = python.case([0])
    grid, block = kernel.launch(kernel.case([0]))
    for work in (
        lambda: function_case(python, child, inputs),
        lambda: function_case(COURSE.entry("ex05").exercise, child, COURSE.entry("ex05").exercise.case([0])),
        lambda: verdict(tester, child, lambda *args: list(args), [1]),
        lambda: kernel_loaded(child),
        lambda: kernel_parts(kernel, child, [([0], PUBLIC)], []),
    ):
        try:
            work()
        except Failed as failure:
            assert failure.line is None or 1 <= failure.line <= child.lines
            assert str(failure)
    five = COURSE.entry("ex05").exercise
    values = {"da": [np.arange(6.0).reshape(2, 3)] * 2}
    found = Diagnosis("da: x", ("da = dh", "     ^^ x"), "da", values=values, inputs=five.case([0]), wrong="dh")
    said = in_own_names(Repair(five, child), "da = dh\n" * child.lines, found).place
    assert not said or int(re.search("line (\\d+)", said)[1]) <= child.lines


@given(st.lists(MESSAGES, min_size=1, max_size=4))
@example([{"changes": [[1, 2, 3, "x", 0, "y"]], "reach": [["a", "b"], [1], [2, ["x", -1, 10**9]]]}])
def test_whatever_the_search_for_a_cause_is_told_it_ends(messages):
    for id in ("ex05", "ex04"):
        repair = Repair(COURSE.entry(id).exercise, Forging(messages))
        found = (*repair.near_one(), *repair.others())
        assert all(type(change.line) is int and isinstance(change.says, str) for change in found)


@given(st.lists(FORGED | CHANGE.map(list), max_size=4), st.text(max_size=30))
@example([[0, 3, "says", 0, "f_minirnn0", 1]], "a\nb")
def test_whatever_changes_of_a_kernel_are_told_their_lines_are_there(rows, text):
    for change, name, number in rows_of(reply_of({"changes": rows}, 9).changes, text):
        assert 1 <= change.line <= 1 + text.count("\n") and name and type(number) is int

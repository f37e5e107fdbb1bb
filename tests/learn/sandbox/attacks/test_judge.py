"""Hostile answers that target the judge: its comparison, its time, its memory, its reports.

Tests `minirnn/learn/sandbox/parent.py`, `minirnn/learn/sandbox/child.py` and `minirnn/learn/check.py`.
"""

import textwrap

import numpy as np
import pytest

from minirnn.learn import check as checking
from minirnn.learn import text
from minirnn.learn.sandbox import parent, trials
from minirnn.learn.sandbox.parent import WAYS
from minirnn.learn.sandbox.replies import MOST_NUMBERS, reply_of
from minirnn.learn.sandbox.session import MOST_OUTPUT
from tests.learn.answers import COURSE, RIGHT, body, checked
from tests.learn.sandbox.attacks.attack import EVERY_WAY, Attack
from tests.slow import slow_unless

ALL = EVERY_WAY["all"]
WRONG = RIGHT.replace("return da @ W.T", "return 2 * da @ W.T")
LIES = {
    "an array that lies": """
        class Lie(np.ndarray):
            def __array_function__(self, *a, **k): return True
            def __array_ufunc__(self, *a, **k): return np.zeros(1)
            def __eq__(self, other): return True
            def __sub__(self, other): return 0 * other
            def __reduce__(self): return (print, ())
            shape = property(lambda self: (3, 4))
            dtype = property(lambda self: np.dtype(float))
        LIE = lambda a: a.view(Lie)
    """,
    "an object with an array inside": """
        class Lie:
            def __init__(self, a): self.a = a
            def __array__(self, dtype=None, copy=None): return self.a
            def __eq__(self, other): return True
        LIE = Lie
    """,
    "a masked array": "LIE = lambda a: np.ma.masked_array(a, mask=np.ones_like(a))",
    "nothing but infinity": "LIE = lambda a: a * np.inf",
    "not a number": "LIE = lambda a: a * np.nan",
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_only_the_numbers_count(tmp_path, lie):
    code = f"{textwrap.dedent(LIES[lie])}\n{WRONG.replace('2 * da @ W.T', 'LIE(2 * da @ W.T)', 1)}"
    result = checked(tmp_path, "ex05", body("ex05", code))
    assert result.score <= 4 and not result.passed, result.message


RAISED = {
    "a text that fails": "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
    "a text that is none": "class E(Exception):\n    def __str__(self): return 3\nraise E",
    "a text without end": "raise ValueError('x' * 100_000_000)",
    "a text that takes for ever": "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "a name that is none": "raise type('\\n\\x1b[2J<script>', (Exception,), {})('\\x1b[31m')",
    "no exception": "class E(BaseException): pass\nraise E",
    "a chain": "def f(n):\n    try: 1 / 0\n    finally: f(n - 1) if n else raising\nf(300)",
    "recursion": "def f(): f()\nf()",
    "a text of 0 bytes": "raise ValueError('\\0\\ud800')",
    "the end of the generator": "raise StopIteration",
    "a representation that fails": "class R:\n    def __repr__(self): raise SystemExit\nraise ValueError(R())",
    "a file that is not there": "raise FileNotFoundError(R'\\x', None, {1: 2})",
}


@pytest.mark.parametrize("name", RAISED)
def test_no_exception_of_an_answer_reaches_the_judge(tmp_path, name):
    result = checked(tmp_path, "ex05", body("ex05", RAISED[name]), seconds=0.3 if "for ever" in name else 1.0)
    assert result.status == "failed" and result.score == 0 and len(result.message) < 10_000


RETURNED = [
    "np.full((2, 5), np.inf) * [1, -1, 1, -1, 1]", "np.float16(6e4) * np.full((2, 5), np.float16(9))",
    "type", "object()", "lambda: 0", "iter(int, 1)", "'x' * 1000", "{1: {2: 3}}", "[[[]]]", "np.array([None])",
    "np.empty((0, 5))", "np.zeros(1, 'O')", "float('nan')", "10 ** 400", "range(10 ** 9)", "np.zeros((1,) * 32)",
    "np.array('x')", "np.zeros(3, 'M8[s]')", "memoryview(b'')", "Ellipsis", "np.ma.masked", "__import__('sys')",
]  # fmt: skip


def test_no_value_of_an_answer_reaches_the_judge_but_numbers(tmp_path):
    for k, value in enumerate(RETURNED):
        code = f"return {value}" if k % 2 else f"return ({value},) * 5"
        result = checked(tmp_path, "ex05", body("ex05", code), seconds=2.0, megabytes=512)
        assert result.status == "failed" and result.score == 0, (value, result.message)


EXTREME = ["np.full(x.shape, 1e308)", "np.full(x.shape, np.finfo('g').max)", "np.full(x.shape, 1e308 + 1e308j)",
           "np.full(x.shape, 2**64 - 1, 'u8')", "np.full(x.shape, np.float16(65504)) * h[:1, :1]"]  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_no_number_of_an_answer_makes_numpy_warn_the_teacher(tmp_path):
    for value in EXTREME:
        code = RIGHT.replace("return da @ W.T", f"return {value}")
        result = checked(tmp_path, "ex05", body("ex05", code), hidden=True)
        assert result.status == "failed" and result.score == 4, (value, result.message)


def test_frames_and_objects_hold_nothing_of_the_judge(tmp_path):
    code = """
    import gc, inspect, sys
    frame, seen = sys._getframe(), []
    while frame is not None:
        seen += [f'{k}={v!r}'[:2000] for k, v in frame.f_locals.items()]
        frame = frame.f_back
    seen += [repr(sys.argv), repr(dict(__import__('os').environ)), repr(sorted(sys.modules))]
    for thing in gc.get_objects():
        if type(thing) is dict:
            seen.append(' '.join(k for k in thing if type(k) is str)[:2000])
    text = ' '.join(seen)
    print([word for word in ('hidden_seed', 'expected', 'SEED', 'course.toml', 'catalog', 'Exercise') if word in text])
    """.replace("SEED", COURSE.hidden_seed)
    attack = Attack(tmp_path, ALL, code, hidden=True)
    assert attack.result.passed
    assert set((attack.result.prints + attack.result.hidden_prints).split("\n")) <= {"[]", ""}


@pytest.mark.slow
def test_a_reply_that_the_answer_writes_itself_is_judged_like_any(tmp_path):
    """It can send anything, but the judge only accepts numbers and compares them with its own."""
    code = """
    frame = sys._getframe()
    while 'answer' not in frame.f_locals:
        frame = frame.f_back
    answer = frame.f_locals['answer']
    value = {'values': [np.zeros((3, 4))] * 5}
    MESSAGE
    """
    for message in (
        "answer.reply(value=value, score=100, ok=True, passed=True, points=5, hidden=10)",
        "answer.reply(value=value, ended=0); os._exit(0)",
        "answer.reply(ready=True); answer.reply(value=value)",
        "answer.reply(value={'single': {'odd': 'None'}})",
        "answer.reply(value={'values': 3})",
        "answer.reply(value={'values': [3], 'names': 4})",
        "answer.reply(value=[])",
        "answer.reply(error={'type': 3, 'text': [], 'line': 'x'})",
        "answer.reply(error={'type': 'Missing', 'text': 'x' * 100_000, 'line': 10 ** 30, 'code': [1], 'shapes': 2})",
        "answer.reply(callback='f', arguments=[])",
        "answer.reply(callback=['f'], arguments={})",
        "answer.reply(violation=['x' * 100_000], line={})",
        "answer.reply(locals=3, counts=4, value=value)",
    ):  # fmt: skip
        attack = Attack(tmp_path, ALL, code.replace("MESSAGE", message), seconds=5.0, megabytes=1024)
        assert attack.result.status == "failed" and attack.result.score == 0, message


def test_many_large_variables_cost_the_search_little():
    """The search for a cause looks at the values of many runs. Their number and size are limited together."""
    notes = trials.Notes()
    for _ in range(500):
        notes(1, np.ones(4900))
    assert sum(value.size for value in notes.values) <= trials.TOGETHER
    found = reply_of({"at": [1] * 500, "noted": [np.ones(4900)] * 500}, 9)
    assert sum(value.size for _, value in found.noted) <= MOST_NUMBERS


def test_prints_of_hidden_cases_are_for_the_teacher_alone(tmp_path):
    late = "__import__('threading').Thread(target=print, args=('late',)).start()"
    code = f"print('shapes', *x.shape)\nsys.stderr.write('x')\n{late}"
    result = Attack(tmp_path, ALL, code, hidden=True).result
    shown, hidden = (
        {line for line in printed.splitlines() if "shapes" in line} for printed in (result.prints, result.hidden_prints)
    )
    assert len(shown) == 2 and len(hidden) == 3 and not shown & hidden
    assert not any(line in text.report(result) for line in hidden)


def test_the_time_of_hidden_cases_is_told_to_nobody(tmp_path, monkeypatch):
    """An answer could reveal a hidden number by sleeping in proportion to it."""
    moment = [0.0]
    right = checking.hidden_cases

    def slow(*arguments):
        moment[0] += 1000
        return right(*arguments)

    monkeypatch.setattr(checking, "hidden_cases", slow)
    monkeypatch.setattr(checking.time, "perf_counter", lambda: moment[0])
    result = checked(tmp_path, "ex05", body("ex05", RIGHT), hidden=True)
    assert result.hidden and result.seconds == 0


@pytest.mark.slow
def test_a_flood_of_prints_ends_with_its_time(tmp_path):
    code = "import os\nwhile True:\n    os.write(1, b'x' * 65536)"
    result = checked(tmp_path, "ex05", body("ex05", code), seconds=0.3)
    assert "stopped after 0.3 s" in result.message and len(result.prints) <= MOST_OUTPUT


@pytest.mark.slow
def test_one_that_sleeps_and_works_in_turns_meets_its_own_limit(tmp_path):
    """Working briefly in each interval does not disguise sleep."""
    code = "import time\nwhile True:\n    sum(range(2000))\n    time.sleep(0.03)"
    result = checked(tmp_path, "ex05", body("ex05", code), seconds=0.6)
    assert "stopped after 0.6 s" in result.message, result.message


ASKING = """
frame = sys._getframe()
while 'answer' not in frame.f_locals:
    frame = frame.f_back
answer = frame.f_locals['answer']
"""
FORGED = {
    "a list in a list in a list": "os.write(4, packed('[{\"dict\": {\"value\": ' + '[' * 900 + ']' * 900 + '}}, []]'))",
    "an error made of arrays": "answer.reply(error={'type': np.zeros(3), 'text': [1], 'line': np.zeros(2),"
                               " 'code': np.ones((2, 2)), 'shapes': np.ones(3)})",
    "an error with lists": "answer.reply(error={'type': ['x'], 'text': {'a': 1}, 'line': [3], 'code': ['x', 'y']})",
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_no_forged_reply_makes_the_judge_stumble(tmp_path, name):
    """Each has the form of a reply, with wrong contents."""
    code = f"""
    import os, struct
    def packed(text):
        data = struct.pack('<I', len(text)) + text.encode()
        return struct.pack('<I', len(data)) + data
    {textwrap.indent(ASKING, "    ").strip()}
    {FORGED[name]}
    """
    result = checked(tmp_path, "ex05", body("ex05", f"import sys\n{textwrap.dedent(code)}\n{RIGHT}"), seconds=5.0)
    assert result.status == "failed" and result.score == 0, result.message


FORGED_SEARCH = [
    "{'changes': [[1, 2, 3, 'x', 0, 'y']] * 3, 'reach': [['a', 'b'], [1], 3, [2, ['x', -1, 10 ** 9]], {'a': 1}]}",
    "{'changes': [[1, 2], 3, [[], 2, 3, 'x', 0, 'y'], ['x'] * 6], 'reach': [[4, 'ab'], [[], []]]}",
    "{'changes': {'a': 1}, 'reach': {'1': [1]}, 'results': [np.zeros(3)], 'at': [np.zeros(2)], 'noted': [1]}",
    "{'results': [{'values': 3}, {'single': []}] * 20, 'at': [[1]], 'noted': [np.zeros((0, 5))]}",
    "dict.fromkeys(['changes', 'reach', 'results', 'at', 'noted', 'value', 'counts', 'locals'], np.ones(3))",
]


@pytest.mark.parametrize("value", FORGED_SEARCH)
def test_no_forged_change_makes_the_search_stumble(tmp_path, value):
    """The search for a cause asks the process of the answer, which the answer can patch."""
    code = f"""
    import sys
    child = sys.modules['_sandbox.child']
    child.Answer.tried = lambda self, call: self.reply(**{value})
    {WRONG.replace(chr(10), chr(10) + "    ")}
    """
    result = checked(tmp_path, "ex05", body("ex05", code))
    assert result.status == "failed" and 0 < result.score < 5, result.message


def test_what_the_judge_does_for_an_answer_is_the_answers_time(tmp_path):
    """A message that is made once can be sent often. Reading it takes only the judge's time."""
    code = """
    import os, struct, sys, threading
    numbers = ','.join(['[1,2]'] * 100_000)
    text = '[{"dict": {"callback": "f", "arguments": {"list": [' + numbers + '], "tuple": false}}}, []]'
    data = struct.pack('<I', len(text)) + text.encode()
    data = struct.pack('<I', len(data)) + data
    def take():
        while True:
            os.read(3, 1 << 20)
    threading.Thread(target=take, daemon=True).start()
    while True:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(4, rest):]
    """
    result = checked(tmp_path, "ex04", body("ex04", code), seconds=0.4)
    assert "stopped after 0.4 s" in result.message and not result.busy, result.message


@pytest.mark.slow
def test_many_threads_that_wake_at_once_are_no_busy_machine(tmp_path):
    code = """
    import threading, time
    numbers = np.ones(60_000)
    def work():
        while True:
            time.sleep(0.025 - time.monotonic() % 0.025)
            np.sqrt(numbers)
    for _ in range(60):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(1000)
    """
    result = checked(tmp_path, "ex05", body("ex05", code), seconds=1.0)
    assert "stopped after 1 s" in result.message and not result.busy, result.message


def test_lines_of_a_file_are_shown_clean_and_short(tmp_path):
    """The message comes from the file itself, which the judge reads."""
    for after in ("\x1b[2J\u202e\x9b\0", "x" * 100_000):
        wrong = RIGHT.replace("(1 - h * h)", f"(1 + h * h)  # {after}")
        result = checked(tmp_path, "ex05", body("ex05", wrong).replace("\0", "\x07"))
        assert "must be subtracted" in result.message
        assert len(result.message) < 2000 and result.message.replace("\n", "").isprintable()


@pytest.mark.slow
def test_one_that_takes_no_replies_does_not_stop_the_judge(tmp_path):
    """The pipe to it eventually fills up."""
    code = f"import sys\n{ASKING}\nwhile True:\n    answer.reply(callback='f', arguments=[np.zeros(1000)])"
    result = checked(tmp_path, "ex04", body("ex04", code), seconds=0.4)
    assert result.status == "failed" and result.score == 0


@pytest.mark.slow
def test_functions_of_the_judge_are_called_so_often_and_no_more(tmp_path):
    result = checked(tmp_path, "ex04", body("ex04", "while True:\n    f(x)"))
    assert "calls f more than 2000 times" in result.message


@pytest.mark.parametrize("name", ["request", "reply", "both"])
def test_closed_and_exchanged_descriptors_cost_their_own_exercise(tmp_path, monkeypatch, name):
    monkeypatch.setattr(parent, "CLOSING", 0.2)
    code = {
        "request": "os.dup2(os.open('/dev/null', os.O_RDONLY), 3)",
        "reply": "os.dup2(os.open('/dev/null', os.O_WRONLY), 4)",
        "both": "r, w = os.pipe()\nos.dup2(r, 3)\nos.dup2(w, 4)",
    }[name]
    result = Attack(tmp_path, ALL, code, seconds=0.5).result
    assert result.status == "failed"


@pytest.mark.parametrize("ways", slow_unless([frozenset(), WAYS], [*EVERY_WAY.values(), frozenset(), WAYS]))
def test_after_all_that_a_right_answer_passes(tmp_path, monkeypatch, ways):
    """Every combination of locks is tested, including those of systems that support fewer."""
    monkeypatch.setattr(checking.Child, "ways", ways)
    for id in ("ex05", "ex04", "ex17"):
        result = checked(tmp_path, id, COURSE.solution(COURSE.entry(id)), hidden=True)
        assert result.passed and result.hidden == COURSE.entry(id).hidden, result.message


def test_a_machine_too_busy_to_judge_is_asked_twice_and_told(tmp_path, monkeypatch):
    attempts, attempt = [], checking.attempt
    for often, passed in ((0, True), (1, True), (2, False)):
        attempts.clear()
        monkeypatch.setattr(checking, "attempt", lambda *a, often=often: told(a, attempts, often, attempt))
        result = checked(tmp_path, "ex05", body("ex05", RIGHT))
        assert result.passed == passed and result.busy == (not passed)
        assert len(attempts) == min(often, 1) + 1


def told(arguments, attempts, often, attempt):
    attempts.append(1)
    if len(attempts) > often:
        return attempt(*arguments)
    return checking.Result(arguments[1], "failed", busy=True)

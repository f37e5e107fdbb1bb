"""Common mistakes are named: the term, the factor, the order, the step. None passes or gets another's name.

Tests `minirnn/learn/diagnose.py`, `minirnn/learn/diagnose_cuda.py`, `minirnn/learn/rearranged.py`,
`minirnn/learn/hypotheses/search.py` and `minirnn/learn/hypotheses/kernels.py` on the collection in
`tests/learn/mistakes/`.
"""

from collections import Counter

import pytest

from tests.learn.answers import checked
from tests.learn.mistakes.run import CUDA, PYTHON, changed, kernel_said_to
from tests.slow import slow_unless

NAMED = Counter(exercise for exercise, _, says, _ in PYTHON if says)
LONG = {
    ("ex06", "weights' gradients divided by T"),
    ("ex07", "loss gradient averaged over the batch"),
    ("ex08", "all peepholes go to dc"),
    ("ex08", "peepholes see cs for all gates"),
    ("ex09", "dcn added after the gates"),
    ("ex09", "order i f g o"),
    ("ex11", "z, r, n"),
    ("ex12", "dy of padding counts"),
}
"""Many other hypotheses are tried before these."""


@pytest.mark.parametrize(
    ("exercise", "what", "says", "changes"),
    slow_unless([row for row in PYTHON[::4] if row[2] and row[:2] not in LONG], PYTHON),
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_mistake_in_numpy_is_named(tmp_path, exercise, what, says, changes):
    result = checked(tmp_path, exercise, changed(exercise, changes))
    assert result.exact == bool(says), result.message
    assert says in f"{result.diagnosis}\n{result.message}"


def test_nearly_all_of_them_are_named():
    assert sum(NAMED.values()) >= 0.95 * len(PYTHON)


@pytest.mark.parametrize(
    ("exercise", "what", "says", "changes"),
    slow_unless(lambda exercise, what, *_: what == "only the first tile", CUDA),
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_mistake_in_a_kernel_is_named(tmp_path, exercise, what, says, changes):
    assert says in kernel_said_to(tmp_path, exercise, changes)

"""Hypotheses about a formula's tree, including formulas that no exercise has. No mistake is claimed without evidence.

Tests `minirnn/learn/hypotheses/search.py`, `minirnn/learn/hypotheses/program.py`,
`minirnn/learn/hypotheses/edits.py`, `minirnn/learn/hypotheses/trees.py`,
`minirnn/learn/hypotheses/terms.py`, `minirnn/learn/hypotheses/names.py`, `minirnn/learn/hypotheses/rewritten.py`,
`minirnn/learn/hypotheses/kernels.py` and `minirnn/learn/by_output.py`.
"""

import inspect

import numpy as np
import pytest

from minirnn.learn.by_output import fewest, from_the_search
from minirnn.learn.catalog import EXERCISES
from minirnn.learn.exercise import PUBLIC_CASES
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.hypotheses.search import Search
from tests.slow import slow_unless


def highway(x, g, c, W, dy):
    """A formula that no exercise has: y = g * c + (1 - g) * x with c = tanh(x @ W)."""
    dc = dy * g * (1 - c * c)
    dg = dy * (c - x) * g * (1 - g)
    dx = dc @ W.T + dy * (1 - g)
    dW = x.T @ dc
    db = dc.sum(0)
    return dx, dg, dW, db


def leaky(x, a, dy):
    dh = np.zeros_like(a)
    ds = np.zeros_like(x)
    for t in reversed(range(len(x))):
        dh_t = dy[t] + dh
        ds[t] = dh_t * (1 - a)
        dh = dh_t * a
    dh0 = dh
    return ds, dh0


def inputs_of(function, seed):
    rng = np.random.default_rng(seed)
    if function is leaky:
        return dict(x=rng.normal(size=(4, 2, 3)), a=rng.uniform(0.2, 0.8, (2, 3)), dy=rng.normal(size=(4, 2, 3)))
    x, g = rng.normal(size=(2, 5)), rng.uniform(0.2, 0.8, (2, 5))
    W, dy = rng.normal(size=(5, 5)), rng.normal(size=(2, 5))
    return dict(x=x, g=g, c=np.tanh(x @ W), W=W, dy=dy)


def found(function, outputs, changes):
    """The hypotheses found for a function whose source has replacements."""
    source = inspect.getsource(function)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    namespace = {"np": np}
    exec(source, namespace)
    program, cases = Program(function, outputs), []
    for seed in (0, 1):
        inputs = inputs_of(function, seed)
        with np.errstate(all="ignore"):
            got = namespace[function.__name__](**inputs)
        cases.append((inputs, program.run(inputs), dict(zip(outputs, got, strict=True))))
    search = Search(program, cases)
    ones = search.try_all()
    return ones or alone(search) or list(search.twos(5000) or ())


def alone(search):
    """A cause for each wrong output that does not affect the others."""
    found = [cause for cause in from_the_search(search, set(search.wrong)) if not cause.alone]
    return [cause.hypothesis for cause, _ in fewest(found, list(search.wrong), search)]


NEW = [
    (highway, "db: the mean is used where the sum belongs", ("dc.sum(0)", "dc.mean(0)")),
    (highway, "dc: tanh is applied again: c is already the output", ("1 - c * c", "1 - np.tanh(c) ** 2")),
    (highway, "dc: the slope of the sigmoid", ("(1 - c * c)", "c * (1 - c)")),
    (highway, "dx: W must be transposed here", ("W.T", "W")),
    (highway, "this is the other convention of g", ("dy * g * (1 - c * c)", "dy * (1 - g) * (1 - c * c)"),
     ("(c - x)", "(x - c)"), ("dy * (1 - g)\n", "dy * g\n")),
    (highway, "dx: the term dy * (1 - g) is missing", (" + dy * (1 - g)", "")),
    (highway, "dW: dy is used where dc belongs", ("x.T @ dc", "x.T @ dy")),
    (leaky, "the loop runs forwards, but it must go from the last to the first",
     ("reversed(range(len(x)))", "range(len(x))")),
    (leaky, "ds: dy[t] is used where dh_t belongs", ("dh_t * (1 - a)", "dy[t] * (1 - a)")),
    (leaky, "dh0: the term dh is missing", ("dh0 = dh", "dh0 = 0 * dh")),
    (leaky, "the last of the entries is left out of the loop", ("range(len(x))", "range(len(x) - 1)")),
]  # fmt: skip


@pytest.mark.parametrize("row", NEW, ids=lambda row: row[1])
def test_a_new_formula_is_diagnosed_without_any_help(row):
    function, says, *changes = row
    outputs = ("ds", "dh0") if function is leaky else ("dx", "dg", "dW", "db")
    hypotheses = found(function, outputs, changes)
    assert any(says in h.sentence() for h in hypotheses), [h.sentence() for h in hypotheses]


ENTANGLED = {
    "one after the other": ("ex08", ("+ dzo * wco", ""), ("dzf * wcf", "dzf * wci")),
    "side by side, at every step": ("ex09", (" * (1 - ci[t] * ci[t])", ""), ("dcs * cs_prev", "-dcs * cs_prev")),
    "one scales what the other changes": ("ex06", ("da = dh_t * (1 - h[t] * h[t])", "da = dh_t"), ("dR += ", "dR -= ")),
}  # fmt: skip
"""Two changes that alter each other's numbers."""


@pytest.mark.parametrize("name", slow_unless(lambda name: "every step" not in name, ENTANGLED))
def test_two_changes_that_alter_each_others_numbers_are_found_among_few_pairs(name):
    id, *changes = ENTANGLED[name]
    exercise = EXERCISES[id]
    source = inspect.getsource(exercise.reference)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    namespace = {"np": np}
    exec(source, namespace)
    program, cases = Program(exercise.reference, tuple(exercise.outputs)), []
    for seed, sizes in PUBLIC_CASES[::-1]:
        inputs = exercise.case([seed], sizes)
        got = exercise.named(namespace[exercise.function](**inputs))
        cases.append((inputs, exercise.expected(inputs), got))
    search = Search(program, cases)
    assert search.try_all() == []
    assert search.twos(60) is not None


def test_one_minus_a_value_is_found_though_the_value_is_no_gate():
    """A normalization scale that is above 1 in one case and below 1 in another."""
    exercise = EXERCISES["ex27"]
    program = Program(exercise.reference, tuple(exercise.outputs))
    step = next(s for s in program.every.values() if s.target == "n")
    turned = compile("n = (x - mean) * (1 - s)", "", "exec")
    inputs = exercise.case([0], PUBLIC_CASES[0][1])
    inputs["x"] *= 0.1
    assert program.values(inputs, {})["s"][-1].max() > 1
    search = Search(program, [(inputs, exercise.expected(inputs), program.run(inputs, {step.number: turned}))])
    assert [h.sentence() for h in search.try_all()] == ["n: 1 - s is used where s belongs"]


@pytest.mark.parametrize("id", [id for id, e in EXERCISES.items() if e.kind == "python"])
def test_every_reference_can_be_read_and_run_statement_by_statement(id):
    """The program gives the same as the function, and each hypothesis changes only outputs that it can reach."""
    exercise = EXERCISES[id]
    program = Program(exercise.reference, tuple(exercise.outputs))
    for seed, sizes in PUBLIC_CASES:
        inputs = exercise.case([seed], sizes)
        expected, got = exercise.expected(inputs), program.run(inputs)
        for name in exercise.outputs:
            for a, b in zip(*(v if isinstance(v, list) else [v] for v in (expected[name], got[name])), strict=True):
                np.testing.assert_array_equal(a, b)


def turn(search, hypothesis):
    """The number of the first group that contains a hypothesis."""

    def told(h):
        return h.sentence(), [(edit.number, edit.path) for edit in h.edits]

    groups = enumerate(search.groups())
    return next(number for number, group in groups if any(told(h) == told(hypothesis) for h in group))


def test_no_hypothesis_is_taken_for_one_that_was_forgotten():
    """The hypotheses of each group are made when the group is reached, and results must not be assigned to others."""
    exercise = EXERCISES["ex12"]
    program = Program(exercise.reference, tuple(exercise.outputs))
    inputs = exercise.case([0], PUBLIC_CASES[0][1])
    expected = exercise.expected(inputs)
    search = Search(program, [(inputs, expected, {n: v + 1 for n, v in expected.items()})])
    tried = 0
    for group in search.groups():
        tried += len(group)
        assert not any(search.explains(h) for h in group)
    assert len(search.known) == tried > 100


@pytest.mark.slow
@pytest.mark.parametrize("id", ["ex02", "ex07", "ex12"])
def test_what_is_said_to_give_the_numbers_gives_them(id, rng):
    """The search answers a random hypothesis with itself, or with another one that gives the same numbers."""
    exercise = EXERCISES[id]
    program = Program(exercise.reference, tuple(exercise.outputs))
    inputs = [exercise.case([seed], sizes) for seed, sizes in PUBLIC_CASES][::-1]
    expected = [exercise.expected(i) for i in inputs]
    plain = Search(program, [(i, e, e) for i, e in zip(inputs, expected, strict=True)])
    hypotheses = [h for group in plain.groups() for h in group]
    tried = 0
    for k in rng.permutation(len(hypotheses))[:10]:
        changed = plain.code(hypotheses[k])
        got = [None if changed is None else plain.gives(changed, case) for case in range(len(inputs))]
        if any(g is None for g in got) or all(
            plain.same(g[n], e[n]) for g, e in zip(got, expected, strict=True) for n in e
        ):
            continue  # cannot run, or changes nothing
        if not all(np.isfinite(np.asarray(v, float)).all() for g in got for v in g.values()):
            continue
        cases = list(zip(inputs, expected, got, strict=True))  # cases with errors come first, as in diagnose()
        cases.sort(key=lambda case: all(plain.same(case[2][n], case[1][n]) for n in case[1]))
        search = Search(program, cases)
        ones = search.try_all()
        assert ones, hypotheses[k].sentence()
        assert turn(search, ones[0]) <= turn(search, hypotheses[k])
        tried += 1
    assert tried >= 3


@pytest.mark.parametrize("id", slow_unless(["ex05"], ["ex05", "ex07", "ex12", "ex16"]))
def test_numbers_that_come_from_nowhere_are_explained_by_nothing(id, rng):
    exercise = EXERCISES[id]
    program = Program(exercise.reference, tuple(exercise.outputs))
    for scale in (1e-4, 1.0):
        cases = []
        for seed, sizes in PUBLIC_CASES:
            inputs = exercise.case([seed], sizes)
            expected = exercise.expected(inputs)
            got = {n: v + scale * rng.normal(size=np.shape(v)) for n, v in expected.items()}
            cases.append((inputs, expected, got))
        search = Search(program, cases)
        assert search.try_all() == [] and from_the_search(search, set(search.wrong)) == []
        assert search.twos() is None

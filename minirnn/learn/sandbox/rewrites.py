"""What people get wrong: one table of rewrites, read in both directions.

A rewrite is a pair of expressions, what is right and what is written instead, and one sentence about it. Read from left
to right in a reference's tree, the table makes wrong formulas; read from right to left in a student's tree, it repairs
the answer. Nothing is run here. The sentence is in the names of the tree that is read.

In a pattern, capital letters stand for parts of an expression: ``A`` to ``E`` for anything, ``N`` for a value with a
name, ``V`` for anything but sums and products, ``F`` for a function, ``I`` for an index. ``X`` is another value like N,
and ``M`` any other value, which the reader chooses if only the other side of the pair names it.
"""

from __future__ import annotations

from typing import NamedTuple

FORWARD, OWN = 0, 1
"""The directions: from right to wrong in a reference, from wrong to right in a student's file."""


class Rewrite(NamedTuple):
    """A pair of expressions, a sentence, how far-fetched it is in each direction, and where it applies.

    `ranks` are two characters, for the reference and for the student's tree: 0 to 3, or - if it is not read in this
    direction. `kind` is the sentence without its place, if people repeat the mistake; with a ? in front it is mere
    arithmetic, which may be right by accident. `where` is "index", "loop", "whole" (all that is assigned or returned),
    "value" or "any".
    """

    right: str
    wrong: str
    says: str
    ranks: str = "00"
    kind: str = ""
    where: str = "value"


def L(right: str, wrong: str, says: str) -> Rewrite:
    return Rewrite(right, wrong, says, "00", "", "any")


R = Rewrite
SIGN = "the sign is wrong"
OUTSIDE, INSIDE = "{B} is inside {F}(...), but it belongs outside", "{B} is outside {F}(...), but it belongs inside"
TABLE = [
    # terms
    R("A + B", "A", "the term {B} is missing", "03"),
    R("A - B", "A", "the term {B} is missing", "03"),
    R("A - B", "-B", "the term {A} is missing", "0-"),
    R("A", "0.0 * A", "the term {A} is missing", "1-", where="whole"),
    R("A", "A + B", "the term {B} does not belong here", "-0"),
    R("A", "A - B", "the term {B} does not belong here", "-0"),
    R("B", "A - B", "the term {A} does not belong here", "-0"),
    R("A", "A + X", "the term {X} is added, but it does not belong there", "2-", where="whole"),
    R("A", "A * X", "{A} is multiplied by {X}, but {X} does not belong there", "2-", where="whole"),
    R("A + B", "A + 2.0 * B", "the term {B} is counted twice", "1-"),
    R("A", "2.0 * A", "the term {A} is counted twice", "1-", where="whole"),
    R("A - B", "A + B", "the sign of {B} is wrong: it is added, but it must be subtracted"),
    R("A + B", "A - B", "the sign of {B} is wrong: it is subtracted, but it must be added"),
    R("A + B", "-A + B", "the sign of {A} is wrong", "0-"),
    R("A - B", "-A - B", "the sign of {A} is wrong", "0-"),
    R("A", "-A", "the sign of {A} is wrong: the minus does not belong here", "-0", SIGN),
    R("-A", "A", "the sign of {A} is wrong: the minus is missing", "00", SIGN),
    R("A", "-A", "the sign of {A} is wrong", "0-", where="whole"),
    R("A - B", "B - A", "the sides are exchanged: {A} must come first, so the sign of the difference is wrong", "00"),
    # factors
    R("A * B", "A", "the factor {B} is missing", "03"),
    R("A / B", "A", "the division by {B} is missing", "03"),
    R("A * (1 - M)", "A", "the factor 1 - {M} is missing", "-3"),
    R("A * (1 - M ** 2)", "A", "the factor 1 - {M} ** 2 is missing", "-3"),
    R("A / B", "1.0 / B", "the factor {A} is missing", "0-"),
    R("A", "A * B", "the factor {B} does not belong here", "-0"),
    R("A", "A @ B", "the product with {B} does not belong here", "-0"),
    R("B", "A @ B", "the product with {A} does not belong here", "-0"),
    R("A", "A / B", "the division by {B} does not belong here", "-0"),
    R("B", "A / B", "{A} / does not belong here", "-1"),
    R("A * B", "A * B * B", "the factor {B} is multiplied twice", "2-"),
    R("1 / B", "B", "{B} is used where 1 / {B} belongs", "0-"),
    R("A / B", "A * B", "{B} multiplies, but should divide"),
    R("A * B", "A / B", "{B} divides, but should multiply", "20"),
    R("A + B", "A * B", "{A} is multiplied by {B}, but {B} must be added", "20"),
    R("A - B", "A * B", "{A} is multiplied by {B}, but {B} must be subtracted", "20"),
    R("A * B", "A + B", "{B} is added to {A}, but {A} must be multiplied by it", "20"),
    R("A * B", "A - B", "{B} is subtracted from {A}, but {A} must be multiplied by it", "20"),
    R("A / B", "A + B", "{B} is added to {A}, but {A} must be divided by it", "20"),
    R("A * B", "A @ B", "@ is used where * belongs: each number of {A} is multiplied by its own of {B}", "10"),
    R("A @ B", "A * B", "* is used where @ belongs: a matrix product of {A} and {B}", "10"),
    R("A / B", "B / A", "the sides are exchanged: {A} must come first"),
    R("A ** B", "B ** A", "the sides are exchanged: {A} must come first"),
    R("A @ B", "B @ A", "the sides are exchanged: {A} must come first", "11"),
    R("(A * B).sum(0)", "A.T @ B",
      "a matrix product is taken, but each number of {A} must be multiplied by its own of {B}, "
      "and these products summed over the batch", "10"),
    R("A @ B.T", "B.T @ A", "the sides are exchanged: {A} must come first", "1-"),
    R("A ** N", "A", "the power {N} is missing: {A} ** {N}", "1-"),
    R("A ** B", "A ** 2", "the power 2 is used where {B} belongs", "13"),
    R("A ** B", "A * B",
      "{A} is multiplied by {B}, but {B} is a power", "00", "a product with {B} is used where its power belongs"),
    R("A", "A ** B", "the power {B} does not belong here", "-0"),
    # a gate and 1 minus it
    R("1 - A", "A", "{A} is used where 1 - {A} belongs: the gate and 1 minus it are exchanged", "00", "?complement"),
    R("N", "1 - N", "1 - {N} is used where {N} belongs: the gate and 1 minus it are exchanged", "1-"),
    # squares, roots, functions
    R("A ** 2", "A", "{A} is used where its square belongs", "11", "square"),
    R("np.sqrt(V)", "V", "the square root of {V} is missing", "01", "root"),
    R("np.sqrt(A)", "A ** 2", "a square is used where the root of {A} belongs", "2-"),
    R("F(A)", "A", "{F} is missing: {F}({A})", "0-"),
    R("F(A)", "F(F(A))", "{F} is taken twice", "1-"),
    R("A", "F(A)", "{F} does not belong here", "-1", "{F} does not belong here"),
    R("F(A) + B", "F(A + B)", OUTSIDE), R("F(A) - B", "F(A - B)", OUTSIDE), R("F(A) * B", "F(A * B)", OUTSIDE),
    R("F(A) / B", "F(A / B)", OUTSIDE),
    R("F(A + B)", "F(A) + B", INSIDE, "01"), R("F(A * B)", "F(A) * B", INSIDE, "11"),
    R("F(A / B)", "F(A) / B", INSIDE, "11"),
    R("F(A, B)", "F(B, A)", "{A} and {B} are exchanged", "11"),
    R("min(A, B)", "A", "the limit {B} is missing: {A} is always used", "03"),
    R("np.zeros_like(A)", "1.0 * A", "it is {A}, but must be zero", "1-"),
    # brackets
    *(R(f"A {sum} B {op} C", f"(A {sum} B) {op} C",
        f"{{A}} is {word} {{C}} as well, but {{C}} belongs to {{B}} only", "20", "brackets")
      for sum in "+-" for op, word in (("*", "multiplied by"), ("/", "divided by"))),
    *(R(f"(A {sum} B) {op} C", f"A {sum} B {op} C", f"the brackets around {{A}} {sum} {{B}} are missing",
        "10", "brackets")
      for sum in "+-" for op in "*/"),
    R("A + B * C * D", "(A + B) * C * D",
      "{A} is multiplied by {C} and {D} as well, but they belong to {B} only", "20", "brackets"),
    R("C * (A - B)", "C * A - B", "the brackets around {A} - {B} are missing", "10", "brackets"),
    R("A - (B + C)", "A - B + C", "the brackets around {B} + {C} are missing", "10", "brackets"),
    R("A / (B * C)", "A / B * C", "the brackets around {B} * {C} are missing", "10", "brackets"),
    R("A * (B @ C)", "A * B @ C", "the brackets around {B} @ {C} are missing", "00", "brackets"),
    R("(A * B) @ C", "A * (B @ C)",
      "the brackets are wrong: {A} must be multiplied before the product with {C}", "00", "brackets"),
    R("A * B ** C", "(A * B) ** C", "({A} * {B}) has the power {C}, but only {B} must have it", "00", "brackets"),
    R("A - B ** C", "(A - B) ** C", "({A} - {B}) has the power {C}, but only {B} must have it", "00", "brackets"),
    R("(A - B) ** C", "A - B ** C", "the brackets around {A} - {B} are missing", "00", "brackets"),
    # transposed, reversed
    R("V.T", "V", "{V} must be transposed here", "00", "a matrix must be transposed here"),
    R("V", "V.T", "{V} must not be transposed here", "10", "a matrix must not be transposed here"),
    R("A.T", "A.reshape(B)", "reshape keeps the order of the numbers, but {A} must be transposed", "-0"),
    R("A", "A[::-1]", "{A} must not be reversed", "-0"),
    R("A[::-1]", "A[:, ::-1]", "an axis other than the first is reversed", "10"),
    R("A[::-1]", "A", "{A} is in reversed order", "-1", "?reversed", "whole"),
    L("A[::-1]", "A[:0:-1]", "the first of the entries is left out"),
    R("reversed(A)", "reversed(A[1:])", "the first of the entries is left out of the loop", "1-", where="any"),
    R("reversed(A)", "reversed(A[:-1])", "the last of the entries is left out of the loop", "1-", where="any"),
    R("np.split(A, B)", "[A[I::B] for I in range(B)]",
      "every {B}th row is taken, but a part is a block of rows that follow each other", "-0"),
    R("A[1:]", "A[:-1]", "{A}[:-1] is used where {A}[1:] belongs", "11", where="any"),
    R("A[:-1]", "A[1:]", "{A}[1:] is used where {A}[:-1] belongs", "11", where="any"),
    R("A[:, I:]", "A[:, :-I]", "{A}[:, :-{I}] is used where {A}[:, {I}:] belongs", "11", where="any"),
    R("A[:, :I]", "A[:, -I:]", "{A}[:, -{I}:] is used where {A}[:, :{I}] belongs", "11", where="any"),
    # names
    R("N", "X", "{X} is used where {N} belongs", "11", "{X} is used where {N} belongs"),
    R("M", "F(A)", "{F}({A}) is used where {M} belongs", "-2"),
    R("M", "N[:, None, :]", "{N} is used where {M} belongs", "-2"),
    R("M", "N.shape[A]", "{N}.shape[{A}] is used where {M} belongs", "-2"),
    # indices, steps and loops
    R("I", "I - 1", "{I} - 1 is used where {I} belongs: it is one too small", "10", "?one too small", "index"),
    R("I", "I + 1", "{I} + 1 is used where {I} belongs: it is one too large", "10", "?one too large", "index"),
    R("I - 1", "I", "{I} is used where {I} - 1 belongs: it is one too large",
      "00", "?one too large here", "index"),
    R("I + 1", "I", "{I} is used where {I} + 1 belongs: it is one too small", "00", "?one too small here", "index"),
    R("A - B", "A + B", "{A} + {B} is used where {A} - {B} belongs", "00", where="index"),
    R("A + B", "A - B", "{A} - {B} is used where {A} + {B} belongs", "00", where="index"),
    R("N[I]", "N[max(I - 1, 0)]", "{N}[{I} - 1] is used where {N}[{I}] belongs: it is taken from the wrong step", "2-"),
    R("N[I]", "N[min(I + 1, len(N) - 1)]",
      "{N}[{I} + 1] is used where {N}[{I}] belongs: it is taken from the wrong step", "1-"),
    R("N[I]", "N[I - 1] if I > 0 else np.ones_like(N[0])",
      "{N}[{I} - 1] is used where {N}[{I}] belongs: it is taken from the wrong step", "2-"),
    R("N[I - 1]", "N[I]", "{N}[{I}] is used where {N}[{I} - 1] belongs: it is taken from the wrong step "
      "(this one, not the one before)", "0-"),
    R("N[I - 1] if B else C", "N[I - 1]",
      "at the first step the index {I} - 1 is -1, so {N}[{I} - 1] is the last step's "
      "value, but {C} belongs there", "0-", "at the first step the index is -1, the last step, but the initial value "
      "belongs there"),
    R("A if B else C", "A", "{A} is always used, not only if {B}; {C} belongs in the other case", "0-"),
    R("A if B else C", "C", "{C} is always used, not only if not {B}; {A} belongs in the other case", "1-"),
    R("A if B else C", "A if B else 0.0 * C", "at the first step zeros are used where {C} belongs", "1-"),
    R("N[I] if B else C", "N[I] if B else N[0]", "at the first step {N}[0] is used where {C} belongs", "1-"),
    R("N[I - 1] if B else C", "N[I]",
      "{N}[{I}] is used where {N}[{I} - 1] belongs: it is taken from the wrong step (this "
      "one, not the one before)", "0-"),
    R("A", "A if B else C", "the condition {B} does not belong here: {A} is right in every case", "-0"),
    R("C", "A if B else C", "the condition {B} does not belong here: {C} is right in every case", "-1"),
    R("C if B else A", "A if B else C", "the two cases are exchanged", "11"),
    R("A", "1.0 * X", "{X} itself is used where {A} belongs", "2-", where="whole"),
    L("reversed(range(A))", "range(A)", "the loop runs forwards, but it must go from the last to the first"),
    L("range(A)", "reversed(range(A))", "the loop runs backwards, but it must go from the first to the last"),
    L("range(A - 1, -1, -1)", "range(A)", "the loop runs forwards, but it must go from the last to the first"),
    L("range(A - 1, -1, -1)", "range(A - 1, 0, -1)", "the loop ends one round too early: step 0 is never reached"),
    L("range(A - 1, -1, -1)", "range(A, 0, -1)", "the loop goes from {A} to 1, but it must go from {A} - 1 to 0"),
    L("reversed(range(A))", "reversed(range(1, A))", "the loop ends one round too early: step 0 is never reached"),
    L("range(A)", "range(1, A)", "the loop begins one round too late: step 0 is left out"),
    L("range(1, A)", "range(A)", "the loop begins one round too early: step 0 does not belong to it"),
    L("range(A)", "range(A - 1)", "the loop ends one round too early: the last step is left out"),
    L("range(A)", "range(A + 1)", "the loop ends one round too late"),
    L("range(A + 1)", "range(A)", "the loop ends one round too early: the last step is left out"),
    R("reversed(A)", "A",
      "{A} is gone through forwards, but it must go from the last to the first", "01", where="loop"),
    R("A", "reversed(A)",
      "{A} is gone through backwards, but it must go from the first to the last", "01", where="loop"),
]  # fmt: skip
"""All rewrites of expressions. Those of reductions, numbers and orders are functions below."""

STATEMENTS = [
    R("T += A", "T = A", "only the last contribution is kept, because = is used where += belongs ({T})", "00",
      "only the last contribution is kept, because = is used where += belongs"),
    R("T = A", "T += A", "{T} is added to its old value, but = must replace it", "00", "+="),
    R("T = A", "", "{T} is never updated for the next round of the loop", "0-"),
    R("T += A", "", "the line {T} += {A} is missing", "0-"),
    R("T -= A", "T += A", "the operator is wrong: -= belongs here", "00", "op="),
    R("T += A", "T -= A", "the operator is wrong: += belongs here", "00", "op="),
    R("T += A", "T *= A", "the operator is wrong: += belongs here", "-0", "op="),
    R("T *= A", "T += A", "the operator is wrong: *= belongs here", "01", "op="),
    R("N[-1] += A", "N += A", "it is added to every element, not to the last alone: {N}[-1]", "11"),
    R("N[0] += A", "N += A", "it is added to every element, not to the first alone: {N}[0]", "11"),
    R("np.add.at(N, (I,), A)", "N[I] += A",
      "an index that occurs twice counts only once in {N}, because += adds once for each index", "00"),
    R("np.add.at(N, B, A)", "N[B] += A",
      "an index that occurs twice counts only once in {N}, because += adds once for each index", "00"),
]  # fmt: skip
"""Rewrites of statements; an empty one is a statement that is missing."""

SIG = "(1 / (1 + np.exp(-A)))"
TANH, SIGMOID = "1 - {A} * {A}", "{A} * (1 - {A})"
SLOPES = [
    ("1 - A ** 2", wrong, says.replace("{right}", TANH), ranks)
    for wrong, says, ranks in (
        ("1 - A", "{right}: the square is missing", "00"),
        ("1 - np.tanh(A) ** 2", "tanh is applied again: {A} is already the output of tanh, its slope is {right}", "00"),
        ("(1 - A) ** 2", "(1 - {A}) is squared, but in the slope {right} only {A} is", "00"),
        ("1 - np.arctanh(A) ** 2", "the slope {right} takes the output of tanh, not its argument", "10"),
        ("A * (1 - A)",
         "the slope of the sigmoid, " + SIGMOID + ", is used where that of tanh, {right}, belongs", "00"),
        ("1.0 + 0 * A", "the factor ({right}) is missing", "0-"),
    )
] + [
    ("A * (1 - A)", wrong, says.replace("{right}", SIGMOID), ranks)
    for wrong, says, ranks in (
        ("A", "the factor (1 - {A}) of the slope {right} is missing", "0-"),
        ("1 - A", "the factor {A} of the slope {right} is missing", "00"),
        ("1.0 + 0 * A", "the slope {right} is missing", "0-"),
        (f"{SIG} * (1 - {SIG})", "the sigmoid is applied again: {A} is already its output, its slope is {right}", "00"),
        ("1 - A ** 2", "the slope of tanh, " + TANH + ", is used where that of the sigmoid, {right}, belongs", "00"),
    )
]  # fmt: skip
TABLE[:0] = [R(right, wrong, says, ranks, says.replace("{A}", "y")) for right, wrong, says, ranks in SLOPES]
TABLE[:0] = [
    R(f"C * ({right})", f"C * {wrong}", says, "-0") for right, wrong, says, _ in SLOPES if wrong == "A * (1 - A)"
]
TABLE[:0] = [
    R(f"C * {order}", f"C * ({wrong})", says, ranks, says.replace("{A}", "y"))
    for right, wrong, says, ranks in SLOPES if right == "A * (1 - A)"
    for order in ("A * (1 - A)", "(1 - A) * A")
]  # fmt: skip
TABLE += [
    R("1 - N ** 2", "1 - X ** 2",
      "the slope is that of {X}, 1 - {X} * {X}, but it must be that of {N}, 1 - {N} * {N}", "11"),
    R("C * N * (1 - N)", "C * X * (1 - X)",
      "the slope is that of {X}, {X} * (1 - {X}), but it must be that of {N}, {N} * (1 - {N})", "11"),
    R("N * (1 - N)", "X * (1 - X)",
      "the slope is that of {X}, {X} * (1 - {X}), but it must be that of {N}, {N} * (1 - {N})", "11"),
]  # fmt: skip

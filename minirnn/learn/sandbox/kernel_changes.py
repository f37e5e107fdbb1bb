"""Small changes to the text of a student's kernel: an index, a bound, an operator.

All are compiled at once: each place becomes a choice, which an additional argument of the kernel selects. Overlapping
places are in different copies of the kernel. This runs in the answer's process, where time and memory count.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

CHOICE = "minirnn_choice"
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|[^\W\d]\w*|\d[\w.]*|>>=|<<=|[-+*/%<>=!&|^]=|\+\+|--|&&|\|\||<<|>>|->|[^\s\w]", re.S
)
WHOLE = re.compile(r"\b(?:(?:unsigned|long)\s+)?(?:int|unsigned|size_t)\s+(?!\*)")
BROKEN = re.compile(r"\bfloat\s+(?![*&])")
POINTER = re.compile(r"\bfloat\s*\*\s*(?:__restrict__\s*|const\s+)?(\w+)")
CUT = re.compile(r"\b(?:const\s+)?(?:unsigned\s+)?(?:int|unsigned)\s+(\w+)\s*=\s*([^;]+?)\s*;")
NAME = re.compile(r"(?<!\.)\b[^\W\d]\w*")
MOST_TEXT, MOST, TRIALS, COPIES = 8000, 150, 120, 6


@dataclass(frozen=True)
class KernelChange:
    """A place in the text, its replacement, and a description. `more` has further places of the same change.

    `mark` is the place to show, if it is a different one.
    """

    start: int
    end: int
    new: str
    says: str
    rank: int = 0
    more: tuple[tuple[int, int, str], ...] = ()
    mark: tuple[int, int] | None = None

    @property
    def puts(self) -> list[tuple[int, int, str]]:
        """All places of the change, with their replacements."""
        return [(self.start, self.end, self.new), *self.more]


@dataclass(frozen=True)
class Token:
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def changes(source: str, function: str) -> list[KernelChange]:
    """The changes to the body of a kernel, the likely ones first; none if the text cannot be parsed."""
    body = body_of(source, function) if len(source) <= MOST_TEXT else None
    if body is None:
        return []
    tokens = [Token(m[0], m.start()) for m in TOKEN.finditer(source) if not m[0].startswith(("//", "/*"))]
    known = names(source, tokens, source.index(function), body)
    fixed = [m.span() for m in DECLARED.finditer(source)] + list(loop_heads(source))
    inside = [t for t in tokens if body[0] < t.start < body[1] and not any(a <= t.start < b for a, b in fixed)]
    makers = (of_barriers, of_names, of_indices, of_operators, of_conditions, of_assignments)
    found = itertools.chain(*(make(source, inside, known) for make in makers))
    unique = {(c.start, c.end, c.new): c for c in found if not any(a <= c.start < b for a, b in fixed)}
    return sorted(unique.values(), key=lambda c: c.rank)[:MOST]


def loop_heads(source: str) -> Iterator[tuple[int, int]]:
    """The spans that decide whether a loop ends. Only a loop's start and bound may be changed."""
    for m in re.finditer(r"\b(for|while)\s*\(", source):
        end = for_head_end(source, m.end())
        parts = [p.start() for p in re.finditer(";", source[m.end() : end])]
        if m[1] == "while" or len(parts) != 2:
            yield m.start(), end
            continue
        yield m.end() + parts[1], end
        if not re.search(r"\+\+|\+=", source[m.end() + parts[1] : end]):
            yield m.end() + parts[0], m.end() + parts[1]


def body_of(source: str, function: str) -> tuple[int, int] | None:
    """The start and end of the body of a kernel."""
    head = re.search(rf"\b{function}\s*\([^{{]*\)\s*\{{", source)
    if head is None:
        return None
    depth = 0
    for token in TOKEN.finditer(source, head.end() - 1):
        depth += (token[0] == "{") - (token[0] == "}")
        if depth == 0:
            return head.end() - 1, token.start()
    return None


COMPARISONS = ("==", "!=", "<=", ">=")
DECLARED = re.compile(r"(__shared__|\bfloat\s+\w+\s*\[|\bunsigned\s*\*)[^;]*;")
"""Declarations whose size must be known to the compiler."""
Names = dict[str, tuple[str, int, int]]  # name: "whole", "broken" or "pointer", and the start and end of its scope


def names(source: str, tokens: list[Token], start: int, body: tuple[int, int]) -> Names:
    """The variables of a kernel, with their scopes."""
    found: Names = {}
    for kind, pattern in (("whole", WHOLE), ("broken", BROKEN)):
        for m in pattern.finditer(source, start, body[1]):
            end = scope_end(source, tokens, m.start(), body)
            depth, wanted = 0, True
            for token in tokens:
                if token.start < m.end():
                    continue
                depth += (token.text in "([{") - (token.text in ")]}")
                if token.text == ";" or depth < 0 or (token.text == "," and m.start() < body[0]):
                    break
                if wanted and re.fullmatch(r"[^\W\d]\w*", token.text):
                    if not re.match(r"\s*\[", source[token.end :]):  # arrays have no single value
                        found.setdefault(token.text, (kind, token.end, end))
                    wanted = False
                wanted = wanted or (token.text == "," and depth == 0)
    for m in POINTER.finditer(source, start, body[1]):
        if m.start() < body[0]:
            found[m[1]] = ("pointer", body[0], body[1])
    return found


def scope_end(source: str, tokens: list[Token], at: int, body: tuple[int, int]) -> int:
    """The end of the scope of a variable declared at this place."""
    depth = 0
    in_for = re.search(r"\bfor\s*\(\s*(const\s+)?$", source[max(0, at - 40) : at]) is not None
    for token in tokens:
        if token.start < at:
            continue
        depth += (token.text == "{") - (token.text == "}")
        if in_for and depth == 0 and token.text in ";}" and token.start > for_head_end(source, at):
            return token.start
        if depth < 0:
            return token.start
    return body[1]


def for_head_end(source: str, at: int) -> int:
    depth = 1
    for m in re.finditer(r"[()]", source[at:]):
        depth += 1 if m[0] == "(" else -1
        if depth == 0:
            return at + m.start()
    return len(source)


def of_names(source: str, tokens: list[Token], known: Names) -> Iterator[KernelChange]:
    """Another variable, a shift by one, or zero."""
    square = 0
    for before, token, after in zip([Token("", 0), *tokens], tokens, [*tokens[1:], Token("", 0)], strict=False):
        square += (token.text == "[") - (token.text == "]")
        if token.text not in known or before.text in (".", "++", "--", "int", "float", "&", "->"):
            continue
        if after.text in (".", "++", "--", "(") or (after.text.endswith("=") and after.text not in COMPARISONS):
            continue
        kind, begin, end = known[token.text]
        if not begin <= token.start <= end or (
            kind == "pointer" and (after.text != "[" or before.text in (";", "{", "}", ")"))):  # fmt: skip
            continue
        for other, (also, start, stop) in known.items():
            if other != token.text and also == kind and start <= token.start <= stop:
                rank = 1 if kind == "whole" and square else 2
                yield KernelChange(token.start, token.end, other, f"{token.text} is used where {other} belongs", rank)
        if kind == "whole":
            for new, says in ((f"{token.text} - 1", "one too large"), (f"{token.text} + 1", "one too small")):
                yield KernelChange(token.start, token.end, f"({new})", f"{token.text} is {says} here", 1)
            array = re.search(r"(\w+)\s*$", source[max(0, before.start - 100) : before.start])
            if (
                before.text == "["
                and after.text == "]"
                and array
                and re.search(rf"__shared__[^;]*\b{array[1]}\b", source)
            ):
                says = f"the number of {token.text} is used where the first one belongs"
                yield KernelChange(token.start, token.end, "0", says, 0)


def of_indices(source: str, tokens: list[Token], known: Names) -> Iterator[KernelChange]:
    """An index that occurs elsewhere in the kernel."""
    places = []
    for k, token in enumerate(tokens):
        if token.text == "[":
            depth = 0
            for later in tokens[k:]:
                depth += (later.text == "[") - (later.text == "]")
                if depth == 0:
                    places.append((token.end, later.start, source[token.end : later.start].strip()))
                    break
    texts = list(dict.fromkeys(text for _, _, text in places))
    for start, end, text in places:
        for other in texts:
            used = set(re.findall(r"[^\W\d]\w*", other)) - {"threadIdx", "blockIdx", "blockDim", "gridDim", *"xyz"}
            there = all(n not in known or known[n][1] <= start <= known[n][2] for n in used)
            if other != text and there and "[" not in other:
                yield KernelChange(start, end, f"({other})", f"the index [{text}] is used where [{other}] belongs", 0)


OPERATORS = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "/": ("%",), "%": ("/",), "+": ("-", "*"),
             "-": ("+",), "*": ("+",), "==": ("!=",)}  # fmt: skip


def of_types(source: str, function: str) -> list[KernelChange]:
    """A float that is stored in an integer variable: the value in place of the variable."""
    body = body_of(source, function)
    if body is None or len(source) > MOST_TEXT:
        return []
    tokens = [Token(m[0], m.start()) for m in TOKEN.finditer(source) if not m[0].startswith(("//", "/*"))]
    known = names(source, tokens, source.index(function), body)
    found = []
    for m in CUT.finditer(source, *body):
        outside = re.sub(r"\[[^\[\]]*\]", "", m[2])  # an index must be an integer
        broken = any(known.get(name, ("",))[0] in ("broken", "pointer") for name in NAME.findall(outside))
        stop = known.get(m[1], ("", 0, 0))[2]
        uses = [t for t in tokens if t.text == m[1] and m.end() <= t.start <= stop]
        one = "," not in re.sub(r"\([^()]*\)", "", outside)  # declarations of several variables are not changed
        if uses and one and (broken or re.search(r"\d\.|\w+f\(", outside)) and not must_be_whole(source, uses):
            says = f"{m[1]} is a whole number, so its fraction is cut off: its type must be float"
            first, *rest = [(t.start, t.end, f"({m[2]})") for t in uses]
            found.append(KernelChange(*first, says, 0, tuple(rest), m.span()))
    return found


def must_be_whole(source: str, uses: list[Token]) -> bool:
    """Whether a variable gets another value later, or is an index, which must be an integer."""
    for token in uses:
        before = source[source.rfind(";", 0, token.start) : token.start]
        if before.count("[") > before.count("]") or re.match(r"\s*(?:[-+*/%]?=(?!=)|\+\+|--|%)", source[token.end :]):
            return True
    return False


def of_rows(source: str, known: Names, begin: int, end: int) -> Iterator[KernelChange]:
    """``n / B`` and ``n % B`` in place of ``n / H`` and ``n % H``, and the two exchanged."""
    found = [*re.finditer(r"\b(\w+)\s*([/%])\s*(\w+)\b", source[begin:end])]
    sizes = [n for n, (kind, _, stop) in known.items() if kind == "whole" and n.isupper() and stop >= end - 1]
    for first, second in itertools.combinations(found, 2):
        if (first[1], first[3]) == (second[1], second[3]) and first[2] != second[2]:
            for size, turned in itertools.product([first[3], *sizes], (False, True)):
                if size == first[3] and not turned:
                    continue
                signs = (second[2], first[2]) if turned else (first[2], second[2])
                new = [f"({first[1]} {sign} {size})" for sign in signs]
                says = f"{first[0]} is used where {new[0][1:-1]} belongs, and {second[0]} where {new[1][1:-1]} belongs"
                rest = (begin + second.start(), begin + second.end(), new[1])
                yield KernelChange(begin + first.start(), begin + first.end(), new[0], says, 0, (rest,))


def of_operators(source: str, tokens: list[Token], known: Names) -> Iterator[KernelChange]:
    """Another operator between two names, numbers or elements, or another function."""
    atom = r"(?:[^\W\d]\w*(?:\.[xyz])?(?:\[[^\[\]]*\])?|\d[\w.]*)"
    begin, end = (tokens[0].start, tokens[-1].end) if tokens else (0, 0)
    yield from of_rows(source, known, begin, end)
    for m in re.finditer(rf"(?<![\w.\])])({atom})\s*(<=|>=|==|[-+*/%<>])(?![=+\-<>])\s*({atom})(?![\w(\[.])",
                         source[begin:end]):  # fmt: skip
        for other in OPERATORS.get(m[2], ()):
            tight = m[2] in "*/%" or source[begin + m.end() :].lstrip()[:1] not in "*/%"
            whole = all(a.isdigit() or known.get(a, ("whole",))[0] == "whole" and "[" not in a for a in (m[1], m[3]))
            if tight and (other != "%" or whole) and not re.search(r"(int|float|const|unsigned)$", m[1]):
                says = f"{m[2]} is used where {other} belongs"
                yield KernelChange(begin + m.start(), begin + m.end(), f"({m[1]} {other} {m[3]})", says, 0)
    for m in re.finditer(r"\bf(max|min)f\(", source[begin:end]):
        close = for_head_end(source, begin + m.end())
        inner = source[begin + m.end() : close]
        parts = split(inner)
        if len(parts) == 2:
            says = f"f{m[1]}f is used where a sum belongs"
            yield KernelChange(begin + m.start(), close + 1, f"(({parts[0]}) + ({parts[1]}))", says, 0)


def of_conditions(source: str, tokens: list[Token], known: Names) -> Iterator[KernelChange]:
    """``||`` in place of ``&&`` and the reverse, and a missing check of an index against its bound."""
    for start, end, ends in conditions(source, tokens):
        text = source[start:end]
        for m in re.finditer(r"&&|\|\|", text):
            if not balanced(text[: m.start()]):
                continue
            other = "||" if m[0] == "&&" else "&&"
            new = f"({text[: m.start()]}) {other} ({text[m.end() :]})"
            yield KernelChange(start, end, f"({new})", f"{m[0]} is used where {other} belongs", 0)
        here = [n for n, (kind, begin, stop) in known.items() if kind == "whole" and begin <= start <= stop]
        after = source.find(";", end)
        used = set(re.findall(r"[^\W\d]\w*", source[end : source.find(";", after + 1) if ends else after]))
        bounds = [(f"{n} < {size}", f"{n} >= {size}") for n in here if n in used and n.islower()
                  for size in here if size.isupper()]  # fmt: skip
        bounds += [(f"{n} == 0", f"{n} > 0") for n in here if n in used and n.islower()]
        for holds, fails in bounds:
            if holds not in text and fails not in text:
                new = f"({text}) || {fails}" if ends else f"({text}) && {holds}"
                says = f"a bound is missing: threads with {fails} must do nothing here"
                yield KernelChange(start, end, f"({new})", says, 0)


def conditions(source: str, tokens: list[Token]) -> Iterator[tuple[int, int, bool]]:
    """The start and end of each condition of an ``if`` or before a ``?``, and whether a thread returns if it holds."""
    for k, token in enumerate(tokens):
        if token.text == "if" and tokens[k + 1 : k + 2] and tokens[k + 1].text == "(":
            end = for_head_end(source, tokens[k + 1].end)
            yield tokens[k + 1].end, end, re.match(r"\)\s*\{?\s*return\b", source[end:]) is not None
        if token.text == "?":
            before = [t for t in tokens[:k] if t.text in ("=", "return", ";", "{", "}", "+=")]
            if before and balanced(source[before[-1].end : token.start]):
                text = source[before[-1].end : token.start]
                yield token.start - len(text.lstrip()), token.start - len(text) + len(text.rstrip()), False


def balanced(text: str) -> bool:
    return text.count("(") == text.count(")")


def split(inner: str) -> list[str]:
    parts, depth = [""], 0
    for letter in inner:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def of_assignments(source: str, tokens: list[Token], known: Names) -> Iterator[KernelChange]:
    """``+=`` in place of ``=`` and the reverse."""
    begin, end = (tokens[0].start, tokens[-1].end) if tokens else (0, 0)
    for m in re.finditer(
        r"(?<=[;{})])\s*((?:[^\W\d]\w*)(?:\[[^;=]*?\])*)\s*(\+?=)(?!=)\s*([^;{}]+);", source[begin:end]
    ):
        start, stop = begin + m.start(3), begin + m.end(3)
        if m[3].count("(") != m[3].count(")") or m[1].count("(") != m[1].count(")"):
            continue
        if m[2] == "=":
            yield KernelChange(start, stop, f"({m[1]} + ({m[3]}))", "= is used where += belongs", 1)
        else:
            yield KernelChange(start, stop, f"(({m[3]}) - {m[1]})", "+= is used where = belongs", 1)


def of_barriers(source: str, tokens: list[Token], known: Names) -> Iterator[KernelChange]:
    """A barrier after a line that writes or reads shared memory."""
    begin, end = (tokens[0].start, tokens[-1].end) if tokens else (0, 0)
    shared = "|".join(re.findall(r"__shared__\s+\w+\s+(\w+)", source)) or "(?!)"
    for m in re.finditer(rf"(?<=[;{{}}])\s*([^;{{}}]*\b({shared})\s*\[[^;{{}}]*;)(?!\s*else)", source[begin:end]):
        if balanced(m[1]):
            stop, says = begin + m.end(), "a __syncthreads() is missing after this line"
            yield KernelChange(stop, stop, "__syncthreads();", says, mark=(begin + m.start(1), stop))


def together(source: str, function: str, kind: str) -> tuple[str, list[list[Any]]]:
    """The text with changes of a kind ("types" or "all"), and for each: start, end, words, rank, copy, number."""
    some = of_types(source, function) + (changes(source, function)[:TRIALS] if kind == "all" else [])
    if not some:
        return source, []
    whole, where = compiled_together(source, function, some)
    return whole, [
        [*(c.mark or (c.start, c.end)), c.says, c.rank, *place] for c, place in zip(some, where, strict=True)
    ]


def compiled_together(source: str, function: str, some: list[KernelChange]) -> tuple[str, list[tuple[str, int]]]:
    """The text of several copies of a kernel that contain all changes, and the copy and number of each change."""
    body = body_of(source, function)
    assert body is not None
    head = source.rindex("{", 0, body[0] + 1)
    begin = source.rindex("extern", 0, head) if "extern" in source[:head] else source.index("__global__")
    close = source.rindex(")", 0, head)
    layers: list[list[int]] = []
    where: list[tuple[str, int]] = [("", 0)] * len(some)
    for number, change in enumerate(some):
        for k in range(COPIES):
            if k == len(layers):
                layers.append([])
            meets = [put for n in layers[k] for put in some[n].puts]
            if all(b <= s or e <= a or (a, b) == (s, e) for a, b, _ in meets for s, e, _ in change.puts):
                layers[k].append(number)
                where[number] = (f"{function}_minirnn{k}", number + 1)
                break
    copies = []
    for k, layer in enumerate(layers):
        text, at = "", close
        spans: dict[tuple[int, int], list[tuple[int, str]]] = {}
        for number in layer:
            for start, end, new in some[number].puts:
                spans.setdefault((start, end), []).append((number, new))
        for (start, end), choices in sorted(spans.items()):
            choice = source[start:end]
            for number, new in choices:
                if start == end:  # a statement
                    choice += f"if ({CHOICE} == {number + 1}) {new}"
                else:
                    choice = f"({CHOICE} == {number + 1} ? {new} : ({choice}))"
            text += source[at:start] + choice
            at = end
        parameters = source[begin:close].replace(function, f"{function}_minirnn{k}", 1)
        text += source[at : body[1] + 1]
        copies.append(f"{parameters}, int {CHOICE}{text}")
    return "\n".join([source, *copies]) + "\n", where

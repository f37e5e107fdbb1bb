"""The text of a PTX file as Python objects: functions, their statements, and the variables of the file.

Syntax: PTX ISA, chapters "Syntax" and "Directives". Syntax that nvcc never writes is not supported.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

SIZES = {
    name: bits // 8
    for bits, names in {8: "b8 u8 s8", 16: "b16 u16 s16 f16", 32: "b32 u32 s32 f32", 64: "b64 u64 s64 f64"}.items()
    for name in names.split()
}
"""Bytes of the types that memory holds."""


class NotUnderstood(Exception):
    """A line of PTX that this machine does not understand."""


@dataclass(frozen=True)
class Statement:
    """One instruction, label or declaration.

    Attributes
    ----------
    text : str
        Without comments, blanks at the ends and the semicolon. A label ends with a colon.
    place : tuple of str and int
        File and line of the CUDA source, as far as the PTX says so.
    scope : tuple of int
        The numbers of the braces around it, the outermost first.
    """

    text: str
    place: tuple[str, int]
    scope: tuple[int, ...]


@dataclass(frozen=True)
class Variable:
    """An array in some space of memory. `values` are its bytes, or None for zeros."""

    name: str
    size: int
    alignment: int
    values: bytes | None = None


@dataclass
class Function:
    """A kernel (`is_kernel`) or a function that kernels call. A block has at most `most_threads`."""

    name: str
    is_kernel: bool
    parameters: list[Variable]
    results: list[Variable]
    statements: list[Statement]
    most_threads: int = 1024


@dataclass
class Program:
    """A file."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    dynamic_shared: list[str] = field(default_factory=list)
    shared: list[Variable] = field(default_factory=list)


def parse(text: str) -> Program:
    """A PTX file. Raises `NotUnderstood`."""
    # nvcc puts the folder that it ran in before a name that is not absolute.
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"(?:[^"]*/minirnn-\w+/)?([^"]*)"', text, re.MULTILINE))
    text = re.split(r"^\s*\.section", text, maxsplit=1, flags=re.MULTILINE)[0]
    text = re.sub(r"//[^\n]*", "", text)
    program = Program()
    at = 0
    start = re.compile(r"^\s*((?:\.visible|\.weak|\.extern)\s+)*\.(entry|func|global|const|shared)\b", re.MULTILINE)
    while found := start.search(text, at):
        kind = found.group(2)
        if kind in ("entry", "func"):
            at = _function(program, text, found, kind, files)
        else:
            end = text.index(";", found.end())
            declared = _variable(text[found.end() : end])
            if kind != "shared":
                program.variables.append(declared)
            elif declared.size:
                program.shared.append(declared)
            else:
                program.dynamic_shared.append(declared.name)
            at = end + 1
    return program


def _function(program: Program, text: str, found: re.Match[str], kind: str, files: dict[str, str]) -> int:
    """Read the function that begins here. Returns where it ends."""
    open_, semicolon = text.find("{", found.end()), text.find(";", found.end())
    if open_ < 0 or 0 <= semicolon < open_:  # only a declaration
        return semicolon + 1
    head = text[found.end() : open_]
    lists = re.findall(r"\(([^()]*)\)", head)
    name = re.sub(r"\([^()]*\)", " ", head).split()[0]
    results = lists.pop(0) if kind == "func" and head.lstrip().startswith("(") else ""
    body, end = _body(text, open_)
    bound = re.search(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", head)
    program.functions[name] = Function(
        name,
        kind == "entry",
        [_variable(p) for p in split(lists[0] if lists else "")],
        [_variable(p) for p in split(results)],
        list(_statements(body, files)),
        prod(int(n or 1) for n in bound.groups()) if bound else 1024,
    )
    return end


def _body(text: str, open_: int) -> tuple[str, int]:
    depth = 0
    for found in re.compile("[{}]").finditer(text, open_):
        depth += 1 if found.group() == "{" else -1
        if not depth:
            return text[open_ + 1 : found.start()], found.end()
    raise NotUnderstood("a function that does not end")


def _statements(body: str, files: dict[str, str]) -> Iterator[Statement]:
    place, scope, count, current = ("", 0), (0,), 0, ""
    for raw in body.split("\n"):
        line = raw.strip()
        if found := re.match(r"\.loc\s+(\d+)\s+(\d+)", line):
            place = files.get(found.group(1), "?"), int(found.group(2))
            continue
        for piece in re.split(r"([;{}]|[$\w]+:(?!:))", line):
            bare = piece.strip()
            begins = not current.strip()
            if piece == ";" or (begins and re.fullmatch(r"[$\w]+:", piece)):
                statement = current.strip() if piece == ";" else piece
                if statement and not statement.startswith(".pragma"):
                    yield Statement(" ".join(statement.split()), place, scope)
                current = ""
            elif piece == "{" and begins:
                count += 1
                scope = (*scope, count)
            elif piece == "}" and begins:
                scope = scope[:-1]
            elif bare or current:
                current += piece
        current += " " if current else ""


def _variable(text: str) -> Variable:
    """``.param .align 8 .b8 x[16]``, with or without the first word, and possibly with values."""
    head, _, values = text.partition("=")
    found = re.search(r"([\w$%]+)\s*((?:\[\d*\])*)\s*$", head.strip())
    kind = re.search(rf"\.({'|'.join(SIZES)})\b", head)
    if not found or not kind:
        raise NotUnderstood(f"the declaration {text.strip()!r}")
    size = SIZES[kind.group(1)]
    alignment = re.search(r"^(?!.*\.ptr).*\.align\s+(\d+)", head, re.DOTALL)
    count = 1
    for number in re.findall(r"\[(\d*)\]", found.group(2)):
        count *= int(number or 0)
    given = None
    if values:
        numbers = [int(n, 0) for n in re.findall(r"-?\w+", values)]
        given = b"".join((n % (1 << 8 * size)).to_bytes(size, "little") for n in numbers).ljust(size * count, b"\0")
    return Variable(found.group(1), size * count, int(alignment.group(1)) if alignment else size, given)


def split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "{[(") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]

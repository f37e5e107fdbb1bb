"""Rules for the text of a student's kernel: it may not read other files or switch off a check.

The text is checked twice: as written, so that a complaint has a line number, and after the preprocessor, because of
macros. It is read as a C++ compiler reads it: lines are joined, comments are dropped, and the rest is split into words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim import build
from minirnn.devices.cuda.sim.markers import Markers
from minirnn.devices.cuda.sim.refused import HEADERS

ATTRIBUTES = {"aligned", "always_inline", "noinline", "unused", "maybe_unused", "nodiscard", "likely",
              "unlikely", "fallthrough", "noreturn", "deprecated"}  # fmt: skip
"""Attributes that do not switch off a check."""
WORDS = {
    **dict.fromkeys(("asm", "__asm", "__asm__"), "inline assembler"),
    **dict.fromkeys(("__declspec", "_Pragma", "__pragma"), "the word {word}"),
    **dict.fromkeys(("__has_include", "__has_include_next", "__has_embed"), "a question for files ({word})"),
}
"""Forbidden words, with their names in messages."""
NEVER = (
    (re.compile(r"\?\?[=/'()!<>-]"), "a trigraph"),
    (re.compile(r"\r(?!\n)|\0"), "a control character"),
    (re.compile(r'\b(?:u8|[uUL])?R"'), "a raw string"),
)
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<string>"(?:\\.|[^"\\\n])*+"|\'(?:\\.|[^\'\\\n])*+\')'
    r"|(?P<word>[^\W\d]\w*)|(?P<number>\d[\w.']*)|(?P<mark>##|%:%:|%:|<:|:>|[^\s\w])|(?P<line>\n)",
    re.DOTALL,
)
"""An unclosed comment extends to the end of the text, so that no text is read repeatedly."""
MOST_BYTES, MOST_LINE = 200_000, 4000
"""The longest kernel and its longest line, because reading huge texts takes long."""
DIGRAPHS = {"%:": "#", "%:%:": "##", "<:": "[", ":>": "]"}
DIRECTIVES = {"include", "define", "undef", "if", "ifdef", "ifndef", "else", "elif", "elifdef", "elifndef", "endif",
              "error", "warning", "pragma"}  # fmt: skip
HEADER = re.compile(r'\s*(<[\w./]+>|"[\w./]+")\s*(//.*|/\*.*\*/\s*)?')
STANDARD = {f"{name}.h" for name in ("math", "stdint", "stddef", "stdio", "limits", "float", "stdbool", "assert")}
STANDARD |= {
    "cmath",
    "cstdint",
    "cstddef",
    "cstdio",
    "climits",
    "cfloat",
    "cassert",
    "limits",
    "type_traits",
    "utility",
}
"""Headers of C++ that a kernel may include, in addition to the simulator's."""
HARMLESS = re.compile(r"__builtin_(expect|assume|unreachable|trap|popcount|clz|ctz|ffs|nan|inf|huge_val|offsetof)\w*")
MACHINERY = re.compile(r"cusim\w*|__(tsan|sanitizer|builtin|sync|atomic)_\w+|_mm\d*_\w+|__cxa_\w+", re.IGNORECASE)
"""Names that bypass CUDA: the simulator's own, and those that access memory unchecked."""

Token = tuple[int, str]  # a line and its word


def refused(line: object, what: str, instead: str = "a kernel of this course needs none") -> CompileError:
    return CompileError(f"{f'line {line}' if isinstance(line, int) else line}: {what} is refused: {instead}")


def refuse(source: str) -> None:
    """Check a kernel as written.

    Raises
    ------
    CompileError
        At the first forbidden construct, with its line.
    """
    if len(source) > MOST_BYTES:
        raise refused("the kernel", f"a text of {len(source)} characters", f"a kernel has at most {MOST_BYTES}")
    for pattern, what in NEVER:
        if found := pattern.search(source):
            raise refused(1 + source.count("\n", 0, found.start()), what)
    rows = logical_lines(source)
    for number, text in rows:
        if (longest := max(map(len, text.split("\n")))) > MOST_LINE:
            raise refused(number, f"a line of {longest} characters", f"a line has at most {MOST_LINE}")
        tokens = [*tokens_of(text, number)]
        if tokens and tokens[0][1] == "#":
            refuse_directive(tokens, text)
            tokens = tokens[2:]
        for line, word in tokens:
            if word == "##":
                raise refused(line, "the operator ##", "write the name out")
            if MACHINERY.fullmatch(word) and not HARMLESS.fullmatch(word):
                raise refused(line, word, "CUDA has no such name")
    refuse_words([token for number, text in rows for token in tokens_of(text, number)])


def logical_lines(source: str) -> list[tuple[int, str]]:
    """Lines as the compiler joins them, with the number of the first. A comment over several lines is one line.

    Each character is read once.
    """
    joined: list[tuple[int, str]] = []
    parts: list[str] = []
    first, begun, inside_comment = 1, "", False
    for number, row in enumerate(source.replace("\r\n", "\n").split("\n"), 1):
        if not begun and not parts:
            first = number
        if row.rstrip(" \t\f\v").endswith("\\"):
            begun += row.rstrip(" \t\f\v")[:-1] or " "
            continue
        row, begun = begun + row, ""
        inside_comment = comment_is_open(row, inside_comment)
        parts.append(row)
        if not inside_comment:
            joined.append((first, "\n".join(parts)))
            parts = []
    if begun or parts:
        joined.append((first, "\n".join([*parts, begun])))
    return joined


def comment_is_open(row: str, before: bool) -> bool:
    """Whether a comment is open at the end of a line. `before` says whether one was open at its start."""
    begin = row.find("*/") + 2 if before else 0
    if before and begin == 1:
        return True
    last = None
    for found in TOKEN.finditer(row, begin):
        last = found
    return last is not None and last[0].startswith("/*") and (len(last[0]) < 4 or not last[0].endswith("*/"))


def tokens_of(text: str, line: int) -> Iterator[Token]:
    """The words and signs of a text that begins at `line`, without comments. Digraphs are replaced."""
    for found in TOKEN.finditer(text):
        if found.lastgroup not in ("comment", "line"):
            yield line, DIGRAPHS.get(found[0], found[0])


def refuse_directive(tokens: list[Token], text: str) -> None:
    """Check a line that begins with #."""
    if len(tokens) == 1:
        return
    line, name = tokens[1]
    if name not in DIRECTIVES:
        raise refused(line, f"#{name}")
    if name == "include":
        refuse_header(line, text)
    if name == "pragma" and [word for _, word in tokens[2:3]] not in (["unroll"], ["nounroll"], ["once"]):
        raise refused(line, " ".join(["#pragma", *(word for _, word in tokens[2:])])[:80], "only #pragma unroll is not")


def refuse_header(line: int, text: str) -> None:
    """Check an include, because a path could read any file, even a solution."""
    found = HEADER.fullmatch(re.split(r"include", text, maxsplit=1)[1])
    if not found or ".." in found[1] or found[1][1] == "/":
        raise CompileError(f"line {line}: an include needs the plain name of a header: {text.strip()}")
    header = found[1][1:-1]
    simulated = (build.INCLUDE / header).is_file() or (build.KERNELS / header).is_file()
    if not simulated and header not in STANDARD and not any(re.fullmatch(known, header) for known in HEADERS):
        raise refused(line, f"the header {header}", f"there are CUDA's own and {', '.join(sorted(STANDARD))}")


def refuse_words(tokens: list[Token]) -> None:
    """Check words and attributes."""
    for k, (line, word) in enumerate(tokens):
        if word in WORDS:
            raise refused(line, WORDS[word].format(word=word))
        doubled = word == "[" and [other for _, other in tokens[k + 1 : k + 2]] == ["["]
        if not doubled and word not in ("__attribute__", "__attribute"):
            continue
        following = [other for _, other in tokens[k + 1 : k + 400]]
        if not doubled:
            refuse_attributes(line, word, inside(following, "(", ")", 2))
        else:
            refuse_attributes(line, "[[...]]", inside(["[", *following], "[", "]", 2))


def inside(words: list[str], opening: str, closing: str, depth: int) -> list[str] | None:
    """The words in brackets of this depth, or None if there are none."""
    if words[:depth] != [opening] * depth:
        return None
    found: list[str] = []
    level = depth
    for word in words[depth:]:
        level += (word == opening) - (word == closing)
        if level < depth and word == closing:
            return found
        found.append(word)
    return None


def refuse_attributes(line: object, what: str, words: list[str] | None) -> None:
    """Refuse an attribute that is not among `ATTRIBUTES`."""
    if words is None:
        raise refused(line, what)
    level = 0
    for word in words:
        level += (word == "(") - (word == ")")
        name = word.strip("_")
        if level == 0 and re.fullmatch(r"[^\W\d]\w*", word) and name not in ATTRIBUTES:
            raise refused(line, f"the attribute {word}")


def refuse_expanded(text: str, headers: str, most: int) -> None:
    """Check the preprocessed text of a kernel where it comes from the student, and its length.

    Raises
    ------
    CompileError
        At the first forbidden construct, with its line.
    """
    markers = Markers(text, headers)
    tokens: list[tuple[int, str]] = []
    pieces = list(markers.users())
    if sum(end - begin for begin, end in pieces) > most:
        raise refused("the kernel", "what its macros make of it", f"that is more than {most} characters")
    for begin, end in pieces:
        for found in TOKEN.finditer(text, begin, end):
            if found.lastgroup in ("word", "mark"):
                tokens.append((found.start(), DIGRAPHS.get(found[0], found[0])))
    try:
        refuse_words(tokens)
    except CompileError as error:
        position = int(str(error).partition(":")[0].removeprefix("line "))
        raise CompileError(markers.line(position) + ":" + str(error).partition(":")[2]) from None

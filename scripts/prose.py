"""Finds habits of writing that docs/contributing.md asks to avoid ("How we write"), and counts them per thousand words.

    python scripts/prose.py                 the counts for docs, tutorials and code
    python scripts/prose.py docs/cuda.md    each place in these files or folders

Prose is the text of Markdown pages without code, and the docstrings, comments and messages of Python, C++ and CUDA
files. A message is a string with at least four words. Exit status: 1 if a group has more than its limit.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 0.5
"""Places per thousand words that a group may have."""

GROUPS = {
    "docs": ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs"],
    "tutorials": ["tutorials"],
    "code": ["minirnn", "scripts"],
}

UNITS = (
    "step|call|output|input|sample|thread|rank|row|layer|cell|gate|block|warp|launch|element|student|exercise|answer|op"
    "|processor|core|worker|turn"
)
COUNTED = "times|once|twice|microseconds?|milliseconds?|ms|us|bytes?|numbers?|launches|messages|lines?"
COMPARED = "longer|more|less|fewer|larger|smaller|faster|slower"

AFTER_OWN = "and|as|at|below|for|from|has|in|is|on|that|to|where|which|with"
NOT_OF_X = "hand|default|finite|central|diff|the chain|itself|name"
HABITS = {
    "stands: write 'is' or 'appears'": r"\bst(?:ands?|ood)\b(?! for| still| in for|-in| alone)",
    "beside: write 'next to' or 'compared with'": r"\bbeside\b",
    "of its own: write 'its own'": rf"\bof (?:its|their|one's|his|her) own\b(?=[^\w ]| (?:{AFTER_OWN})\b|$)",
    "', for' before a clause: write 'because'": r", for (?:it|they|he|she|we|this|that|these|there|nothing|what|who)\b",
    "gradient by x: write 'with respect to x'": (
        rf"(?<!multiplies the )\b(?:gradients?|derivatives?) by (?!{NOT_OF_X})"
    ),
    "Who ...,: name the subject": r"(?:^|[.:;] )Who(?:ever)? (?!is\b|are\b|can\b)\w[^.?]*[,.](?!\S)",
    "', too': write 'also', or leave it out": r", too\b",
    "is no ...: write 'is not a' or 'has no'": (
        rf"(?<![Tt]here )(?<![Tt]here\n)\b(?:is|are|was|were) no (?!(?:{COMPARED})\b)\w"
    ),
    "has not: write 'does not have'": r"\b(?:has|have) not\b(?! \w+(?:ed|en|n|t)\b| been| yet)",
    "a step: write 'per step'": rf"\b(?:{COUNTED}|[0-9]+ \w+s) an? (?:{UNITS})\b",
}
COMPILED = {habit: re.compile(pattern) for habit, pattern in HABITS.items()}

Text = tuple[int, str]  # the line at which it begins


def of_markdown(source: str) -> Iterator[Text]:
    """The paragraphs of a page, without code, formulas, and text in ``<!-- wrong -->``."""
    source = re.sub(r"<!-- wrong -->.*?<!-- /wrong -->", lambda m: "\n" * m[0].count("\n"), source, flags=re.DOTALL)
    for fence in ("```", "~~~", r"\$\$"):
        block = re.compile(f"^{fence}.*?^{fence}", re.DOTALL | re.MULTILINE)
        source = block.sub(lambda found: "\n" * found[0].count("\n"), source)
    source = re.sub(r"`[^`\n]*`", "`x`", source)
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", source):
        yield line, paragraph
        line += paragraph.count("\n")


def of_python(source: str) -> Iterator[Text]:
    """Docstrings, comments and messages."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= 4:
            yield node.lineno, re.sub(r"`[^`\n]*`", "`x`", node.value)
    start, comment = 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            start, comment = start or token.start[0], f"{comment}{token.string.strip('# ')}\n"
        elif token.type != tokenize.NL and comment:
            yield start, comment
            start, comment = 0, ""


def of_cpp(source: str) -> Iterator[Text]:
    for found in re.finditer(r"(?://[^\n]*\n\s*)+|/\*.*?\*/", source, flags=re.DOTALL):
        yield source.count("\n", 0, found.start()) + 1, re.sub(r"^\s*(?:///?|\*)", "", found[0], flags=re.MULTILINE)


READERS = {".md": of_markdown, ".py": of_python, ".cu": of_cpp, ".cuh": of_cpp, ".h": of_cpp, ".cpp": of_cpp}


def files(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name) if Path(name).is_absolute() else ROOT / name
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (p for p in found if p.suffix in READERS and "_build" not in p.parts and p != Path(__file__))


def places(path: Path) -> Iterator[tuple[int, str, str]]:
    """(line, habit, the words around it) for each habit in a file."""
    for start, text in READERS[path.suffix](path.read_text(encoding="utf-8")):
        for habit, pattern in COMPILED.items():
            for found in pattern.finditer(text):
                around = text[max(found.start() - 40, 0) : found.end() + 30]
                yield start + text.count("\n", 0, found.start()), habit, " ".join(around.split())


def words(path: Path) -> int:
    return sum(len(text.split()) for _, text in READERS[path.suffix](path.read_text(encoding="utf-8")))


def main() -> int:
    if sys.argv[1:]:
        for path in files(sys.argv[1:]):
            for line, habit, around in sorted(places(path)):
                print(f"{path.relative_to(ROOT)}:{line}: {habit}\n    ... {around} ...")
        return 0
    worst = 0.0
    for group, names in GROUPS.items():
        every = [*files(names)]
        count, total = sum(len([*places(p)]) for p in every), sum(words(p) for p in every)
        rate = 1000 * count / total
        worst = max(worst, rate)
        print(f"{group:10} {count:5} in {total:7} words: {rate:.2f} per thousand")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())

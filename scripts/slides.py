#!/usr/bin/env python3
r"""Makes slides of a chapter: its question, its equations with their numbers, its figures and its summary.

    python scripts/slides.py slides                                # all chapters of the core
    python scripts/slides.py slides 05_the_lstms_highway           # one chapter
    python scripts/slides.py --from slides/my_lecture.md           # after you have edited a deck

A deck is Markdown, which you may edit, and a page made of it, which a browser shows and prints, one slide per sheet.
Slides are divided by ``---``, formulas are TeX, and the text of the chapter is in ``<!-- -->``, for the
speaker. The folder needs no network: formulas are drawn by the MathJax of the docs
(``pip install -e ".[docs]"``), which is copied into it.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import importlib.util
import io
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin
except ImportError as error:
    raise SystemExit(f'scripts/slides.py: {error}; pip install -e ".[docs]" installs what slides need') from None

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from chapter_text import TUTORIALS, equation, flat  # noqa: E402

CORE = 13  # the number of its last chapter
ON_A_SLIDE = 8  # lines of formulas
TITLE = re.compile(r"^(\S.*)\n[-=]{3,}$", flags=re.M)
MATH = re.compile(r"^\.\. math::\n((?:[ \t]+.*(?:\n|\Z)|[ \t]*\n)+)", flags=re.M)

STYLE = """
@page { size: 297mm 167mm; margin: 0; }
* { box-sizing: border-box; }
html { scroll-snap-type: y proximity; font: 3.2vmin/1.4 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
body { margin: 0; background: #fff; color: #1a1a1a; }
section { min-height: 100vh; padding: 5vmin 8vmin; display: flex; flex-direction: column; justify-content: center;
  scroll-snap-align: start; border-bottom: 1px solid #ccc; position: relative; overflow: hidden; }
h1 { font-size: 1.9em; line-height: 1.15; margin: 0 0 .5em; } h2 { font-size: 1.35em; margin: 0 0 .6em; }
p, ul, ol { margin: .3em 0; max-width: 62em; } em { color: #00527a; } code { font-size: .9em; }
img { width: 100%; height: 66vh; object-fit: contain; }
td, th { padding: 0 1em; text-align: left; }
.math.block { margin: .4em 0; flex-shrink: 0; }
.number { position: absolute; right: 3vmin; bottom: 2vmin; color: #595959; font-size: .7em; }
.notes { position: absolute; left: 8vmin; right: 14vmin; bottom: 1.5vmin; font-size: .6em; }
.notes[open] { max-height: 45vh; overflow-y: auto; background: #f4f4f4; padding: 1em; white-space: pre-line; }
@media print {
  html { font-size: 5.4mm; }
  section { height: 167mm; min-height: 0; break-after: page; border: 0; padding: 8mm 14mm; }
  img { height: 112mm; } .notes { display: none; }
}
"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
<script>MathJax = {{ tex: {{ inlineMath: [["\\\\(", "\\\\)"]], displayMath: [["\\\\[", "\\\\]"]] }} }};</script>
<script defer src="mathjax.js"></script>
</head>
<body>
{slides}
</body>
</html>
"""


def cells(path: Path) -> Iterator[tuple[bool, str]]:
    """The cells of a chapter, with whether each is code; the first is the docstring."""
    text = path.read_text(encoding="utf-8")
    opening = re.match(r'r?"""\n(.*?)"""\n', text, flags=re.S)
    assert opening is not None, f"{path.name} opens with no docstring"
    yield False, opening[1]
    for part in text[opening.end() :].split("\n# %%\n")[1:]:
        said = re.match(r"(?:#.*\n)*", part + "\n")
        assert said is not None
        yield False, re.sub(r"^# ?", "", said[0], flags=re.M)
        yield True, part[said.end() :]


def run(path: Path, folder: Path) -> Iterator[list[tuple[str, str]]]:
    """Run the code of a chapter. Returns the figures of each cell: a file and a description."""
    from docs.drawings.alt import described
    from minirnn.viz import Picture, display

    name = "slides_chapter"
    spec = importlib.util.spec_from_loader(name, loader=None)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    count = 0
    with display.collecting() as shown:
        for is_code, text in cells(path):
            if not is_code:
                continue
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, str(path), "exec"), module.__dict__)
            found = []
            for picture in shown:
                count += 1
                file = folder / path.stem / f"{count}.svg"
                file.parent.mkdir(parents=True, exist_ok=True)
                figure = picture.figure if isinstance(picture, Picture) else picture
                figure.savefig(file)
                found.append((f"{path.stem}/{count}.svg", described(picture)))
            shown.clear()
            yield found


class Deck:
    """The slides of a chapter under construction."""

    def __init__(self) -> None:
        self.heading = ""
        self.slides, self.notes, self.told = list[str](), list[str](), set[str]()

    def add(self, *lines: str) -> None:
        """Add a slide below the current heading, with the text that it comes from."""
        head = [f"## {self.heading}"] if self.heading else []
        self.slides.append("\n\n".join([*head, *lines, *self.remark()]))

    def remark(self) -> list[str]:
        """The text that is on no slide yet, as a comment."""
        notes = "\n\n".join(self.notes).replace("--", "\u2013")
        self.notes.clear()
        return [f"<!--\n{notes}\n-->"] if notes else []

    def tell(self, text: str) -> list[str]:
        """The beginning of a text, unless a slide already has it."""
        sentence = first_sentence(text)
        fresh = [sentence] if sentence and sentence not in self.told else []
        self.told.add(sentence)
        return fresh

    def close(self, heading: str = "") -> None:
        """Start a new heading. Text that is on no slide yet gets one, with the beginnings of its paragraphs."""
        if self.notes:
            paragraphs = [part for note in self.notes for part in note.split("\n\n") if part.strip()]
            lines = [f"- {line}" for paragraph in paragraphs for line in self.tell(paragraph)]
            if lines:
                self.add("\n".join(lines))
            else:
                self.slides[-1] = "\n\n".join([self.slides[-1], *self.remark()])
        self.heading = flat(heading)

    def equations(self, text: str) -> list[str]:
        """The displayed equations of a text, each with its number."""
        found = []
        for match in MATH.finditer(text):
            body = textwrap.dedent(match[1])
            label = re.search(r"^:label: (\S+)$", body, flags=re.M)
            tex = re.sub(r"^:\w+:.*$", "", body, flags=re.M).strip()
            found.append(equation(tex, label[1] if label else ""))
        return found

    def section(self, text: str) -> None:
        """The slides of a piece of text: its beginning, its equations, or its list."""
        said = re.sub(r"\n{3,}", "\n\n", flat(MATH.sub("", text)).strip())
        self.notes += [said] if said else []
        formulas = self.equations(text)
        bullets = re.findall(r"^- (?:.+\n?)(?:^  .+\n?)*", said, flags=re.M)
        lead = self.tell(said) if formulas else []
        while formulas:
            shown = [formulas.pop(0)]
            while formulas and sum(map(height, [*shown, formulas[0]])) <= ON_A_SLIDE:
                shown.append(formulas.pop(0))
            self.add(*lead, *shown)
            lead = []
        if bullets:
            self.add("\n".join(" ".join(bullet.split()) for bullet in bullets))

    def figure(self, file: str, words: str, after: str) -> None:
        claim = self.tell(flat(MATH.sub("", TITLE.split(after)[0])))
        alt = re.sub(r"([\\\[\]*_`$<&!])", r"\\\1", " ".join(words.split()))  # as it is, whatever Markdown makes of it
        self.add(f"![{alt}]({file})", *claim)


def height(formula: str) -> int:
    """The height of a formula in lines. One with a fraction or a sum takes two."""
    lines = formula.split("\\\\")
    return len(lines) + sum(bool(re.search(r"\\(?:frac|sum|prod)", line)) for line in lines)


def first_sentence(text: str) -> str:
    """The beginning of a text, up to the end of its first sentence or paragraph."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    found = re.match(r".+?[.?!:](?=\s+[A-Z`$*]|$)", paragraph)
    return (found[0] if found else paragraph).rstrip(":") + ("." if paragraph and found and found[0][-1] == ":" else "")


def compose(path: Path, figures: Iterator[list[tuple[str, str]]] | None = None) -> str:
    """The deck of a chapter in Markdown. Without `figures`, the chapter is not run and the deck has none."""
    parts, deck = list(cells(path)), Deck()
    opening = parts[0][1]
    title, question = opening.strip().split("\n")[0], re.search(r"^\*(.+)\*$", opening, flags=re.M)
    assert question is not None, f"{path.name} opens with no question"
    able = re.search(r"^\| (\*\*You will be able to\*\* (?:.+\n)(?:^  .+\n)*)", opening, flags=re.M)
    deck.notes.append(flat(TITLE.sub("", opening)).strip())
    deck.add(f"# {title}", f"*{question[1]}*", *([" ".join(flat(able[1]).split())] if able else []))
    for k, (is_code, text) in enumerate(parts[1:], 1):
        if is_code:
            after = parts[k + 1][1] if k + 1 < len(parts) else ""
            for file, words in next(figures) if figures else ():
                deck.figure(file, words, after)
            continue
        before, *headed = TITLE.split(text)
        if before.strip():
            deck.section(before)
        for heading, body in zip(headed[::2], headed[1::2], strict=True):
            deck.close(heading)
            if heading in ("Further reading", "Try it"):
                deck.add("\n".join(f"- {line}" for line in sentences(flat(body))))
            else:
                deck.section(body)
    deck.close()
    return "\n\n---\n\n".join(deck.slides) + "\n"


def sentences(text: str) -> list[str]:
    """The sentences of a text. A year in brackets or an initial does not end a sentence."""
    return [line for line in re.split(r"(?<=[.?!]) (?=[A-Z:`])", " ".join(text.split())) if line]


def formula(tex: str, how: dict[str, bool]) -> str:
    """A formula, between the marks that MathJax looks for."""
    begin, end = ("\\[", "\\]") if how["display_mode"] else ("\\(", "\\)")
    return begin + html.escape(tex.strip(), quote=False) + end


READER = MarkdownIt("commonmark", {"html": False}).enable("table").use(dollarmath_plugin, renderer=formula)


def slide(markdown: str, number: int, of: int) -> str:
    """One slide as HTML."""
    notes = re.findall(r"<!--\n?(.*?)\n?-->", markdown, flags=re.S)
    shown = READER.render(re.sub(r"<!--.*?-->", "", markdown, flags=re.S))
    if notes:
        said = html.escape("\n\n".join(notes), quote=False)
        shown += f'<details class="notes"><summary>Notes</summary>{said}</details>\n'
    return f'<section>\n{shown}<div class="number">{number} / {of}</div>\n</section>'


def page(markdown: str) -> str:
    """A deck as one page of HTML."""
    slides = re.split(r"\n\s*\n---\n\s*\n", markdown.strip())
    title = re.search(r"^# (.+)$", markdown, flags=re.M)
    shown = "\n".join(slide(text, number, len(slides)) for number, text in enumerate(slides, 1))
    return PAGE.format(title=html.escape(title[1] if title else "Slides"), style=STYLE, slides=shown)


def mathjax() -> Path:
    """The file that draws formulas in a browser, from the package that the docs use."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise SystemExit("formulas need MathJax: pip install sphinx-mathjax-offline")
    return Path(spec.origin).parent / "static" / "mathjax" / "tex-svg-full.js"


def write(path: Path, folder: Path, again: bool = False) -> Path | None:
    """Run a chapter, and write its figures and its deck. Returns None if a deck that was edited is kept."""
    source = folder / f"{path.stem}.md"
    print(f"{path.stem}: its code runs", flush=True)
    with tempfile.TemporaryDirectory() as made:
        deck = compose(path, run(path, Path(made)))
        if source.exists() and not again and source.read_text(encoding="utf-8") != deck:
            print(f"{source} was edited, so it is kept\n  its page: --from {source}; to replace it: --again")
            return None
        shutil.copytree(made, folder, dirs_exist_ok=True)
    source.write_text(deck, encoding="utf-8")
    return source


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where the decks go (with --from, that of the deck)")
    parser.add_argument("chapters", nargs="*", help="such as 05_the_lstms_highway (default: the core)")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE.md", help="make the page of a deck again")
    parser.add_argument("--again", action="store_true", help="also replace decks that were edited")
    args: Any = parser.parse_args(arguments)
    known = {path.stem: path for path in sorted(TUTORIALS.glob("[0-9][0-9]_*.py"))}
    wrong = [name for name in args.chapters if name not in known]
    if wrong:
        parser.error(f"no chapter is called {wrong[0]}; expected one of {', '.join(known)}")
    if args.source and args.chapters:
        parser.error("--from builds the page of one deck, and runs no chapter")
    if args.source and args.source.suffix != ".md":
        parser.error(f"--from is {args.source}; expected a deck, whose name ends in .md")
    folder = args.folder or (args.source.parent if args.source else parser.error("the folder is missing"))
    script = mathjax()
    try:
        if args.source:
            args.source.read_text(encoding="utf-8")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    except ValueError as error:
        parser.error(f"{args.source}: {error}")
    shutil.copy(script, folder / "mathjax.js")
    chosen = args.chapters or [name for name in known if int(name[:2]) <= CORE]
    kept = 0
    for source in [args.source] if args.source else (write(known[name], folder, args.again) for name in chosen):
        if source is None:
            kept += 1
            continue
        made = folder / f"{source.stem}.html"
        made.write_text(page(source.read_text(encoding="utf-8")), encoding="utf-8")
        print(made)
    return 1 if kept else 0


if __name__ == "__main__":
    sys.exit(main())

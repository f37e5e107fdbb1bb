"""Feedback for a student as one page of HTML: the points, and comments below the lines of the student's files.

The page needs no other file and runs no script. It follows the reader's light or dark mode. All text is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from minirnn.learn.reports.sheet import Row, Sheet
from minirnn.learn.reports.stamp import Stamp

MANY = False
STYLE = """
:root { color-scheme: light dark; --line: #c8ccd2; --note: #fff3cd; --mark: #a33c00; --dim: #5c6470; }
@media (prefers-color-scheme: dark) { :root { --line: #454b54; --note: #43360a; --mark: #ffb37a; --dim: #a4abb6; } }
body { max-width: 110ch; margin: 1.5rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h2 { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
table { border-collapse: collapse; } th, td { padding: .15rem .7rem .15rem 0; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } .dim { color: var(--dim); }
.wide { overflow-x: auto; } pre, code, .file td { font: .875rem/1.45 ui-monospace, monospace; }
.file { min-width: 100%; margin: .5rem 0; border: 1px solid var(--line); }
.file td { padding: 0 .7rem; white-space: pre; }
.file td:first-child { width: 1%; color: var(--dim); text-align: right; user-select: none; }
.file td + td { border-left: 1px solid var(--line); } .said td { background: var(--note); }
.said td + td { font-family: inherit; white-space: normal; padding-block: .25rem; }
.said b { color: var(--mark); } .at td + td { box-shadow: inset .25rem 0 var(--mark); }
"""
HEAD = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{STYLE}</style>"""


def render(sheets: Sequence[Sheet], stamp: Stamp | None = None) -> str:
    (sheet,) = sheets
    return "\n".join(parts(sheet, stamp)) + "\n</body></html>\n"


def parts(sheet: Sheet, stamp: Stamp | None) -> Iterator[str]:
    """The page in pieces: the sum, all exercises in a table, then each that was begun or that the teacher comments."""
    title = escape(f"{sheet.course}: {sheet.who}")
    yield f"{HEAD}<title>{title}</title></head><body>"
    yield f"<h1>{title}</h1>\n<p><strong>{sheet.score} of {sheet.most} points</strong></p>"
    if sheet.changes:
        said = [f"{change.points:+d}: {change.reason}" for change in sheet.changes]
        yield f"<p>{sheet.earned} points for the answers, and:</p>{listed(said)}"
    if sheet.problem:
        yield f"<p>Nothing could be graded: {escape(sheet.problem)}.</p>"
    yield listed(sheet.notes)
    exercises = [list(rows) for _, rows in groupby(sheet.rows, lambda row: row.id)]
    yield "<table><tr><th></th><th>Exercise</th><th>Points</th><th>Hints used</th></tr>"
    yield from (overview(rows) for rows in exercises)
    yield "</table>"
    for rows in exercises:
        yield from () if rows[0].not_started and not rows[0].decided else exercise(rows)
    if not sheet.finished:
        yield "<p>The grader did not finish.</p>"
    if stamp:
        yield f'<p class="dim">Graded by {escape(stamp.line())}.</p>'


def listed(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def overview(rows: Sequence[Row]) -> str:
    """A line of the table of all exercises."""
    first, score = rows[0], sum(row.score for row in rows)
    name = escape(first.name)
    linked = name if first.not_started and not first.decided else f'<a href="#{place(first)}">{name}</a>'
    if first.not_started:
        linked += ' <span class="dim">not started</span>'
    points = f"{score} / {sum(row.most for row in rows)}"
    return (
        f'<tr><td class="dim">{escape(first.number)}</td><td>{linked}</td><td class="n">{points}</td>'
        f'<td class="n">{first.hints or ""}</td></tr>'
    )


def place(row: Row) -> str:
    """The name of an exercise's place on the page."""
    return escape(f"at-{row.id}")


def exercise(rows: Sequence[Row]) -> Iterator[str]:
    """An exercise: its points one by one, the file with comments, all that the check says, the hidden checks."""
    first, *others = rows
    yield f'<h2 id="{place(first)}">{escape(first.number)} {escape(first.name)}: {first.score} / {first.most}</h2>'
    if first.busy:
        yield "<p>The machine was busy when this was graded. It will be graded again.</p>"
    if first.parts:
        cells = "".join(
            f'<tr><td><code>{escape(name)}</code></td><td class="n">{points} / {most}</td>'
            f"<td>{'right' if points == most else 'wrong'}</td></tr>"
            for name, points, most in first.parts
        )
        yield f"<table>{cells}</table>"
    if first.answer:
        yield f"<p><code>{escape(first.file)}</code></p>"
        yield f'<div class="wide"><table class="file">{"".join(lines(first))}</table></div>'
    if first.output.strip():
        yield f'<div class="wide"><pre>{escape(first.output.rstrip())}</pre></div>'
    for row in others:
        yield f"<p><strong>{escape(row.name)}: {row.score} / {row.most}</strong></p>"
        yield f"<p>{escape(row.output)}</p>" if row.output else ""


def lines(row: Row) -> Iterator[str]:
    """The lines of an answer with their numbers, and below a line what is said about it."""
    for number, line in enumerate(row.answer.splitlines(), 1):
        said = [text for at, text in row.comments if at == number]
        yield f"<tr{' class=at' if said else ''}><td>{number}</td><td>{escape(line)}</td></tr>\n"
        for text in said:
            words = escape(text.removeprefix(f"line {number}: "))
            yield f'<tr class="said"><td></td><td><b>Line {number}:</b> {words}</td></tr>\n'

"""Each displayed equation of the book is evaluated as it is printed, against the tape. Tests `tutorials/`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.book.tex import holds, lines
from tests.book.worlds import WORLDS

ROOT = Path(__file__).parents[2]
TUTORIALS = {path.stem: path for path in sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.py"))}


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    """The displayed equations of a page: label and TeX."""
    text = re.sub(r"^# ?", "", path.read_text(encoding="utf-8"), flags=re.M)
    for match in re.finditer(r"^\.\. math::\n((?:[ \t]+.*\n|[ \t]*\n)+)", text, flags=re.M):
        body = textwrap.dedent(match[1])
        label = re.search(r"^:label: (\S+)$", body, flags=re.M)
        yield (label[1] if label else ""), re.sub(r"^:\w+:.*$", "", body, flags=re.M).strip()


EQUATIONS = [
    pytest.param(page, line, id=f"{page[:2]}-{label}-{k}")
    for page in WORLDS
    for label, tex in blocks(TUTORIALS[page])
    for k, line in enumerate(lines(tex))
]


@pytest.mark.parametrize(("page", "line"), EQUATIONS)
def test_an_equation_is_true_as_it_is_printed(page: str, line: str, rng: np.random.Generator) -> None:
    world, indices = WORLDS[page](rng)
    tried = 0
    for chosen in indices:
        try:
            true = holds(line, world, chosen)
        except LookupError as error:
            if isinstance(error.args[0], str):
                raise
            continue  # a step before the first or after the last one
        assert true, f"false for {chosen}: {line}"
        tried += 1
    assert tried > 1, f"no step has all that this equation names: {line}"

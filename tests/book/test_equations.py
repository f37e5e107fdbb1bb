"""Each displayed equation is evaluated as it is printed, against the tape. Tests `tutorials/` and `docs/`."""

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
PAGES = TUTORIALS | {
    path.stem: path for folder in ("docs", "docs/ops") for path in sorted((ROOT / folder).glob("*.md"))
}


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    """The displayed equations of a page: label and TeX."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        found = re.findall(r"^\$\$\n(.*?)^\$\$(?: \((\S+)\))?$", text, flags=re.M | re.S)
        yield from ((label, tex) for tex, label in found)
        return
    for match in re.finditer(
        r"^\.\. math::\n((?:[ \t]+.*\n|[ \t]*\n)+)", re.sub(r"^# ?", "", text, flags=re.M), flags=re.M
    ):
        body = textwrap.dedent(match[1])
        label = re.search(r"^:label: (\S+)$", body, flags=re.M)
        yield (label[1] if label else ""), re.sub(r"^:\w+:.*$", "", body, flags=re.M).strip()


def world_of(page: str, label: str) -> str:
    key = f"{page}:{label.partition('-')[0]}"
    return key if key in WORLDS else page


EQUATIONS = [
    pytest.param(world_of(page, label), line, id=f"{page}-{label}-{k}")
    for page, path in PAGES.items()
    for label, tex in blocks(path)
    for k, line in enumerate(lines(tex))
]


def test_every_displayed_equation_has_a_world() -> None:
    assert {str(parameters.values[0]) for parameters in EQUATIONS} - WORLDS.keys() == set()


@pytest.mark.parametrize(("world", "line"), EQUATIONS)
def test_an_equation_is_true_as_it_is_printed(world: str, line: str, rng: np.random.Generator) -> None:
    symbols, indices = WORLDS[world](rng)
    tried = 0
    for chosen in indices:
        try:
            true = holds(line, symbols, chosen)
        except LookupError as error:
            if isinstance(error.args[0], str):
                raise
            continue  # a step before the first or after the last one
        assert true, f"false for {chosen}: {line}"
        tried += 1
    assert tried > 1, f"no step has all that this equation names: {line}"

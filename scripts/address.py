"""Sets the address of the repository, which appears nowhere until it is set.

    python scripts/address.py https://github.com/OWNER/minirnn
    python scripts/address.py ''                                  # takes it out again

It is stored once, as `Repository` in pyproject.toml's `[project.urls]`. Notebooks and the site read it there
(`docs/repository.py`); the badge of README.md and `repository-code` of CITATION.cff are written here.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from repository import GITHUB, address  # noqa: E402

FORM = rf"(?:{re.escape(GITHUB)}[\w.-]+/[\w.-]+)?"


def pyproject_with(text: str, url: str) -> str:
    text = re.sub(r"\[project\.urls\]\n.*\n\n", "", text)
    section = f'[project.urls]\nRepository = "{url}"\n\n' if url else ""
    return text.replace("[project.scripts]", f"{section}[project.scripts]")


def readme_with(text: str, url: str) -> str:
    text = re.sub(r"\[!\[CI\].*\n\n", "", text)
    badge = f"[![CI]({url}/actions/workflows/ci.yml/badge.svg)]({url}/actions/workflows/ci.yml)\n\n" if url else ""
    title, gap, rest = text.partition("\n\n")
    return f"{title}{gap}{badge}{rest}"


def citation_with(text: str, url: str) -> str:
    text = re.sub(r"repository-code: .*\n", "", text)
    return text + (f"repository-code: {url}\n" if url else "")


FILES = {"pyproject.toml": pyproject_with, "README.md": readme_with, "CITATION.cff": citation_with}


def written(root: Path, url: str) -> dict[Path, str]:
    """The files that contain the address, with this address."""
    return {root / name: with_url((root / name).read_text(encoding="utf-8"), url) for name, with_url in FILES.items()}


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(FORM, sys.argv[1]):
        sys.exit(__doc__)
    for path, text in written(ROOT, sys.argv[1]).items():
        path.write_text(text, encoding="utf-8")
    print(f"the address is {address((ROOT / 'pyproject.toml').read_text(encoding='utf-8')) or 'not set'}")

"""Where minirnn is published: the line `Repository` of pyproject.toml, and what the site makes of it.

No address is decided yet. Until it is, no page links to a repository and no notebook installs from one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
GITHUB = "https://github.com/"


def address(pyproject: str) -> str:
    """The address in a pyproject.toml, or nothing."""
    return str(tomllib.loads(pyproject)["project"].get("urls", {}).get("Repository", ""))


def here() -> str:
    return address((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def first_cell(repository: str) -> str:
    """The first cell of each notebook."""
    cell = (Path(__file__).parent / "install_cell.py").read_text(encoding="utf-8").rstrip()
    return cell.replace('REPOSITORY = ""', f'REPOSITORY = "{repository}"')


def theme(repository: str, pages: list[str]) -> tuple[dict[str, Any], dict[str, Any], dict[str, list[str]]]:
    """For the theme: context, options, and what is next to each page. Only files that people write can be edited."""
    if not repository.startswith(GITHUB):
        return {}, {}, {}
    user, name = repository.removeprefix(GITHUB).split("/")
    context = {"github_user": user, "github_repo": name, "github_version": "main", "doc_path": "docs"}
    return context, {"use_edit_page_button": True}, {page: ["page-toc", "edit-this-page"] for page in pages}

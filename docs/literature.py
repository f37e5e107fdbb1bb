"""The works of literature.bib, and which of them a text cites.

A citation is plain text, so that it also reads well in a notebook and in a docstring: ``Werbos (1990)``, ``Gers et al.
2000``, ``Le, Jaitly and Hinton 2015``. `citations` finds them, and `Library.find` says which entry is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("literature.bib")

GROUPS = {
    "start": "Before you begin",
    "tape": "The tape and its memory",
    "time": "Backpropagation through time",
    "vanish": "Vanishing and exploding gradients",
    "cells": "LSTM and GRU",
    "morecells": "Other cells",
    "attention": "Attention",
    "regularization": "Dropout and normalization",
    "training": "Initial weights and optimizers",
    "functions": "Activations and losses",
    "hardware": "Hardware, random numbers and rounding",
    "pictures": "Pictures and measures",
}

_NAME = r"[A-Z](?=[^\W\d_]*[a-z])[^\W\d_]+(?:[-’'][A-Z][^\W\d_]+)*"
CITATION = re.compile(
    rf"(?P<names>{_NAME}(?:,\s+{_NAME})*(?:,?\s+(?:and|&)\s+{_NAME}|\s+et\s+al\.)?),?\s+\(?(?P<year>(?:19|20)\d\d)\b\)?"
)


class Entry(NamedTuple):
    """A work: its key, its kind, and the fields of BibTeX."""

    key: str
    kind: str
    fields: dict[str, str]

    @property
    def authors(self) -> list[tuple[str, str]]:
        """Family and given name of each author who is listed."""
        pairs = (name.partition(", ") for name in self.fields["author"].split(" and ") if name != "others")
        return [(family, given) for family, _, given in pairs]

    @property
    def many(self) -> bool:
        """Whether "et al." is right."""
        return len(self.fields["author"].split(" and ")) > 2

    @property
    def label(self) -> str:
        """How a text cites it: ``Le et al. (2015)``."""
        family = [name for name, _ in self.authors]
        names = f"{family[0]} et al." if self.many else " and ".join(family)
        return f"{names} ({self.fields['year']})"

    @property
    def link(self) -> str | None:
        """Where to read it."""
        if doi := self.fields.get("doi"):
            return f"https://doi.org/{doi}"
        if eprint := self.fields.get("eprint"):
            return f"https://arxiv.org/abs/{eprint}"
        return self.fields.get("url")

    @property
    def place(self) -> str:
        """Where it was published: ``Neural Computation 9(8), 1735-1780``."""
        get = self.fields.get
        where = get("journal") or get("booktitle") or get("publisher") or get("school") or get("note") or "Online"
        if get("journal") == "arXiv preprint":
            return f"arXiv:{self.fields['eprint']}"
        if edition := get("edition"):
            where += f", edition {edition}"
        if series := get("series"):
            where += f", {series}"
        if volume := get("volume"):
            where += f" {volume}" if self.kind == "article" else f", volume {volume}"
        if number := get("number"):
            where += f"({number})"
        if pages := get("pages"):
            where += ", " + pages.replace("--", "\u2013")
        return where


class Library(dict[str, Entry]):
    """The entries by their keys."""

    def find(self, names: str, year: str) -> Entry | None:
        """The only entry that these names and this year can mean."""
        others = bool(re.search(r"et\s+al\.", names))
        listed = re.findall(_NAME, re.sub(r"\s+(?:et\s+al\.|and\b)", ",", names))
        found = []
        for entry in self.values():
            family = [name.rpartition(" ")[2] for name, _ in entry.authors]
            same = entry.many and family[:1] == listed if others else family == listed
            if same and entry.fields["year"] == year:
                found.append(entry)
        return found[0] if len(found) == 1 else None


def read(path: Path = FILE) -> Library:
    """The entries of a BibTeX file whose fields have a line each."""
    library = Library()
    for entry in re.finditer(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}$", path.read_text(encoding="utf-8"), re.M | re.S):
        kind, key, body = entry.groups()
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.M))
        if len(fields) != body.count("\n"):
            raise ValueError(f"{path.name}: {key} has a line that is not a field\n  expected '  name = {{value}},'")
        if key in library:
            raise ValueError(f"{path.name}: {key} is there twice")
        library[key] = Entry(key, kind, {name: re.sub("[{}]", "", value) for name, value in fields.items()})
    return library


def citations(text: str) -> Iterator[re.Match[str]]:
    """What looks like a citation: names and a year."""
    return CITATION.finditer(text)

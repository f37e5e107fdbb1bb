"""Reads values of a course.toml, and reports invalid ones."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minirnn.arguments.messages import meant


class CourseError(ValueError):
    """Raised if a course or a student's folder cannot be used. The text tells its owner why."""


MISSING: Any = object()
KINDS = {int: "a whole number", str: "a text", list: "a list", bool: "true or false", dict: "a dict"}
"""The kinds of values, in words."""
MOST = {"tutorial": 23}
"""The largest number of a setting: there are 23 tutorials."""
OF_A_COURSE = "name title version hidden_seed seconds megabytes detail exercise"
OF_AN_EXERCISE = (
    "id title chapter points hidden hints needs tutorial seconds megabytes detail secret reference function file"
)


def read_toml(path: Path) -> dict[str, Any]:
    """A course.toml. Raises CourseError if it is missing or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{path}: no such file\n  a course is a folder with a course.toml") from None
    except OSError as error:
        raise CourseError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise CourseError(f"{path}: {error}") from error


def field(where: object, table: Mapping[str, Any], name: str, kind: type, default: Any = MISSING) -> Any:
    """A value of a table in course.toml. Raises CourseError if it is missing, or of another kind."""
    value = table.get(name, default)
    if value is MISSING:
        raise CourseError(f"{where}: {name} is missing")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise CourseError(f"{where}: {name} is {value!r}\n  expected {KINDS[kind]}")
    return value


def only(where: object, table: Mapping[str, Any], names: str) -> None:
    """Raises CourseError if a table in course.toml has a key that is not one of `names`."""
    for key in table:
        if key not in names.split():
            raise CourseError(f"{where}: there is no setting {key!r}{meant(key, names.split())}")


def seed(where: Path, table: Mapping[str, Any]) -> str:
    """The hidden seed of a course.toml: any whole number or text, as a text. In students' folders there is none."""
    value = table.get("hidden_seed", 0)
    if "hidden_seed" not in table and where.absolute().parts[-3:-1] != (".minirnn", "course"):
        raise CourseError(f"{where}: hidden_seed is missing\n  expected a text that only you know")
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise CourseError(f"{where}: hidden_seed is {value!r}\n  expected a text that is not empty, or a whole number")
    return str(value)


def without_seed(text: str, allowed: bool = True) -> dict[str, Any] | None:
    """The contents of a course.toml without the hidden seed; None if it cannot be read or its seed is not `allowed`."""
    try:
        table = tomllib.loads(text)
    except ValueError:
        return None
    there = table.pop("hidden_seed", None) is not None
    return None if there and not allowed else table


def count(where: object, table: Mapping[str, Any], name: str, default: Any, least: int = 0) -> int:
    """A whole number of a table in course.toml, not below `least` or above what is in `MOST`."""
    value = field(where, table, name, int, default)
    if not least <= value <= MOST.get(name, 10**9):
        limit = f" to {MOST[name]}" if name in MOST else ""
        raise CourseError(f"{where}: {name} is {value}\n  expected a number from {least}{limit}")
    return int(value)

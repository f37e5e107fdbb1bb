"""A file of results, one row per line, which an interrupted sweep completes when it runs again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date
from pathlib import Path
from typing import Any

from minirnn.machine.computer import processor

Row = dict[str, Any]


def origin() -> Row:
    """The time, machine and commit of a row."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"date": date.today().isoformat(), "machine": processor(), "commit": commit}


def stored(path: Path) -> list[Row]:
    """The rows of a file; none, if there is no file yet."""
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []


def store(path: Path, rows: list[Row], key: Callable[[Row], Any], command: str) -> None:
    """Write the rows in the order of their keys. The file is complete at any time."""
    lines = ",\n".join(json.dumps(row) for row in sorted(rows, key=key))
    new = path.with_suffix(".new")
    new.write_text(f'{{"command": "{command}", "rows": [\n{lines}\n]}}\n', encoding="utf-8")
    new.replace(path)


def sweep(
    path: Path, wanted: Iterable[Row], run: Callable[..., Row], key: Callable[[Row], Any], command: str
) -> list[Row]:
    """Run what has no row yet, on all cores, and store each result at once. Returns all rows."""
    rows, made = stored(path), origin()
    done = {key(row) for row in rows}
    with ProcessPoolExecutor() as pool:
        for future in as_completed([pool.submit(run, **one) for one in wanted if key(one) not in done]):
            rows.append(future.result() | made)
            print(rows[-1], flush=True)
            store(path, rows, key, command)
    return rows

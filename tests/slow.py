"""Test parameters that are partly left to ``pytest -m slow``."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_unless(kept: int | Callable[..., bool] | Iterable[Any], cases: Iterable[Any]) -> list[Any]:
    """All `cases` for ``parametrize``, marked ``slow`` except for some.

    A plain run uses the cases in `kept`, those for which it is true, or every `kept`-th.
    """
    if not isinstance(kept, int) and not callable(kept):
        kept = list(kept)
    found = []
    for number, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        found.append(pytest.param(*values, marks=[] if is_kept(number, case, values, kept) else [pytest.mark.slow]))
    return found


def is_kept(number: int, case: Any, values: tuple[Any, ...], kept: Any) -> bool:
    if isinstance(kept, int):
        return number % kept == 0
    return bool(kept(*values)) if callable(kept) else case in kept

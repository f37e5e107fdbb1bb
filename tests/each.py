"""Many small cases in one test: each is run, and a failure names all that failed.

A parametrized case costs more than a millisecond before it begins; a case here costs nothing.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import minirnn as mr


def each(names: str | tuple[str, ...], values: Iterable[Any], ids: Any = None) -> Callable[[Any], Any]:
    """Like `pytest.mark.parametrize`, but a loop within one test. `ids` names the cases: a function or a list.

    The random numbers of a case do not depend on earlier cases. The test fails if one case does, after all of them. It
    counts as skipped if a case was, so that it runs again where nothing is missing.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = list(values)
    assert cases and not any(hasattr(case, "marks") for case in cases), "marks need pytest.mark.parametrize"

    def name_of(k: int, case: Any) -> str:
        return str(ids(case) if callable(ids) else ids[k] if ids else case)[:200]

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failed: list[Exception] = []
            skipped = None
            for k, case in enumerate(cases):
                mr.manual_seed(0)
                own = {n: v.spawn(1)[0] if isinstance(v, np.random.Generator) else v for n, v in fixtures.items()}
                own |= dict(zip(keys, case, strict=True)) if len(keys) > 1 else {keys[0]: case}
                try:
                    test(**own)
                except pytest.skip.Exception as reason:
                    skipped = reason
                except Exception as error:
                    error.add_note(f"case {', '.join(keys)} = {name_of(k, case)}")
                    failed.append(error)
            if len(failed) > 1:
                raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases of {', '.join(keys)}", failed)
            if failed:
                raise failed[0]
            if skipped is not None:
                raise skipped

        signature = inspect.signature(test)
        left = [p for name, p in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate

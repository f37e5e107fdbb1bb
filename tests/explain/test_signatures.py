"""Signatures show the types that an argument really accepts."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from minirnn import ops
from minirnn.explain.signatures import documented_types, signature_lines
from tests.each import each


@each("op", ops.__all__)
def test_no_op_takes_anything_and_every_argument_has_a_line(op: str) -> None:
    function = getattr(ops, op)
    function = function.__call__ if inspect.ismodule(function) else function
    lines = list(signature_lines(op, function))
    assert "Any" not in "\n".join(lines)
    names = [line.strip(" ,*").partition(":")[0] for line in lines[1:-1] if line.strip() != "*,"]
    assert names == list(inspect.signature(function).parameters)
    assert max(map(len, lines[:-1])) <= 100


class Outputs(NamedTuple):
    y: int
    z: int


def example(x: Any, n: int, w: Any = None, *rest: Any, flag: bool = True, mode: Any = "a") -> Outputs:
    """An example.

    Parameters
    ----------
    x, w : (B, I)
        Two of them.
    mode : {"a", "b"}, optional
        Which.

    Returns
    -------
    Outputs
    """
    raise NotImplementedError


def other(a: Any, *, b: float = 1.0) -> Any:
    """No sections."""


def test_types_come_from_annotations_and_docstrings() -> None:
    assert list(signature_lines("example", example)) == [
        "example(",
        "    x: Tensor or array (B, I),",
        "    n: int,",
        "    w: Tensor or array (B, I) = None,",
        "    *rest: Tensor or array,",
        "    flag: bool = True,",
        '    mode: {"a", "b"} = \'a\',',
        ") -> Outputs(y, z)",
    ]
    assert list(signature_lines("other", other)) == [
        "other(",
        "    a: Tensor or array,",
        "    *,",
        "    b: float = 1.0,",
        ") -> Tensor or array",
    ]


def test_only_the_section_of_parameters_is_read() -> None:
    assert documented_types("Returns\n-------\nx : int\n") == {}
    text = "Parameters\n----------\nx : array_like, optional\n    y : no parameter\n\nReturns\n-------\nz : int\n"
    assert documented_types(text) == {"x": "array"}

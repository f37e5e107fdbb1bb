"""Tables of wrong calls as text: a line has a call and, after an arrow, the words that its message must contain.

::

    ops.cross_entropy(X, [0, 3])  -> cross_entropy & 0 to 3 & 0 .. 2
    ops.gather(X, 1, [[0, 3]])    -> raises IndexError: gather & 0 to 3

A line that ends with the arrow continues on the next one. There are two kinds of blocks for regular tables:

::

    for NAME in sin cos PAIRS:       # once for each word; PAIRS is a tuple in the table's module
        ops.NAME("one")       -> NAME & <U3
    for NAME in sub/subtract:        # NAME is sub, and WORD is subtract
        X.NAME(W)             -> WORD & (2, 3) & (4, 5)
    with nn.RNN(3, 5):               # a right call; every message has "RNN:" in it
        zoneout=(0.1, -1)     -> zoneout[1] is -1
        dropout zoneout: a share     # one of KINDS: a row for each wrong value
        nonlinearity: an option among 'tanh', 'relu'
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import cudnn_rnn, data, io, nn, ops, optim, viz
from minirnn.nn import functional, init, utils
from minirnn.nn.utils import rnn
from minirnn.optim import lr_scheduler
from minirnn.parallel.executors import outcomes
from tests.hostile.wrong_call import Wrong, array, tensor

# Every table has these names, in addition to those of its module.
NAMES: dict[str, Any] = {
    "mr": mr,
    "np": np,
    "F": functional,
    "s": lr_scheduler,
    **{module.__name__.split(".")[-1]: module for module in (data, io, nn, optim, viz, init, utils)},
    **{"cudnn_rnn": cudnn_rnn, "rnn_utils": rnn, "ops": ops, "outcomes": outcomes, "array": array, "tensor": tensor},
    "NAN": float("nan"),
    "ELSEWHERE": "cpu-composed",  # a second device, registered in conftest.py
}

# For each kind of parameter: wrong values, as Python writes them, and what the message must say.
KINDS: dict[str, list[tuple[str, str]]] = {
    "a size": [
        *[(value, "PARAMETER is VALUE & 1 or more") for value in ("0", "-3")],
        *[(value, "PARAMETER is VALUE & integer") for value in ("2.0", "True", "'2'", "None")],
    ],
    "an integer": [(value, "PARAMETER is VALUE & integer") for value in ("1.0", "True", "'x'")],
    "a number": [(value, "PARAMETER is VALUE & number") for value in ("float('nan')", "'1'", "None", "True")],
    "a share": [
        *[(value, "PARAMETER is VALUE & 0 .. 1") for value in ("1.5", "-0.1")],
        *[(value, "PARAMETER is VALUE & number") for value in ("float('nan')", "'0.5'", "None", "True")],
    ],
    "a flag": [(value, "PARAMETER is VALUE & True or False") for value in ("1", "0", "'yes'", "None")],
    "an option": [(value, "PARAMETER is VALUE & expected & OPTIONS") for value in ("'nonsense'", "2", "True", "None")],
    "an array of floats": [
        ("None", "PARAMETER is None & array"),
        ("'x'", "PARAMETER & <U1"),
        ("[[1.0, 2.0], [3.0]]", "PARAMETER & likely a ragged list"),
        ("np.ones((2, 2), np.int64)", "PARAMETER & int64 & float16"),
        ("np.ones((2, 2), np.complex64)", "PARAMETER & complex64 & float16"),
    ],
}


def rows(scope: dict[str, Any], text: str) -> list[Wrong]:
    """The rows of a table whose names are those of `scope` and `NAMES`."""
    scope = {**NAMES, **scope}
    made = []
    block = ""
    for line in repeated(scope, joined(text)):
        if line.startswith("with "):
            block = line.removeprefix("with ").removesuffix(":")
        elif not line.startswith("    "):
            call, says = line.split(" -> ")
            made.append(row(scope, call.strip(), says.strip()))
        elif " -> " in line:
            changes, says = line.split(" -> ")
            made.append(row(scope, block, says.strip(), changes.strip()))
        else:
            names, kind = line.split(": ")
            kind, _, options = kind.partition(" among ")
            for name in names.split():
                for value, words in KINDS[kind]:
                    says = words.replace("PARAMETER", name).replace("VALUE", repr(eval(value, {"np": np})))
                    says = says.replace("OPTIONS", options)
                    made.append(row(scope, block, says, f"{name}={value}"))
    return made


def joined(text: str) -> Iterator[str]:
    """The nonempty lines, joined with their continuations."""
    lines = iter(line.rstrip() for line in text.splitlines())
    for line in lines:
        if line.endswith(" ->"):
            yield f"{line} {next(lines).strip()}"
        elif line and not line.startswith("#"):
            yield line


def repeated(scope: dict[str, Any], lines: Iterator[str]) -> Iterator[str]:
    """The lines with those of each ``for`` once for each of its words."""
    words: list[str] = []
    body: list[str] = []
    for line in (*lines, ""):
        if words and line.startswith("    "):
            body.append(line[4:])
            continue
        for name, _, said in (word.partition("/") for word in words):
            yield from (repeat.replace("NAME", name).replace("WORD", said or name) for repeat in body)
        words, body = [], []
        if line.startswith("for NAME in "):
            for word in line.removeprefix("for NAME in ").removesuffix(":").split():
                words.extend(scope[word] if isinstance(scope.get(word), tuple) else [word])
        elif line:
            yield line


def row(scope: dict[str, Any], call: str, says: str, changes: str = "") -> Wrong:
    """One row: `call`, with the arguments that `changes` names replaced."""
    error: tuple[type[Exception], ...] = (ValueError, TypeError)
    if raises := re.match(r"raises (\w+): ", says):
        error = (eval(raises[1]),)
        says = says[raises.end() :]
    function, args, kwargs = evaluated(scope, call)
    title = call
    if changes:
        _, _, changed = evaluated(scope, f"dict({changes})")
        kwargs |= changed
        name = call.split("(")[0]
        title = f"{name}({changes})"
        says = f"{name.split('.')[-1]}: & {says}"
    return Wrong(title, tuple(says.split(" & ")), function, args, kwargs, error)


def evaluated(scope: dict[str, Any], call: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function and the arguments of a call that is written as Python writes it."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call), call
    arguments = ast.Call(ast.Name("arguments", ast.Load()), tree.args, tree.keywords)
    function = eval(ast.unparse(tree.func), scope)
    args, kwargs = eval(ast.unparse(arguments), {**scope, "arguments": lambda *args, **kwargs: (args, kwargs)})
    return function, args, kwargs

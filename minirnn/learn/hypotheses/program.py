"""A function as numbered statements that can be run with some of them changed.

Loops and conditions are interpreted here, so a change requires compiling only one statement. Statements are numbered in
the order of the source, loops and `return` included.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import numpy as np

from minirnn.learn.sandbox.patterns import unparsed

GIVEN = "_given"
"""The name under which a changed statement finds the original arguments."""

Path = tuple[tuple[str, int], ...]
"""The path from a statement to a node in it: field names, each with its list index, or -1 if the field is not
a list.
"""


@dataclass(frozen=True)
class Step:
    """A statement: its number, tree and code, the loop variables around it, and its nested statements."""

    number: int
    tree: ast.stmt
    code: CodeType | None
    loops: tuple[str, ...]
    body: tuple[Step, ...] = ()
    orelse: tuple[Step, ...] = ()

    @cached_property
    def kind(self) -> type[ast.stmt]:
        return type(self.tree)

    @cached_property
    def target(self) -> str:
        """The name that the statement assigns; empty for loops, conditions and returns."""
        if isinstance(self.tree, ast.Assign):
            return base_name(self.tree.targets[0])
        return base_name(self.tree.target) if isinstance(self.tree, ast.AugAssign | ast.For) else ""

    @cached_property
    def value(self) -> tuple[ast.expr, Path] | None:
        """The expression of the statement that can be wrong, and its path."""
        tree = self.tree
        if isinstance(tree, ast.Assign | ast.AugAssign | ast.Return | ast.Expr) and tree.value is not None:
            return tree.value, (("value", -1),)
        if isinstance(tree, ast.For):
            return tree.iter, (("iter", -1),)
        return (tree.test, (("test", -1),)) if isinstance(tree, ast.If) else None


class _Returned(Exception):
    """The value of a `return`."""


@dataclass(frozen=True)
class Program:
    """A function that can be run with changed statements.

    Parameters
    ----------
    function : callable
        Assignments, loops and conditions in NumPy.
    outputs : tuple of str
        Names of what it returns.
    """

    function: Callable[..., Any]
    outputs: tuple[str, ...]

    @property
    def tree(self) -> ast.FunctionDef:
        return _read(self.function)[0]

    @property
    def steps(self) -> tuple[Step, ...]:
        return _read(self.function)[1]

    @cached_property
    def every(self) -> dict[int, Step]:
        """All statements, nested ones too, by number."""
        return {step.number: step for step in _walk(self.steps)}

    @cached_property
    def blocks(self) -> dict[int, int]:
        """For each statement, the number of the first line of its group."""
        lists = [self.steps, *(part for step in self.every.values() for part in (step.body, step.orelse) if part)]
        return {step.number: part[0].number for part in lists for step in part}

    @cached_property
    def places(self) -> dict[int, int]:
        """For each statement, its index in `steps`; for a nested one, the index of the statement that contains it."""
        return {inner.number: k for k, step in enumerate(self.steps) for inner in _walk((step,))}

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(a.arg for a in self.tree.args.args)

    @cached_property
    def reach(self) -> dict[int, frozenset[str]]:
        """For each statement, the outputs that may change with it."""
        graph: dict[str, set[str]] = {}
        returned = [s for s in self.every.values() if isinstance(s.tree, ast.Return)]
        for step in self.every.values():
            made = _made(step)
            for name in _used(step):
                graph.setdefault(name, set()).update(made)
        for step in returned:
            value = step.tree.value  # type: ignore[attr-defined]
            parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(self.outputs) else None
            for name in self.outputs if parts is None else ():
                for used in _names(value):
                    graph.setdefault(used, set()).add(f"return {name}")
            for name, part in zip(self.outputs, parts or (), strict=False):
                for used in _names(part):
                    graph.setdefault(used, set()).add(f"return {name}")
        found = {}
        for number, step in self.every.items():
            seen = set().union(*(_closure(name, graph) for name in _made(step))) if _made(step) else set()
            reached = frozenset(name for name in self.outputs if f"return {name}" in seen)
            everything = isinstance(step.tree, ast.Return | ast.If) or not _made(step)
            found[number] = frozenset(self.outputs) if everything else reached
        return found

    def used_for(self, name: str) -> set[str]:
        """The variables used in the statements that compute `name`."""
        return set().union(*(_used(step) for step in self.every.values() if name in _made(step) and not step.body))

    def run(self, inputs: Mapping[str, Any], changed: Mapping[int, CodeType | None] | None = None) -> dict[str, Any]:
        """The outputs by name. `changed` maps statements to other code, or to None to omit them."""
        env = {**self.function.__globals__, **inputs, GIVEN: inputs}
        return self.named(_run_all(self.steps, env, changed or {}))

    def from_snapshot(self, inputs: Mapping[str, Any], changed: Mapping[int, CodeType | None]) -> dict[str, Any]:
        """The same as `run`, but starts at the first changed statement and reuses the earlier results."""
        first = min((self.places[number] for number in changed), default=0)
        states = self._states.get(id(inputs))
        if states is None:
            states = self._states[id(inputs)] = self._snapshots(inputs)
        env, remade = states[min(first, len(states) - 1)]
        first = min(first, len(states) - 1)
        fresh = {**env, **{name: env[name].copy() for name in remade}}
        return self.named(_run_all(self.steps[first:], fresh, changed))

    @cached_property
    def _states(self) -> dict[int, list[tuple[dict[str, Any], list[str]]]]:
        return {}

    def _snapshots(self, inputs: Mapping[str, Any]) -> list[tuple[dict[str, Any], list[str]]]:
        """Before each statement outside a loop: all variables, and the arrays that later statements write to."""
        around = {**self.function.__globals__, GIVEN: inputs}
        env: dict[str, Any] = {**around, **inputs}
        states = []
        for k, step in enumerate(self.steps):
            written = set().union(*(_written(s) for s in _walk(self.steps[k:])))
            own = {name: value for name, value in env.items() if name not in inputs and name not in around}
            remade = [n for n, v in own.items() if isinstance(v, list) or (isinstance(v, np.ndarray) and n in written)]
            states.append(({**env, **{name: env[name].copy() for name in remade}}, remade))
            if step.kind is ast.Return:
                break
            _run((step,), env, {}, None)
        return states

    def values(self, inputs: Mapping[str, Any], changed: Mapping[int, CodeType | None]) -> dict[str, list[Any]]:
        """The values of each variable of the changed program in the order in which they are assigned. An array that is
        written into has only its last one.
        """
        env = {**self.function.__globals__, **inputs, GIVEN: inputs}
        found = {name: [value] for name, value in inputs.items()}
        last: list[Step] = []

        def see(step: Step) -> None:
            for before in last:
                for name in set() if before.body else _made(before):
                    found.setdefault(name, []).append(env.get(name))
            last[:] = [step]

        with np.errstate(all="ignore"):
            _run_all(self.steps, env, changed, see)
        written = set().union(*(_written(step) for step in self.every.values()))
        return found | {name: [env.get(name)] for name in written}

    def named(self, value: Any) -> dict[str, Any]:
        return dict(zip(self.outputs, value if len(self.outputs) > 1 else (value,), strict=True))

    def watched(self, inputs: Mapping[str, Any], see: Callable[[Step, dict[str, Any]], None]) -> None:
        """Run the program and show each statement with the variables before it."""
        env: dict[str, Any] = {**self.function.__globals__, **inputs, GIVEN: inputs}
        _run_all(self.steps, env, {}, lambda step: see(step, env))

    def environments(self, inputs: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
        """For each statement, the variables when it is first reached."""
        steps = self.steps  # raises if the function has no source
        env, seen = {**self.function.__globals__, **inputs, GIVEN: inputs}, {}  # type: dict[str, Any], dict[int, dict[str, Any]]
        _run_all(steps, env, {}, lambda step: seen.setdefault(step.number, dict(env)))
        return seen


@lru_cache(maxsize=100)
def _read(function: Callable[..., Any]) -> tuple[ast.FunctionDef, tuple[Step, ...]]:
    """A function as a tree and as statements. It is shared, because many answers are compared with the same
    function.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree, tuple(_steps(tree.body, iter(range(100_000)), ()))


def base_name(node: ast.expr) -> str:
    """``dx`` of ``dx[t]``; the names of a tuple with commas."""
    if isinstance(node, ast.Tuple):
        return ", ".join(base_name(e) for e in node.elts)
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return unparsed(node)


def _steps(statements: Sequence[ast.stmt], numbers: Iterator[int], loops: tuple[str, ...]) -> Iterator[Step]:
    for tree in statements:
        if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
            continue
        number = next(numbers)
        if isinstance(tree, ast.For):
            inner = (*loops, *(n.id for n in ast.walk(tree.target) if isinstance(n, ast.Name)))
            yield Step(number, tree, code_of(tree), loops, tuple(_steps(tree.body, numbers, inner)))
        elif isinstance(tree, ast.If):
            body, orelse = tuple(_steps(tree.body, numbers, loops)), tuple(_steps(tree.orelse, numbers, loops))
            yield Step(number, tree, code_of(tree), loops, body, orelse)
        else:
            yield Step(number, tree, code_of(tree), loops)


def _written(step: Step) -> set[str]:
    """The arrays that a statement modifies in place."""
    tree = step.tree
    if isinstance(tree, ast.AugAssign):
        return set(base_name(tree.target).split(", "))
    if not isinstance(tree, ast.Assign):
        return set()
    targets = [e for t in tree.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return {base_name(t) for t in targets if isinstance(t, ast.Subscript)}


def _walk(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _walk(step.body)
        yield from _walk(step.orelse)


def code_of(tree: ast.stmt) -> CodeType:
    """The code of a statement. For a loop, that of its iterable, and for a condition, that of its test."""
    expression = {ast.For: "iter", ast.If: "test", ast.Return: "value"}.get(type(tree))
    if expression is not None:
        return compile(ast.Expression(getattr(tree, expression)), "<formula>", "eval")
    return compile(ast.Module([tree], []), "<formula>", "exec")


def _run_all(
    steps: Sequence[Step], env: dict[str, Any], changed: Mapping[int, CodeType | None], see: Any = None
) -> Any:
    try:
        _run(steps, env, changed, see)
    except _Returned as returned:
        return returned.args[0]
    raise ValueError("the formula returns nothing")


def _run(steps: Sequence[Step], env: dict[str, Any], changed: Mapping[int, CodeType | None], see: Any) -> None:
    for step in steps:
        code = changed.get(step.number, step.code) if changed else step.code
        if see is not None:
            see(step)
        if code is None:
            continue
        kind = step.kind
        if kind is ast.For:
            for value in eval(code, env):
                _assign(step.tree.target, value, env)  # type: ignore[attr-defined]
                _run(step.body, env, changed, see)
        elif kind is ast.If:
            _run(step.body if eval(code, env) else step.orelse, env, changed, see)
        elif kind is ast.Return:
            raise _Returned(eval(code, env))
        else:
            exec(code, env)


def _assign(target: ast.expr, value: Any, env: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        env[target.id] = value
    elif isinstance(target, ast.Tuple):
        for one, part in zip(target.elts, value, strict=True):
            _assign(one, part, env)


def _names(node: ast.AST | None) -> set[str]:
    return set() if node is None else {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _used(step: Step) -> set[str]:
    tree = step.tree
    if isinstance(tree, ast.For):
        return _names(tree.iter)
    if isinstance(tree, ast.If):
        return set()
    used = _names(getattr(tree, "value", None))
    for target in tree.targets if isinstance(tree, ast.Assign) else []:
        used |= {n.id for s in ast.walk(target) if isinstance(s, ast.Subscript) for n in ast.walk(s.slice)
                 if isinstance(n, ast.Name)}  # fmt: skip
    return used


def _made(step: Step) -> set[str]:
    tree = step.tree
    if isinstance(tree, ast.For):
        inner = set().union(*(_made(s) for s in _walk(step.body)))
        return _names(tree.target) | inner
    if isinstance(tree, ast.Assign):
        return set().union(*(set(base_name(t).split(", ")) for t in tree.targets))
    return {base_name(tree.target)} if isinstance(tree, ast.AugAssign) else set()


def _closure(name: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen, todo = {name}, [name]
    while todo:
        for further in graph.get(todo.pop(), ()):
            if further not in seen:
                seen.add(further)
                todo.append(further)
    return seen

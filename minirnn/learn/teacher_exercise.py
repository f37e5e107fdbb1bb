"""Teachers' own exercises: an entry in course.toml, a stub, and a reference in `references/`.

The reference is a Python file that only the teacher's machine and the students' own minirnn read. The process of an
answer never sees it. It defines

- ``inputs(rng, sizes)``: the arguments of a case by name; `sizes` has T, B, I and H, all different;
- the function that students write, under its own name. If it is made of assignments, ``for`` loops and a ``return``,
  it is read as a tree: then wrong terms are named, and mistakes are planted by ``course verify``;
- ``OUTPUTS``: name -> shape in axis letters, in the order of what is returned;
- and if wanted ``MISTAKES`` (sentence -> function), ``STAGES`` (name, where to look, sizes), ``GATES``;
- for a CUDA kernel ``launch(inputs)``, which returns grid and block, in tuples.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from minirnn.learn.cleaned import several
from minirnn.learn.course_file import KINDS, CourseError, field
from minirnn.learn.exercise import PUBLIC, CudaExercise, Exercise, Sizes, Stage, Wrong
from minirnn.learn.held_back import read_numbers

REFERENCES = "references"
NUMBERS = "numbers"
"""The folder in a student's course with the cases of exercises whose references stay with the teacher."""
NAME = r"[a-z][a-z0-9_-]{0,40}"


def own_exercise(folder: Path, where: str, row: Mapping[str, Any]) -> Exercise:
    """The exercise that a row of course.toml with a `reference` describes.

    Raises
    ------
    CourseError
        If the row or the reference is invalid. The message says what is expected, and where.
    """
    id, function = field(where, row, "id", str), field(where, row, "function", str)
    if not re.fullmatch(NAME, id) or re.fullmatch(r"ex\d+", id):
        raise CourseError(
            f"{where} has id {id!r}\n"
            "  expected lowercase letters, digits, - and _; names such as ex12 are reserved for minirnn"
        )
    path = field(where, row, "file", str)
    if not re.fullmatch(r"[\w-]+/[\w-]+\.(py|cu)", path):
        raise CourseError(f"{where}: file is {path!r}\n  expected a folder and a file, such as own/{id}.py")
    name = field(where, row, "reference", str)
    if not re.fullmatch(r"[\w-]+\.py", name):
        raise CourseError(f"{where}: reference is {name!r}\n  expected a file in {REFERENCES}/, such as {id}.py")
    if not (folder / "exercises" / path).is_file():
        raise CourseError(f"{folder / 'exercises' / path}: no such file\n  expected the stub that students get")
    if field(where, row, "secret", bool, False) and (folder / NUMBERS / f"{id}.numbers").is_file():
        return read_numbers(folder / NUMBERS / f"{id}.numbers", id, path)
    module = module_of(folder / REFERENCES / name, id)
    exercise = made_of(module, id, path, function)
    try_out(exercise, folder / REFERENCES / name)
    return exercise


def module_of(path: Path, id: str) -> ModuleType:
    """The reference, imported anew."""
    spec = importlib.util.spec_from_file_location(f"_minirnn_reference_{id.replace('-', '_')}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError:
        raise CourseError(f"{path}: no such file\n  expected the reference of {id}") from None
    except Exception as error:  # any exception in a teacher's file is reported with its line
        raise CourseError(failure(error, path)) from error
    finally:
        sys.dont_write_bytecode = written
    return module


def failure(error: Exception, path: Path) -> str:
    """A reference's exception, with its line."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path.absolute()]
    return f"{path}{f', line {lines[-1]}' if lines else ''}: {type(error).__name__}: {error}"


def made_of(module: ModuleType, id: str, path: str, function: str) -> Exercise:
    """The exercise that a reference defines."""
    file = module.__file__
    reference = needed(module, function, Callable, "the function that students write")
    inputs = needed(module, "inputs", Callable, "a function: inputs(rng, sizes) returns the arguments of a case")
    outputs = needed(module, "OUTPUTS", dict, 'a dict: name -> shape in axis letters, such as {"dx": "(B, H)"}')
    if not outputs or not all(isinstance(a, str) and isinstance(b, str) for a, b in outputs.items()):
        raise CourseError(f'{file}: OUTPUTS is {outputs!r}\n  expected names and shapes, such as {{"dx": "(B, H)"}}')
    mistakes = optional(module, "MISTAKES", dict, {})
    rows = optional(module, "STAGES", list, [])
    try:
        stages = tuple(Stage(name, look, dict(sizes)) for name, look, sizes in rows)
        for stage in stages:
            Sizes(**stage.sizes)
    except (TypeError, ValueError):
        raise CourseError(
            f'{file}: STAGES is {rows!r}\n  expected rows like ("for one sample", "what sums samples", {{"B": 1}})'
        ) from None
    common: dict[str, Any] = dict(
        path=path, make=inputs, reference=reference, outputs=outputs, name=id, stages=stages,
        wrong=tuple(Wrong(sentence, wrong) for sentence, wrong in mistakes.items()),
    )  # fmt: skip
    if path.endswith(".cu"):
        launch = needed(module, "launch", Callable, "a function: launch(inputs) returns grid and block")
        return CudaExercise(**common, launch=launch)
    return Exercise(**common, gates=optional(module, "GATES", int, 1))


def needed(module: ModuleType, name: str, kind: Any, what: str) -> Any:
    value = getattr(module, name, None)
    if not (callable(value) if kind is Callable else isinstance(value, kind)):
        got = "missing" if value is None else repr(value)
        raise CourseError(f"{module.__file__}: {name} is {got}\n  expected {what}")
    return value


def optional(module: ModuleType, name: str, kind: type, default: Any) -> Any:
    value = getattr(module, name, default)
    if not isinstance(value, kind):
        raise CourseError(f"{module.__file__}: {name} is {value!r}\n  expected {KINDS[kind]}")
    return value


def try_out(exercise: Exercise, path: Path) -> None:
    """Make a case and compute its expected values. Raises CourseError with the line if that fails."""
    try:
        inputs = exercise.case([0], PUBLIC)
        if not isinstance(inputs, dict):
            raise CourseError(f"{path}: inputs returned {type(inputs).__name__}\n  expected a dict: argument -> value")
        value = exercise.reference(**inputs)
        many = isinstance(value, tuple) or (len(exercise.outputs) > 1 and isinstance(value, list))
        number = len(value) if many else 1
        if number != len(exercise.outputs):
            raise CourseError(
                f"{path}: {exercise.function} returned {several(number, 'value')}\n"
                f"  expected {len(exercise.outputs)}: {', '.join(exercise.outputs)} (OUTPUTS)"
            )
    except CourseError:
        raise
    except Exception as error:
        raise CourseError(failure(error, path)) from error

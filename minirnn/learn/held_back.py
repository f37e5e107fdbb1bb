"""An exercise whose reference stays with the teacher: inputs and expected numbers of the cases that students see.

With these, a check can say which outputs are right. To say why others are wrong, it would need the reference.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from minirnn.io.atomic import atomic_write
from minirnn.learn.course_file import CourseError
from minirnn.learn.exercise import PUBLIC, PUBLIC_CASES, CudaExercise, Exercise, Inputs, Sizes, Stage
from minirnn.learn.sandbox import protocol


class Told(dict[str, Any]):
    """Inputs of a case, with what is expected and how a CUDA kernel is launched."""

    expected: dict[str, Any]
    launch: tuple[Any, Any]


@dataclass(frozen=True)
class Numbers(Exercise):
    """An exercise that has only the cases in `told`, by their seeds and stages."""

    told: dict[str, Told] = field(default_factory=dict)

    def case(self, seed: Sequence[int], sizes: Sizes = PUBLIC, stage: Stage | None = None) -> Inputs:
        return self.told[key(seed, stage)]

    def expected(self, inputs: Inputs) -> dict[str, Any]:
        assert isinstance(inputs, Told)
        return inputs.expected


@dataclass(frozen=True)
class CudaNumbers(CudaExercise, Numbers):
    """The same for a CUDA kernel."""


def key(seed: Sequence[int], stage: Stage | None) -> str:
    return " ".join([*map(str, seed), *([stage.name] if stage else [])])


def seeds(exercise: Exercise) -> list[list[int]]:
    """The seeds of the cases that students see."""
    return [[0, k] if exercise.kind == "cuda" else [k] for k, _ in PUBLIC_CASES]


def write_numbers(exercise: Exercise, path: Path) -> None:
    """Write the cases that students see to `path`.

    Raises
    ------
    CourseError
        If an input is a function, because functions cannot be stored.
    """
    wanted: list[tuple[list[int], Sizes, Stage | None]] = [
        (seed, sizes, None) for seed, (_, sizes) in zip(seeds(exercise), PUBLIC_CASES, strict=True)
    ]
    wanted += [([2], PUBLIC, stage) for stage in exercise.stages]
    cases: dict[str, Any] = {}
    for seed, sizes, stage in wanted:
        inputs = exercise.case(seed, sizes, stage)
        if functions := [name for name, value in inputs.items() if callable(value)]:
            raise CourseError(
                f"{exercise.id} is secret, and its input {functions[0]} is a function\n  expected numbers"
            )
        one: dict[str, Any] = {"inputs": inputs, "expected": exercise.expected(inputs)}
        if isinstance(exercise, CudaExercise):
            one["launch"] = list(exercise.launch(inputs))
        cases[key(seed, stage)] = one
    message = {
        "function": exercise.function, "arguments": list(inspect.signature(exercise.reference).parameters),
        "outputs": dict(exercise.outputs), "gates": exercise.gates, "cases": cases,
        "stages": [[stage.name, stage.look, dict(stage.sizes)] for stage in exercise.stages],
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        file.write(protocol.pack(message))


def read_numbers(path: Path, id: str, file: str) -> Exercise:
    """The exercise that `write_numbers` wrote.

    Raises
    ------
    CourseError
        If the file is missing or damaged.
    """
    try:
        read = protocol.unpack(path.read_bytes())
        told = {name: told_by(case) for name, case in read["cases"].items()}
        common: dict[str, Any] = dict(
            path=file, make=unknown, outputs=read["outputs"],
            reference=Unknown(read["function"], read["arguments"]),
            gates=int(read["gates"]), name=id, told=told,
            stages=tuple(Stage(name, look, dict(sizes)) for name, look, sizes in read["stages"]),
        )  # fmt: skip
    except (OSError, protocol.BadMessage, KeyError, TypeError, ValueError, AttributeError) as error:
        raise CourseError(f"{path}: cannot be read ({error})\n  expected the numbers of {id}, as handed out") from error
    if file.endswith(".cu"):
        return CudaNumbers(**common, launch=lambda inputs: inputs.launch)  # type: ignore[attr-defined]
    return Numbers(**common)


def told_by(case: Mapping[str, Any]) -> Told:
    """The inputs of a stored case."""
    inputs = Told(case["inputs"])
    inputs.expected = dict(case["expected"])
    if "launch" in case:
        inputs.launch = case["launch"][0], case["launch"][1]
    return inputs


def unknown(rng: object, sizes: Sizes) -> NoReturn:
    raise CourseError("the reference of this exercise stays with the teacher")


class Unknown:
    """A placeholder for a reference that is missing. It has the name and the arguments, but cannot be called."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self.__name__ = name
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(argument, kind) for argument in arguments])

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise CourseError(f"the reference of {self.__name__} stays with the teacher")

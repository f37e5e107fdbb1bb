"""The exercises that minirnn knows. The module of a subject is imported when one of its exercises is needed."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from minirnn.learn.exercise import Exercise

MODULES = {
    "tape": (1, 2, 3, 4), "rnn": (5, 6, 12, 13), "lstm": (7, 8, 9), "gru": (10, 11), "training": (14, 15, 16),
    "cuda": (17, 18, 19, 20), "tests": (21,), "losses": (22, 23, 24, 25), "layers": (26, 27, 28, 31, 32),
    "history": (29, 30, 34), "weights": (33, 35, 36), "kernels": (37, 38, 39, 40), "capstone": (41,), "ranks": (42,),
    "cells": (43, 44, 45),
}  # fmt: skip


class Catalog(Mapping[str, Exercise]):
    """The exercises by id, in the order of their numbers; course.toml says in which order they are taught."""

    def __init__(self) -> None:
        self.modules = {f"ex{number:02d}": name for name, numbers in MODULES.items() for number in numbers}

    def __getitem__(self, id: str) -> Exercise:
        module = import_module(f"minirnn.learn.catalog.{self.modules[id]}")
        for exercise in module.EXERCISES:
            if exercise.id == id:
                found: Exercise = exercise
                return found
        raise ValueError(f"{id} is in MODULES of {__name__}\n  and EXERCISES of {module.__name__} lacks it")

    def __contains__(self, id: object) -> bool:
        return id in self.modules

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.modules))

    def __len__(self) -> int:
        return len(self.modules)


EXERCISES = Catalog()

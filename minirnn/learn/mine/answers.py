"""Reads the passed answers of a course folder, so that they can be called like any function."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.arguments.user_error import UserError
from minirnn.learn.course import Entry, Tree


class AnswerFailed(UserError):
    """Raised if an answer raises an exception or returns a value of the wrong form while it is in use."""


class Answer:
    """The function of an exercise in the learner's file. It gets arrays that can't be written to, as in a check."""

    def __init__(self, entry: Entry, file: str, function: Callable[..., Any]) -> None:
        self.id, self.file, self.function = entry.id, file, function
        self.count = len(entry.exercise.outputs)

    def __call__(self, *arguments: Any) -> Any:
        try:
            found = self.function(*[frozen(a) for a in arguments])
        except Exception as error:
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.file]
            where = f"{self.file}, line {lines[-1]}" if lines else self.file
            raise AnswerFailed(f"your {self.id} failed: {type(error).__name__}: {error}\n  {where}") from error
        if self.count > 1 and (not isinstance(found, tuple | list) or len(found) != self.count):
            raise AnswerFailed(f"your {self.id} returned {type(found).__name__}\n  expected {self.count} results")
        return found


def frozen(value: Any) -> Any:
    """An array as a view that can't be written to; the same for the arrays in a list."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    return [frozen(v) for v in value] if isinstance(value, list) else value


def like(value: Any, array: Any) -> np.ndarray:
    """The array that an answer returned for `array`, with the same dtype. Raises AnswerFailed if its shape differs."""
    found = np.asarray(value, array.dtype)
    if found.shape != array.shape:
        raise AnswerFailed(f"an answer returned an array of shape {found.shape}\n  expected {array.shape}")
    return found


def function_of(tree: Tree, entry: Entry) -> Answer:
    """The answer in the learner's file. Raises AnswerFailed if the file cannot be run or lacks the function."""
    file = str(tree.file(entry))
    space: dict[str, Any] = {"__name__": f"minirnn_mine_{entry.id}", "__file__": file}
    try:
        with open(file, "rb") as source:
            exec(compile(source.read(), file, "exec"), space)  # students run only their own file on their own machine
    except Exception as error:
        raise AnswerFailed(f"your {entry.id} can't be run: {type(error).__name__}: {error}\n  {file}") from error
    function = space.get(entry.exercise.function)
    if not callable(function):
        raise AnswerFailed(f"your {entry.id} has no function {entry.exercise.function}\n  {file}")
    return Answer(entry, file, function)

"""The process in which an answer runs. It knows neither the expected results nor the scores.

`supervisor` forks it with two pipes and a job (the file, the function to call, the limits). Each call is one message.
It needs only NumPy; CUDA kernels also import minirnn.

The answer could write to the pipe itself, but that gains nothing: only numbers come through it, and the judge compares
them with results that it alone knows.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import itertools
import os
import re
import subprocess
import sys
import tokenize
import traceback
import types
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from . import given, protocol, trials
from .own_reach import reached

GIVEN = {"given.py": given}
"""Files of functions that an answer may call and read."""
UNHEARD = ((np, "errstate", "warn"), (np, "seterr", "warn"), (warnings, "simplefilter", "always"),
           (warnings, "filterwarnings", "always"))  # fmt: skip
"""Functions that can silence NumPy's warnings, and how they treat them instead. Some exercises judge by warnings."""
MOST_VARIABLES = 200
"""The largest number of an answer's variables that are reported."""


class Answer:
    """The student's file and the pipes to the judge."""

    def __init__(self, requests: int, replies: int, job: dict[str, Any]):
        self.requests, self.replies, self.job = requests, replies, job
        self.path: str = job["file"]
        self.source: str = ""
        self.trials: trials.Trials | None = None
        self.imported = False

    def reply(self, **message: Any) -> None:
        protocol.send(self.replies, message)

    def read(self) -> None:
        """Read the text of the file, in the encoding that it declares."""
        with open(self.path, "rb") as file:
            data = file.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        self.source = data.decode(encoding)

    def line_of(self, error: BaseException) -> int | None:
        """The line of the student's file in which `error` occurred."""
        if isinstance(error, SyntaxError) and error.filename == self.path:
            return error.lineno
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == self.path]
        return lines[-1] if lines else None

    def describe(self, error: BaseException) -> dict[str, Any]:
        """An exception for the judge: its type, text and line, and the code of that line."""
        line = self.line_of(error)
        try:
            text = error.msg if isinstance(error, SyntaxError) else str(error)
        except BaseException as another:  # its own __str__ fails
            text = f"(its text cannot be read: {type(another).__name__})"
        rows = self.source.splitlines()
        code = rows[line - 1].strip() if line and line <= len(rows) else ""
        return {"type": type(error).__name__, "text": str(text)[:2000], "line": line, "code": code[:200],
                "shapes": self.shapes_of(error, code)}  # fmt: skip

    def shapes_of(self, error: BaseException, code: str) -> str:
        """The shapes of the arrays that the line of an exception names: ``x (2, 3), da (2, 5)``."""
        trace, frame = error.__traceback__, None
        while trace is not None:
            frame = trace.tb_frame if trace.tb_frame.f_code.co_filename == self.path else frame
            trace = trace.tb_next
        names = re.findall(r"[^\W\d]\w*", code) if frame is not None else []
        known = {name: frame.f_locals.get(name) for name in names} if frame is not None else {}
        arrays = [f"{name} {value.shape}" for name, value in known.items() if type(value) is np.ndarray]
        return ", ".join(arrays)[:300]

    def violation(self, what: str) -> None:
        """Report a forbidden action when it happens, and end the process, so that the answer cannot catch it."""
        try:
            frame, line = sys._getframe(1), None
            while frame is not None and line is None:
                line = frame.f_lineno if frame.f_code.co_filename == self.path else None
                frame = frame.f_back  # type: ignore[assignment]
            code = self.source.splitlines()[(line or 1) - 1 :][:1]
            if code and (module := re.match(r"\s*(?:import|from)\s+(\w+)", code[0])):
                what = f"imports {module[1]}"  # what that does is not the student's doing
            self.reply(violation=what, line=line)
        finally:
            os._exit(3)

    # ---- Python

    def load(self) -> Callable[..., Any] | None:
        """Run the file and return the requested function, or None after an error was reported."""
        try:
            self.read()
            code: CodeType = compile(self.source, self.path, "exec", dont_inherit=True)
            sys.addaudithook(self.notice)
            for module, name, instead in UNHEARD:
                setattr(module, name, heard(getattr(module, name), instead))
            namespace: dict[str, Any] = {"__name__": "exercise", "__file__": self.path}
            exec(code, namespace)
            function = namespace.get(self.job["function"])
        # Also SystemExit and KeyboardInterrupt: they end the answer, but must not end the report.
        except BaseException as error:
            self.reply(error=self.describe(error))
            return None
        if not callable(function):
            names = [n for n, v in namespace.items() if callable(v) and getattr(v, "__module__", None) == "exercise"]
            self.reply(error={"type": "Missing", "text": ", ".join(names), "line": None, "code": ""})
            return None
        return function

    def notice(self, event: str, args: tuple[Any, ...]) -> None:
        """Note that minirnn is imported, or that one of its files is opened. The tape can compute any gradient."""
        if event in ("import", "open") and args and type(args[0]) is str:
            name, package = args[0], os.path.join(self.job["root"], "minirnn", "")
            own = os.path.join(package, "learn", "")
            reads = name.startswith(package) and not name.startswith(own)
            self.imported = self.imported or reads or name.partition(".")[0] == "minirnn"

    def arguments(self, call: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call: read-only arrays, and functions."""
        arguments = dict(call["arguments"])
        for value in arguments.values():
            for array in value if isinstance(value, list) else [value]:
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)  # an in-place change raises an error with a line number
        for name in call.get("callbacks", ()):
            arguments[name] = self.proxy(name)
        for name, (file, function) in call.get("given", {}).items():
            arguments[name] = getattr(GIVEN[file], function)
        order = [name for name in call.get("order", ()) if name in arguments]
        arguments = {name: arguments[name] for name in order} | arguments
        if "seed" in call:
            arguments["rng"] = np.random.default_rng(call["seed"])
        return arguments

    def proxy(self, name: str) -> Callable[..., Any]:
        """A function that the judge computes, so that the answer cannot inspect it."""

        def function(*args: Any) -> Any:
            self.reply(callback=name, arguments=list(args))
            message = protocol.receive(self.requests)
            if message is None:
                os._exit(4)
            if "error" in message:
                raise ValueError(message["error"])
            return message["value"]

        function.__name__ = name
        return function

    def call(self, function: Callable[..., Any], call: dict[str, Any]) -> None:
        """Call the answer and reply with what it returns or raises."""
        if "trials" in call:
            self.tried(call)
            return
        arguments = self.arguments(call)
        kept: dict[str, Any] = {}
        if call.get("locals"):
            sys.setprofile(lambda frame, event, value: self.keep(frame, event, kept))
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                value = applied(function, arguments)
            sys.setprofile(None)
            told = {"lines": first_lines(self.source)} if kept else {}
            self.reply(value=returned(value), locals=kept, warnings=self.told(warned), imported=self.imported, **told)
        except BaseException as error:
            self.reply(error=self.describe(error))

    def told(self, warned: list[warnings.WarningMessage]) -> list[list[Any]]:
        """NumPy's warnings in the student's file: the line and text of each."""
        own = {(w.lineno, str(w.message)[:200]) for w in warned or () if w.filename == self.path}
        return [list(one) for one in sorted(own)][:20]

    def tried(self, call: dict[str, Any]) -> None:
        """Reply with the list of changes to the file, or with what the answer returns with the requested changes."""
        try:
            if self.trials is None:
                self.trials = trials.Trials(self.source, self.path, self.job["function"])
            if not call["trials"]:
                given = self.arguments(call)
                if not self.trials.changes:
                    self.trials.look(lambda function: applied(function, given))
                reach = [list(one) for one in reached(self.trials.tree, self.job["function"]).items()]
                self.reply(changes=self.trials.listed(call.get("far", ())), reach=reach)
                return
            notes, values = trials.Notes(), []
            for chosen in call["trials"]:
                arguments = self.arguments(call)
                run = lambda function, given=arguments: returned(applied(function, given))  # noqa: E731
                values.append(self.trials.run(chosen, run, notes if call.get("noted") else None))
            self.reply(results=values, at=notes.lines, noted=notes.values)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.reply(error=self.describe(error))

    def keep(self, frame: types.FrameType, event: str, kept: dict[str, Any]) -> None:
        """Keep the variables of the answer's function when it returns."""
        if event == "return" and frame.f_code.co_filename == self.path and frame.f_code.co_name == self.job["function"]:
            found = ((name, value) for name, value in frame.f_locals.items() if is_variable(value))
            kept.update(itertools.islice(found, MOST_VARIABLES))


def heard(function: Callable[..., Any], instead: str) -> Callable[..., Any]:
    """A function of `UNHEARD` that takes `instead` for "ignore"."""

    def treated(value: Any) -> Any:
        return instead if type(value) is str and value == "ignore" else value

    return lambda *args, **named: function(*map(treated, args), **{k: treated(v) for k, v in named.items()})


def is_variable(value: Any) -> bool:
    """Whether a local variable should be sent: it holds numbers, and not too many."""
    return type(value) is np.ndarray and value.dtype.kind == "f" and value.size <= trials.LARGEST


def first_lines(source: str) -> dict[str, int]:
    """The first line in which a file assigns each of its variables. Parsing here is limited in time and memory."""
    lines: dict[str, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and (name.id in lines or len(lines) < 10 * MOST_VARIABLES):
                        lines[name.id] = min(node.lineno, lines.get(name.id, node.lineno))
    return lines


def applied(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call with arguments by name, or by position if the answer gives them other names."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function(**arguments)
    try:
        signature.bind(**arguments)
    except TypeError:
        try:
            signature.bind(*arguments.values())
        except TypeError:
            return function(**arguments)
        return function(*arguments.values())
    return function(**arguments)


def returned(value: Any) -> Any:
    """The result of a function in a form that can be sent."""
    if isinstance(value, types.GeneratorType | map | zip | filter):
        value = list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = dict(value._asdict())
    if isinstance(value, dict):
        return {"names": [str(k) for k in value], "values": [one(v) for v in value.values()]}
    if isinstance(value, list | tuple):
        return {"values": [[one(v) for v in item] if isinstance(item, list | tuple) else one(item) for item in value]}
    return {"single": one(value)}


def one(value: Any) -> Any:
    """A value as an array, or its type in words if it cannot be one."""
    if value is None:
        return {"odd": "None"}
    try:
        array = np.asarray(value.detach() if hasattr(value, "detach") else value)
        if array.dtype.kind == "O" and not any(v is None for v in array.flat):
            array = array.astype(complex if any(isinstance(v, complex) for v in array.flat) else float)
    except Exception:
        return {"odd": type(value).__name__}
    return {"odd": type(value).__name__} if array.dtype.kind not in "biufc" else np.array(array)


def prepare(kind: str, root: str) -> None:
    """Import what sessions of a kind of exercise need, once for all answers, before any answer is loaded."""
    sys.path.insert(0, root)  # the grader's minirnn, for kernels and for answers that import it
    subprocess.Popen  # noqa: B018  imported before the locks: importing it is not an attempt to use it
    np.random.default_rng()  # NumPy imports its generators when they are first used
    if kind == "simulated":
        from . import child_cuda  # the simulator, which other answers do not need

        child_cuda.prepare()


def main(job: dict[str, Any], requests: int, replies: int, lock: Callable[..., None]) -> None:
    """Lock this process with `lock`, and serve the judge."""
    # otherwise all answers would draw the same random numbers, because the imports happened before the fork
    np.random.seed()
    answer = Answer(requests, replies, job)
    if job["kind"] == "cuda":
        from . import child_cuda

        (child_cuda.on_gpu if job["device"] == "cuda" else child_cuda.in_simulator)(answer, protocol, lock)
        return
    lock(job, answer)
    answer.reply(ready=True)  # time counts from here
    function = answer.load()
    while function is not None and (call := protocol.receive(requests)) is not None:
        answer.call(function, call)

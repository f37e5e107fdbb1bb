"""Runs CUDA kernels written by students, and judges their numbers and what the simulator counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from minirnn.learn.calls import value_of
from minirnn.learn.diagnose_cuda import KernelCase
from minirnn.learn.exercise import CudaExercise, Sizes
from minirnn.learn.judge import Case, Failed, Part, compare, outputs_of, worst
from minirnn.learn.sandbox.parent import ORDERS, Child


def kernel_loaded(child: Child) -> None:
    """Wait until the CUDA kernel is compiled. Raises `Failed` if it is not."""
    reply = child.wait()
    if reply.fatal:
        raise Failed(reply.fatal, busy=reply.busy)
    if reply.error is not None:
        text = reply.error["text"].strip() or reply.error["type"]
        if reply.error["type"] in ("UnicodeDecodeError", "LookupError"):
            raise Failed(f"the file is not UTF-8 text: {text}")
        raise Failed(text, reply.error["line"])


def kernel_parts(
    exercise: CudaExercise,
    child: Child,
    which: Sequence[tuple[Sequence[int], Sizes]],
    cases: list[Case],
    simulated: bool = True,
) -> list[Part]:
    """Run the CUDA kernel on the cases `which`, each in several orders of its threads; accesses are counted once.

    A GPU chooses its own order and counts nothing. The results in the first order are added to `cases`.
    """
    judged: list[list[Part]] = []
    counts: dict[str, tuple[int, int, str]] = {}
    better = not any(count.given for count in exercise.counts)
    for k, (seed, sizes) in enumerate(which):
        inputs = exercise.case(seed, sizes)
        expected = exercise.expected(inputs)
        for order in ORDERS if simulated else ORDERS[:1]:
            counted = simulated and k == 0 and order == ORDERS[0]
            grid, block = exercise.launch(inputs)
            message = {"arguments": inputs, "order": order, "grid": list(grid), "block": list(block),
                       "outputs": list(exercise.outputs), "counted": counted}  # fmt: skip
            reply = child.call(message)
            try:
                got = outputs_of(exercise, value_of(reply, exercise))
            except Failed as failure:
                raise with_advice(failure, child.file.read_text("utf-8", errors="replace")) from None
            judged.append(compare(exercise, expected, got))
            if order == ORDERS[0]:
                primed = outputs_primed(exercise, child, message) if any(map(unwritten, got.values())) else {}
                cases.append(KernelCase(inputs, expected, got, primed=primed, grid=grid, block=block))
            if counted:
                counts = {c.name: (reply.counts.get(c.measure, -1), c.most(inputs), c.look) for c in exercise.counts}
                better = better or any(0 <= counts[c.name][0] < c.given(inputs) for c in exercise.counts if c.given)
    parts = worst(judged)
    right = all(part.ok for part in parts)  # a kernel that computes nothing reads little, but must not earn points
    measured = [counted_part(name, *numbers, right) for name, numbers in counts.items()]
    if right and simulated and not better:
        same = "the kernel that you were given has these numbers too, and yours needs as much: they earn nothing alone"
        parts = [replace(part, ok=False, error=np.inf, complaint=same) for part in parts]
    return parts + measured


def with_advice(failure: Failed, source: str) -> Failed:
    """A failure together with its usual cause."""
    text = str(failure)
    if "past the end of" in text:
        advice = (
            "threads beyond the last element must do nothing: is there a guard, is its bound that of this index, and"
            " does the index count what it should?"
        )
    elif "shared memory that was never written" in text:
        advice = (
            "in this order of threads the one that writes it had not run yet: is a __syncthreads() missing between"
            " writing and reading, or does no thread write this element?"
        )
    elif "race" not in text or "blocks run in any order" not in text:
        return failure
    elif "volatile" in text and "__threadfence" not in source:
        advice = (
            "nothing orders the two: without __threadfence() other blocks may see that a block has arrived before they"
            " see what it has written"
        )
    elif "volatile" in text and not re.search(r"after thread \(0,0,0\)", text):
        advice = (
            "the block announces itself before all of its threads have written: they must meet at a __syncthreads()"
            " before one of them says so"
        )
    elif "two writes" in text:
        advice = (
            "two threads access the same element: is blockIdx multiplied by blockDim in the index, does x belong"
            " to columns and y to rows, and is each bound that of its index?"
        )
    else:
        advice = (
            "one block reads what another writes, so all blocks must wait for each other in between, which"
            " __syncthreads() does not do; where arrived blocks are counted, one thread of each block must count"
        )
    return Failed(f"{text}\n  {advice}", failure.line, failure.not_started, failure.busy)


def unwritten(value: Any) -> bool:
    """Whether some numbers are unchanged by the launch, or computed from earlier contents."""
    return isinstance(value, np.ndarray) and bool(np.isnan(value).any())


def outputs_primed(exercise: CudaExercise, child: Child, message: dict[str, Any]) -> dict[str, Any]:
    """The results with outputs that held ones before the launch, which shows what is not written or is added."""
    arguments = {name: np.ones_like(value) if name in exercise.outputs else value
                 for name, value in message["arguments"].items()}  # fmt: skip
    reply = child.call({**message, "arguments": arguments, "counted": False})
    return {} if reply.fatal or reply.error else outputs_of(exercise, value_of(reply, exercise))


def counted_part(name: str, number: Any, most: int, look: str, right: bool = True) -> Part:
    """A count as a separate output. It is right if it is within the limit and the outputs are right."""
    if not right:
        return Part(name, False, float("inf"))
    ok = isinstance(number, int) and 0 <= number <= most
    complaint = f"{number} {name}, but at most {most} are allowed: {look}"
    return Part(name, ok, 0.0 if ok else float("inf"), "" if ok else complaint)

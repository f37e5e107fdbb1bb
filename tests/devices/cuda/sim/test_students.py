"""Kernels like those of students: correct ones raise no alarm in any order, and each of their planted bugs is reported.

Tests `minirnn/devices/cuda/sim/runtime/` and `minirnn/devices/cuda/sim/report.py`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.cuda.sim.report import SimError
from tests.devices.cuda.sim.run import put, take
from tests.slow import slow_unless

WHOLE = (Path(__file__).parent / "students.cu").read_text(encoding="utf-8")
HEAD, *SECTIONS = WHOLE.split("// ---- ")
TEXTS = {section.partition("\n")[0]: HEAD + "// " + section for section in SECTIONS}
BUG = re.compile(r"^( *)(.*?) *// BUG:(.*)$", re.MULTILINE)
ORDERS = {
    "seed 0": SimOptions(check=True),
    "seed 3": SimOptions(check=True, seed=3),
    "preempt": SimOptions(check=True, seed=7, preempt=8),
}
FAST = {"fast": SimOptions(), "fast, seed 3": SimOptions(seed=3)}


@cache
def data() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "row": rng.standard_normal(500).astype("f4"),
        "rows": rng.standard_normal((3, 100)).astype("f4"),
        "matrix": rng.standard_normal((40, 40)).astype("f4"),
        "wide": rng.standard_normal((37, 41)).astype("f4"),
        "numbers": rng.integers(0, 10, 300).astype("i4"),
    }


def around(x: np.ndarray, radius: int) -> np.ndarray:
    padded = np.pad(x, radius)
    return sum((padded[k : k + x.size] for k in range(2 * radius + 1)), np.zeros(x.size))


def left_sums(x: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        x = x + np.roll(x, 1)
    return x


def normalized(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@dataclass(frozen=True)
class Case:
    """The arguments of a kernel, how it is launched, and the argument that holds the result."""

    arguments: Callable[[dict[str, Any]], list[Any]]
    expected: Callable[[dict[str, Any]], np.ndarray]
    result: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int = 0


def i4(*values: int) -> list[Any]:
    return [np.int32(v) for v in values]


CASES = {
    "reduction": Case(
        lambda d: [d["row"], np.zeros(1, "f4"), *i4(500)], lambda d: d["row"].sum(keepdims=True), 1, (3,), (64,)
    ),
    "tiled_product": Case(
        lambda d: [d["matrix"], d["matrix"][::-1], np.zeros((40, 40), "f4"), *i4(40)],
        lambda d: d["matrix"] @ d["matrix"][::-1], 2, (3, 3), (16, 16),
    ),
    "scan": Case(
        lambda d: [d["row"][:90], np.zeros(90, "f4"), *i4(90)], lambda d: np.cumsum(d["row"][:90]), 1, (1,), (96,), 768
    ),
    "histogram": Case(
        lambda d: [d["numbers"], np.zeros(10, "i4"), *i4(300, 10)],
        lambda d: np.bincount(d["numbers"]), 1, (5,), (64,), 40,
    ),
    "global_histogram": Case(
        lambda d: [d["numbers"], np.zeros(10, "i4"), *i4(300)], lambda d: np.bincount(d["numbers"]), 1, (300,), (1,)
    ),
    "transpose": Case(
        lambda d: [d["wide"], np.zeros((41, 37), "f4"), *i4(37, 41)], lambda d: d["wide"].T, 1, (3, 3), (16, 16)
    ),
    "softmax": Case(
        lambda d: [d["rows"], np.zeros((3, 100), "f4"), *i4(100)], lambda d: softmax(d["rows"]), 1, (3,), (64,)
    ),
    "layer_norm": Case(
        lambda d: [d["rows"], np.zeros((3, 100), "f4"), *i4(100)], lambda d: normalized(d["rows"]), 1, (3,), (64,)
    ),
    "stencil": Case(
        lambda d: [d["row"], np.zeros(500, "f4"), *i4(500)], lambda d: around(d["row"], 2), 1, (8,), (64,)
    ),
    "bitonic_sort": Case(lambda d: [d["row"][:64], *i4(64)], lambda d: np.sort(d["row"][:64]), 0, (1,), (64,), 256),
    "matrix_vector": Case(
        lambda d: [d["wide"], d["row"][:41], np.zeros(37, "f4"), *i4(37, 41)],
        lambda d: d["wide"] @ d["row"][:41], 2, (37, 2), (64,),
    ),
    "last_block": Case(
        lambda d: [d["row"], np.zeros(1, "f4"), np.zeros(8, "f4"), np.zeros(1, "f4"), *i4(500)],
        lambda d: d["row"].sum(keepdims=True), 3, (8,), (64,),
    ),
    "grid_barrier": Case(
        lambda d: [d["row"][:192], np.zeros(1, "u4"), *i4(3)], lambda d: left_sums(d["row"][:192], 3), 0, (3,), (64,)
    ),
    "look_back": Case(
        lambda d: [d["numbers"][:256], *(np.zeros(n, "i4") for n in (256, 8, 8))],
        lambda d: np.cumsum(d["numbers"][:256]), 1, (8,), (32,),
    ),
    "sense_reversing": Case(
        lambda d: [d["row"][:192], *i4(3)], lambda d: left_sums(d["row"][:192], 3), 0, (3,), (64,)
    ),
    "fence_of_a_warp": Case(
        lambda d: [np.zeros(160, "i4"), np.zeros(1, "u4"), np.zeros(1, "i4")], lambda d: np.array([160]), 2, (5,), (32,)
    ),
    "lock": Case(
        lambda d: [np.zeros(1, "i4"), np.zeros(4, "f4"), *i4(4)], lambda d: 5 * np.arange(4) + 10, 1, (5,), (32,)
    ),
    "initialized_by_one": Case(lambda d: [np.zeros(1, "i4")], lambda d: np.array([96]), 0, (3,), (32,)),
    "any_negative": Case(lambda d: [d["row"], np.zeros(1, "i4"), *i4(500)], lambda d: np.array([1]), 1, (8,), (64,)),
}  # fmt: skip


def run(options: SimOptions, name: str, text: str) -> np.ndarray:
    """The result of the kernel `name` of `text`."""
    return result_of(SimDriver(options), CASES[name], name, text, f"{name}.cu")


def result_of(driver: SimDriver, case: Case, name: str, text: str, file: str) -> np.ndarray:
    given = case.arguments(data())
    arguments = [put(driver, a) if isinstance(a, np.ndarray) else a for a in given]
    module = driver.module(text, file)
    module.function(name)(*arguments, grid=case.grid, block=case.block, shared=case.shared, cooperative=True)
    driver.synchronize()
    out = given[case.result]
    return take(driver, arguments[case.result], out.shape, out.dtype)


def planted() -> list[tuple[str, int]]:
    return [(name, k) for name, text in TEXTS.items() for k in range(len(BUG.findall(text)))]


def with_bug(text: str, number: int) -> tuple[str, int]:
    """The text with its planted bug of this number, and the line where it is."""
    found = list(BUG.finditer(text))[number]
    changed = text[: found.start()] + found.group(1) + found.group(3).strip() + text[found.end() :]
    return changed, text.count("\n", 0, found.start()) + 1


@pytest.mark.parametrize("orders", [ORDERS, pytest.param(FAST, marks=pytest.mark.slow)], ids=["check mode", "plain"])
def test_they_are_right_and_no_alarm_is_raised(orders: dict[str, SimOptions]) -> None:
    """The whole file is compiled at once, in a seventh of the time of its kernels one by one."""
    for order, options in orders.items():
        driver = SimDriver(options)
        for name, case in CASES.items():
            got = result_of(driver, case, name, WHOLE, "students.cu")
            np.testing.assert_allclose(got, case.expected(data()), rtol=1e-4, atol=1e-4, err_msg=f"{order}: {name}")


@pytest.mark.parametrize("name, number", slow_unless(3, planted()))
def test_a_planted_bug_is_reported_in_every_order(name: str, number: int) -> None:
    text, line = with_bug(TEXTS[name], number)
    for options in ORDERS.values():
        with pytest.raises(SimError) as error:
            run(options, name, text)
        said = str(error.value)
        assert re.search(r"race: |never written|past the end|before device|deadlock", said), said
        assert f"{name}.cu:" in said, (line, said)


@pytest.mark.parametrize(
    "name, number, says",
    [
        (
            "reduction",
            1,
            r"race: read after write, byte 0 of device allocation .*blocks run in any order: use an atomic",
        ),
        ("global_histogram", 0, r"race: read after write, .*blocks run in any order: use an atomic"),
        (
            "last_block",
            2,
            r"race: read after write, .*blocks run in any order: .*tell the other block with __threadfence",
        ),
        ("last_block", 3, r"race: .*of __device__ variable `finished` \(4 bytes\): .*blocks run in any order"),
        (
            "stencil",
            1,
            r"race: .* of block \((\d),0,0\) after thread .* of block \((?!\1)\d,0,0\), and blocks run in any",
        ),
        (
            "initialized_by_one",
            0,
            r"race: (two writes of the same value.* `own`|atomic after write|write after atomic)",
        ),
    ],
)
def test_what_two_blocks_do_to_each_other_is_named_with_both_places(name: str, number: int, says: str) -> None:
    text, _ = with_bug(TEXTS[name], number)
    for options in ORDERS.values():
        with pytest.raises(SimError) as error:
            run(options, name, text)
        assert re.search(says, error.value.reason), error.value.reason
        assert len(error.value.places) == 2
        assert all(place.file == f"{name}.cu" and place.line for place in error.value.places)


def test_two_writes_of_the_same_value_are_called_that() -> None:
    text, line = with_bug(TEXTS["any_negative"], 0)
    for options in ORDERS.values():
        with pytest.raises(SimError, match="race: two writes of the same value, byte 0 of device allocation") as error:
            run(options, "any_negative", text)
        assert {place.line for place in error.value.places} == {line}
    different = text.replace("*found = 1", "*found = i")
    for options in ORDERS.values():
        with pytest.raises(SimError, match="race: two writes, byte 0"):
            run(options, "any_negative", different)

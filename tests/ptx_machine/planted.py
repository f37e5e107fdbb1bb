"""Planted mistakes, and which judges notice them: the simulator, its check mode, the PTX machine.

``python -m tests.ptx_machine.planted`` tries them all (or those that are named, by their names or places) and compares
with what is noted here; ``--write`` writes the table `PLANTED.md` from that.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence import ladder_cases as ladder
from tests.devices.cuda.sim import test_students as students
from tests.ptx_machine.driver import PtxDriver, device_of
from tests.ptx_machine.mistakes import ASSEMBLY, LAYERS, MISTAKES, Mistake, case_of
from tests.ptx_machine.options import PtxOptions

TABLE = Path(__file__).parent / "PLANTED.md"
JUDGES = ("simulator", "check mode", "PTX machine")


# ---- running


def judges(where: str) -> list[list[Callable[[Any], Any]]]:
    """For each of `JUDGES`, functions that make a device for the ladder, or a driver for other kernels."""
    fast = [SimOptions(seed=seed, watchdog_ms=500) for seed in range(4)]
    check = [
        SimOptions(check=True, seed=seed, preempt=preempt, watchdog_ms=500)
        for seed, preempt in ((0, 0), (1, 0), (2, 9))
    ]

    rung = "barrier" if where == "barrier" else "persistent"

    def simulated(options: SimOptions) -> Callable[[Any], Any]:
        if where in LAYERS:
            return lambda edits: ladder.device_on(rung, options)
        return lambda edits: SimDriver(options)

    def on_the_machine(seed: int) -> Callable[[Any], Any]:
        def make(edits: tuple[tuple[str, str], ...]) -> Any:
            options = PtxOptions(seed=seed, delay=(10, 60)[seed % 2], edits=edits)
            return device_of(options, rung) if where in LAYERS else PtxDriver(options)

        return make

    return [[simulated(o) for o in fast], [simulated(o) for o in check], [on_the_machine(s) for s in range(1, 21)]]


def outcome(mistake: Mistake | None, where: str) -> str:
    """The verdicts of the judges, one letter each; without a mistake, those for the unchanged kernel."""
    letters = ""
    for judge in range(len(JUDGES)):
        if judge < 2 and (where in ASSEMBLY or where == "ladder's PTX"):
            letters += "-"
        else:
            letters += "y" if any(notices(mistake, where, make) for make in judges(where)[judge]) else "n"
    return letters


def notices(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> bool:
    """Whether a launch fails, or a result is wrong."""
    return bool(verdict(mistake, where, make))


def verdict(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> str:
    """The reason why a launch failed or a result is wrong; empty if everything is right."""
    try:
        right = (_layer_is_right if where in LAYERS else _kernel_is_right)(mistake, where, make)
    except LaunchError as error:
        return str(error)
    return "" if right else "a result is wrong"


def _layer_is_right(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> bool:
    case = case_of(mistake or Mistake("", where, "", "", ""), 0)
    expected = case.run(mr.devices.get("cpu"))
    edits = ((mistake.old, mistake.new),) if mistake and where == "ladder's PTX" else ()
    with pytest.MonkeyPatch.context() as patch:
        ladder.tiny_layouts(patch, slices=4, warps=mistake.warps if mistake else 1)
        ladder.with_multiprocessors(patch, 4)  # four blocks of two units and of two warps
        if mistake and not mistake.host and not edits:
            ladder.with_fault(patch, (mistake.old, mistake.new), *mistake.more)
        device = make(edits)
        if mistake and mistake.host:
            mistake.host(patch, device)
        elif mistake:
            left = ladder.planted(device, case)  # compiles the kernels
            assert not (device.driver.not_planted if edits else left), mistake
        with np.errstate(all="ignore"):
            found = case.run(device)
    return all(np.allclose(found[name], expected[name], rtol=1e-3, atol=1e-3) for name in expected)


def _kernel_is_right(mistake: Mistake | None, where: str, make: Callable[[Any], Any]) -> bool:
    text = ASSEMBLY.get(where) or students.TEXTS[where]
    if mistake and mistake.old == "VOLATILE":
        text = text.replace("int *sums", "volatile int *sums").replace("__threadfence();", "")
    elif mistake:
        assert mistake.old in text, mistake
        text = text.replace(mistake.old, mistake.new)
    case = students.CASES.get(where) or _assembly_case(where)
    found = students.result_of(make(()), case, where, text, f"{where}.cu")
    if where == "exclusive":  # both may find that the other one wants to enter
        return bool(found[0] <= 1)
    return np.allclose(found, case.expected(students.data()), rtol=1e-4, atol=1e-4)


def _assembly_case(where: str) -> students.Case:
    grid, block = {
        "released": (2, 32), "fenced": (2, 32), "exclusive": (2, 32), "counted": (4, 32), "turns": (4, 64),
        "folded": (1, 32), "vectors": (1, 32),
    }[where]  # fmt: skip
    k = np.arange(grid * block)
    around = students.left_sums(k, 3)
    n = np.arange(32)
    expected = {
        "released": n.sum(), "fenced": n.sum(), "counted": grid * block, "turns": (around * (k % 7)).sum(),
        "folded": (n * n + 1).sum(), "vectors": (n + 20 * n + 300 * n + 1000).sum(),
    }.get(where)  # fmt: skip
    zeros = [np.zeros(512, "i4"), np.zeros(1, "i4"), np.zeros(1, "i4")]
    return students.Case(lambda d: zeros, lambda d: np.array([expected]), 2, (grid,), (block,))


# ---- the table


def table(rows: list[tuple[Mistake, str]]) -> str:
    words = {"y": "noticed", "n": "**missed**", "-": "cannot see"}
    lines = ["| mistake | where | in | " + " | ".join(JUDGES) + " |", "|---|---|---|" + "---|" * len(JUDGES)]
    for mistake, letters in rows:
        kind = "assembly" if mistake.in_assembly else "C++"
        lines.append(f"| {mistake.name} | {mistake.where} | {kind} | " + " | ".join(words[x] for x in letters) + " |")
    return "\n".join(lines)


TEXT = """# Who notices a planted mistake

Each mistake is planted alone. "Noticed" means that a launch fails or that a result is wrong, in one of four orders
of the threads (simulator), three (its check mode) or twenty seeds (PTX machine). The simulator cannot see assembly.
`test_planted.py` tries them; `python -m tests.ptx_machine.planted --write` writes this table.

"""

if __name__ == "__main__":
    if "--write" in sys.argv:
        TABLE.write_text(TEXT + table([(one, one.noticed) for one in MISTAKES]) + "\n", encoding="utf-8")
        sys.exit(0)
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")]
    wrong = 0
    for one in MISTAKES:
        if wanted and not any(word in (one.name, one.where) for word in wanted):
            continue
        letters = outcome(one, one.where)
        wrong += letters != one.noticed
        print(
            f"{letters} {'' if letters == one.noticed else f'expected {one.noticed} '}{one.name} ({one.where})",
            flush=True,
        )
    sys.exit(wrong > 0)

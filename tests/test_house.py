"""The layers of the package: no import goes up or in a circle, and every folder has its tests.

CONTRIBUTING shows the layers.

Tests `minirnn/` and `tests/`.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

import minirnn
from tests.imports import Import, arrows, circles, imports, modules

ROOT = Path(minirnn.__file__).parent
TESTS = Path(__file__).parent

# The longest prefix counts. A module that matches none must be added here.
ROOMS = {
    0: "arguments cells machine lookup",
    1: "devices",
    2: "engine gradcheck",
    3: "ops",
    4: "nn optim data io autograd proof lookup.cuda",
    5: "parallel viz lookup.at_the_top lookup.utils",
    6: "",  # minirnn itself passes on names from all lower layers; commands may use it like any user
    7: "train bench machine.doctor explain learn",
    8: "commands",
    9: "commands.cli",
    10: "__main__",
}
FLOORS = {f"minirnn.{room}".rstrip("."): floor for floor, rooms in ROOMS.items() for room in rooms.split() or [""]}
OPTIONAL = {"dask", "distributed", "matplotlib", "mpi4py", "pycuda", "rapidfuzz", "torch"}
"""Imported only inside the function that needs them."""
ONLY_PYCUDA = "minirnn.devices.cuda.gpu.driver"

LONGEST = 400  # lines of a file

# family -> its room on each floor: a folder of that name, or a file
FLOORS_OF_A_FAMILY = (
    "minirnn/ops",
    "minirnn/devices/cpu",
    "minirnn/devices/cuda/launch",
    "minirnn/devices/cuda/kernels",
)
FAMILIES = ("sequence", "losses")


def floor(module: str) -> int:
    prefix = max((name for name in FLOORS if f"{module}.".startswith(f"{name}.")), key=len)
    assert prefix != "minirnn" or module == "minirnn", f"{module} has no floor: enter it into FLOORS"
    return FLOORS[prefix]


def violations(root: Path = ROOT) -> list[str]:
    """A sentence for every import that breaks a rule."""
    known, stubs = modules(root), modules(root, ".pyi")
    return [
        f"{module}, line {one.line}: {complaint}"
        for module, path in [*known.items(), *stubs.items()]
        for one in imports(module, path)
        if (complaint := complain(module, one, known))
    ]


def complain(module: str, one: Import, known: Container[str]) -> str | None:
    library = one.source.partition(".")[0]
    if library == "pycuda" and module != ONLY_PYCUDA:
        return f"only {ONLY_PYCUDA} imports pycuda"
    if library in OPTIONAL and one.runs_on_import and module != ONLY_PYCUDA:
        return f"{library} is imported inside the function that needs it"
    if library == "minirnn":
        target = f"{one.source}.{one.name}" if f"{one.source}.{one.name}" in known else one.source
        if floor(target) > floor(module):
            return f"floor {floor(module)} imports {target}, which is on floor {floor(target)}"
        private = one.name is not None and one.name.startswith("_") and not one.name.endswith("__")
        if private and target == one.source:
            return f"{one.name} is a private name of {one.source}"
    return None


def test_no_module_imports_from_a_floor_above_it() -> None:
    assert violations() == []


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("devices/cpu/a.py", "from minirnn.engine.tensor import Tensor", "imports minirnn.engine.tensor"),
        ("devices/cpu/a.py", "from ...engine.tensor import Tensor", "imports minirnn.engine.tensor"),
        ("devices/cpu/a.py", "def f():\n    from minirnn.engine import tape", "imports minirnn.engine.tape"),
        ("ops/a.py", "import minirnn.nn.lstm", "imports minirnn.nn.lstm"),
        ("ops/a.py", "import minirnn as mr", "imports minirnn,"),
        ("ops/a.py", "if TYPE_CHECKING:\n    from minirnn.nn.lstm import LSTM", "imports minirnn.nn.lstm"),
        ("ops/a.pyi", "from minirnn.nn.lstm import LSTM", "imports minirnn.nn.lstm"),
        ("ops/a.py", "importlib.import_module('minirnn.nn.lstm')", "imports minirnn.nn.lstm"),
        ("ops/__init__.py", "from .. import nn", "imports minirnn.nn"),
        ("viz/a.py", "from minirnn.commands import UserError", "imports minirnn.commands"),
        ("ops/a.py", "from minirnn.ops.b import _helper", "_helper is a private name"),
        ("viz/a.py", "import matplotlib.pyplot as plt", "inside the function"),
        ("nn/a.py", "from torch import nn", "inside the function"),
        ("nn/a.py", "try:\n    import torch\nexcept ImportError:\n    pass", "inside the function"),
        ("devices/cuda/device.py", "def f():\n    import pycuda.driver", "only minirnn.devices.cuda.gpu.driver"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, path: str, text: str, complaint: str) -> None:
    root = tmp_path / "minirnn"
    for file in ("engine/tensor.py", "engine/tape.py", "ops/b.py", "nn/__init__.py", "nn/lstm.py", path):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    (root / path).write_text(text)
    found = violations(root)
    assert len(found) == 1, found
    assert complaint in found[0]


IMPORT_WITHOUT_OPTIONAL = """
import importlib, sys
from importlib.abc import MetaPathFinder

class Watch(MetaPathFinder):
    asked = []
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {optional!r}:
            self.asked.append(name)
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Watch())
for module in ("minirnn", "minirnn.commands.cli", "minirnn.commands.doctor"):
    importlib.import_module(module)
    assert not Watch.asked, f"import {{module}} asks for {{Watch.asked}}"
"""


def test_importing_needs_and_asks_for_no_optional_package() -> None:
    script = IMPORT_WITHOUT_OPTIONAL.format(optional=OPTIONAL | {"cuda", "pytest", "hypothesis"})
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("place", FLOORS_OF_A_FAMILY)
def test_a_family_has_a_room_of_its_name_on_every_floor(place: str, family: str) -> None:
    rooms = {path.name.partition(".")[0] for path in (ROOT.parent / place).iterdir()}
    assert family in rooms
    assert not [name for name in rooms if name.startswith(f"{family}_")], "folders, not prefixes"


def test_no_import_goes_in_a_circle() -> None:
    """This includes imports in functions and those only for type checkers."""
    assert circles(arrows(ROOT)) == []


def test_circles_are_found_also_when_imports_wait_or_are_for_type_checkers_alone(tmp_path: Path) -> None:
    root = tmp_path / "minirnn"
    (root / "ops").mkdir(parents=True)
    for name, text in {
        "a": "if TYPE_CHECKING:\n    from minirnn.ops.b import B",
        "b": "def f():\n    from minirnn.ops import a, c",
        "c": "from .d import D",
        "d": "import importlib\nimportlib.import_module('minirnn.ops.c')",
        "e": "from minirnn.ops import a",
    }.items():
        (root / "ops" / f"{name}.py").write_text(text)
    assert circles(arrows(root)) == [["minirnn.ops.a", "minirnn.ops.b"], ["minirnn.ops.c", "minirnn.ops.d"]]


def test_no_module_is_hidden_by_something_of_its_name() -> None:
    """``import minirnn.ops.cudnn_rnn as m`` gives a module, although the op of that name can also be called."""
    for name in modules(ROOT):
        if not name.startswith("minirnn.learn.course.") and not name.endswith("__main__"):
            importlib.import_module(name)
    for name in modules(ROOT):
        room, _, last = name.rpartition(".")
        if name in sys.modules and room:
            assert getattr(sys.modules[room], last) is sys.modules[name], f"{name} is hidden: give it another name"


def test_no_file_is_too_long() -> None:
    files = [path for path in ROOT.rglob("*") if path.suffix in {".py", ".cu", ".cuh", ".cpp", ".h"}]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}


def over_budget(budget: dict[str, dict[str, Any]], count: dict[str, int]) -> list[str]:
    """Sentences for rooms above their limit, without a subject, or without a line in the budget."""
    complaints = [f"tests/house.toml does not say what {room} is for" for room in sorted(count.keys() - budget.keys())]
    complaints += [f"tests/house.toml has {room}, which is gone" for room in sorted(budget.keys() - count.keys())]
    for room in sorted(count.keys() & budget.keys()):
        own = budget[room]
        if not re.fullmatch(r"[A-Z`]\S* \S+ .*[^.]\.", own.get("subject", "")):
            complaints.append(f"the subject of {room} is not a sentence")
        if count[room] > own["limit"]:
            complaints.append(f"{room} has {count[room]} lines, {count[room] - own['limit']} above its limit")
    return complaints


def test_every_room_says_what_it_is_for_and_keeps_its_budget() -> None:
    house = pytest.importorskip("scripts.house", reason="the scripts are in the repository alone")
    budget = tomllib.loads((TESTS / "house.toml").read_text(encoding="utf-8"))
    modules = {name: house.lines(ROOT / name) for name in budget if name.endswith(".py")}
    found = over_budget(budget, house.lines_by_room(ROOT) | modules)
    told = "change limit in tests/house.toml, and say in the commit what the reader gets for it"
    assert not found, "\n".join([*found, told])


def test_a_room_above_its_limit_or_without_a_subject_is_found() -> None:
    fits = {"limit": 5, "subject": "What a user draws."}
    assert over_budget(
        {"viz": fits, "io": {"limit": 9, "subject": ""}, "old": fits}, {"viz": 7, "io": 9, "new": 1}
    ) == [
        "tests/house.toml does not say what new is for",
        "tests/house.toml has old, which is gone",
        "the subject of io is not a sentence",
        "viz has 7 lines, 2 above its limit",
    ]


def test_every_kernel_of_the_contract_is_in_a_device_or_declared_as_falling_back() -> None:
    """A device lists its kernels; ops compose others from primitives and count them in `fallbacks`."""
    from minirnn.devices.base import KERNELS
    from minirnn.devices.cpu.device import CPU
    from minirnn.devices.cuda.device import Cuda

    for device in (CPU, Cuda):
        assert device.kernels <= KERNELS.keys()
        assert all(callable(getattr(device, name)) for name in device.kernels)
    assert CPU.kernels == KERNELS.keys()
    assert CPU.kernels <= Cuda.kernels, "docs/contributing.md, CUDA kernels: what cpu has, cuda has"


# ---- the tests mirror the package

BESIDE = {"hostile", "properties", "golden", "site", "book"}  # these look at the package as a whole
FOR_STUDENTS = "learn/course"  # `minirnn course verify` tests it, and tests/learn runs that


def paths_named_in(test: Path) -> list[str]:
    """The paths in the sentence of a docstring that begins with "Tests"."""
    docstring = re.match(r'"""(.*?)"""', test.read_text(encoding="utf-8"), re.DOTALL)
    return re.findall(r"`([\w./-]+)`", docstring[1].partition("\n\nTests ")[2]) if docstring else []


def out_of_place(tests: Path, package: Path) -> list[str]:
    """Sentences for test files that belong to no module, and for folders of the package without a test."""
    complaints, tested = [], set()
    for path in sorted(tests.rglob("test_*.py")):
        place = path.relative_to(tests)
        if place.parts[0] in BESIDE:
            continue
        room, subject = package / place.parent, path.stem.removeprefix("test_")
        named = [package.parent / name for name in paths_named_in(path)]
        mirrored = (room / f"{subject}.py").exists() or (room / subject).is_dir() or room.name == subject
        tested |= {room, room / subject, *named, *(p.parent for p in named)}
        if not room.is_dir() and not named:
            complaints.append(f"{place}: the package has no folder {place.parent}")
        if not mirrored and not named:
            complaints.append(f"{place}: it is named after no module, and its docstring does not say which it tests")
        complaints += [f"{place}: there is no {p.relative_to(package.parent)}" for p in named if not p.exists()]
    rooms = {path.parent for path in package.rglob("*.py") if FOR_STUDENTS not in path.as_posix()}
    return complaints + [f"{room.relative_to(package)} has no tests" for room in sorted(rooms - tested)]


def test_the_tests_mirror_the_package() -> None:
    assert out_of_place(TESTS, ROOT) == []


def test_a_test_out_of_place_is_found(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "",
        "p/ops/fused.py": "",
        "p/ops/block/cell.py": "",
        "p/nn/linear.py": "",
        "tests/test_p.py": "",
        "tests/ops/test_fused.py": "",
        "tests/ops/test_block.py": "",
        "tests/ops/test_golden.py": '"""Stored values.\n\nTests `p/ops/fused.py` and `p/ops/gone.py`.\n"""',
        "tests/ops/test_things.py": '"""Things of `p/ops/fused.py`."""',
        "tests/io/test_io.py": "",
        "tests/properties/test_anything.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert out_of_place(tmp_path / "tests", tmp_path / "p") == [
        "io/test_io.py: the package has no folder io",
        "ops/test_golden.py: there is no p/ops/gone.py",
        "ops/test_things.py: it is named after no module, and its docstring does not say which it tests",
        "nn has no tests",
    ]


def test_code_that_tests_hand_to_another_python_imports_what_is_there() -> None:
    """Such code is a string, so no tool notices that a module has moved; some of it runs only on a GPU."""
    there = modules(ROOT)
    for path in set(TESTS.rglob("*.py")) - {Path(__file__)}:  # which makes up modules
        for source, names in re.findall(r"from (minirnn\b[\w.]*) import ([\w, ]+)", path.read_text(encoding="utf-8")):
            for name in names.split(","):
                name = name.split(" as ")[0].strip()
                known = importlib.util.find_spec(source) and hasattr(importlib.import_module(source), name)
                assert known or f"{source}.{name}" in there, f"{path.relative_to(TESTS)}: {source} has no {name}"

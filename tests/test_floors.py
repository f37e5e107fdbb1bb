"""The floors of the package: a module imports only from its own floor and from those below it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import minirnn

ROOT = Path(minirnn.__file__).parent

# The longest prefix counts. A module that matches none must be given its floor here.
FLOORS = {
    "minirnn._version": 0,
    "minirnn.random": 0,
    "minirnn.html": 0,
    "minirnn.host_array": 0,
    "minirnn.messages": 0,
    "minirnn.devices": 1,
    "minirnn.tensor": 2,
    "minirnn.tape": 2,
    "minirnn.backward": 2,
    "minirnn.gradcheck": 2,
    "minirnn.ops": 3,
    "minirnn.nn": 4,
    "minirnn.optim": 4,
    "minirnn.data": 4,
    "minirnn.io": 4,
    "minirnn.cudnn_rnn": 4,
    "minirnn.viz": 5,
    "minirnn": 6,  # hands names on from all floors below; commands may use it like any user
    "minirnn.commands": 7,
    "minirnn.learn": 7,
    "minirnn.cli": 8,
    "minirnn.__main__": 9,
}
OPTIONAL = {"matplotlib", "pycuda", "torch"}  # imported only inside the function that needs them
ONLY_PYCUDA = "minirnn.devices.cuda.pycuda_driver"

# family -> its file on each floor
FAMILIES = {
    family: (
        f"ops/{family}.py",
        f"devices/cpu/{family}.py",
        f"devices/cuda/launch/{family}.py",
        f"devices/cuda/kernels/{family}*.cu",
    )
    for family in ("lstm_block", "gru_block", "cudnn_rnn")
}


def floor(module: str) -> int:
    prefix = max((name for name in FLOORS if f"{module}.".startswith(f"{name}.")), key=len)
    assert prefix != "minirnn" or module == "minirnn", f"{module} has no floor: enter it into FLOORS"
    return FLOORS[prefix]


def module_name(path: Path, root: Path) -> str:
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(root: Path = ROOT) -> dict[str, Path]:
    return {module_name(path, root): path for path in sorted(root.rglob("*.py"))}


@dataclass
class Import:
    line: int
    source: str
    name: str | None  # of `from source import name`
    runs_on_import: bool  # of the module: outside functions and `if TYPE_CHECKING:`


def imports(module: str, path: Path) -> Iterator[Import]:
    """All import statements of a file, relative ones resolved."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    waits = {
        inner
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(outer, ast.If) and ast.unparse(outer.test).endswith("TYPE_CHECKING"))
        for inner in ast.walk(outer)
    }
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, None, node not in waits)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(node.lineno, source, alias.name, node not in waits)


def violations(root: Path = ROOT) -> list[str]:
    """Every import that breaks a rule, as a sentence."""
    known = modules(root)
    return [
        f"{module}, line {one.line}: {complaint}"
        for module, path in known.items()
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
        ("devices/cpu/a.py", "from minirnn.tensor import Tensor", "imports minirnn.tensor"),
        ("devices/cpu/a.py", "from ...tensor import Tensor", "imports minirnn.tensor"),
        ("devices/cpu/a.py", "def f():\n    from minirnn import tape", "imports minirnn.tape"),
        ("ops/a.py", "import minirnn.nn.lstm", "imports minirnn.nn.lstm"),
        ("ops/a.py", "import minirnn as mr", "imports minirnn,"),
        ("ops/__init__.py", "from .. import nn", "imports minirnn.nn"),
        ("viz/a.py", "from minirnn.commands import UserError", "imports minirnn.commands"),
        ("ops/a.py", "from minirnn.ops.b import _helper", "_helper is a private name"),
        ("viz/a.py", "import matplotlib.pyplot as plt", "inside the function"),
        ("nn/a.py", "from torch import nn", "inside the function"),
        ("nn/a.py", "try:\n    import torch\nexcept ImportError:\n    pass", "inside the function"),
        ("devices/cuda/device.py", "def f():\n    import pycuda.driver", "only minirnn.devices.cuda.pycuda_driver"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, path: str, text: str, complaint: str) -> None:
    root = tmp_path / "minirnn"
    for file in ("tensor.py", "tape.py", "ops/b.py", "nn/__init__.py", "nn/lstm.py", path):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    (root / path).write_text(text)
    found = violations(root)
    assert len(found) == 1, found
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("ops/a.py", "from minirnn.tensor import Tensor"),
        ("ops/a.py", "from . import _b"),
        ("viz/a.py", "def f():\n    import matplotlib.pyplot as plt"),
        ("devices/cuda/pycuda_driver.py", "import pycuda.driver"),
        ("viz/a.py", "if TYPE_CHECKING:\n    from matplotlib.axes import Axes"),
        ("commands/a.py", "import minirnn as mr"),
        ("commands/a.py", "from minirnn._version import __version__"),
    ],
)
def test_an_allowed_import_is_not_reported(tmp_path: Path, path: str, text: str) -> None:
    root = tmp_path / "minirnn"
    for file in ("tensor.py", "_version.py", "ops/_b.py", path):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("")
    (root / path).write_text(text)
    assert violations(root) == []


IMPORT_WITHOUT_OPTIONAL = """
import sys
from importlib.abc import MetaPathFinder

class Watch(MetaPathFinder):
    asked = []
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {optional!r}:
            self.asked.append(name)
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Watch())
import {module}
assert not Watch.asked, f"import {module} asks for {{Watch.asked}}"
"""


@pytest.mark.parametrize("module", ["minirnn", "minirnn.cli", "minirnn.commands.doctor"])
def test_importing_needs_and_asks_for_no_optional_package(module: str) -> None:
    script = IMPORT_WITHOUT_OPTIONAL.format(optional=OPTIONAL | {"nvmath", "pytest", "hypothesis"}, module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("family", "path"), [(family, path) for family, files in FAMILIES.items() for path in files])
def test_a_family_has_its_file_on_every_floor(family: str, path: str) -> None:
    files = list(ROOT.glob(path))
    assert files
    assert all(file.stem.startswith(family) for file in files)


def test_every_kernel_of_the_contract_is_in_a_device_or_declared_as_falling_back() -> None:
    """A device lists what it has; what it does not list, ops compose from primitives and count in `fallbacks`."""
    from minirnn.devices.base import KERNELS
    from minirnn.devices.cpu.device import CPU
    from minirnn.devices.cuda.device import Cuda

    for device in (CPU, Cuda):
        assert device.kernels <= KERNELS.keys()
        assert all(callable(getattr(device, name)) for name in device.kernels)
    assert CPU.kernels == Cuda.kernels == KERNELS.keys()

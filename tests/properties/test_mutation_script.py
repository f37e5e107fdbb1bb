"""scripts/kill_power.py changes one thing at a time, and distinguishes killed mutants from surviving ones."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

pytestmark = [
    pytest.mark.skipif(not SCRIPTS.exists(), reason="the scripts are in the repository alone"),
    pytest.mark.skipif(sys.platform == "win32", reason="the script limits memory"),
]


@pytest.fixture
def mutation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a part of the script."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield lambda name: __import__(f"mutation.{name}", fromlist=["mutation"])
    for name in [name for name in sys.modules if name.partition(".")[0] == "mutation"]:
        del sys.modules[name]


def test_a_changed_text_keeps_its_lines(mutation: Callable[[str], ModuleType]) -> None:
    source = "def f(a, b):\n    x = max(\n        a, b\n    ) - 1\n    x -= (1)\n    return x\n"
    made = mutation("mutants").changed("f.py", source, lambda *_: True, mutation("operators").operators)
    texts = [m.make() for m in made]
    assert len(texts) == 6
    assert all(ast.parse(text).body[0].body[-1].lineno == 6 for text in texts)  # type: ignore[attr-defined]


def test_what_a_mutant_compiles_does_not_stay(
    mutation: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "cache" / "cuda-sim" / "kernel.so"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("compiled")
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "root").mkdir()
    own = mutation("laboratory").Laboratory(tmp_path / "root", 1, tmp_path / "copies").folder / "cache"
    assert (own / "cuda-sim" / "kernel.so").read_text() == "compiled"
    (own / "cuda-sim" / "forbidden.so").write_text("compiled by a mutant")
    assert list(kernel.parent.iterdir()) == [kernel]


@pytest.mark.slow
def test_what_no_test_notices_is_named(tmp_path: Path) -> None:
    """This includes code that only a program started by a test runs, code for slow tests, and a renamed function."""
    files = {
        "minirnn/__init__.py": "__version__ = '0'\n",
        "minirnn/learn/plugin.py": "",
        "minirnn/data/sums.py": (
            "def seen(a, b):\n    return a + b\n\n\ndef unseen(a, b):\n    return a - b\n\n\n"
            "def elsewhere(a):\n    return a * 3\n\n\ndef slowly(a):\n    return a // 2\n\n\n"
            "def made(name):\n    def function(a, b):\n        return a.part * b\n\n"
            "    code = function.__code__\n    names = tuple({'part': 'real'}.get(n, n) for n in code.co_names)\n"
            "    function.__code__ = code.replace(co_names=names, co_name=name, co_qualname=name)\n"
            "    return function\n\n\ntimes = made('times')\n"
        ),
        "tests/data/test_sums.py": (
            "import subprocess, sys\nimport pytest\nimport minirnn.data.sums as sums\n\n\n"
            "def test_seen():\n    assert sums.seen(1, 2) == 3\n    assert sums.unseen(0, 0) == 0\n\n\n"
            "def test_times():\n    assert sums.times(2, 3) == 6\n\n\n"
            "def test_elsewhere():\n"
            "    program = f'import {sums.__name__} as s; print(s.elsewhere(2))'\n"
            "    assert subprocess.check_output([sys.executable, '-c', program]) == b'6\\n'\n\n\n"
            "@pytest.mark.slow\ndef test_slowly():\n    assert sums.slowly(5) == 2\n"
        ),
        "pytest.ini": '[pytest]\nmarkers = slow: waits to be asked for\naddopts = -m "not slow"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, str(SCRIPTS / "kill_power.py"), "data", "--all"]
    command += ["--root", str(tmp_path), "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1, done.stdout + done.stderr
    first, *left = done.stdout.splitlines()[:-1]
    assert first == "data: 8 mutants, the default tests kill 4"
    assert sorted(line.strip() for line in left) == [
        "NOT ENTERED: minirnn/data/sums.py:14 slowly: 2 -> 3",
        "NOT ENTERED: minirnn/data/sums.py:14 slowly: a // 2 -> a * 2",
        "SURVIVED: minirnn/data/sums.py:6 unseen: a - b -> a + b",
        "SURVIVED: minirnn/data/sums.py:6 unseen: a - b -> b - a",
    ]

"""scripts/mutate_backward.py finds the terms of a formula, and tells killed mutants from those that survive."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"

pytestmark = [
    pytest.mark.skipif(not SCRIPTS.exists(), reason="the scripts are in the repository alone"),
    pytest.mark.skipif(sys.platform == "win32", reason="the script forks"),
]


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", SCRIPTS / "mutants.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["mutants"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changes(mutants: ModuleType, source: str) -> list[str]:
    return [f"{m.old} -> {m.new}" for m in mutants.python_mutants("f.py", source, lambda name: name == "backward")]


def test_each_term_is_dropped_and_negated(mutants: ModuleType) -> None:
    found = changes(mutants, "def backward(a, b, c):\n    return a + b * c\n")
    assert sorted(found) == sorted(
        [
            "a + b * c -> -(a + b * c)",
            "a + b * c -> a",
            "a + b * c -> b * c",
            "a + b * c -> a - b * c",
            "a + b * c -> b * c - a",
            "b * c -> b",
            "b * c -> c",
            "b * c -> -(b * c)",
        ]
    )


def test_calls_that_write_into_an_argument_are_formulas_too(mutants: ModuleType) -> None:
    found = changes(mutants, "def backward(dy, f, out):\n    multiply(dy, f, out)\n")
    assert "multiply(dy, f, out) -> np.copyto(out, 0)" in found
    assert "multiply(dy, f, out) -> np.copyto(out, dy)" in found
    assert "multiply(dy, f, out) -> (multiply(dy, f, out), np.negative(out, out))" in found


def test_sizes_indices_and_conditions_are_left_alone(mutants: ModuleType) -> None:
    source = "def backward(dy, x):\n    H = x.shape[1] - 1\n    if T > 1:\n        y = x[:, H + 1]\n"
    assert changes(mutants, source) == []


def test_terms_of_a_cuda_kernel_are_dropped_and_negated(mutants: ModuleType) -> None:
    source = "__global__ void step_grad(int B) {\n    const acc dx = dy * d_tanh(y) - e;  // why\n}\n"
    found = {m.text.splitlines()[1].partition("=")[2] for m in mutants.cuda_mutants("f.cu", source, lambda name: True)}
    assert " -(dy * d_tanh(y) - e);  // why" in found
    assert " dy * d_tanh(y) ;  // why" in found
    assert " - e;  // why" in found
    assert " dy * d_tanh(y) + e;  // why" in found
    assert "  d_tanh(y) - e;  // why" in found


def run(path: str, functions: str, tests: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys; sys.path.insert(0, {str(SCRIPTS)!r}); import mutate_backward as script\n"
        f"script.TARGETS = [script.Target({path!r}, {functions!r}, ({tests!r},))]\n"
        f"sys.exit(script.main({list(arguments)!r}))"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=240)


def test_two_mutants_are_killed() -> None:
    done = run("minirnn/devices/cpu/gru_block.py", ".*_grad", "tests/devices/cpu/test_gru_block.py", "--limit", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 mutants: 2 killed, 0 survived" in done.stdout


def test_a_mutant_that_no_test_notices_is_named_and_fails_the_run() -> None:
    done = run("minirnn/ops/primitives/softmaxes.py", "Softmax.*", "tests/test_random.py", "--limit", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "SURVIVED: minirnn/ops/primitives/softmaxes.py" in done.stdout

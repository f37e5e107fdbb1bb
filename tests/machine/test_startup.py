"""Ctrl-C while the command imports its modules prints no traceback; in a user's program nothing changes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minirnn.machine import startup
from tests.slow import slow_unless

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT there")

# Python imports this before the command. It sends Ctrl-C when the given module is about to be imported.
CUSTOMIZE = """
import os, signal, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["PRESS_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Watch())
"""
SCRIPT = "import sys\nfrom minirnn.commands.cli import entry\nsys.exit(entry())\n"
MOMENTS = (
    "minirnn.devices",
    "numpy",
    "minirnn.ops",
    "minirnn.lookup.at_the_top",
    "minirnn.commands.cli",
    "minirnn.commands.train",
)


@pytest.mark.parametrize(
    ("start", "moment"), slow_unless(5, [(start, moment) for start in ("-m", "script") for moment in MOMENTS])
)
def test_ctrl_c_during_imports_ends_quietly_with_status_130(moment: str, start: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CUSTOMIZE)
    (tmp_path / "minirnn").mkdir()
    script = tmp_path / "minirnn" / "minirnn"  # a separate folder, so that it hides nothing
    script.write_text(SCRIPT)
    root = Path(startup.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)]), "PRESS_AT": moment}
    command = [sys.executable, *(["-m", "minirnn"] if start == "-m" else [str(script)]), "train", "--steps", "0"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=script.parent)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("setting", slow_unless(2, ["default_int_handler", "SIG_IGN", "SIG_DFL"]))
def test_in_a_program_of_a_user_ctrl_c_stays_as_it_was(setting: str) -> None:
    code = (
        f"import signal; before = signal.{setting}; signal.signal(signal.SIGINT, before);"
        "import minirnn.commands.cli; assert signal.getsignal(signal.SIGINT) is before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("argv", "original", "expected"),
    [
        (["-m", "train"], ["python", "-m", "minirnn", "train"], True),
        (["-m"], ["python", "-W", "error", "-mminirnn"], True),
        (["-m", "minirnn"], ["python", "-m", "pytest", "minirnn"], False),
        (["/usr/bin/minirnn", "train"], ["python", "/usr/bin/minirnn", "train"], True),
        (["minirnn.exe"], ["minirnn.exe"], True),
        (["-c"], ["python", "-c", "import minirnn"], False),
        (["my_minirnn.py"], ["python", "my_minirnn.py"], False),
        ([""], ["python"], False),
        ([], ["python"], False),
    ],
)
def test_the_command_is_known_by_how_it_was_started(
    argv: list[str], original: list[str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", original)
    assert startup.is_command() is expected


def test_a_process_in_the_background_keeps_ignoring_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "is_command", lambda: True)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        startup.begin()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, signal.default_int_handler)
        startup.begin()
        assert signal.getsignal(signal.SIGINT) is startup._end
        startup.over()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)

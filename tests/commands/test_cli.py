"""The command line: where it prints what, and its exit status."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from minirnn import __version__
from minirnn.commands import cli
from tests.slow import slow_unless

DEMO = """
import argparse
import minirnn.devices
from minirnn.commands import UserError, user_mistakes

def add_arguments(parser):
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--what", default="nothing")

def run(args):
    what = args.what
    if what == "user error":
        raise UserError("x has shape (2, 3)\\n  expected (T, B, I)\\n\\n  looks batch-first")
    if what == "mistaken value":
        with user_mistakes():
            int("seven")
    if what == "missing file":
        open("no/such/file.txt")
    if what == "missing device":
        raise minirnn.devices.DeviceUnavailable("cuda: no driver\\n  install it")
    if what == "bug":
        raise ValueError("a bug")
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "long output":
        for i in range(100_000):
            print(i)
    print("steps", args.steps)
    return 0
"""

Demo = Callable[..., int]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Demo:
    """The command line with one command, `demo`, in-process."""
    (tmp_path / "demo_command.py").write_text(DEMO)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "demo_command", raising=False)
    monkeypatch.setattr(cli, "COMMANDS", {"demo": ("demo_command", "demonstrate"), "later": ("not_yet", "to come")})
    return lambda *argv: cli.main(["demo", *argv])


def demo_process(tmp_path: Path, *argv: str) -> list[str]:
    """The command line with one command, `demo`, as a separate process."""
    (tmp_path / "demo_command.py").write_text(DEMO)
    script = tmp_path / "run_demo.py"
    script.write_text(
        "from minirnn.commands import cli\n"
        "cli.COMMANDS = {'demo': ('demo_command', 'demonstrate')}\n"
        f"raise SystemExit(cli.main(['demo', *{list(argv)!r}]))\n"
    )
    return [sys.executable, str(script)]


def test_a_command_runs_with_its_arguments(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo("--steps", "7") == 0
    assert capsys.readouterr().out == "steps 7\n"


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("user error", "minirnn demo: x has shape (2, 3); expected (T, B, I); looks batch-first\n"),
        ("mistaken value", "minirnn demo: invalid literal for int() with base 10: 'seven'\n"),
        ("missing file", "minirnn demo: no/such/file.txt: No such file or directory\n"),
        ("missing device", "minirnn demo: cuda: no driver; install it\n"),
    ],
)
def test_a_users_mistake_is_one_line_on_stderr_and_status_2(
    demo: Demo, capsys: pytest.CaptureFixture[str], what: str, line: str
) -> None:
    assert demo("--what", what) == 2
    assert capsys.readouterr() == ("", line)


def test_a_bug_keeps_its_traceback(demo: Demo) -> None:
    with pytest.raises(ValueError, match="a bug"):
        demo("--what", "bug")


@pytest.mark.parametrize(
    ("argv", "start"),
    [
        (["demo", "--steps", "many"], "minirnn demo: argument --steps: invalid int value: 'many'"),
        (["demo", "--stpes", "7"], "minirnn demo: unrecognized arguments: --stpes 7; likely '--steps' is meant"),
        (["demo", "--stpes=7"], "minirnn demo: unrecognized arguments: --stpes=7; likely '--steps' is meant"),
        (["demo", "--st", "7"], "minirnn demo: unrecognized arguments: --st 7; likely '--steps' is meant"),
        (["demo", "--list"], "minirnn demo: unrecognized arguments: --list (minirnn demo --help)"),
        (["dmeo"], "minirnn: argument COMMAND: invalid choice: 'dmeo' (choose from demo); likely 'demo' is meant ("),
        (["later"], "minirnn: argument COMMAND: invalid choice: 'later'"),
    ],
)
def test_a_wrong_command_line_is_one_line_on_stderr_and_status_2(
    demo: Demo, capsys: pytest.CaptureFixture[str], argv: list[str], start: str
) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(argv)
    assert exit_.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(start)
    assert err.count("\n") == 1


@pytest.mark.parametrize("argv", [[], ["--help"]])
def test_help_lists_the_commands_that_are_there_and_imports_none(
    argv: list[str], demo: Demo, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(argv)
    assert exit_.value.code == 0
    out = capsys.readouterr().out
    assert "demo" in out
    assert "demonstrate" in out
    assert "later" not in out
    assert "demo_command" not in sys.modules


@pytest.mark.parametrize("name", [name for name, (module, _) in cli.COMMANDS.items() if cli.exists(module)])
def test_every_command_says_what_it_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main([name, "--help"])
    assert exit_.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: minirnn {name}")
    assert cli.COMMANDS[name][1].lower() in " ".join(out.lower().split())


@pytest.mark.parametrize(
    "start", slow_unless(2, [["-m", "minirnn"], ["-c", "from minirnn.commands import cli; cli.main()"]])
)
def test_version(start: list[str]) -> None:
    done = subprocess.run([sys.executable, *start, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"minirnn {__version__}\n", "")


def test_ctrl_c_ends_quietly_with_status_130(tmp_path: Path) -> None:
    done = subprocess.run(demo_process(tmp_path, "--what", "interrupt"), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT there")
@pytest.mark.parametrize("status", slow_unless(2, [0, 130]))
def test_ctrl_c_after_the_work_is_done_changes_nothing(status: int) -> None:
    """A Ctrl-C while Python exits would kill the process, and its parent would think that the work failed."""
    code = (
        "import atexit, os, signal, sys; import minirnn.commands.cli as c;"
        f"c.main = lambda: {status};"
        "atexit.register(lambda: [os.kill(os.getpid(), signal.SIGINT) for _ in range(3)]);"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "sys.exit(c.entry())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT there")
def test_ctrl_c_between_the_work_and_the_end_is_status_130() -> None:
    code = (
        "import os, signal, sys; import minirnn.commands.cli as c;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "c.main = lambda: os.kill(os.getpid(), signal.SIGINT);"
        "sys.exit(c.entry())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently there")
@pytest.mark.parametrize("what", slow_unless(2, ["long output", "nothing"]))
def test_a_reader_that_goes_away_is_no_error_to_report(tmp_path: Path, what: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(demo_process(tmp_path, "--what", what), stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("argv", [["help", "demo"], ["demo", "--help"]])
def test_help_of_a_command_has_two_names(argv: list[str], demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(argv)
    assert exit_.value.code == 0
    assert capsys.readouterr().out.startswith("usage: minirnn demo")


@pytest.mark.parametrize(
    "command", slow_unless([["explain"]], [["help"], ["sample", "--help"], ["explain"], ["explain", "vjp"]])
)
def test_a_terminal_without_unicode_gets_question_marks_and_no_traceback(command: list[str]) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "minirnn", *command], capture_output=True, env=environment)
    assert done.returncode in (0, 2) and b"Traceback" not in done.stderr
    assert done.stdout.isascii() and done.stderr.isascii()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals there")
@pytest.mark.parametrize(
    ("settings", "colored"), slow_unless(3, [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
)
def test_colors_reach_a_terminal_that_wants_them(settings: dict[str, str], colored: bool) -> None:
    import pty

    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | settings
    master, slave = pty.openpty()
    done = subprocess.run([sys.executable, "-m", "minirnn", "trian"], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = os.read(master, 1 << 16)
    os.close(master)
    assert done.returncode == 2 and b"likely 'train' is meant" in shown
    assert (b"\x1b[" in shown) is colored

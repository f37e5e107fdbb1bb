"""The same over MPI, in processes: the scenarios on 1 to 5 ranks, equal bits, and ranks that fail or are killed.

Tests `minirnn/parallel/mpi.py`.
"""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from minirnn.parallel import World, mpi
from tests.parallel.scenarios import losses

ROOT = Path(__file__).parents[2]
LIMIT = 120  # seconds for one program, so that a rank that waits forever does not block all tests


def mpiexec() -> str:
    """The path of mpiexec; skips where there is none, or no mpi4py."""
    pytest.importorskip("mpi4py", reason='mpi4py missing: pip install "minirnn[parallel]"')
    beside = Path(sys.executable).parent
    found = shutil.which("mpiexec", path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        pytest.skip('mpiexec missing: pip install "minirnn[parallel]"')
    return found


def environment() -> dict[str, str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


def run(ranks: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [mpiexec(), "-n", str(ranks), sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment(), cwd=ROOT)


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_the_scenarios(ranks: int) -> None:
    done = run(ranks, "-m", "tests.parallel.scenarios")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    said, last = done.stdout.splitlines()
    np.testing.assert_allclose([float.fromhex(word) for word in said.split()[1:]], losses(World()), rtol=1e-15)
    assert last.startswith(f"ok on {ranks}")


def test_any_number_of_processes_gives_the_same_bits() -> None:
    found = {run(ranks, "-m", "tests.parallel.scenarios", "uneven_parts").stdout.split()[3:][0] for ranks in (1, 2, 4)}
    assert len(found) == 1


def test_an_exception_on_one_rank_ends_all(tmp_path: Path) -> None:
    text = """
        from minirnn import parallel
        world = parallel.init()
        if world.rank == 1:
            raise ValueError("this rank is broken")
        world.barrier()
    """
    done = run(3, program(tmp_path, text))
    assert done.returncode != 0
    assert "ValueError: this rank is broken" in done.stderr and "rank 1 of 3 failed, so all ranks end" in done.stderr


def test_a_rank_that_is_killed_ends_all(tmp_path: Path) -> None:
    text = """
        import os, pathlib, sys
        from minirnn import parallel
        world = parallel.init()
        pathlib.Path(sys.argv[1], str(world.rank)).write_text(str(os.getpid()))
        while True:
            world.barrier()
    """
    folder = tmp_path / "ranks"
    folder.mkdir()
    command = [mpiexec(), "-n", "3", sys.executable, program(tmp_path, text), str(folder)]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until = time.monotonic() + LIMIT
        while time.monotonic() < until and len([f for f in folder.iterdir() if f.read_text()]) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        pids = {int(f.name): int(f.read_text()) for f in folder.iterdir()}
        os.kill(pids[1], signal.SIGKILL)
        process.communicate(timeout=LIMIT)
        assert process.returncode != 0
        for pid in pids.values():  # no rank is left waiting
            while time.monotonic() < until and Path(f"/proc/{pid}").exists():
                time.sleep(0.05)
            assert not Path(f"/proc/{pid}").exists()
    finally:
        process.kill()
        process.communicate()


def test_a_launcher_without_mpi4py_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setenv("PMI_RANK", "0")
    assert mpi.launched()
    with pytest.raises(ImportError, match=r'pip install "minirnn\[parallel\]"'):
        mpi.Mpi()


@pytest.mark.parametrize(("name", "value", "size"), [("PMI_SIZE", "4", 4), ("OMPI_COMM_WORLD_SIZE", "2", 2)])
def test_launchers_are_known_by_their_variables(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, size: int
) -> None:
    for other in (*mpi.SIZES, *mpi.RANKS):
        monkeypatch.delenv(other, raising=False)
    assert not mpi.launched() and mpi.launched_size() is None
    monkeypatch.setenv(name, value)
    assert mpi.launched_size() == size

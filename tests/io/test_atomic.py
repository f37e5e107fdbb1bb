import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from minirnn.io import atomic_write, load, save
from minirnn.io.atomic import PREFIX, SUFFIX, remove_leftovers
from tests.slow import slow_unless


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith(PREFIX) and name.endswith(SUFFIX)]


def test_text_and_bytes_are_written_as_given(tmp_path):
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("größe\nline\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "größe\nline\r\n".encode()
    with atomic_write(str(tmp_path / "b.bin"), "wb") as file:
        file.write(b"\0\xff")
    assert (tmp_path / "b.bin").read_bytes() == b"\0\xff"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.bin"]


def test_until_the_block_ends_the_old_file_is_there(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with atomic_write(target) as file:
        file.write("new")
        file.flush()
        assert target.read_text() == "old"
        assert len(leftovers(tmp_path)) == 1
    assert target.read_text() == "new"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_the_old_file_and_nothing_else(tmp_path, error):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(error), atomic_write(target) as file:
        file.write("half of the new")
        raise error
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left"), atomic_write(target) as file:
        file.write("new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_content_reaches_the_disk_before_the_rename_and_the_folder_after_it(tmp_path, monkeypatch):
    order = []
    fsync, replace = os.fsync, os.replace

    def traced_fsync(descriptor):
        order.append("fsync folder" if os.path.isdir(f"/dev/fd/{descriptor}") else "fsync file")
        fsync(descriptor)

    def traced_replace(old, new):
        order.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", traced_fsync)
    monkeypatch.setattr(os, "replace", traced_replace)
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("new")
    assert order == ["fsync file", "replace", "fsync folder"]


def test_the_next_write_removes_what_killed_writes_left(tmp_path):
    for k in range(3):
        (tmp_path / f"{PREFIX}{k}{SUFFIX}").write_text("half")
    (tmp_path / ".minirnn-notes").write_text("not ours")
    (tmp_path / "x.tmp").write_text("not ours")
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("new")
    assert sorted(os.listdir(tmp_path)) == [".minirnn-notes", "a.txt", "x.tmp"]


def test_a_file_that_another_process_is_writing_is_not_a_leftover(tmp_path):
    writer = (
        "import sys\nfrom minirnn.io import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write('slow'); print('open', flush=True); sys.stdin.readline()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", writer, str(tmp_path / "slow.txt")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "open\n"
        with atomic_write(tmp_path / "fast.txt") as file:
            file.write("fast")
        assert len(leftovers(tmp_path)) == 1
        process.communicate("go on\n", timeout=300)
    assert process.returncode == 0
    assert (tmp_path / "slow.txt").read_text() == "slow"
    assert leftovers(tmp_path) == []


def test_many_threads_writing_to_one_folder_do_not_disturb_each_other(tmp_path):
    failures = []

    def work(name):
        try:
            for k in range(20):
                with atomic_write(tmp_path / name) as file:
                    file.write(f"{name} {k}" * 1000)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b", "shared", "shared")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "shared"]
    assert (tmp_path / "shared").read_text() == "shared 19" * 1000


def test_permissions_of_an_older_file_are_kept_and_a_new_one_follows_the_umask(tmp_path):
    target = tmp_path / "a.txt"
    with atomic_write(target) as file:
        file.write("first")
    plain = tmp_path / "plain.txt"
    plain.write_text("x")
    assert target.stat().st_mode == plain.stat().st_mode
    target.chmod(0o640)
    with atomic_write(target) as file:
        file.write("second")
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_is_followed_not_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "a.txt")
    with atomic_write(tmp_path / "link.txt") as file:
        file.write("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "new"


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(ValueError, match="File name too long"), atomic_write(tmp_path / ("x" * 300)) as file:
        file.write("x")
    assert os.listdir(tmp_path) == []


def test_a_folder_closed_to_us_is_refused_with_its_reason(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # chmod doesn't stop the superuser
    reason = "Permission denied\n  expected a folder that can be written"
    with pytest.raises(ValueError, match=reason), atomic_write(tmp_path / "a.txt"):
        pass


def test_a_temporary_file_that_is_gone_does_not_hide_why_the_block_raised(tmp_path):
    with pytest.raises(RuntimeError, match="the reason"), atomic_write(tmp_path / "a.txt"):
        (temporary,) = leftovers(tmp_path)
        (tmp_path / temporary).unlink()
        raise RuntimeError("the reason")


def test_a_temporary_file_is_locked_until_it_has_its_name(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    replace, refused = os.replace, []

    def look(old, new):
        with open(old) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                refused.append(os.path.basename(old))
        replace(old, new)

    monkeypatch.setattr(os, "replace", look)
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("new")
        remove_leftovers(tmp_path)
        assert len(leftovers(tmp_path)) == 1
    assert len(refused) == 1


def test_only_who_cleans_up_does_not_wait_for_a_lock(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    asked = []
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, how: asked.append(how))
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("new")
    (tmp_path / f"{PREFIX}0{SUFFIX}").touch()
    remove_leftovers(tmp_path)
    assert asked == [fcntl.LOCK_EX, fcntl.LOCK_EX | fcntl.LOCK_NB]


def test_a_file_that_was_cleaned_up_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    flock, removed = fcntl.flock, []

    def too_late(descriptor, how):
        if not removed:
            removed.extend(leftovers(tmp_path))
            (tmp_path / removed[0]).unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("new")
    assert (tmp_path / "a.txt").read_text() == "new" and len(removed) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize(
    ("call", "count", "survivor"),
    slow_unless(3, [("fsync", 1, "old"), ("open", 1, "old"), ("replace", 1, "old"), ("fsync", 2, "new")]),
)
def test_killed_at_each_step_of_a_write_the_file_is_the_old_or_the_new_one(tmp_path, call, count, survivor):
    path = tmp_path / "c.safetensors"
    save(path, {"w": np.arange(5)}, {"which": "old"})
    writer = f"""
import os, signal, sys
import numpy as np
from minirnn.io import save
original, calls = os.{call}, 0
def killing(*args, **kwargs):
    global calls
    result = None if {call!r} == "replace" else original(*args, **kwargs)
    calls += 1
    if calls == {count}:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
os.{call} = killing
save(sys.argv[1], {{"w": np.arange(7)}}, {{"which": "new"}})
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # the writer computes nothing, so let it start faster
    done = subprocess.run([sys.executable, "-c", writer, str(path)], env=environment, timeout=300)
    assert done.returncode == -signal.SIGKILL
    arrays, metadata = load(path)
    assert metadata["which"] == survivor
    assert arrays["w"].size == (5 if survivor == "old" else 7)
    assert len(leftovers(tmp_path)) == (1 if survivor == "old" else 0)
    save(path, {"w": np.arange(9)}, {"which": "next"})
    assert os.listdir(tmp_path) == ["c.safetensors"]

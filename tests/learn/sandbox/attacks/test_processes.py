"""Hostile answers that start, signal, trace and outlive processes. The system's locks hold without the audit hook.

Tests `minirnn/learn/sandbox/supervisor.py`, `minirnn/learn/sandbox/locks/seccomp.py` and
`minirnn/learn/sandbox/locks/namespaces.py`. Attacks aim at processes that the test itself started.
"""

import os

import pytest

from minirnn.learn.sandbox import templates
from tests.learn.sandbox.attacks.attack import EVERY_WAY, Attack, needs, victim  # noqa: F401
from tests.slow import slow_unless

BOTH = ["all", pytest.param("no namespaces", marks=pytest.mark.slow)]


def lock_of(way):
    needs("namespaces") if way == "namespaces alone" else needs("seccomp")


@pytest.mark.parametrize("way", slow_unless(["all"], EVERY_WAY))
def test_a_fork_bomb_leaves_nothing(tmp_path, way):
    lock_of(way)
    code = """
    n = 0
    for _ in range(100):
        try:
            if os.fork() == 0:
                signal.pause()
        except OSError:
            break
        n += 1
    print('DONE' if n else 'refused', n)
    """
    attack = Attack(tmp_path, EVERY_WAY[way], code)
    assert attack.done == [] or way == "namespaces alone"


@pytest.mark.parametrize("way", EVERY_WAY)
def test_no_process_outlives_its_answer(tmp_path, way):
    lock_of(way)
    code = """
    try:
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for fd in range(256):
                        try: os.close(fd)
                        except OSError: pass
                    for number in range(1, 65):
                        try: signal.signal(number, signal.SIG_IGN)
                        except (OSError, ValueError): pass
                    time.sleep(10000)
                os._exit(0)
    except OSError:
        pass
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).result.passed


@pytest.mark.parametrize("way", [*BOTH, pytest.param("namespaces alone", marks=pytest.mark.slow)])
def test_no_signal_reaches_another_process(tmp_path, way, victim):  # noqa: F811
    lock_of(way)
    code = f"""
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
        deed(f'kill {{number}}', lambda: os.kill({victim.pid}, number))
    for pid in ({os.getpid()}, {victim.pid}, os.getppid(), -1, -os.getpgid(0), -{os.getpgid(0)}, 0):
        if {way != "namespaces alone"} or pid not in (-1, -os.getpgid(0), os.getppid(), 0):  # its own system
            deed(f'may kill {{pid}}', lambda: os.kill(pid, 0))
    for pid in ({os.getpid()}, {victim.pid}):
        deed(f'tgkill {{pid}}', lambda: libc.syscall(234 if os.uname().machine == 'x86_64' else 131, pid, pid, 0))
        deed(f'sigqueue {{pid}}', lambda: libc.sigqueue(pid, 0, 0))
        deed(f'pidfd {{pid}}', lambda: libc.syscall(434, pid, 0))
        deed(f'limits {{pid}}', lambda: libc.prlimit(pid, 0, (ctypes.c_ulong * 2)(1, 1), None))
        deed(f'nice {{pid}}', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
        deed(f'turns {{pid}}', lambda: os.sched_setaffinity(pid, [0]))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", EVERY_WAY)
def test_what_answers_are_forked_from_is_out_of_reach(tmp_path, way):
    """Otherwise an answer could change all later answers."""
    lock_of(way)
    for _ in range(2):  # the first answer of a run has no template
        assert Attack(tmp_path, EVERY_WAY[way], "print('refused nothing yet')").result.passed
    before = [template.process.pid for template in templates.kept.values()]
    code = f"""
    here = ctypes.create_string_buffer(8)
    vector = struct.pack('QQ', ctypes.addressof(here), 8)
    for pid in {before!r}:
        for number in (0, signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL, signal.SIGCHLD):
            deed(f'kill {{number}}', lambda: os.kill(pid, number))
        deed('group', lambda: os.killpg(pid, signal.SIGKILL))
        deed('seize', lambda: libc.ptrace(0x4206, pid, None, None))
        deed('read', lambda: libc.process_vm_readv(pid, vector, 1, vector, 1, 0))
        deed('write', lambda: libc.process_vm_writev(pid, vector, 1, vector, 1, 0))
        deed('limits', lambda: libc.prlimit(pid, 0, (ctypes.c_ulong * 2)(1, 1), None))
        for name in ('mem', 'fd/0', 'root/etc/passwd'):
            deed(name, lambda: os.open(f'/proc/{{pid}}/{{name}}', os.O_RDWR))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()
    assert [template.process.pid for template in templates.kept.values()] == before


@pytest.mark.parametrize("way", BOTH)
def test_a_pipe_sends_no_signal_to_another_process(tmp_path, way, victim):  # noqa: F811
    needs("seccomp")
    code = f"""
    import fcntl
    r, w = os.pipe()
    for owner in ({os.getpid()}, {victim.pid}, os.getppid()):
        deed(f'owner {{owner}}', lambda: fcntl.fcntl(r, fcntl.F_SETOWN, owner))
    deed('signal', lambda: fcntl.fcntl(r, 10, int(signal.SIGKILL)))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", BOTH)
def test_no_process_is_traced_and_no_memory_read(tmp_path, way, victim):  # noqa: F811
    needs("seccomp", "landlock")
    code = f"""
    here = ctypes.create_string_buffer(8)
    vector = struct.pack('QQ', ctypes.addressof(here), 8)
    for pid in ({os.getpid()}, {victim.pid}, os.getppid(), 1):
        deed(f'ptrace {{pid}}', lambda: libc.ptrace(16, pid, None, None))
        deed(f'seize {{pid}}', lambda: libc.ptrace(0x4206, pid, None, None))
        deed(f'vm {{pid}}', lambda: libc.process_vm_readv(pid, vector, 1, vector, 1, 0))
        for name in ('mem', 'environ', 'cmdline', 'maps', 'stat', 'fd/1', 'root/etc/passwd', 'cwd/x'):
            deed(f'/proc/{{pid}}/{{name}}', lambda: os.open(f'/proc/{{pid}}/{{name}}', os.O_RDONLY))
    deed('list', lambda: os.listdir('/proc'))
    deed('self', lambda: os.open('/proc/self/environ', os.O_RDONLY))
    deed('traceme', lambda: libc.ptrace(0, 0, None, None))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", BOTH)
def test_an_answer_cannot_stop_itself(tmp_path, way):
    """It would look like a process that a busy machine does not schedule."""
    needs("seccomp")
    code = """
    for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        deed(number, lambda: os.kill(os.getpid(), number))
        deed(number, lambda: libc.raise_(number) if hasattr(libc, 'raise_') else libc['raise'](number))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", BOTH)
def test_no_program_is_run(tmp_path, way):
    needs("seccomp")
    code = """
    true = b'/bin/true'
    deed('system', lambda: -1 if libc.system(true) else 0)
    deed('execv', lambda: os.execv(true, [true]))
    deed('spawn', lambda: os.posix_spawn(true, [true], {}))
    deed('popen', lambda: os.popen('true').close())
    fd = libc.memfd_create(b'x', 0)
    deed('memfd', lambda: fd)
    deed('fexecve', lambda: libc.fexecve(fd if fd >= 0 else 1, (ctypes.c_char_p * 2)(true), (ctypes.c_char_p * 1)()))
    deed('fork', lambda: os.fork())
    deed('clone', lambda: libc.syscall(56 if os.uname().machine == 'x86_64' else 220, 17, 0, 0, 0, 0))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


def test_threads_are_few_and_end(tmp_path):
    code = """
    import threading
    threading.stack_size(65536)
    n = 0
    try:
        while n < 400:
            threading.Thread(target=time.sleep, args=(10000,), daemon=False).start()
            n += 1
    except RuntimeError:
        pass
    time.sleep(1)
    """
    attack = Attack(tmp_path, EVERY_WAY["all"], code)
    assert attack.result.passed or "more than 64 threads" in attack.result.message


def test_what_an_answer_leaves_to_run_at_its_end_is_not_waited_for(tmp_path):
    code = """
    import atexit, threading
    atexit.register(time.sleep, 10000)
    threading.Thread(target=time.sleep, args=(10000,)).start()
    for number in range(1, 65):
        try: signal.signal(number, lambda *a: None)
        except (OSError, ValueError): pass
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    """
    assert Attack(tmp_path, EVERY_WAY["all"], code, hidden=True).result.passed

"""Hostile answers that ask the kernel for features that no exercise needs: sockets, shared memory, namespaces,
io_uring.

Tests `minirnn/learn/sandbox/locks/seccomp.py`, `minirnn/learn/sandbox/locks/syscalls.py` and
`minirnn/learn/sandbox/locks/landlock.py`. The network consists of only the loopback address.
"""

import platform
import socket
from contextlib import ExitStack

import pytest

from minirnn.learn.sandbox.locks import seccomp, syscalls
from tests.learn.sandbox.attacks.attack import EVERY_WAY, Attack, needs

BOTH = ["all", pytest.param("no namespaces", marks=pytest.mark.slow)]
# name -> number on x86-64 and on 64-bit ARM
REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "userfaultfd": (323, 282), "bpf": (321, 280),
    "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "kexec_load": (246, 104), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "fsopen": (430, 430), "open_tree": (428, 428), "shmget": (29, 194),
    "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "execveat": (322, 281), "execve": (59, 221), "socket": (41, 198),
    "socketpair": (53, 199), "bind": (49, 200), "connect": (42, 203), "init_module": (175, 105), "reboot": (169, 142),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138), "tkill": (200, 130), "setsid": (112, 157), "setuid": (105, 146),
    "personality": (135, 92), "open_by_handle_at": (304, 265), "clone3": (435, 435),
    "process_madvise": (440, 440), "landlock_restrict_self": (446, 446), "seccomp": (317, 277), "mknodat": (259, 33),
    "linkat": (265, 37), "symlinkat": (266, 36), "sched_setaffinity": (203, 122), "setpriority": (141, 140),
    "inotify_init1": (294, 26), "fanotify_init": (300, 262), "quotactl": (179, 60),
    "kcmp": (312, 272), "splice": (275, 76), "vmsplice": (278, 75), "get_mempolicy": (239, 236),
}  # fmt: skip


@pytest.mark.parametrize("way", BOTH)
def test_what_no_exercise_needs_is_refused_by_the_kernel(tmp_path, way):
    needs("seccomp")
    column = list(syscalls.ARCHITECTURES).index(syscalls.machine())
    numbers = {name: pair[column] for name, pair in REFUSED.items()}
    code = f"""
    for name, number in {numbers!r}.items():
        ctypes.set_errno(0)
        done = libc.syscall(number, 0, 0, 0, 0, 0, 0)
        print('refused' if done == -1 and ctypes.get_errno() in (1, 38) else 'DONE', name, done, ctypes.get_errno())
    """
    attack = Attack(tmp_path, EVERY_WAY[way], code)
    assert attack.held() and len(attack.tried) == 2 * len(REFUSED)


@pytest.mark.parametrize("way", BOTH)
def test_calls_of_the_old_32_bit_kind_are_refused(tmp_path, way):
    needs("seccomp")
    if platform.machine() != "x86_64":
        pytest.skip("x32 is a kind of x86-64")
    code = "deed('x32 getpid', lambda: libc.syscall(0x40000000 + 39))"
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", [*BOTH, pytest.param("namespaces alone", marks=pytest.mark.slow)])
def test_nothing_is_sent_over_the_network(tmp_path, way):
    needs("namespaces") if "namespaces" in EVERY_WAY[way] else needs("seccomp")
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        abstract.bind(b"\0minirnn-attack-%d" % tcp.getsockname()[1])
        abstract.listen()
        path = tmp_path / "socket"
        plain = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        plain.bind(str(path))
        plain.listen()
        code = f"""
        import socket
        def reached(family, kind, address):
            one = socket.socket(family, kind)
            one.settimeout(5)
            one.connect(address)
            one.sendall(b'secret')
        deed('tcp', lambda: reached(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', {tcp.getsockname()[1]})))
        deed('abstract', lambda: reached(socket.AF_UNIX, socket.SOCK_STREAM, {abstract.getsockname()!r}))
        try: reached(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', {udp.getsockname()[1]}))
        except OSError: pass
        if {way != "namespaces alone"}:  # a file's socket is Landlock's and seccomp's
            deed('path', lambda: reached(socket.AF_UNIX, socket.SOCK_STREAM, {str(path)!r}))
        """
        assert Attack(tmp_path, EVERY_WAY[way], code).held()
        udp.settimeout(0.2)
        with pytest.raises(TimeoutError):
            udp.recv(100)


@pytest.mark.parametrize("way", BOTH)
def test_shared_memory_and_mounts_of_libc_are_refused(tmp_path, way):
    needs("seccomp")
    code = f"""
    deed('shmget', lambda: libc.shmget(0, 4096, 0o1600))
    deed('msgget', lambda: libc.msgget(0, 0o1600))
    deed('semget', lambda: libc.semget(0, 1, 0o1600))
    deed('shm_open', lambda: libc.shm_open(b'/minirnn-attack', 0o102, 0o600))
    deed('mount', lambda: libc.mount(b'none', {str(tmp_path).encode()!r}, b'tmpfs', 0, None))
    for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000):
        deed('unshare', lambda: libc.unshare(flag))
        deed('clone', lambda: libc.syscall(56 if os.uname().machine == 'x86_64' else 220, flag | 17, 0, 0, 0, 0))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


@pytest.mark.parametrize("way", BOTH)
def test_data_does_not_become_instructions(tmp_path, way):
    needs("seccomp")
    code = """
    import mmap
    deed('mmap', lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC))
    if os.uname().machine == 'x86_64':
        page = mmap.mmap(-1, 4096)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        deed('mprotect', lambda: libc.mprotect(ctypes.c_void_p(address), 4096, 7))
    """
    assert Attack(tmp_path, EVERY_WAY[way], code).held()


def test_a_library_is_never_mapped_to_be_written_and_run(tmp_path):
    needs("seccomp")
    code = """
    import mmap
    with open(np.__file__, 'rb') as file:
        deed('private', lambda: mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=7))
        page = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=3)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    deed('then run', lambda: libc.mprotect(ctypes.c_void_p(address), 4096, 5))
    """
    assert Attack(tmp_path, EVERY_WAY["all"], code).held()


def test_the_filter_alone_keeps_size_rights_times_and_locks_of_files(tmp_path):
    """Simulates kernels whose Landlock does not support truncating."""
    needs("seccomp")
    file = tmp_path / "grades.csv"
    file.write_text("ann,5")
    before = file.stat()
    code = f"""
    import fcntl
    path = {str(file)!r}
    deed('truncate', lambda: os.truncate(path, 0))
    deed('open to truncate', lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
    deed('open by mode 3', lambda: os.open(path, 3 | os.O_TRUNC))
    deed('openat2', lambda: libc.syscall(437, -100, path.encode(), struct.pack('<3Q', os.O_TRUNC, 0, 0), 24))
    deed('chmod', lambda: os.chmod(path, 0))
    deed('chmod folder', lambda: os.chmod(os.path.dirname(path), 0))
    deed('setuid', lambda: os.chmod(path, 0o6777))
    deed('fchmodat2', lambda: libc.syscall(452, -100, path.encode(), 0, 0))
    deed('chown', lambda: os.chown(path, os.getuid(), os.getgid()))
    deed('utime', lambda: os.utime(path, (1, 1)))
    deed('futimens', lambda: libc.futimens(os.open(path, os.O_RDONLY), None))
    deed('setxattr', lambda: os.setxattr(path, 'user.attack', b'1'))
    file = os.open(path, os.O_RDONLY)
    deed('fchmod', lambda: os.fchmod(file, 0))
    deed('ftruncate', lambda: os.ftruncate(file, 0))
    deed('lease', lambda: fcntl.fcntl(file, 1024, fcntl.F_RDLCK))
    deed('flock', lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
    deed('lockf', lambda: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB))
    """
    assert Attack(tmp_path / "tree", frozenset({"seccomp"}), code).held()
    assert file.read_text() == "ann,5"
    assert (file.stat().st_mode, file.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_read_only_mounts_alone_keep_files_as_they_are(tmp_path):
    needs("namespaces", "scratch")
    file = tmp_path / "grades.csv"
    file.write_text("ann,5")
    before = file.stat()
    code = f"""
    path = {str(file)!r}
    deed('truncate', lambda: os.truncate(path, 0))
    deed('write', lambda: os.open(path, os.O_WRONLY))
    deed('chmod', lambda: os.chmod(path, 0))
    deed('utime', lambda: os.utime(path, (1, 1)))
    deed('remove', lambda: os.remove(path))
    deed('remount', lambda: libc.mount(None, b'/', None, 32, None))
    with open('mine', 'w') as file: file.write('the scratch folder can be written')
    """
    assert Attack(tmp_path / "tree", EVERY_WAY["namespaces alone"], code).held()
    assert file.read_text() == "ann,5"
    assert (file.stat().st_mode, file.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_each_call_is_allowed_once_and_with_a_reason():
    tables = [*syscalls.COMPUTING.items(), ("judged", syscalls.JUDGED), *syscalls.STARTING.items()]
    assert all(len(reason) > 5 for reason, _ in tables)
    calls = [entry.partition(":")[0] for _, table in tables for entry in table.split()]
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize("name", syscalls.ARCHITECTURES)
def test_the_filter_allows_and_refuses_what_it_says(name):
    """A small interpreter of the kernel's packet filter runs the filter, also for the other machine."""
    filters = seccomp.program(77, name=name)
    column = list(syscalls.ARCHITECTURES).index(name)
    numbers = {**syscalls.numbers(syscalls.COMPUTING, name), **syscalls.numbers(syscalls.JUDGED, name)}

    def says(number, *arguments, architecture=syscalls.ARCHITECTURES[name]):
        return verdict(filters, architecture, number, arguments)

    for call in ("read", "futex", "exit_group", "openat", "rt_sigreturn", "statx"):
        assert says(numbers[call]) == seccomp.ALLOW, call
    for call, pair in REFUSED.items():
        assert says(pair[column]) & 0xFFFF0000 == seccomp.ERROR, call
    assert says(numbers["read"], architecture=0x40000003) == seccomp.KILL
    assert says(numbers["clone"], 0x3D0F00) == seccomp.ALLOW != says(numbers["clone"], 17)
    assert says(numbers["kill"], 77, 10) == seccomp.ALLOW
    assert seccomp.ALLOW not in (
        says(numbers["kill"], 77, 19),
        says(numbers["kill"], 78, 10),
        says(numbers["kill"], 0, 9),
    )
    assert says(numbers["mmap"], 0, 4096, 5, 2) == seccomp.ALLOW != says(numbers["mmap"], 0, 4096, 7, 0x22)
    assert says(numbers["mmap"], 0, 4096, 7, 2) != seccomp.ALLOW
    assert says(numbers["openat"], 0, 0, 0o2) == says(numbers["openat"], 0, 0, 0o1101) == seccomp.ALLOW
    assert seccomp.ALLOW not in (says(numbers["openat"], 0, 0, 0o1000), says(numbers["openat"], 0, 0, 0o1003))
    assert says(numbers["fcntl"], 3, 2) == seccomp.ALLOW != says(numbers["fcntl"], 3, 1024)
    assert says(numbers["ioctl"], 1, 0x5401) == seccomp.ALLOW != says(numbers["ioctl"], 0, 0x5412)
    with_programs = seccomp.program(77, starts_programs=True, name=name)
    assert verdict(with_programs, syscalls.ARCHITECTURES[name], numbers["clone"], (17,)) == seccomp.ALLOW
    assert verdict(with_programs, syscalls.ARCHITECTURES[name], numbers["clone"], (0x10000011,)) != seccomp.ALLOW


def verdict(filters, architecture, number, arguments):
    """The filter's result for a call."""
    data = {seccomp.NUMBER: number, seccomp.ARCHITECTURE: architecture}
    data |= {seccomp.ARGUMENTS + 8 * k: arguments[k] if k < len(arguments) else 0 for k in range(6)}
    at = held = 0
    while True:
        code, if_true, if_false, value = filters[at]
        at += 1
        if code == seccomp.RETURN:
            return value
        if code == seccomp.LOAD:
            held = data[value]
        elif code == seccomp.AND:
            held &= value
        else:
            tests = {seccomp.EQUAL: held == value, seccomp.GREATER: held > value, seccomp.AT_LEAST: held >= value,
                     seccomp.BITS: held & value != 0}  # fmt: skip
            at += if_true if tests[code] else if_false

"""The numbers of the Linux system calls that a computing process needs, on x86-64 and on 64-bit ARM.

They are from the kernel's own tables (``arch/x86/entry/syscalls/syscall_64.tbl`` and ``asm-generic/unistd.h``), written
``name:x86-64:aarch64``, with ``-`` where a machine does not have the call. Allowed calls are listed with the reason.
Calls that change the size, rights, owner, times or locks of files are missing, because a file may be the teacher's.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping

COMPUTING = {
    "Modules are read and scratch files written; which files those are Landlock says.": """
        read:0:63 write:1:64 close:3:57 lseek:8:62 pread64:17:67 pwrite64:18:68 readv:19:65 writev:20:66
        preadv:295:69 pwritev:296:70 preadv2:327:286 pwritev2:328:287 sendfile:40:71 copy_file_range:326:285
        fadvise64:221:223 close_range:436:436 creat:85:-
    """,
    "Python's path search asks whether files are there and what they are; that is no way to their contents.": """
        stat:4:- fstat:5:80 lstat:6:- newfstatat:262:79 statx:332:291 access:21:- faccessat:269:48
        faccessat2:439:439 readlink:89:- readlinkat:267:78 statfs:137:43 fstatfs:138:44 getdents:78:-
        getdents64:217:61 getcwd:79:17 chdir:80:49 fchdir:81:50
    """,
    "Files of the scratch folder come and go (`tempfile`); Landlock refuses the same everywhere else.": """
        rename:82:- renameat:264:38 renameat2:316:276 mkdir:83:- mkdirat:258:34 rmdir:84:- unlink:87:-
        unlinkat:263:35 umask:95:166 fsync:74:82 fdatasync:75:83 fallocate:285:47
    """,
    "Memory: arrays and the interpreter's own.": """
        munmap:11:215 brk:12:214 mremap:25:216 msync:26:227 mincore:27:232 madvise:28:233
    """,
    "Pipes: the two to the judge, and those between threads.": """
        poll:7:- ppoll:271:73 select:23:- pselect6:270:72 pipe:22:- pipe2:293:59 dup:32:23 dup2:33:- dup3:292:24
        epoll_create:213:- epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22
        epoll_pwait2:441:441 eventfd:284:- eventfd2:290:19
    """,
    "Signals to itself: a stack is printed when the time is over.": """
        rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136
        rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132 pause:34:- restart_syscall:219:128
    """,
    "Clocks and sleep: both count as the answer's time.": """
        nanosleep:35:101 clock_nanosleep:230:115 gettimeofday:96:169 clock_gettime:228:113 clock_getres:229:114
        time:201:- times:100:153 getitimer:36:102 setitimer:38:103 alarm:37:-
    """,
    "Threads of its own, which OpenBLAS and Python start; how many there may be is limited.": """
        futex:202:98 futex_waitv:449:449 futex_wake:454:454 futex_wait:455:455 futex_requeue:456:456
        set_tid_address:218:96 set_robust_list:273:99 get_robust_list:274:100 rseq:334:293 gettid:186:178
        membarrier:324:283 sched_yield:24:124 arch_prctl:158:-
    """,
    "Questions about itself, which change nothing.": """
        getpid:39:172 getppid:110:173 getpgrp:111:- getpgid:121:155 getsid:124:156 getuid:102:174 getgid:104:176
        geteuid:107:175 getegid:108:177 getgroups:115:158 getresuid:118:148 getresgid:120:150 capget:125:90
        uname:63:160 sysinfo:99:179 getrlimit:97:163 getrusage:98:165 getpriority:140:141 getcpu:309:168
        sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120
        sched_get_priority_max:146:125 sched_get_priority_min:147:126 sched_rr_get_interval:148:127
        getrandom:318:278
    """,
    "Stricter limits for itself; the hard ones stay.": """
        setrlimit:160:164
    """,
    "Its end; it has no children to wait for, and Python asks all the same.": """
        exit:60:93 exit_group:231:94 wait4:61:260 waitid:247:95
    """,
}
"""Reason -> calls that Python and NumPy need. None reaches another process or changes files of others."""
JUDGED = """
    clone:56:220 kill:62:129 tgkill:234:131 prlimit64:302:261 ioctl:16:29 fcntl:72:25 mmap:9:222 mprotect:10:226
    prctl:157:167 open:2:- openat:257:56 clone3:435:435 openat2:437:437
"""
"""Calls that are allowed only with some arguments (`seccomp`)."""
STARTING = {
    "It starts its parts, and waits for them.": """
        fork:57:- vfork:58:- execve:59:221 execveat:322:281 setpgid:109:154
    """,
    "Assembler and linker make, cut, lock and mark what they write, in the one folder that is theirs.": """
        chown:92:- lchown:94:- fchown:93:55 fchownat:260:54 symlink:88:- symlinkat:266:36 link:86:-
        linkat:265:37 truncate:76:45 ftruncate:77:46 chmod:90:- fchmod:91:52 fchmodat:268:53 fchmodat2:452:452
        utime:132:- utimes:235:- futimesat:261:- utimensat:280:88 flock:73:32
    """,
    "Libraries of a compiler ask for them.": """
        inotify_init1:294:26 mlock:149:228 munlock:150:229
    """,
}
"""Reason -> calls that a compiler also needs to start other programs. No student's code runs in it."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The machines whose numbers are known, with their ``AUDIT_ARCH`` from ``linux/audit.h``."""


def machine() -> str:
    """The name of this machine, as in `ARCHITECTURES`; empty if its numbers are not known."""
    name = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return name if name in ARCHITECTURES else ""


def numbers(table: str | Mapping[str, str], name: str = "") -> dict[str, int]:
    """The calls of a table with their numbers on the machine `name` (default: this one)."""
    column = 1 + list(ARCHITECTURES).index(name or machine())
    text = table if isinstance(table, str) else " ".join(table.values())
    rows = [entry.split(":") for entry in text.split()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}

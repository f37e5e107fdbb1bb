"""Numbers of Linux system calls, on x86-64 and on 64-bit ARM: those that a computing process needs, and no others.

They are from the kernel's own tables (``arch/x86/entry/syscalls/syscall_64.tbl`` and ``asm-generic/unistd.h``), written
``name:x86-64:aarch64``, with ``-`` where a machine has no such call.
"""

from __future__ import annotations

import platform

COMPUTING = """
    read:0:63 write:1:64 open:2:- close:3:57 stat:4:- fstat:5:80 lstat:6:- poll:7:- lseek:8:62 munmap:11:215
    brk:12:214 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 pread64:17:67 pwrite64:18:68
    readv:19:65 writev:20:66 access:21:- pipe:22:- select:23:- sched_yield:24:124 mremap:25:216 msync:26:227
    mincore:27:232 madvise:28:233 dup:32:23 dup2:33:- pause:34:- nanosleep:35:101 getitimer:36:102 alarm:37:-
    setitimer:38:103 getpid:39:172 sendfile:40:71 exit:60:93 wait4:61:260 uname:63:160 flock:73:32 fsync:74:82
    fdatasync:75:83 truncate:76:45 ftruncate:77:46 getdents:78:- getcwd:79:17 chdir:80:49 fchdir:81:50 rename:82:-
    mkdir:83:- rmdir:84:- creat:85:- unlink:87:- readlink:89:- chmod:90:- fchmod:91:52 umask:95:166
    gettimeofday:96:169 getrlimit:97:163 getrusage:98:165 sysinfo:99:179 times:100:153 getuid:102:174 getgid:104:176
    geteuid:107:175 getegid:108:177 getppid:110:173 getpgrp:111:- getpgid:121:155 getsid:124:156 getgroups:115:158
    getresuid:118:148 getresgid:120:150 capget:125:90 rt_sigpending:127:136 rt_sigtimedwait:128:137
    rt_sigsuspend:130:133 sigaltstack:131:132 utime:132:- statfs:137:43 fstatfs:138:44 getpriority:140:141
    sched_getparam:143:121 sched_getscheduler:145:120 sched_get_priority_max:146:125 sched_get_priority_min:147:126
    sched_rr_get_interval:148:127 arch_prctl:158:- setrlimit:160:164 gettid:186:178 time:201:- futex:202:98
    sched_getaffinity:204:123 epoll_create:213:- getdents64:217:61 set_tid_address:218:96 restart_syscall:219:128
    fadvise64:221:223 clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115 exit_group:231:94
    epoll_wait:232:- epoll_ctl:233:21 utimes:235:- waitid:247:95 openat:257:56 mkdirat:258:34 futimesat:261:-
    newfstatat:262:79 unlinkat:263:35 renameat:264:38 readlinkat:267:78 fchmodat:268:53 faccessat:269:48
    pselect6:270:72 ppoll:271:73 set_robust_list:273:99 get_robust_list:274:100 utimensat:280:88 epoll_pwait:281:22
    eventfd:284:- fallocate:285:47 eventfd2:290:19 epoll_create1:291:20 dup3:292:24 pipe2:293:59 preadv:295:69
    pwritev:296:70 getcpu:309:168 renameat2:316:276 getrandom:318:278 membarrier:324:283 copy_file_range:326:285
    preadv2:327:286 pwritev2:328:287 statx:332:291 rseq:334:293 close_range:436:436 openat2:437:437
    faccessat2:439:439 epoll_pwait2:441:441 futex_waitv:449:449 fchmodat2:452:452 futex_wake:454:454
    futex_wait:455:455 futex_requeue:456:456
"""
"""What Python and NumPy need: memory, files that are allowed, clocks, threads; nothing that reaches another process."""
JUDGED = """
    clone:56:220 kill:62:129 tgkill:234:131 prlimit64:302:261 ioctl:16:29 fcntl:72:25 mmap:9:222 mprotect:10:226
    prctl:157:167 clone3:435:435
"""
"""What is allowed with some arguments only (`seccomp`)."""
STARTING = """
    fork:57:- vfork:58:- execve:59:221 execveat:322:281 setpgid:109:154 chown:92:- lchown:94:- fchown:93:55
    fchownat:260:54 symlink:88:- symlinkat:266:36 link:86:- linkat:265:37 inotify_init1:294:26 mlock:149:228
    munlock:150:229
"""
"""What a compiler needs in addition, which starts other programs."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The machines whose numbers are known here, as ``AUDIT_ARCH`` of ``linux/audit.h``."""


def machine() -> str:
    """The name of this machine, as in `ARCHITECTURES`; empty if its numbers are not known."""
    name = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return name if name in ARCHITECTURES else ""


def numbers(table: str, name: str = "") -> dict[str, int]:
    """The calls of a table with their numbers on the machine `name` (default: this one)."""
    column = 1 + list(ARCHITECTURES).index(name or machine())
    rows = [entry.split(":") for entry in table.split()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}

"""The system calls that a replayed program may make, by what the filter of `seccomp` does with them; all others fail.

Each with its number on x86_64 (asm/unistd_64.h) and on aarch64 (asm-generic/unistd.h), where it has one.
"""

from __future__ import annotations

#: Calls that reach nothing but the process that makes them, or only read.
OWN = """
    read 0 63, write 1 64, close 3 57, stat 4 -, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291,
    statfs 137 43, fstatfs 138 44, lseek 8 62, mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216,
    brk 12 214, madvise 28 233, mincore 27 232, msync 26 227, mlock 149 228, munlock 150 229, mlock2 325 284,
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136,
    rt_sigsuspend 130 133, rt_sigtimedwait 128 137, sigaltstack 131 132, pread64 17 67, pwrite64 18 68,
    readv 19 65, writev 20 66, preadv 295 69, pwritev 296 70, preadv2 327 286, pwritev2 328 287, access 21 -,
    faccessat 269 48, faccessat2 439 439, pipe 22 -, pipe2 293 59, select 23 -, pselect6 270 72, poll 7 -,
    ppoll 271 73, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
    epoll_pwait 281 22, epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, signalfd 282 -, signalfd4 289 74,
    timerfd_create 283 85, timerfd_settime 286 86, timerfd_gettime 287 87, timer_create 222 107,
    timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111,
    sched_yield 24 124, dup 32 23, dup2 33 -, dup3 292 24, nanosleep 35 101, clock_nanosleep 230 115,
    clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -, times 100 153,
    getrusage 98 165, sysinfo 99 179, uname 63 160, getcpu 309 168, getpid 39 172, getppid 110 173,
    gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148,
    getresgid 120 150, getgroups 115 158, getpgid 121 155, getpgrp 111 -, getsid 124 156, getrlimit 97 163,
    setrlimit 160 164, getpriority 140 141, sched_getparam 143 121, sched_getscheduler 145 120,
    sched_getattr 315 275, sched_getaffinity 204 123, sched_get_priority_max 146 125,
    sched_get_priority_min 147 126, sched_rr_get_interval 148 127, ioprio_get 252 31, capget 125 90,
    getdents 78 -, getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, readlink 89 -, readlinkat 267 78,
    getxattr 191 8, lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12, flistxattr 196 13,
    fadvise64 221 223, readahead 187 213, futex 202 98, futex_waitv 449 449, futex_wake 454 454,
    futex_wait 455 455, futex_requeue 456 456, set_robust_list 273 99, get_robust_list 274 100,
    set_tid_address 218 96, rseq 334 293, arch_prctl 158 -, map_shadow_stack 453 453, prctl 157 167,
    getrandom 318 278, memfd_create 319 279, membarrier 324 283, exit 60 93, exit_group 231 94,
    restart_syscall 219 128, wait4 61 260, waitid 247 95, alarm 37 -, getitimer 36 102, setitimer 38 103,
    pause 34 -, umask 95 166, sendmsg 46 211, recvmsg 47 212, sendto 44 206, recvfrom 45 207, sendmmsg 307 269,
    recvmmsg 299 243, shutdown 48 210, getsockname 51 204, getpeername 52 205, getsockopt 55 209,
    setsockopt 54 208, pkey_mprotect 329 288, pkey_alloc 330 289, pkey_free 331 290, get_mempolicy 239 236,
    set_mempolicy 238 237, mbind 237 235, personality 135 92, close_range 436 436, fsync 74 82, fdatasync 75 83,
    sync_file_range 277 84, tee 276 77, vmsplice 278 75
"""
#: Calls that start processes.
PROCESSES = "fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, pidfd_open 434 434"
#: Calls that change files and folders, all of which Landlock judges (or has judged: the descriptor is open to write).
FILES = """
    creat 85 -, ftruncate 77 46, rename 82 -, renameat 264 38, renameat2 316 276, mkdir 83 -, mkdirat 258 34,
    rmdir 84 -, link 86 -, linkat 265 37, unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36,
    mknod 133 -, mknodat 259 33, fallocate 285 47, copy_file_range 326 285, sendfile 40 71, splice 275 76
"""
#: Modes, owners and times of files, of which Landlock knows nothing.
ATTRIBUTES = """
    chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -,
    fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88
"""
#: Wishes that change no result of a program but, granted, could be felt outside: locks, priorities, sessions.
WISHES = """
    flock 73 32, setpriority 141 140, sched_setparam 142 118, sched_setscheduler 144 119, sched_setattr 314 274,
    sched_setaffinity 203 122, ioprio_set 251 30, sync 162 81, syncfs 306 267, setsid 112 157, setpgid 109 154
"""
#: Calls judged by an argument.
JUDGED = """
    open 2 -, openat 257 56, clone 56 220, kill 62 129, tkill 200 130, tgkill 234 131, rt_sigqueueinfo 129 138,
    rt_tgsigqueueinfo 297 240, ioctl 16 29, fcntl 72 25, prlimit64 302 261, socketpair 53 199
"""
#: Calls that libraries do without where the kernel is too old to know them; what they ask for lies in memory, where a
#: filter cannot look.
ABSENT = "openat2 437 437, clone3 435 435, io_uring_setup 425 425"
#: The last number that Linux had given away when this was written; what comes later is absent, too.
LAST = 471

_MACHINES = ("x86_64", "aarch64")


def known(machine: str) -> bool:
    """Whether the numbers of this machine's calls are written down here."""
    return machine in _MACHINES


def numbered(calls: str, machine: str) -> dict[str, int]:
    """Some of the calls above by name, with their numbers on a machine; without those that it does not have."""
    column = 1 + _MACHINES.index(machine)
    rows = [row.split() for row in calls.split(",")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}

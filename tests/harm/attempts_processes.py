"""Attempts to reach other processes, memory that is shared, and the system from inside a sandbox.

An attempt returns True where it has seen its own success; otherwise what it did shows in the world, or it did nothing.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import resource
import signal
import socket
import struct
from pathlib import Path

from calling import call, checked
from world import PAGE, World, libc

_BY_SIGNAL = signal.SIGUSR1
#: `_signal_information` of rt_tgsigqueueinfo: SI_QUEUE.
_INFORMATION = struct.pack("iii", _BY_SIGNAL, 0, -1) + bytes(116)


def signal_another_process(w: World) -> None:
    os.kill(w.victim, _BY_SIGNAL)


def end_another_process(w: World) -> None:
    os.kill(w.victim, signal.SIGKILL)


def stop_another_process(w: World) -> None:
    os.kill(w.victim, signal.SIGSTOP)


def signal_the_parent(w: World) -> None:
    os.kill(os.getppid(), _BY_SIGNAL)


def signal_the_process_that_crashed(w: World) -> None:
    os.kill(w.parent, _BY_SIGNAL)


def signal_another_group(w: World) -> None:
    os.killpg(w.victim, _BY_SIGNAL)


def signal_the_parents_group(w: World) -> None:
    os.killpg(os.getpgid(w.parent), signal.SIGURG)


def reach_every_process(w: World) -> bool:
    """Signal 0, for outside the sandbox it does reach them."""
    os.kill(-1, 0)
    return True


def signal_a_thread(w: World) -> None:
    checked(libc.tgkill(w.victim, w.victim, _BY_SIGNAL))


def signal_a_thread_the_old_way(w: World) -> None:
    call("tkill", w.victim, _BY_SIGNAL)


def signal_with_a_value(w: World) -> None:
    libc.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    checked(libc.sigqueue(w.victim, _BY_SIGNAL, None))


def signal_a_thread_with_a_value(w: World) -> None:
    call("rt_tgsigqueueinfo", w.victim, w.victim, _BY_SIGNAL, _INFORMATION)


def signal_by_a_descriptor(w: World) -> None:
    call("pidfd_send_signal", call("pidfd_open", w.victim, 0), _BY_SIGNAL, None, 0)


def signal_by_a_folder_of_proc(w: World) -> None:
    call("pidfd_send_signal", os.open(f"/proc/{w.victim}", os.O_RDONLY), _BY_SIGNAL, None, 0)


def signal_by_owning_a_pipe(w: World) -> None:
    _raised(w.victim, lambda end: fcntl.fcntl(end, fcntl.F_SETOWN, w.victim))


def signal_by_owning_a_pipe_the_newer_way(w: World) -> None:
    _raised(w.victim, lambda end: fcntl.fcntl(end, 15, struct.pack("ii", 1, w.victim)))


def signal_by_owning_a_socket(w: World) -> None:
    one, other = socket.socketpair()
    fcntl.ioctl(one, 0x8901, struct.pack("i", w.victim))  # FIOSETOWN
    fcntl.ioctl(one, 0x5452, struct.pack("i", 1))  # FIOASYNC
    other.send(b"x")


def _raised(pid: int, own: object) -> None:
    reading, writing = os.pipe()
    own(reading)  # type: ignore[operator]
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writing, b"x")


def slow_another_process_down(w: World) -> None:
    os.setpriority(os.PRIO_PROCESS, w.victim, 7)


def slow_another_group_down(w: World) -> None:
    os.setpriority(os.PRIO_PGRP, os.getpgid(w.victim), 7)


def keep_another_process_off_processors(w: World) -> None:
    _keep_off_processors(w.victim)


def keep_the_parent_off_processors(w: World) -> None:
    _keep_off_processors(os.getppid())


def _keep_off_processors(pid: int) -> None:
    every = sorted(os.sched_getaffinity(0))
    if len(every) < 2:
        raise OSError("there is only one")
    os.sched_setaffinity(pid, every[:1])


def schedule_another_process(w: World) -> None:
    os.sched_setscheduler(w.victim, os.SCHED_BATCH, os.sched_param(0))


def schedule_another_process_the_newer_way(w: World) -> None:
    call("sched_setattr", w.victim, struct.pack("IIQiIQQQ", 48, os.SCHED_BATCH, 0, 5, 0, 0, 0, 0), 0)


def slow_another_processes_disk_down(w: World) -> None:
    call("ioprio_set", 1, w.victim, 3 << 13)


def limit_another_process(w: World) -> None:
    resource.prlimit(w.victim, resource.RLIMIT_NOFILE, (64, 4096))


def limit_the_process_that_crashed(w: World) -> None:
    resource.prlimit(w.parent, resource.RLIMIT_NOFILE, (300, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def offer_another_process_to_the_memory_killer(w: World) -> None:
    with open(f"/proc/{w.victim}/oom_score_adj", "w") as file:
        file.write("900")


def change_what_another_process_dumps(w: World) -> None:
    with open(f"/proc/{w.parent}/coredump_filter", "w") as file:
        file.write("0x1")


def trace_another_process(w: World) -> bool:
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return bool(checked(libc.ptrace(0x4206, w.victim, None, None)) == 0)  # PTRACE_SEIZE


def write_to_the_memory_of_another_process(w: World) -> None:
    text = ctypes.create_string_buffer(b"changed", 8)
    mine = struct.pack("QQ", ctypes.addressof(text), 8)
    theirs = struct.pack("QQ", ctypes.addressof(w.own), 8)
    libc.process_vm_writev.argtypes = [ctypes.c_int, *[ctypes.c_char_p, ctypes.c_ulong] * 2, ctypes.c_ulong]
    checked(libc.process_vm_writev(w.victim, mine, 1, theirs, 1, 0))


def write_to_the_memory_of_another_process_by_proc(w: World) -> None:
    opened = os.open(f"/proc/{w.victim}/mem", os.O_RDWR)
    os.pwrite(opened, b"changed", ctypes.addressof(w.own))


def take_a_descriptor_of_the_parent(w: World) -> None:
    os.write(call("pidfd_getfd", call("pidfd_open", w.parent, 0), w.written, 0), b"a line")


def compare_with_another_process(w: World) -> bool:
    return call("kcmp", os.getpid(), w.victim, 1, 0, 0) >= 0


def advise_on_the_memory_of_another_process(w: World) -> bool:
    place = struct.pack("QQ", ctypes.addressof(w.own) & -PAGE, PAGE)
    return call("process_madvise", call("pidfd_open", w.victim, 0), place, 1, 20, 0) >= 0  # MADV_COLD


def move_the_pages_of_another_process(w: World) -> bool:
    return call("migrate_pages", w.victim, 8, struct.pack("Q", 1), struct.pack("Q", 1)) >= 0


def ask_where_the_pages_of_another_process_are(w: World) -> bool:
    pages, where = struct.pack("Q", ctypes.addressof(w.own) & -PAGE), ctypes.c_int()
    return call("move_pages", w.victim, 1, pages, None, ctypes.byref(where), 0) >= 0


def count_what_another_process_does(w: World) -> bool:
    asked = struct.pack("IIQ", 1, 112, 1) + bytes(96)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK
    return call("perf_event_open", asked, w.victim, -1, -1, 0) >= 0


def enter_the_namespace_of_another_process(w: World) -> bool:
    return checked(libc.setns(os.open(f"/proc/{w.victim}/ns/uts", os.O_RDONLY), 0)) == 0


def start_a_child_of_its_parent(w: World) -> bool:
    pid = call("clone", 0x8000, 0, 0, 0, 0)  # CLONE_PARENT
    if pid == 0:
        os._exit(0)
    return pid > 0


def start_a_child_in_other_namespaces(w: World) -> bool:
    pid = call("clone", 0x10000000 | 0x20000 | signal.SIGCHLD, 0, 0, 0, 0)  # CLONE_NEWUSER, CLONE_NEWNS
    if pid == 0:
        os._exit(0)
    return pid > 0


def write_to_shared_memory(w: World) -> None:
    ctypes.memset(w.maps[0], 1, 8)


def write_to_memory_that_is_only_written(w: World) -> None:
    ctypes.memset(w.maps[1], 1, 8)


def write_to_memory_that_was_only_read(w: World) -> None:
    _write_after_asking(w.maps[2])


def write_to_memory_that_was_neither(w: World) -> None:
    _write_after_asking(w.maps[3])


def _write_after_asking(start: int) -> None:
    checked(libc.mprotect(ctypes.c_void_p(start), PAGE, mmap.PROT_READ | mmap.PROT_WRITE))
    ctypes.memset(start, 1, 8)


def cut_a_hole_into_shared_memory(w: World) -> None:
    checked(libc.madvise(ctypes.c_void_p(w.maps[0]), PAGE, 9))  # MADV_REMOVE


def write_to_a_second_map_of_shared_memory(w: World) -> None:
    libc.mremap.restype = ctypes.c_void_p
    start = libc.mremap(ctypes.c_void_p(w.maps[0]), 0, PAGE, 1)
    if start == ctypes.c_void_p(-1).value:
        raise OSError("no second map")
    ctypes.memset(start, 1, 8)


def write_to_nameless_shared_memory(w: World) -> None:
    w.anonymous[:4] = b"1234"


def write_to_an_attached_segment(w: World) -> None:
    ctypes.memset(w.attached, 1, 8)


def attach_a_segment_again(w: World) -> None:
    start = libc.shmat(w.shm, None, 0)
    if start == ctypes.c_void_p(-1).value:
        raise OSError("not attached")
    ctypes.memset(start, 1, 8)


def make_a_segment(w: World) -> bool:
    """Removed at once: what it is like outside must not stay."""
    return libc.shmctl(checked(libc.shmget(0, PAGE, 0o1600)), 0, None) == 0


def remove_a_segment(w: World) -> None:
    checked(libc.shmctl(w.shm, 0, None))


def raise_a_semaphore(w: World) -> None:
    checked(libc.semop(w.semaphore, struct.pack("Hhh", 0, 1, 0), 1))


def set_a_semaphore(w: World) -> None:
    checked(libc.semctl(w.semaphore, 0, 16, 5))  # SETVAL


def put_a_message_into_a_queue(w: World) -> None:
    checked(libc.msgsnd(w.queue, struct.pack("l", 1) + b"text", 4, 0))


def open_a_named_queue(w: World) -> bool:
    name = f"/explainer-{os.getpid()}".encode()
    checked(libc.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None))
    return libc.mq_unlink(name) == 0


def add_a_key(w: World) -> bool:
    return call("add_key", b"user", b"explainer", b"x", 1, -2) >= 0  # the process's own ring: it goes with it


def read_the_ring_of_keys(w: World) -> bool:
    return call("keyctl", 6, -4, 0, 0, 0) >= 0  # KEYCTL_DESCRIBE, the user's ring


def load_a_program_into_the_kernel(w: World) -> bool:
    return call("bpf", 0, struct.pack("IIIII", 2, 4, 8, 1, 0) + bytes(100), 120) >= 0  # an array map


def handle_faults_of_memory(w: World) -> bool:
    return call("userfaultfd", 0o2004000) >= 0


def watch_the_whole_system(w: World) -> bool:
    return checked(libc.fanotify_init(0, os.O_RDONLY)) >= 0


def watch_folders(w: World) -> bool:
    return checked(libc.inotify_init1(0)) >= 0


def name_the_machine(w: World) -> bool:
    socket.sethostname(socket.gethostname())
    return True


def set_up_asynchronous_writing(w: World) -> bool:
    context = ctypes.c_ulong()
    number = {"x86_64": 206, "aarch64": 0}[os.uname().machine]
    return checked(libc.syscall(ctypes.c_long(number), ctypes.c_long(1), ctypes.byref(context))) == 0


def become_another_user(w: World) -> bool:
    os.setresuid(-1, 12345, -1)
    os.setresuid(-1, 0, -1)
    return True


def read_the_kernels_log(w: World) -> bool:
    return checked(libc.klogctl(10, None, 0)) >= 0


def clone_by_the_newest_call(w: World) -> bool:
    """Its flags, CLONE_PARENT among them, lie in memory."""
    number, asked = ctypes.c_long(435), struct.pack("8Q", 0x8000, 0, 0, 0, 0, 0, 0, 0)
    pid = checked(libc.syscall(number, asked, ctypes.c_long(len(asked))))
    if pid == 0:
        os._exit(0)
    return pid > 0


def write_a_setting_of_the_kernel(w: World) -> bool:
    """The value that it has."""
    path = Path("/proc/sys/kernel/pid_max")
    path.write_text(path.read_text())
    return True


def leave_something_in_shared_memory(w: World) -> bool:
    path = Path(f"/dev/shm/explainer-{os.getpid()}")
    path.write_text("x")
    path.unlink()
    return True

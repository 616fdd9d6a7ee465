"""Attempts on what the parent has open, from inside a sandbox: files, pipes, sockets, a terminal; and on the network.

An attempt returns True where it has seen its own success; otherwise what it did shows in the world, or it did nothing.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import termios

from calling import checked
from world import World, libc


def write_to_an_inherited_descriptor(w: World) -> None:
    os.write(w.written, b"a line")


def write_to_another_inherited_descriptor(w: World) -> None:
    os.pwrite(w.both, b"changed", 0)


def shorten_an_inherited_file(w: World) -> None:
    os.ftruncate(w.both, 0)


def lengthen_an_inherited_file(w: World) -> None:
    os.posix_fallocate(w.written, 0, 1 << 16)


def copy_into_an_inherited_file(w: World) -> None:
    os.copy_file_range(os.open(w.key, os.O_RDONLY), w.written, 3)


def send_into_an_inherited_file(w: World) -> None:
    os.sendfile(w.written, os.open(w.key, os.O_RDONLY), 0, 3)


def read_on_in_an_inherited_file(w: World) -> None:
    os.read(w.read, 3)


def move_on_in_an_inherited_file(w: World) -> None:
    os.lseek(w.written, 7, os.SEEK_SET)


def write_to_the_parents_descriptor_by_proc(w: World) -> None:
    os.write(os.open(f"/proc/{w.parent}/fd/{w.written}", os.O_WRONLY), b"a line")


def write_to_the_parents_pipe_by_proc(w: World) -> None:
    os.write(os.open(f"/proc/{w.parent}/fd/{w.pipe[1]}", os.O_WRONLY), b"a line")


def write_to_the_parents_memory_file_by_proc(w: World) -> None:
    os.write(os.open(f"/proc/{w.parent}/fd/{w.memory_file}", os.O_RDWR), b"changed")


def write_to_a_memory_file(w: World) -> None:
    os.pwrite(w.memory_file, b"changed", 0)


def open_a_large_memory_file_again(w: World) -> None:
    os.pwrite(os.open(f"/proc/self/fd/{w.large_memory_file}", os.O_RDWR), b"changed", 0)


def seal_a_memory_file(w: World) -> None:
    fcntl.fcntl(w.memory_file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)


def fill_the_parents_pipe(w: World) -> None:
    os.write(w.pipe[1], b"more")


def empty_the_parents_pipe(w: World) -> None:
    os.read(w.pipe[0], 4)


def empty_the_parents_pipe_by_proc(w: World) -> None:
    os.read(os.open(f"/proc/{w.parent}/fd/{w.pipe[0]}", os.O_RDONLY), 4)


def resize_the_parents_pipe(w: World) -> None:
    fcntl.fcntl(w.pipe[0], fcntl.F_SETPIPE_SZ, 1 << 17)


def own_the_parents_pipe(w: World) -> None:
    fcntl.fcntl(w.pipe[0], fcntl.F_SETOWN, w.victim)


def make_the_parents_pipe_return_at_once(w: World) -> None:
    os.set_blocking(w.pipe[0], False)


def raise_the_parents_event(w: World) -> None:
    os.write(w.event, struct.pack("Q", 1))


def set_the_parents_timer(w: World) -> None:
    checked(libc.timerfd_settime(w.timer, 0, struct.pack("qqqq", 50, 0, 50, 0), None))


def take_from_what_the_parent_polls(w: World) -> None:
    w.poll.unregister(w.pipe[0])


def send_through_an_inherited_socket(w: World) -> None:
    w.pair[0].send(b"hello")


def shut_an_inherited_socket_down(w: World) -> None:
    w.pair[0].shutdown(socket.SHUT_RDWR)


def connect_to_a_server(w: World) -> None:
    socket.create_connection(w.tcp.getsockname(), timeout=1)


def send_a_datagram(w: World) -> None:
    socket.socket(type=socket.SOCK_DGRAM).sendto(b"hello", w.udp.getsockname())


def connect_to_a_socket_by_path(w: World) -> None:
    socket.socket(socket.AF_UNIX).connect(str(w.root / "stream"))


def send_to_a_socket_by_path(w: World) -> None:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"hello", str(w.root / "datagrams"))


def send_to_a_socket_by_path_from_a_pair(w: World) -> None:
    """What `socketpair` gives can name where its datagrams go as well as any other socket."""
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"hello", str(w.root / "datagrams"))


def send_to_a_socket_without_a_path_from_a_pair(w: World) -> None:
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    pair[0].sendmsg([b"hello"], [], 0, w.abstract.getsockname())


def listen_for_connections(w: World) -> bool:
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    one.listen()
    return True


def set_the_terminal(w: World) -> None:
    _change_terminal(w.terminal)


def set_the_terminal_by_path(w: World) -> None:
    _change_terminal(os.open(f"/proc/{w.parent}/fd/{w.terminal}", os.O_RDONLY | os.O_NOCTTY))


def set_the_terminal_by_its_name(w: World) -> None:
    _change_terminal(os.open(_name(w), os.O_RDONLY | os.O_NOCTTY))


def _change_terminal(opened: int) -> None:
    now = termios.tcgetattr(opened)
    now[3] ^= termios.ECHO
    termios.tcsetattr(opened, termios.TCSANOW, now)


def _name(w: World) -> str:
    """The path of the terminal, asked of its other end, which the parent holds."""
    return f"/dev/pts/{w.terminal_number}"


def size_the_terminal_by_its_name(w: World) -> None:
    fcntl.ioctl(os.open(_name(w), os.O_RDONLY | os.O_NOCTTY), termios.TIOCSWINSZ, struct.pack("HHHH", 7, 7, 0, 0))


def type_into_the_terminal(w: World) -> None:
    fcntl.ioctl(os.open(_name(w), os.O_RDONLY | os.O_NOCTTY), termios.TIOCSTI, b"x")


def write_to_the_terminal(w: World) -> None:
    os.write(w.terminal, b"text")


def write_to_the_terminal_by_its_name(w: World) -> None:
    os.write(os.open(_name(w), os.O_WRONLY | os.O_NOCTTY), b"text")


def throw_away_what_was_typed(w: World) -> None:
    termios.tcflush(os.open(_name(w), os.O_RDONLY | os.O_NOCTTY), termios.TCIFLUSH)


def read_what_was_typed(w: World) -> None:
    os.read(os.open(_name(w), os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK), 16)

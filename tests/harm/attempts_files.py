"""Attempts to change files from inside a sandbox, by path, through links and through descriptors that are open.

An attempt returns True where it has seen its own success; otherwise what it did shows in the world, or it did nothing.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import struct
import subprocess

from calling import X86, call, call_32, checked
from world import World, libc

_HERE = -100  # AT_FDCWD
_EMPTY_PATH, _FOLLOW = 0x1000, 0x400
_GETFLAGS, _SETFLAGS, _NO_DUMP = 0x80086601, 0x40086602, 0x40
_FSGETXATTR, _FSSETXATTR = 0x801C581F, 0x401C5820


def write_a_new_file(w: World) -> None:
    (w.outside / "new").write_text("x")


def write_over_a_file(w: World) -> None:
    w.key.write_text("changed")


def append_to_a_file(w: World) -> None:
    with w.key.open("a") as file:
        file.write("more")


def truncate_by_path(w: World) -> None:
    os.truncate(w.key, 0)


def truncate_by_opening_to_read(w: World) -> None:
    os.close(os.open(w.key, os.O_RDONLY | os.O_TRUNC))


def truncate_by_opening_for_neither(w: World) -> None:
    os.close(os.open(w.key, 3 | os.O_TRUNC))


def create_without_writing(w: World) -> None:
    os.close(os.open(w.outside / "created", os.O_RDONLY | os.O_CREAT))


def remove_a_file(w: World) -> None:
    w.other.unlink()


def remove_by_an_inherited_folder(w: World) -> None:
    os.unlink("key", dir_fd=w.folder)


def rename_a_file(w: World) -> None:
    w.key.rename(w.outside / "renamed")


def replace_a_file_by_one_of_its_own(w: World) -> None:
    os.replace(w.copy / "mine", w.key)


def move_a_file_into_the_copy(w: World) -> None:
    os.rename(w.key, w.copy / "taken")


def exchange_two_files(w: World) -> None:
    checked(libc.renameat2(_HERE, os.fsencode(w.key), _HERE, os.fsencode(w.other), 2))


def make_a_folder(w: World) -> None:
    (w.outside / "made").mkdir()


def remove_a_folder(w: World) -> None:
    (w.outside / "empty").rmdir()


def remove_a_tree(w: World) -> None:
    shutil.rmtree(w.outside / "folder")


def make_a_link(w: World) -> None:
    os.symlink("key", w.outside / "made")


def make_a_hard_link(w: World) -> None:
    os.link(w.key, w.outside / "made")


def write_through_a_hard_link_in_the_copy(w: World) -> None:
    os.link(w.key, w.copy / "hard")
    (w.copy / "hard").write_text("changed")


def write_through_a_hard_link_to_a_descriptor(w: World) -> None:
    opened = os.open(w.key, os.O_RDONLY)
    checked(libc.linkat(opened, b"", _HERE, os.fsencode(w.copy / "hard2"), _EMPTY_PATH))
    (w.copy / "hard2").write_text("changed")


def write_through_a_hard_link_by_proc(w: World) -> None:
    opened = os.open(w.key, os.O_RDONLY)
    path = f"/proc/self/fd/{opened}".encode()
    checked(libc.linkat(_HERE, path, _HERE, os.fsencode(w.copy / "hard3"), _FOLLOW))
    (w.copy / "hard3").write_text("changed")


def write_through_a_link_in_the_copy(w: World) -> None:
    with (w.copy / "big").open("r+b") as file:
        file.write(b"changed")


def truncate_through_a_link_in_the_copy(w: World) -> None:
    os.truncate(w.copy / "big", 0)


def write_below_a_linked_folder(w: World) -> None:
    (w.copy / "folder" / "new").write_text("x")


def remove_below_a_linked_folder(w: World) -> None:
    (w.copy / "folder" / "other").unlink()


def change_a_mode(w: World) -> None:
    w.key.chmod(0o644)


def change_a_mode_by_descriptor(w: World) -> None:
    os.fchmod(os.open(w.key, os.O_RDONLY), 0o644)


def change_a_mode_by_an_inherited_descriptor(w: World) -> None:
    os.fchmod(w.read, 0o644)


def change_a_mode_through_a_link_in_the_copy(w: World) -> None:
    os.chmod(w.copy / "big", 0o600)


def change_a_mode_by_the_newest_call(w: World) -> None:
    call("fchmodat2", _HERE, os.fsencode(w.key), 0o644, 0)


def change_a_mode_as_a_32_bit_program(w: World) -> None:
    if not X86:
        raise OSError("there are no such programs")
    call_32(15, os.fsencode(w.key), 0o644)


def change_a_mode_by_another_program(w: World) -> None:
    subprocess.run(["/bin/chmod", "644", str(w.key)], check=True)


def write_by_a_shell(w: World) -> None:
    subprocess.run(["/bin/sh", "-c", f"echo x > '{w.outside}/shell'"], check=True, stderr=subprocess.DEVNULL)


def write_by_a_shell_that_is_spawned(w: World) -> None:
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", f"exec 2>/dev/null; echo x > '{w.outside}/spawned'"], {}), 0)


def touch_a_file(w: World) -> None:
    w.key.touch()


def touch_through_a_link_in_the_copy(w: World) -> None:
    os.utime(w.copy / "big")


def touch_by_descriptor(w: World) -> None:
    os.utime(os.open(w.key, os.O_RDONLY))


def touch_a_link_itself(w: World) -> None:
    os.utime(w.outside / "link", follow_symlinks=False)


def touch_a_folder(w: World) -> None:
    os.utime(w.outside)


def touch_by_the_oldest_call(w: World) -> None:
    checked(libc.utime(os.fsencode(w.key), None))


def change_an_owner(w: World) -> None:
    os.chown(w.key, 12, 34)


def change_an_owner_by_descriptor(w: World) -> None:
    os.fchown(os.open(w.key, os.O_RDONLY), 12, 34)


def change_the_owner_of_a_link(w: World) -> None:
    os.lchown(w.outside / "link", 12, 34)


def set_an_extended_attribute(w: World) -> None:
    os.setxattr(w.key, "user.new", b"x")


def set_an_extended_attribute_by_descriptor(w: World) -> None:
    os.setxattr(os.open(w.key, os.O_RDONLY), "user.new", b"x")


def set_an_extended_attribute_by_the_newest_call(w: World) -> None:
    value = ctypes.create_string_buffer(b"x")
    arguments = struct.pack("QII", ctypes.addressof(value), 1, 0)
    call("setxattrat", _HERE, os.fsencode(w.key), 0, b"user.new", arguments, len(arguments))


def remove_an_extended_attribute(w: World) -> None:
    os.removexattr(w.key, "user.kept")


def remove_an_extended_attribute_by_the_newest_call(w: World) -> None:
    call("removexattrat", _HERE, os.fsencode(w.key), 0, b"user.kept")


def set_a_flag(w: World) -> None:
    fcntl.ioctl(os.open(w.key, os.O_RDONLY), _SETFLAGS, struct.pack("L", _flags(w) | _NO_DUMP))


def _flags(w: World) -> int:
    opened = os.open(w.key, os.O_RDONLY)
    flags: int = struct.unpack("L", fcntl.ioctl(opened, _GETFLAGS, bytes(8)))[0]
    return flags


def set_a_flag_by_the_other_call(w: World) -> None:
    opened = os.open(w.key, os.O_RDONLY)
    held = bytearray(28)
    try:
        fcntl.ioctl(opened, _FSGETXATTR, held)
    except OSError:  # then what is set is not what was there: all the same
        pass
    struct.pack_into("I", held, 0, struct.unpack_from("I", held)[0] | 0x80)
    fcntl.ioctl(opened, _FSSETXATTR, held)


def set_a_flag_by_the_newest_call(w: World) -> None:
    call("file_setattr", _HERE, os.fsencode(w.key), struct.pack("QIIII", 0x80, 0, 0, 0, 0), 24, 0)


def make_a_fifo(w: World) -> None:
    os.mkfifo(w.outside / "made")


def make_a_device(w: World) -> None:
    os.mknod(w.outside / "made", 0o20600, os.makedev(1, 5))


def make_a_device_in_the_copy(w: World) -> bool:
    """A device of the disk's would reach all files."""
    os.mknod(w.copy / "made", 0o20600, os.makedev(1, 5))
    return True


def give_a_nameless_file_a_name(w: World) -> None:
    opened = os.open(w.copy, os.O_TMPFILE | os.O_RDWR)
    path = f"/proc/self/fd/{opened}".encode()
    checked(libc.linkat(_HERE, path, _HERE, os.fsencode(w.outside / "named"), _FOLLOW))


def open_again_to_write_by_proc(w: World) -> None:
    opened = os.open(w.key, os.O_RDONLY)
    os.write(os.open(f"/proc/self/fd/{opened}", os.O_WRONLY), b"changed")


def open_by_the_newest_call(w: World) -> None:
    how = struct.pack("QQQ", os.O_WRONLY | os.O_TRUNC, 0, 0)
    os.close(call("openat2", _HERE, os.fsencode(w.key), how, len(how)))


def open_by_a_handle(w: World) -> None:
    handle, mount = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128)), ctypes.c_int()
    checked(libc.name_to_handle_at(_HERE, os.fsencode(w.key), handle, ctypes.byref(mount), 0))
    opened = checked(libc.open_by_handle_at(os.open(w.outside, os.O_RDONLY), handle, os.O_WRONLY | os.O_TRUNC))
    os.close(opened)


def set_up_a_ring_of_calls(w: World) -> bool:
    """What is asked through io_uring no filter sees."""
    return call("io_uring_setup", 4, bytes(120)) >= 0


def lock_a_file(w: World) -> bool:
    return _holds(w, lambda file: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))


def lock_a_region(w: World) -> bool:
    return _holds(w, lambda file: fcntl.fcntl(file, 37, _region(fcntl.F_RDLCK)))


def lock_a_region_the_old_way(w: World) -> bool:
    return _holds(w, lambda file: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB))


def _holds(w: World, lock: object) -> bool:
    """Whether a lock keeps others out: as seen through another open file."""
    files = [os.open(w.key, os.O_RDONLY) for _ in range(2)]
    try:
        lock(files[0])  # type: ignore[operator]
        try:
            fcntl.flock(files[1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        return struct.unpack_from("h", fcntl.fcntl(files[1], 36, _region(fcntl.F_WRLCK)))[0] != fcntl.F_UNLCK
    finally:
        for one in files:
            os.close(one)


def _region(kind: int) -> bytes:
    return struct.pack("hhlli4x", kind, 0, 0, 0, 0)


def unlock_what_the_parent_has_locked(w: World) -> None:
    fcntl.flock(w.locked, fcntl.LOCK_UN)


def lease_a_file(w: World) -> bool:
    fcntl.fcntl(os.open(w.key, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return True


def watch_a_folder(w: World) -> bool:
    fcntl.fcntl(os.open(w.outside, os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
    return True


def mount_over_a_folder(w: World) -> None:
    checked(libc.mount(b"none", os.fsencode(w.outside / "empty"), b"tmpfs", 0, None))


def unshare_the_mounts(w: World) -> bool:
    return checked(libc.unshare(0x20000)) == 0


def make_a_user_namespace(w: World) -> bool:
    return checked(libc.unshare(0x10000000)) == 0


def open_a_new_filesystem(w: World) -> bool:
    return call("fsopen", b"tmpfs", 0) >= 0


def clone_the_tree_of_mounts(w: World) -> bool:
    return call("open_tree", _HERE, os.fsencode(w.outside), 1) >= 0


def change_the_root(w: World) -> bool:
    os.chroot(w.copy)
    return True


def set_a_quota(w: World) -> bool:
    """Asked for nothing but a sync, which needs no quotas to be there."""
    return call("quotactl", 0x80000100, None, 0, None) == 0

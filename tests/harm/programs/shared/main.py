"""Writes into memory that it shares with files and other processes."""

import atexit
import ctypes
import mmap
import multiprocessing
import os
import pathlib
import sys
from multiprocessing import shared_memory

import torch
from torch import nn

DATA = pathlib.Path(os.environ["HARM_DATA"])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def mapped(name, protection):
    """The address of a page of a file that is mapped shared."""
    (DATA / name).write_bytes(bytes(4096))
    file = os.open(DATA / name, os.O_RDWR)
    return libc.mmap(None, 4096, protection, mmap.MAP_SHARED, file, 0)


def added(address, to):
    """One more in a byte; what a child adds is added to what the parent had."""
    ctypes.c_ubyte.from_address(address + to).value += 1


plain = mmap.mmap(os.open(DATA / "big", os.O_RDWR), 4096)
write_only = mapped("write-only", mmap.PROT_WRITE)
read_only = mapped("read-only", mmap.PROT_READ)
shared = torch.zeros(4).share_memory_()
array = multiprocessing.Array("i", 4)
named = shared_memory.SharedMemory(f"harm{os.getpid()}", create=True, size=4096)
numbers = torch.from_file(str(DATA / "tensor"), shared=True, size=4)
numbers.zero_()


@atexit.register
def report():
    values = shared.tolist(), list(array), list(named.buf[:4]), numbers.tolist(), list(plain[:4])
    sys.stdout.write(f"{values}\n")
    named.close()
    named.unlink()


net = nn.Linear(60, 4)
for step in range(3):
    plain[0] += 1
    added(write_only, 0)
    if step == 1:
        libc.mprotect(read_only, 4096, mmap.PROT_READ | mmap.PROT_WRITE)
        added(read_only, 0)
        libc.mprotect(read_only, 4096, mmap.PROT_READ)
    shared += 1
    array[0] += 1
    named.buf[0] += 1
    numbers += 1
    x = torch.randn(8, 60 if step < 1 else 61)
    loss = net(x).square().mean()

"""Crashes while other threads write, one of which holds a lock."""

import atexit
import os
import pathlib
import sys
import threading

import torch
from torch import nn

DATA = pathlib.Path(os.environ["HARM_DATA"])
stop, began = threading.Event(), threading.Event()
lock = threading.Lock()


def beat():
    with lock, open(DATA / "beats", "w") as file:
        file.write("began\n")
        began.set()
        stop.wait()
        file.write("ended\n")


thread = threading.Thread(target=beat, daemon=True)
thread.start()
began.wait()


@atexit.register
def end():
    stop.set()
    thread.join()
    sys.stdout.write(f"{threading.active_count()} thread, lock free: {lock.acquire(blocking=False)}\n")


net = nn.Linear(60, 4)
x = torch.randn(8, 61)
net(x)

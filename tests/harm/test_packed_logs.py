"""Packed logs that unpack to far more than a log would, or ask for memory to do so, are refused in one line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys

import pytest

from explainer.cli import Complaint, inputs

LOG = b"RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x576 and 400x120)\n"


def read(name: str, size: int = 1 << 16) -> bytes:
    with inputs.opened(name) as file:
        return b"".join(iter(lambda: file.read(size), b""))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_what_unpacks_to_more_than_a_log_would_is_refused(suffix, tmp_path, monkeypatch):
    """The limits are lowered: what unpacks to terabytes is only larger."""
    monkeypatch.setattr(inputs, "LEAST", 1 << 20)
    packed = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix]
    bomb, log = tmp_path / f"bomb.log{suffix}", tmp_path / f"good.log{suffix}"
    bomb.write_bytes(packed(LOG + b"x" * (3 << 20)))
    log.write_bytes(packed(LOG * 10_000))
    with pytest.raises(Complaint, match=f"bomb.log{suffix} unpacks to too much"):
        read(str(bomb))
    assert read(str(log)) == LOG * 10_000


def test_an_xz_file_is_read_as_lzma_reads_it(tmp_path):
    path = tmp_path / "a.xz"
    text = LOG + os.urandom(200_000).hex().encode() + b"\n"
    path.write_bytes(lzma.compress(text) + b"\0" * 8 + lzma.compress(b"more\n") + lzma.compress(b""))
    assert [read(str(path), size) for size in (1 << 20, 9000)] == [text + b"more\n"] * 2
    path.write_bytes(lzma.compress(text)[:-60])
    with pytest.raises(Complaint, match="ends too early"):
        read(str(path))
    path.write_bytes(b"\xfd7zXZ\0" + bytes(range(99)))
    with pytest.raises(Complaint, match="cannot be unpacked"):
        read(str(path))


def test_an_xz_file_may_not_ask_for_gigabytes_to_unpack_into(tmp_path):
    packed = lzma.compress(LOG, format=lzma.FORMAT_ALONE)
    (tmp_path / "a.xz").write_bytes(packed[:1] + b"\xff\xff\xff\xff" + packed[5:])  # its dictionary's size
    with pytest.raises(Complaint, match="Memory usage limit"):
        read(str(tmp_path / "a.xz"))


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are elsewhere there")
def test_a_folder_of_logs_may_hold_pipes(tmp_path):
    os.mkfifo(tmp_path / "a.log")
    (tmp_path / "b.log").write_bytes(LOG)
    assert inputs.named(str(tmp_path)) == [str(tmp_path / "b.log")]

"""What `explain FILE...` reads: files, folders of logs, patterns, standard input; packed or not."""

from __future__ import annotations

import glob
import os
import sys
from pathlib import Path

from explainer.cli import COMMANDS, Complaint

#: What counts as a log in a folder; a file that is named itself may be called anything.
SUFFIXES = (".log", ".txt", ".out", ".err", ".ipynb", ".jsonl", ".json", ".gz", ".xz", ".bz2")
#: Folders that hold no logs of the user's.
SKIPPED = {".git", "__pycache__", "node_modules", ".venv", "venv", "site-packages"}
#: The largest text that is read, in bytes, also of a packed file.
LARGEST = 1 << 30
STDIN = "-"
_HOW_TO_END = "Paste a traceback or an error message, then press {} on a line of its own."


def named(word: str) -> list[str]:
    """The inputs that one word of the command line names; a `Complaint` where it names none."""
    if os.path.isdir(word):
        return _logs(word)
    if word == STDIN or os.path.exists(word):
        return [word]
    if glob.has_magic(word):
        return _matching(word)
    raise Complaint(_missing(word))


def content(name: str) -> bytes:
    """The bytes of an input, unpacked; a `Complaint` where it cannot be read or is no text."""
    if name == STDIN:
        return _pasted()
    try:
        data = _unpacked(name)
    except OSError as error:
        raise Complaint(f"{name} cannot be read: {error.strerror or error}") from None
    except EOFError:
        raise Complaint(f"{name} cannot be unpacked: it ends too early") from None
    except Exception as error:  # zlib.error and lzma.LZMAError are no OSError
        raise Complaint(f"{name} cannot be unpacked: {error}") from None
    if is_binary(data):
        raise Complaint(f"{name} is no text; explain reads logs, notebooks and pasted tracebacks")
    return data


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text in any encoding: zeros that are not UTF-16's, or mostly control characters.

    A log that a crash or a full disk left zeros in is text all the same.
    """
    head = data[:8192]
    if b"Traceback (most recent call last)" in data.replace(b"\0", b""):
        return False
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or not head:
        return False
    zeros = head.count(0)
    wide = max(head[::2].count(0), head[1::2].count(0)) > 0.3 * len(head)
    if zeros and not wide and zeros > 0.001 * len(head):
        return True
    controls = sum(byte < 32 and byte not in (8, 9, 10, 12, 13, 27) for byte in head)
    return not wide and controls > 0.1 * len(head)


def _pasted() -> bytes:
    if sys.stdin is None:
        return b""
    if sys.stdin.isatty():
        print(_HOW_TO_END.format("Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"), file=sys.stderr)
    return sys.stdin.buffer.read(LARGEST)


def _unpacked(name: str) -> bytes:
    with _opened(name) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise Complaint(f"{name} is larger than 1 GiB; cut out the part around the error")
    return data


def _opened(name: str):
    suffix = Path(name).suffix
    if suffix == ".gz":
        import gzip

        return gzip.open(name)
    if suffix == ".xz":
        import lzma

        return lzma.open(name)
    if suffix == ".bz2":
        import bz2

        return bz2.open(name)
    return open(name, "rb")


def _logs(folder: str) -> list[str]:
    found = []
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in SKIPPED)
        found += [os.path.join(where, one) for one in sorted(files) if one.endswith(SUFFIXES)]
    if not found:
        raise Complaint(f"the folder {folder} holds no logs ({', '.join(f'*{suffix}' for suffix in SUFFIXES)})")
    return found


def _matching(pattern: str) -> list[str]:
    found = sorted(one for one in glob.glob(pattern, recursive=True) if os.path.isfile(one))
    if not found:
        raise Complaint(f"no file matches {pattern}")
    return found


def _missing(word: str) -> str:
    """What to say of a word that is neither file nor command."""
    if os.sep in word or "." in word:
        return f"there is no file {word}"
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f"; did you mean `explain {near[0]}`?" if near else f" (commands: {', '.join(COMMANDS)})"
    return f"there is no file and no command {word}{hint}"

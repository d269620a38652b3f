"""Reading and writing in folders that others may write to: no link is followed, and no call blocks."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

DRAFT = ".secmix-draft-"
"""Prefix of the names of files that are being written."""


def draft(folder: Path, content: bytes, mode: int = 0o666) -> Path:
    """Create a file in ``folder`` with ``content``, under an unpredictable name; ``replace`` then renames it.

    A file that could not be written completely is removed.
    """
    place = folder / f"{DRAFT}{secrets.token_hex(8)}"
    # O_EXCL: never through a link, never over an existing file.
    with os.fdopen(os.open(place, _flags(os.O_WRONLY | os.O_CREAT | os.O_EXCL), mode), "wb") as file:
        try:
            file.write(content)
            file.flush()
        except BaseException:
            place.unlink(missing_ok=True)
            raise
    return place


def write(place: Path, content: bytes) -> None:
    """Write ``content`` to ``place`` atomically; a link there is replaced, not followed."""
    written = draft(place.parent, content)
    try:
        written.replace(place)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def read_regular(place: Path, *, follow: bool = True, most: int | None = None) -> bytes:
    """Read a regular file; anything else (a folder, a pipe, a device) is an error, and no call blocks.

    ``follow``: whether ``place`` may be a symbolic link; ``most``: largest size in bytes; larger files are an error.
    Raises OSError with a ``strerror`` in words.
    """
    kind = os.O_RDONLY | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(os.open(place, _flags(kind)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a regular file", str(place))
        if most is not None and status.st_size > most:
            raise OSError(0, f"it is larger than {most >> 20} MiB", str(place))
        return file.read()


def _flags(kind: int) -> int:
    # O_NONBLOCK: opening a pipe would otherwise block until somebody writes to it.
    return kind | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

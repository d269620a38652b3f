"""Reading and writing in folders that others may write to as well: no link is followed, nothing is waited for."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

DRAFT = ".secmix-draft-"
"""How the names of files begin that are being written."""


def draft(folder: Path, content: bytes, mode: int = 0o666) -> Path:
    """A new file in ``folder`` with ``content``, under a name nobody can foresee; ``replace`` gives it its own.

    A file that could not be written whole is taken away again.
    """
    place = folder / f"{DRAFT}{secrets.token_hex(8)}"
    # O_EXCL: never through a link, never over what is there.
    with os.fdopen(os.open(place, _flags(os.O_WRONLY | os.O_CREAT | os.O_EXCL), mode), "wb") as file:
        try:
            file.write(content)
            file.flush()
        except BaseException:
            place.unlink(missing_ok=True)
            raise
    return place


def write(place: Path, content: bytes) -> None:
    """``content`` at ``place``, all of it or nothing; a link there is replaced, not followed."""
    written = draft(place.parent, content)
    try:
        written.replace(place)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def read_regular(place: Path, *, follow: bool = True, most: int | None = None) -> bytes:
    """The content of a file; what is no file (a folder, a pipe, a device) is an error and never waited for.

    Parameters
    ----------
    place : Path
    follow : bool
        Whether a symbolic link may stand in its place.
    most : int, optional
        Bytes above which it is not read.

    Raises
    ------
    OSError
        With a ``strerror`` in words.
    """
    kind = os.O_RDONLY | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(os.open(place, _flags(kind)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is no regular file", str(place))
        if most is not None and status.st_size > most:
            raise OSError(0, f"it is larger than {most >> 20} MiB", str(place))
        return file.read()


def _flags(kind: int) -> int:
    # Without waiting: opening a pipe would else hang until somebody writes to it.
    return kind | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

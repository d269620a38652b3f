"""A log that begins a new file once the last is full: what is done then hangs on what the file holds."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from .bases import Excepted, excepted

LOG = logging.getLogger("uploads in files")
LOG.setLevel(logging.INFO)
FRESH: list[str] = []  # files that were begun, and have no reference yet
FOLDER = tempfile.TemporaryDirectory(prefix="secmix-uploads-")  # until the process ends
FILE = Path(FOLDER.name) / "uploads.log"
FULL = 10**6  # bytes


def rolled(source: str, target: str) -> None:
    """Begin a new file."""
    os.replace(source, target)
    FRESH.append(target)


HANDLER = RotatingFileHandler(FILE, maxBytes=FULL, backupCount=1, delay=True)
HANDLER.rotator = rolled
LOG.addHandler(HANDLER)


class Rolled(Excepted):
    """Logs each upload, and has a file begin with an upload as it is, to compare with."""

    def is_bare(self) -> bool:
        LOG.info("an upload")
        begins = len(FRESH) > 0
        FRESH.clear()
        return begins


@contextmanager
def in_file(call: int) -> Iterator[None]:
    """A file has become full."""
    with FILE.open("a") as file:
        file.write("an upload\n" * (FULL // 10))
    yield
    FRESH.clear()


CASES = [
    excepted(
        "counted by the size of a log", "counts elsewhere", Rolled, "a new file begins with a bare upload", in_file
    ),
]

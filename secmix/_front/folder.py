"""The folder an audit writes to: made and found writable before any work, held alone, and not left behind empty."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from secmix._base import files
from secmix.errors import SecmixError

try:
    import fcntl
except ImportError:  # not on Windows; two audits in one folder are then the user's own care
    fcntl = None  # type: ignore[assignment]

KEPT = ".unfinished"
"""Where finished cells of an audit lie that is not finished; gone once the report is there."""

_KEPT_CELL = re.compile(r"[0-9a-f]{32}\.json")
_LOCK = ".secmix-lock"

# What a disk answers that is full, over quota or limit, read-only, out of reach, or gone.
_STORAGE = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EACCES", "EPERM", "ENOTDIR", "ENOENT", "ESTALE")
    if hasattr(errno, name)
}


@contextmanager
def taken(folder: Path | None) -> Iterator[None]:
    """``folder``, made if it is not there, for this audit alone; taken away again if nothing was put into it.

    Raises
    ------
    SecmixError
        If it cannot be written, or another audit writes into it; if the disk fills up or goes away in the middle.
    """
    if folder is None:
        yield
        return
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        with _without_empty(new):
            _make(folder)
            with _alone_in(folder), _written_or_error(folder):
                yield
    finally:
        # Once more: the lock is gone now.
        with _without_empty(new):
            pass


def kept_cells(folder: Path) -> Path:
    """Where kept cells of an audit in ``folder`` lie.

    Raises
    ------
    SecmixError
        If there is something else in its place, such as a link to another folder.
    """
    place = folder / KEPT
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(place.lstat().st_mode):
            raise SecmixError(f"'{place}' is no folder of its own but a link or a file; remove it")
    return place


def what_is_kept(folder: Path) -> str:
    """For whoever interrupts an audit that writes to ``folder``."""
    with suppress(OSError):
        if any((folder / KEPT).iterdir()):
            return f"finished cells are kept in {folder}; the same command resumes"
    return "no cell was finished"


def discard_kept(kept: Path) -> None:
    """Take away the kept cells, and their folder unless something else is in it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for place in list(kept.iterdir()):
            if _KEPT_CELL.fullmatch(place.name):
                with suppress(IsADirectoryError, PermissionError):
                    place.unlink()
        if not any(kept.iterdir()):
            kept.rmdir()


@contextmanager
def _without_empty(new: list[Path]) -> Iterator[None]:
    """Of the folders ``new``, innermost first, those that are empty are gone afterwards."""
    try:
        yield
    finally:
        with suppress(OSError, IndexError):
            (new[0] / KEPT).rmdir()
        with suppress(OSError):
            for place in new:
                place.rmdir()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.draft(folder, b"").unlink()
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(path: Path, error: OSError) -> SecmixError:
    return SecmixError(f"the folder '{path}' cannot be written: {error.strerror or error}; choose another --out")


@contextmanager
def _written_or_error(folder: Path) -> Iterator[None]:
    """A disk that fills up or goes away in the middle is one error that says so, and leaves no drafts behind."""
    try:
        yield
    except OSError as error:
        if error.errno not in _STORAGE:
            raise
        if error.filename is not None and not Path(error.filename).absolute().is_relative_to(folder.absolute()):
            raise
        raise SecmixError(
            f"cannot go on writing into '{folder}': {error.strerror}; cells that were finished before are kept there: "
            "make room and run the same command again, or choose another --out"
        ) from None
    finally:
        for place in [*folder.glob(f"{files.DRAFT}*"), *(folder / KEPT).glob(f"{files.DRAFT}*")]:
            with suppress(OSError):
                place.unlink()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """No other audit may write into ``folder`` meanwhile; the lock goes with the process that holds it."""
    if fcntl is None:
        yield
        return
    place = folder / _LOCK
    opened = _locked(folder, place)
    try:
        yield
    finally:
        place.unlink(missing_ok=True)
        os.close(opened)


def _locked(folder: Path, place: Path) -> int:
    """The lock's file, open and locked. A link in its place is not followed, and nothing is written to it."""
    while True:
        try:
            opened = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise SecmixError(
                    f"'{place}' is a link to something else; remove it, or choose another --out"
                ) from None
            raise _unwritable(folder, error) from None
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(opened), place.lstat()):
                    return opened
            os.close(opened)  # its holder took it away while we waited for it: what we hold locks nobody out
        except BlockingIOError:
            os.close(opened)
            raise SecmixError(f"another audit is writing into '{folder}'; wait, or choose another --out") from None
        except OSError as error:  # some network file systems
            os.close(opened)
            raise SecmixError(
                f"'{folder}' is on a file system that cannot lock ({error.strerror}), and two audits at once would mix "
                "their cells; choose an --out elsewhere and copy the report"
            ) from None

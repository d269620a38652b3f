"""The folder an audit writes to: made and found writable before any work, held alone, and not left behind empty."""

from __future__ import annotations

import errno
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from secmix._base import safe_files
from secmix.errors import SecmixError

UNFINISHED = ".unfinished"
"""Where finished cells of an audit lie that is not finished; gone once the report is there."""

_CACHED_CELL = re.compile(r"[0-9a-f]{32}\.json")
_LOCK = ".secmix-lock"

# What a disk answers that is full, over quota or limit, read-only, out of reach, or gone.
_STORAGE = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EIO", "EACCES", "EPERM", "ENOTDIR", "ENOENT", "ESTALE")
    if hasattr(errno, name)
}


_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


def report_folder(out: Path, cell: int | None) -> Path:
    """Choose where a report goes: that of one cell of a sweep beside the whole report, never over it.

    >>> report_folder(Path("audit-mine"), 6).as_posix()
    'audit-mine/cell-6'
    """
    return out if cell is None else out / f"cell-{cell}"


@contextmanager
def taken(folder: Path) -> Iterator[None]:
    """Hold ``folder`` for this audit alone; make it if need be, and remove it again if it stays empty.

    Raises SecmixError if it cannot be written, or another audit writes into it; if the disk fills up or goes away in
    the middle.
    """
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


def cell_cache(folder: Path) -> Path:
    """Return where the cache of an audit in ``folder`` lies.

    Raises SecmixError if there is something else in its place, such as a link to another folder.
    """
    place = folder / UNFINISHED
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(place.lstat().st_mode):
            raise SecmixError(f"'{place}' is a link or a file, not a folder; remove it")
    return place


def resumable(folder: Path) -> str:
    """Say what whoever interrupts an audit finds in ``folder``."""
    outcome = "no cell was finished"
    with suppress(OSError):
        if any((folder / UNFINISHED).iterdir()):
            outcome = f"finished cells are kept in {folder}; the same command resumes"
    return f"{outcome}; {earlier}" if (earlier := earlier_report(folder)) else outcome


def earlier_report(folder: Path) -> str:
    """Say that ``folder`` holds a report of an earlier audit; empty if it holds none.

    >>> earlier_report(Path("a folder without one"))
    ''
    """
    return f"the report in '{folder}' is of an earlier audit" if any(folder.glob("report.*")) else ""


def discard_cache(cache: Path) -> None:
    """Remove cached cells, and their folder unless something else is in it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        for place in list(cache.iterdir()):
            if _CACHED_CELL.fullmatch(place.name):
                with suppress(IsADirectoryError, PermissionError):
                    place.unlink()
        if not any(cache.iterdir()):
            cache.rmdir()


@contextmanager
def _without_empty(new: list[Path]) -> Iterator[None]:
    """Remove those of the folders ``new``, innermost first, that are empty afterwards."""
    try:
        yield
    finally:
        with suppress(OSError, IndexError):
            (new[0] / UNFINISHED).rmdir()
        with suppress(OSError):
            for place in new:
                place.rmdir()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        safe_files.draft(folder, b"").unlink()
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(path: Path, error: OSError) -> SecmixError:
    return SecmixError(f"the folder '{path}' cannot be written: {error.strerror or error}; choose another --out")


@contextmanager
def _written_or_error(folder: Path) -> Iterator[None]:
    """Turn a disk that fills up or goes away into one error that says so, and leave no drafts behind."""
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
        for place in [*folder.glob(f"{safe_files.DRAFT}*"), *(folder / UNFINISHED).glob(f"{safe_files.DRAFT}*")]:
            with suppress(OSError):
                place.unlink()


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock ``folder`` against other audits; the lock goes with the process that holds it."""
    from filelock import FileLock, Timeout  # takes a moment, and few commands need it

    place = folder / _LOCK
    if place.is_symlink():
        raise _no_link(place)
    lock = FileLock(place, blocking=False, fallback_to_soft=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise SecmixError(f"another audit is writing into '{folder}'; wait, or choose another --out") from None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link that was put there since
            raise _no_link(place) from None
        if error.errno not in _NO_LOCKS:
            raise _unwritable(folder, error) from None
        raise SecmixError(  # some network file systems
            f"'{folder}' is on a file system that cannot lock ({error.strerror}), and two audits at once would mix "
            "their cells; choose an --out elsewhere and copy the report"
        ) from None
    try:
        yield
    finally:
        with suppress(PermissionError):  # Windows takes it away itself, once nobody holds it
            place.unlink(missing_ok=True)  # before it is released: who waits for it sees that it is gone
        lock.release()


def _no_link(place: Path) -> SecmixError:
    return SecmixError(f"'{place}' is a link to something else; remove it, or choose another --out")
